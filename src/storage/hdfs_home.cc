#include "src/storage/hdfs_home.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/storage/bounded_json.h"

namespace espalier::storage {
namespace {

constexpr size_t kHomeBytesMax = 1024;

}  // namespace

Result<std::string> ParseHdfsHome(std::string_view body) {
  std::string path = JsonText(JsonMember(ParseJsonObject(body), "Path"));
  const bool plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7f && c != '"' && c != '\'' && c != '\\' && c != '$' && c != '`';
  });
  if (plain && path.size() <= kHomeBytesMax && path.starts_with('/') && !path.ends_with('/') &&
      path.find("//") == path.npos && path.find("/.") == path.npos) {
    return path;
  }
  return Unavailable("the NameNode's reply is not what WebHDFS says: found '" +
                     Printable(body, 60) + "', expected the path of a home directory");
}

Result<std::string> HdfsHome(const StorageOptions& options, const std::string& prefix) {
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(prefix + "/"));
  ESPALIER_ASSIGN_OR_RETURN(const auto client, MakeWebHdfsClient(options, uri));
  const auto answer = client->Ask({.method = HttpMethod::kGet,
                                   .op = "GETHOMEDIRECTORY",
                                   .path = "/",
                                   .parameters = {},
                                   .doing = "find our home directory on",
                                   .shown = prefix});
  ESPALIER_RETURN_IF_ERROR(answer.status);
  return ParseHdfsHome(answer.body);
}

}  // namespace espalier::storage
