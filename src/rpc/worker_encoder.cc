#include "src/rpc/worker_encoder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "src/rpc/convert.h"

namespace espalier::rpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Returns a slice that owns a text.
grpc::Slice Own(std::string text) {
  auto* owner = new std::string(std::move(text));
  return grpc::Slice(
      owner->data(), owner->size(), [](void* p) { delete static_cast<std::string*>(p); }, owner);
}

// Returns tag and length of a message field.
std::string FieldHead(int number, size_t bytes) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  CodedOutputStream coded(&stream);
  coded.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint64(bytes);
  coded.Trim();
  return out;
}

// Returns a ToWorker whose field `number` contains `own` and, as its field `common_number`,
// `common`.
grpc::ByteBuffer Join(int number, std::string own, int common_number, const grpc::Slice& common) {
  own += FieldHead(common_number, common.size());
  own.insert(0, FieldHead(number, own.size() + common.size()));
  const grpc::Slice slices[] = {Own(std::move(own)), common};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace

template <typename Proto, typename T>
grpc::Slice WorkerEncoder::BytesOf(const std::shared_ptr<const T>& value) {
  std::erase_if(shared_, [](const Shared& s) { return s.value.expired(); });
  for (const Shared& s : shared_) {
    if (s.value.lock() == value) return s.bytes;
  }
  Proto proto;
  ToProto(*value, &proto);
  grpc::Slice bytes = Own(proto.SerializeAsString());
  shared_.push_back({value, bytes});
  return bytes;
}

grpc::ByteBuffer WorkerEncoder::Encode(const cluster::ToWorker& message) {
  pb::ToWorker out;
  if (const auto* profile = std::get_if<cluster::StartProfiling>(&message);
      profile && profile->input) {
    cluster::StartProfiling own = *profile;
    own.input = nullptr;
    ToProto(cluster::ToWorker(std::move(own)), &out);
    return Join(pb::ToWorker::kStartProfilingFieldNumber, out.start_profiling().SerializeAsString(),
                pb::StartProfiling::kInputFieldNumber, BytesOf<pb::InputPlan>(profile->input));
  }
  if (const auto* training = std::get_if<cluster::StartTraining>(&message);
      training && training->profile) {
    cluster::StartTraining own = *training;
    own.profile = nullptr;
    ToProto(cluster::ToWorker(std::move(own)), &out);
    return Join(pb::ToWorker::kStartTrainingFieldNumber, out.start_training().SerializeAsString(),
                pb::StartTraining::kProfileFieldNumber,
                BytesOf<pb::TableProfile>(training->profile));
  }
  std::erase_if(shared_, [](const Shared& s) { return s.value.expired(); });
  ToProto(message, &out);
  const grpc::Slice bytes = Own(out.SerializeAsString());
  return grpc::ByteBuffer(&bytes, 1);
}

}  // namespace espalier::rpc
