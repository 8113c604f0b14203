// Encoding of journal entries as bytes (proto/espalier/v1/journal.proto). Decoding checks the bytes
// on disk like a message from an unknown peer.
//
// Round trip: Decode(Encode(e)) equals e, with the exceptions for texts that convert.h lists.
//
// Thread rule: pure functions. They may be slow (a profile has up to 48 MiB), so do not call them
// from a control loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::rpc {

// Returns kResourceExhausted if the entry exceeds the size limit of protocol buffers.
Result<std::string> EncodeJournalEntry(const cluster::JournalEntry& entry);
// Returns kInvalidArgument if the bytes are not an entry.
Result<cluster::JournalEntry> DecodeJournalEntry(std::string_view bytes);

// The part of an encoded entry that is known before it is decoded.
struct EntryHead {
  JobId job;                // the entry's job; 0: it belongs to none, or is malformed
  bool ends = false;        // JobEnded
  bool sets_aside = false;  // JobSetAside
};
EntryHead HeadOfEntry(std::string_view bytes);
// Decodes an entry without the fields that only a running job needs, such as input and leaves.
// Keeps the members, because other jobs do not have these workers any more. None: only a running
// job needs the whole entry.
Result<std::optional<cluster::JournalEntry>> DecodeOutline(std::string_view bytes);

}  // namespace espalier::rpc
