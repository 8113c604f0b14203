#include "src/rpc/coordinator_address.h"

#include "src/base/text.h"
#include "src/config/address.h"

namespace espalier::rpc {
namespace {

constexpr int64_t kConnectMs = 2'000, kReplyMs = 3'000, kGiveUpMs = 3'000;

}  // namespace

Result<std::string> FindCoordinator(const std::string& where, const storage::FileSystem& files) {
  if (!config::IsAddressFile(where)) return where;
  constexpr std::string_view kFile = "file:";
  const std::string path = where.starts_with(kFile) ? where.substr(kFile.size()) : where;
  const Result<std::string> text = files.ReadAll(path, kAddressFileBytesMax);
  if (!text.ok()) {
    return Unavailable("no coordinator's address is in " + QuotedPath(path) + " (" +
                       text.status().message() +
                       "); a coordinator with --address-file writes it while it runs");
  }
  const std::string line = text->substr(0, text->find_first_of("\r\n"));
  if (line.empty()) {
    return Unavailable(QuotedPath(path) + " is empty: expected the coordinator's host:port in it");
  }
  return line;
}

storage::StorageOptions ImpatientStorage(storage::StorageOptions options) {
  options.webhdfs.http.connect_ms = kConnectMs;
  options.webhdfs.http.reply_ms = kReplyMs;
  options.webhdfs.http.stall_ms = kReplyMs;
  options.webhdfs.retry.give_up_ms = kGiveUpMs;
  options.webhdfs.retry.first_contact_ms = kGiveUpMs;
  return options;
}

}  // namespace espalier::rpc
