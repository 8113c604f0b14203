#include "src/storage/hadoop_token.h"

#include <algorithm>
#include <optional>

#include "src/base/base64.h"
#include "src/base/text.h"

namespace espalier::storage {
namespace {

constexpr int kVarintBytesMax = 10;

// Reads from the front. After the first mismatch all further reads fail.
class TokenBytes {
 public:
  explicit TokenBytes(std::string_view bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  bool empty() const { return left_.empty(); }

  std::string_view Take(int64_t count) {
    if (!ok_ || count < 0 || static_cast<uint64_t>(count) > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  // WritableUtils.readVLong
  int64_t Number() {
    const std::string_view head = Take(1);
    if (!ok_) return 0;
    const int first = static_cast<signed char>(head[0]);
    if (first >= -112) return first;
    const bool negative = first < -120;
    uint64_t magnitude = 0;
    for (const char c : Take(negative ? -120 - first : -112 - first)) {
      magnitude = magnitude << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<int64_t>(negative ? ~magnitude : magnitude);
  }
  std::string Text() { return std::string(Take(Number())); }

  // Protobuf's varint.
  uint64_t Varint() {
    uint64_t value = 0;
    for (int i = 0; i < kVarintBytesMax; ++i) {
      const std::string_view byte = Take(1);
      if (!ok_) return 0;
      value |= static_cast<uint64_t>(byte[0] & 127) << (7 * i);
      if ((byte[0] & 128) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Delimited() {
    const uint64_t size = Varint();
    return Take(size > left_.size() ? -1 : static_cast<int64_t>(size));
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

void PutNumber(int64_t value, std::string* out) {
  if (value >= -112 && value <= 127) {
    *out += static_cast<char>(value);
    return;
  }
  const bool negative = value < 0;
  const auto magnitude = static_cast<uint64_t>(negative ? ~value : value);
  int bytes = 1;
  while (bytes < 8 && magnitude >> (8 * bytes) != 0) ++bytes;
  *out += static_cast<char>((negative ? -120 : -112) - bytes);
  while (bytes-- > 0) *out += static_cast<char>(magnitude >> (8 * bytes) & 255);
}

void PutText(std::string_view text, std::string* out) {
  PutNumber(static_cast<int64_t>(text.size()), out);
  *out += text;
}

HadoopToken ReadToken(TokenBytes* in) {
  HadoopToken token;
  token.identifier = in->Text();
  token.password = in->Text();
  token.kind = in->Text();
  token.service = in->Text();
  return token;
}

Status Damaged(const std::string& what) {
  return InvalidArgument(what + " is damaged, or nothing that Hadoop writes");
}

// Visits the fields of type bytes in a protobuf message and skips others. Returns false if the
// bytes are not a message.
template <typename Field>
bool ForEachField(std::string_view message, const Field& field) {
  TokenBytes in(message);
  while (in.ok() && !in.empty()) {
    const uint64_t key = in.Varint();
    switch (key & 7) {
      case 0:
        in.Varint();
        break;
      case 1:
        in.Take(8);
        break;
      case 2: {
        const std::string_view value = in.Delimited();
        if (in.ok() && !field(key >> 3, value)) return false;
        break;
      }
      case 5:
        in.Take(4);
        break;
      default:
        return false;
    }
  }
  return in.ok();
}

bool ReadTokenProto(std::string_view message, HadoopToken* token) {
  return ForEachField(message, [token](uint64_t number, std::string_view value) {
    if (number == 1) token->identifier = value;
    if (number == 2) token->password = value;
    if (number == 3) token->kind = value;
    if (number == 4) token->service = value;
    return true;
  });
}

std::optional<std::vector<HadoopToken>> ReadCredentialsProto(TokenBytes in) {
  std::vector<HadoopToken> tokens;
  const std::string_view message = in.Delimited();
  const bool good =
      in.ok() && ForEachField(message, [&tokens](uint64_t number, std::string_view entry) {
        if (number != 1) return true;  // skips secret keys
        if (static_cast<int64_t>(tokens.size()) >= kTokenFileTokensMax) return false;
        return ForEachField(entry, [&tokens](uint64_t part, std::string_view value) {
          return part != 2 || ReadTokenProto(value, &tokens.emplace_back());
        });
      });
  if (!good) return std::nullopt;
  return tokens;
}

std::optional<std::vector<HadoopToken>> ReadCredentials(TokenBytes in) {
  std::vector<HadoopToken> tokens;
  const int64_t count = in.Number();
  if (!in.ok() || count < 0 || count > kTokenFileTokensMax) return std::nullopt;
  for (int64_t i = 0; in.ok() && i < count; ++i) {
    in.Text();  // skips the alias
    tokens.push_back(ReadToken(&in));
  }
  if (!in.ok()) return std::nullopt;
  return tokens;
}

bool IsOfHdfs(const HadoopToken& token) {
  return std::find(kHdfsTokenKinds.begin(), kHdfsTokenKinds.end(), token.kind) !=
         kHdfsTokenKinds.end();
}

}  // namespace

std::string TokenText(const HadoopToken& token) {
  std::string bytes;
  for (const std::string* part :
       {&token.identifier, &token.password, &token.kind, &token.service}) {
    PutText(*part, &bytes);
  }
  return Base64Url(bytes);
}

Result<HadoopToken> ParseTokenText(std::string_view text) {
  if (text.size() > kTokenTextBytesMax) return Damaged("a delegation token");
  const auto bytes = FromBase64(text);
  if (!bytes) return Damaged("a delegation token");
  TokenBytes in(*bytes);
  HadoopToken token = ReadToken(&in);
  if (!in.ok() || !in.empty()) return Damaged("a delegation token");
  return token;
}

Result<TokenIdentity> ParseTokenIdentity(const HadoopToken& token) {
  TokenBytes in(token.identifier);
  const std::string_view version = in.Take(1);
  TokenIdentity identity;
  identity.owner = in.Text();
  identity.renewer = in.Text();
  identity.real_user = in.Text();
  identity.issued_ms = in.Number();
  identity.ends_ms = in.Number();
  if (!in.ok() || version[0] != 0 || identity.owner.empty()) {
    return Damaged("the identifier of a delegation token");
  }
  return identity;
}

Result<std::vector<HadoopToken>> ParseTokenFile(std::string_view bytes) {
  TokenBytes in(bytes);
  const std::string_view magic = in.Take(4), version = in.Take(1);
  std::optional<std::vector<HadoopToken>> tokens;
  if (in.ok() && magic == kTokenFileMagic && bytes.size() <= kTokenFileBytesMax) {
    if (version[0] == 0) tokens = ReadCredentials(in);
    if (version[0] == 1) tokens = ReadCredentialsProto(in);
  }
  if (!tokens) return Damaged("the file of credentials");
  return *std::move(tokens);
}

const HadoopToken* TokenFor(const std::vector<HadoopToken>& tokens,
                            const std::vector<std::string>& services) {
  for (const std::string& service : services) {
    for (const HadoopToken& token : tokens) {
      if (IsOfHdfs(token) && token.service == service) return &token;
    }
  }
  return nullptr;
}

}  // namespace espalier::storage
