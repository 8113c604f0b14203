// Tests of the real daemons and the command line from outside. A generic client without generated
// code uses health and reflection. The test also plays programs of another version.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "src/base/version.h"
#include "src/rpc/call_status.h"
#include "src/rpc/transport.h"

namespace espalier::rpc {
namespace {

constexpr const char* kOtherVersion = "0.0.1-other";

// A program with its output, line by line. The destructor kills it if it still runs.
class Program {
 public:
  explicit Program(const std::string& command) {
    out_ = popen(("echo $$; exec " + command + " 2>&1").c_str(), "r");
    REQUIRE(out_ != nullptr);
    pid_ = std::stoi(Line());
  }
  ~Program() {
    if (out_ == nullptr) return;
    kill(pid_, SIGKILL);
    pclose(out_);
  }
  // Returns the next line without its newline, or an empty text at the end of the output.
  std::string Line() {
    char line[4096] = {};
    if (std::fgets(line, sizeof line, out_) == nullptr) return "";
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  // Skips to the line that contains `text` and returns the rest of the line after it.
  std::string After(const std::string& text) {
    for (std::string line = Line(); !line.empty(); line = Line()) {
      seen_ += line + "\n";
      if (const size_t at = line.find(text); at != std::string::npos) {
        return line.substr(at + text.size());
      }
    }
    FAIL("'" + text + "' was not said in:\n" + seen_);
    return "";
  }
  // Returns the rest of the output and the exit code.
  std::pair<std::string, int> End() {
    std::string all;
    for (std::string line = Line(); !line.empty(); line = Line()) all += line + "\n";
    const int status = pclose(std::exchange(out_, nullptr));
    return {all, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }

 private:
  FILE* out_ = nullptr;
  pid_t pid_ = 0;
  std::string seen_;
};

std::string CoordinatorCommand() {
  return "src/coordinator/espalier-coordinator --listen 127.0.0.1:0 --exit-with-parent";
}
std::string WorkerCommand(const std::string& coordinator) {
  return "src/worker/espalier-worker --listen 127.0.0.1:0 --threads 1 --exit-with-parent "
         "--spill-directory " +
         std::string(std::getenv("TEST_TMPDIR")) + "/spill --coordinator " + coordinator;
}

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}
std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& s : slices)
    text.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return text;
}
// The length-delimited fields of a message (messages and texts): number and content.
using Message = std::vector<std::pair<int, std::string>>;

Message Decode(const std::string& bytes) {
  google::protobuf::UnknownFieldSet fields;
  REQUIRE(fields.ParseFromString(bytes));
  Message out;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    out.emplace_back(field.number(), field.length_delimited());
  }
  return out;
}

// Returns the message in field `number`. REQUIRES: the field is set.
Message Part(const Message& fields, int number) {
  for (const auto& [n, content] : fields) {
    if (n == number) return Decode(content);
  }
  FAIL("no field " << number);
  return {};
}

struct GenericClient {
  explicit GenericClient(const std::string& address)
      : stub(rpc::MakeChannel(address, {1 << 20, 10'000, 5'000}).channel) {}

  std::string Unary(const std::string& method, const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(rpc::Deadline(20'000));
    const grpc::ByteBuffer in = Buffer(request);
    grpc::ByteBuffer out;
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, method, {}, &in, &out,
                   [&ended](const grpc::Status& status) { ended.set_value(status); });
    const grpc::Status status = ended.get_future().get();
    INFO(status.error_message());
    REQUIRE(status.ok());
    return Text(out);
  }

  // Sends one message on a stream and returns the first answer.
  std::string Stream(const std::string& method, const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(rpc::Deadline(20'000));
    grpc::CompletionQueue queue;
    const auto next = [&queue] {
      void* tag;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    auto call = stub.PrepareCall(&context, method, &queue);
    call->StartCall(nullptr);
    REQUIRE(next());
    call->Write(Buffer(request), nullptr);
    REQUIRE(next());
    grpc::ByteBuffer out;
    call->Read(&out, nullptr);
    const bool answered = next();
    if (answered) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    next();
    INFO(status.error_message());
    REQUIRE(answered);
    return Text(out);
  }

  grpc::GenericStub stub;
};

// Checks grpc.health.v1. An empty request is about the whole server. {status: SERVING} is 08 01.
void CheckHealth(GenericClient& client) {
  CHECK(client.Unary("/grpc.health.v1.Health/Check", "") == std::string("\x08\x01", 2));
}

// Returns the services by grpc.reflection.v1alpha: {list_services: "*"}. Field 6 of the answer
// contains messages with a name.
std::set<std::string> Services(GenericClient& client) {
  const auto answer = Decode(
      client.Stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*"));
  std::set<std::string> names;
  for (const auto& [number, service] : Part(answer, 6)) {
    names.insert(Decode(service).at(0).second);
  }
  return names;
}

// Returns the file of a symbol by reflection: {file_containing_symbol: NAME}. Field 4 of the answer
// contains files.
google::protobuf::FileDescriptorProto FileOf(GenericClient& client, const std::string& name) {
  const auto answer =
      Decode(client.Stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                           std::string("\x22") + static_cast<char>(name.size()) + name));
  google::protobuf::FileDescriptorProto file;
  REQUIRE(file.ParseFromString(Part(answer, 4).at(0).second));
  return file;
}

TEST_CASE("a coordinator serves health and reflection") {
  Program coordinator(CoordinatorCommand() + " --ready-fd 1");
  GenericClient client("127.0.0.1:" + coordinator.After("127.0.0.1:"));
  CheckHealth(client);
  const auto services = Services(client);
  CHECK(services.contains("espalier.v1.Espalier"));
  CHECK(services.contains("espalier.v1.Coordinator"));
  const auto file = FileOf(client, "espalier.v1.Espalier");
  REQUIRE(file.service_size() == 1);
  CHECK(file.service(0).method(0).name() == "Submit");
}

TEST_CASE("a worker serves health and reflection") {
  Program worker(WorkerCommand("127.0.0.1:1"));
  std::string address = worker.After("worker listens on ");
  address = address.substr(0, address.find(','));
  GenericClient client(address);
  CheckHealth(client);
  CHECK(Services(client).contains("espalier.v1.Peer"));
}

bool NamesBoth(const std::string& message) {
  return message.find(kOtherVersion) != std::string::npos &&
         message.find(kVersion) != std::string::npos &&
         message.find("the same version on both") != std::string::npos;
}

TEST_CASE("a coordinator refuses another version and names both") {
  Program program(CoordinatorCommand() + " --ready-fd 1");
  const std::string address = "127.0.0.1:" + program.After("127.0.0.1:");
  const auto channel = rpc::MakeChannel(address, {1 << 20, 10'000, 5'000}).channel;

  const auto coordinator = v1::Coordinator::NewStub(channel);
  grpc::ClientContext attach;
  attach.set_deadline(rpc::Deadline(20'000));
  const auto stream = coordinator->Attach(&attach);
  v1::FromWorker hello;
  hello.mutable_hello()->set_version(kOtherVersion);
  hello.mutable_hello()->set_threads(1);
  REQUIRE(stream->Write(hello));
  v1::ToWorker answer;
  REQUIRE(stream->Read(&answer));
  CHECK(NamesBoth(answer.refused().error().messages(0)));
  CHECK_FALSE(stream->Read(&answer));
  CHECK(stream->Finish().ok());

  const auto espalier = v1::Espalier::NewStub(channel);
  grpc::ClientContext submit;
  submit.set_deadline(rpc::Deadline(20'000));
  v1::SubmitRequest request;
  request.set_version(kOtherVersion);
  request.set_client_request_id("x");
  request.set_job_yaml("name: x");
  v1::SubmitResponse response;
  const grpc::Status refused = espalier->Submit(&submit, request, &response);
  CHECK(refused.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(NamesBoth(refused.error_message()));
}

// A coordinator of another version. It refuses all callers, as each version does.
class OtherCoordinator final : public v1::Coordinator::Service, public v1::Espalier::Service {
 public:
  OtherCoordinator() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<v1::Coordinator::Service*>(this));
    builder.RegisterService(static_cast<v1::Espalier::Service*>(this));
    server_ = builder.BuildAndStart();
    REQUIRE(port > 0);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  const std::string& address() const { return address_; }

 private:
  grpc::Status Attach(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ToWorker, v1::FromWorker>* stream) override {
    stream->SendInitialMetadata();  // completes the worker's connection
    v1::FromWorker hello;
    if (!stream->Read(&hello)) return grpc::Status::OK;
    v1::ToWorker refused;
    auto* error = refused.mutable_refused()->mutable_error();
    error->set_code(v1::ERROR_CODE_FAILED_PRECONDITION);
    error->add_messages("the worker is version " + hello.hello().version() +
                        ", the coordinator is version " + kOtherVersion);
    stream->Write(refused);
    return grpc::Status::OK;
  }
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest*,
                        v1::ListJobsResponse*) override {
    const auto it = context->client_metadata().find("espalier-version");
    const std::string version = it == context->client_metadata().end()
                                    ? "unknown"
                                    : std::string(it->second.data(), it->second.size());
    return {grpc::StatusCode::FAILED_PRECONDITION, "this coordinator is of version " +
                                                       std::string(kOtherVersion) +
                                                       " and the client of version " + version};
  }

  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_CASE("a worker refused by another version names both") {
  OtherCoordinator other;
  const auto [said, code] = Program(WorkerCommand(other.address())).End();
  CHECK(code == 2);
  CHECK_THAT(said, Catch::Contains("the coordinator refused this worker") &&
                       Catch::Contains(std::string("the worker is version ") + kVersion) &&
                       Catch::Contains(kOtherVersion));
}

TEST_CASE("a command refused by another version names both") {
  OtherCoordinator other;
  const auto [said, code] = Program("src/cli/espalier list --coordinator " + other.address()).End();
  CHECK(code != 0);
  CHECK_THAT(said, Catch::Contains(std::string("the client of version ") + kVersion) &&
                       Catch::Contains(kOtherVersion));
}

}  // namespace
}  // namespace espalier::rpc
