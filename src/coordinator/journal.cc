#include "src/coordinator/journal.h"

#include <cstdio>

#include "src/base/checksum.h"

namespace espalier::coordinator {
namespace {

class ForgetfulJournal : public Journal {
 public:
  Status Append(const std::vector<cluster::JournalEntry>&) override { return Status::Ok(); }
  Status Rewrite(const std::vector<cluster::JournalEntry>&) override { return Status::Ok(); }
  bool wants_rewrite() const override { return false; }
  bool durable() const override { return false; }
  bool GiveBackReserve() override { return false; }
  Status SetReserveAside() override { return Status::Ok(); }
};

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

}  // namespace

std::unique_ptr<Journal> MakeForgetfulJournal() { return std::make_unique<ForgetfulJournal>(); }

uint32_t RecordChecksum(uint64_t sequence, std::string_view bytes) {
  unsigned char place[8];
  for (int i = 0; i < 8; ++i) place[i] = static_cast<unsigned char>(sequence >> (8 * i));
  return Crc32c(bytes.data(), bytes.size(), Crc32c(place, sizeof place));
}

Status Damaged(const std::string& path, uint64_t sequence, const std::string& what) {
  const std::string record = sequence == 0 ? "" : ", record " + std::to_string(sequence);
  return DataLoss(
      "the journal is damaged: " + path + record + ": " + what +
      ". Put back an older copy of the state directory, or move the directory elsewhere "
      "to start with an empty one: jobs that were running are then released.");
}

Status CheckRecord(const std::string& path, uint64_t sequence, uint32_t checksum,
                   std::string_view bytes) {
  const uint32_t found = RecordChecksum(sequence, bytes);
  if (found == checksum) return Status::Ok();
  return Damaged(path, sequence,
                 "its bytes have the checksum " + Hex(found) + ", expected " + Hex(checksum));
}

}  // namespace espalier::coordinator
