// A journal's entries as bytes (proto/espalier/v1/journal.proto). What a disk gives back is checked
// like what a stranger sends.
//
// Round trip: Decode(Encode(e)) is e, but for what convert.h says of texts.
//
// Thread rule: pure functions; they may be long (a profile has up to 48 MiB), so not for a control
// loop.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"

namespace espalier::rpc {

// kResourceExhausted: more than protocol buffers can hold.
Result<std::string> EncodeJournalEntry(const cluster::JournalEntry& entry);
// kInvalidArgument: these bytes are no entry.
Result<cluster::JournalEntry> DecodeJournalEntry(std::string_view bytes);

}  // namespace espalier::rpc
