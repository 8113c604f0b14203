// Replies of a WebHDFS server, as JSON and as redirects.
#include "src/base/check.h"
#include "src/storage/webhdfs_protocol.h"
#include "src/storage/webhdfs_verdict.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

void RunBody(std::string_view body) {
  if (const auto file = storage::ParseFileStatus(body); file.ok()) {
    ESPALIER_CHECK(file->length >= 0, std::to_string(file->length));
  }
  if (const auto listing = storage::ParseListing(body); listing.ok()) {
    ESPALIER_CHECK(listing->remaining >= 0, std::to_string(listing->remaining));
    for (const storage::FileInfo& f : listing->entries) {
      ESPALIER_CHECK(f.length >= 0, std::to_string(f.length));
      ESPALIER_CHECK(f.path.find('/') == std::string::npos, f.path);
    }
  }
  if (const auto blocks = storage::ParseBlockLocations(body); blocks.ok()) {
    for (const storage::LocatedBlock& b : *blocks) {
      ESPALIER_CHECK(b.where.offset >= 0 && b.where.length >= 0, std::to_string(b.where.offset));
    }
    (void)storage::DataNodeName(*blocks, {"h1", 9864});
  }
  (void)storage::ParseBoolean(body);
  (void)storage::ParseToken(body);
  (void)storage::ParseLong(body);
  ESPALIER_CHECK(storage::ParseRemoteException(body).message.size() <= 300, "a long message");
}

}  // namespace

// Input: a byte for the status, a Location header as Input::Text, then the body.
void RunWebHdfs(std::string_view bytes) {
  Input input(bytes);
  const uint8_t choice = input.Byte();
  storage::HttpReply reply;
  reply.sent = true;
  constexpr int kStatuses[] = {200, 201, 307, 400, 401, 403, 404, 500, 503};
  reply.status = kStatuses[choice % 9];
  reply.location = std::string(input.Text());
  reply.body = std::string(input.Rest());
  const auto target = storage::RedirectTarget(reply.location, choice % 2 == 0);
  if (target.ok()) {
    ESPALIER_CHECK(!target->host.empty() && target->port >= 0 && target->port <= 65'535,
                   "another kind of address");
  }
  (void)storage::Judge(reply, {.data_node = choice > 127, .address = "h1:9870"});
  RunBody(reply.body);
}

std::vector<std::string> WebHdfsSeeds() {
  const std::string file = R"({"length":5,"modificationTime":1,"pathSuffix":"a b","type":"FILE"})";
  const std::string files = R"({"FileStatuses":{"FileStatus":[)" + file + "," + file + "]}}";
  const std::string bodies[] = {
      R"({"FileStatus":)" + file + "}",
      files,
      R"({"DirectoryListing":{"partialListing":)" + files + R"(,"remainingEntries":2}})",
      R"({"boolean":true})",
      R"({"long":1800000000000})",
      R"({"Token":{"urlString":"AAVhbGljZQ"}})",
      R"({"RemoteException":{"exception":"StandbyException","message":"READ is not supported"}})",
      R"({"BlockLocations":{"BlockLocation":[{"corrupt":false,"hosts":["h1","h2"],)"
      R"("length":134217728,"names":["10.0.0.1:9866","10.0.0.2:9866"],"offset":0}]}})",
  };
  std::vector<std::string> seeds;
  for (const std::string& body : bodies) {
    seeds.push_back(static_cast<char>(seeds.size()) +
                    Packed("http://dn1.example:9864/webhdfs/v1/a?op=OPEN&delegation=SECRET") +
                    body);
  }
  return seeds;
}

}  // namespace espalier::fuzz
