#include "src/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include "proto/grpc/reflection/v1alpha/reflection.pb.h"
#include "src/rpc/probe_call.h"

namespace espalier::rpc {
namespace {

namespace reflection = ::grpc::reflection::v1alpha;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using reflection::ServerReflectionRequest;
using reflection::ServerReflectionResponse;

// Limit of a request. It contains a name, and the answer repeats it.
constexpr size_t kRequestBytesMax = 4 << 10;

void SetError(grpc::StatusCode code, const std::string& words, ServerReflectionResponse* out) {
  out->mutable_error_response()->set_error_code(code);
  out->mutable_error_response()->set_error_message(words);
}

// Adds the file and then everything it imports, each once.
void AddFiles(const FileDescriptor& file, std::set<const FileDescriptor*>* added,
              reflection::FileDescriptorResponse* out) {
  if (!added->insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  out->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), added, out);
}

void SetFile(const FileDescriptor* file, ServerReflectionResponse* out) {
  if (file == nullptr) return SetError(grpc::StatusCode::NOT_FOUND, "not found", out);
  std::set<const FileDescriptor*> added;
  AddFiles(*file, &added, out->mutable_file_descriptor_response());
}

void SetExtensions(const std::string& type, ServerReflectionResponse* out) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const auto* message = pool.FindMessageTypeByName(type);
  if (message == nullptr) return SetError(grpc::StatusCode::NOT_FOUND, "not found", out);
  std::vector<const google::protobuf::FieldDescriptor*> extensions;
  pool.FindAllExtensions(message, &extensions);
  out->mutable_all_extension_numbers_response()->set_base_type_name(type);
  for (const auto* extension : extensions) {
    out->mutable_all_extension_numbers_response()->add_extension_number(extension->number());
  }
}

ServerReflectionResponse Answer(const ServerReflectionRequest& request,
                                const std::set<std::string>& names) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ServerReflectionResponse out;
  out.set_valid_host(request.host());
  *out.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      SetFile(pool.FindFileByName(request.file_by_filename()), &out);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), &out);
      break;
    case ServerReflectionRequest::kFileContainingExtension: {
      const auto& asked = request.file_containing_extension();
      const auto* type = pool.FindMessageTypeByName(asked.containing_type());
      const auto* extension =
          type == nullptr ? nullptr : pool.FindExtensionByNumber(type, asked.extension_number());
      SetFile(extension == nullptr ? nullptr : extension->file(), &out);
      break;
    }
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetExtensions(request.all_extension_numbers_of_type(), &out);
      break;
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : names) {
        out.mutable_list_services_response()->add_service()->set_name(name);
      }
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", &out);
      break;
  }
  return out;
}

class ReflectionCall final : public ProbeCall {
 public:
  ReflectionCall(grpc::CallbackServerContext* context, OpenCalls* calls,
                 const std::set<std::string>& names)
      : ProbeCall(context, calls), names_(names) {}

  void Start() {
    MutexLock lock(mutex_);
    ReadLocked();
  }
  void OnReadDone(bool ok) override {
    MutexLock lock(mutex_);
    if (ended_) return;
    if (!ok) return EndLocked(Status::Ok());
    if (incoming_.Length() > kRequestBytesMax) {
      return EndLocked(InvalidArgument("a question of " + std::to_string(incoming_.Length()) +
                                       " bytes, expected at most " +
                                       std::to_string(kRequestBytesMax)));
    }
    const auto request = ReadMessage<ServerReflectionRequest>(&incoming_);
    if (!request.ok()) return EndLocked(request.status());
    WriteLocked(Answer(*request, names_));
  }

 private:
  void WrittenLocked() override REQUIRES(mutex_) { ReadLocked(); }

  const std::set<std::string>& names_;
};

}  // namespace

Methods ReflectionService::MakeMethods() {
  Methods out;
  out["/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"] =
      [this](grpc::CallbackServerContext* context, const Caller& caller) {
        auto call = std::make_shared<ReflectionCall>(context, calls_, names_);
        auto may = MayStay(authorizer_, caller, Access::kReader, "a stream of reflection");
        if (calls_->Add(call, caller.Key(), std::move(may)).ok()) call->Start();
        return call.get();
      };
  return out;
}

}  // namespace espalier::rpc
