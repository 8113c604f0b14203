#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {
namespace {

constexpr size_t kFileSystemBytesMax = 1024;
constexpr int64_t kTokenTextBytesMax = 16 << 10;

}  // namespace

void ToProto(const StorageTokens& tokens,
             google::protobuf::RepeatedPtrField<pb::StorageToken>* out) {
  for (const StorageToken& token : tokens) {
    pb::StorageToken* p = out->Add();
    p->set_file_system(token.file_system);
    p->set_text(token.text);
  }
}

// No error holds a byte of a token.
Result<StorageTokens> FromProto(const google::protobuf::RepeatedPtrField<pb::StorageToken>& in) {
  Fields f("StorageToken");
  StorageTokens tokens;
  if (!f.Few("tokens", in.size(), kStorageTokensMax)) return f.status();
  for (const pb::StorageToken& token : in) {
    const auto bytes = static_cast<int64_t>(token.text().size());  // Text would show some of it
    f.In("text", bytes, 0, kTokenTextBytesMax);
    tokens.push_back(
        {f.Text("file_system", token.file_system(), kFileSystemBytesMax), token.text()});
    if (token.file_system().empty()) f.Fail("file_system", "is missing");
    if (token.text().empty()) f.Fail("text", "is missing");
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return tokens;
}

}  // namespace espalier::rpc
