#include "src/storage/keytab.h"

#include <algorithm>
#include <cstdint>

namespace espalier::storage {
namespace {

constexpr std::string_view kHead = "\x05\x02";
constexpr char kOldVersion = 1;

// Reads from the front. After the first mismatch all further reads fail.
class KeytabBytes {
 public:
  explicit KeytabBytes(std::string_view bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool empty() const { return left_.empty(); }

  std::string_view Take(size_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  uint32_t Number(size_t bytes) {
    uint32_t value = 0;
    for (const char c : Take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view Text() { return Take(Number(2)); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

// Escapes names as Kerberos programs do.
void AppendPart(std::string_view part, std::string* out) {
  for (const char c : part) {
    if (c == '/' || c == '@' || c == '\\') *out += '\\';
    *out += c;
  }
}

// Returns the principal, or "" if the entry is invalid.
std::string PrincipalOf(std::string_view entry) {
  KeytabBytes bytes(entry);
  const uint32_t components = bytes.Number(2);
  const std::string_view realm = bytes.Text();
  std::string out;
  for (uint32_t i = 0; i < components && bytes.ok(); ++i) {
    if (i > 0) out += '/';
    AppendPart(bytes.Text(), &out);
  }
  if (!bytes.ok() || out.empty() || realm.empty()) return {};
  out += '@';
  AppendPart(realm, &out);
  return out;
}

}  // namespace

Result<std::vector<std::string>> KeytabPrincipals(std::string_view bytes,
                                                  const std::string& shown) {
  const auto unfit = [&shown](const std::string& found) {
    return InvalidArgument(shown + ": found " + found +
                           ", expected a keytab, as ktutil or kadmin writes it");
  };
  if (bytes.empty()) return unfit("an empty file");
  if (bytes.front() != kHead.front()) return unfit("a file that does not begin as a keytab does");
  if (bytes.size() > 1 && bytes[1] == kOldVersion) return unfit("a keytab of the old version 1");
  if (!bytes.starts_with(kHead)) return unfit("a keytab of an unknown version");
  KeytabBytes left(bytes.substr(kHead.size()));
  std::vector<std::string> principals;
  while (!left.empty()) {
    const auto length = static_cast<int32_t>(left.Number(4));
    if (left.ok() && length == 0) break;
    const int64_t size = length;
    const std::string_view entry = left.Take(static_cast<size_t>(size < 0 ? -size : size));
    if (!left.ok()) return unfit("a keytab that is cut off");
    if (length < 0) continue;
    std::string principal = PrincipalOf(entry);
    if (principal.empty()) return unfit("a keytab that is damaged");
    if (std::find(principals.begin(), principals.end(), principal) == principals.end()) {
      principals.push_back(std::move(principal));
    }
  }
  if (principals.empty()) return unfit("a keytab without a key");
  return principals;
}

}  // namespace espalier::storage
