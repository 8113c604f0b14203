// Tests of access: every method of every service with all kinds of credentials.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>

#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <set>

#include "proto/espalier/v1/api.grpc.pb.h"
#include "proto/espalier/v1/cluster.grpc.pb.h"
#include "proto/espalier/v1/peer.grpc.pb.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/call_status.h"
#include "src/rpc/peer.h"
#include "src/rpc/transport.h"
#include "tests/rpc/secured.h"

namespace espalier::rpc {
namespace {

using rpc::Access;

constexpr const char* kReflection =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// The credentials of a caller.
struct Credentials {
  std::string what;
  security::TlsFiles files;
  std::string token;
  std::set<Access> may;  // empty: unknown caller
};

ClientSecurity SecurityOf(const Credentials& credentials) {
  return {MustOpen(credentials.files), credentials.token};
}

rpc::Connection Connect(const std::string& address, const Credentials& credentials,
                        const std::string& worker) {
  rpc::TransportSettings settings;
  settings.message_bytes_max = 1 << 20;
  settings.keepalive_interval_ms = settings.keepalive_timeout_ms = 10'000;
  return rpc::MakeChannel(address, settings, SecurityOf(credentials), worker);
}

// Calls a method with the message `request` and returns the status. Stores the response in
// `answer`.
grpc::Status Call(const rpc::Connection& connection, const std::string& token,
                  const std::string& path, std::string* answer = nullptr,
                  const std::string& request = "", int64_t limit_ms = 20'000) {
  grpc::GenericStub stub(connection.channel);
  grpc::ClientContext context;
  context.set_deadline(rpc::Deadline(limit_ms));
  rpc::Introduce(&context, {nullptr, token});
  const grpc::Slice slice(request);
  const grpc::ByteBuffer in(&slice, 1);
  grpc::ByteBuffer out;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, path, {}, &in, &out,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  grpc::Status status = ended.get_future().get();
  if (status.ok() && answer != nullptr) {
    std::vector<grpc::Slice> slices;
    (void)out.Dump(&slices);
    for (const grpc::Slice& s : slices) {
      answer->append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
  }
  return status;
}

// Returns the names of the services, by reflection. Field 6 of the answer to {list_services: "*"}
// contains them.
std::set<std::string> ServicesOf(const rpc::Connection& connection) {
  std::string answer;
  const grpc::Status status = Call(connection, "", kReflection, &answer, "\x3a\x01*");
  REQUIRE(status.error_message() == "");
  google::protobuf::UnknownFieldSet response;
  REQUIRE(response.ParseFromString(answer));
  std::set<std::string> names;
  for (int i = 0; i < response.field_count(); ++i) {
    if (response.field(i).number() != 6) continue;
    google::protobuf::UnknownFieldSet list, service;
    REQUIRE(list.ParseFromString(response.field(i).length_delimited()));
    for (int k = 0; k < list.field_count(); ++k) {
      REQUIRE(service.ParseFromString(list.field(k).length_delimited()));
      names.insert(service.field(0).length_delimited());
    }
  }
  return names;
}

// Returns the paths of all methods. Those of gRPC's own services are fixed here.
std::vector<std::string> MethodsOf(const std::set<std::string>& services) {
  std::vector<std::string> out;
  for (const std::string& name : services) {
    if (name == "grpc.health.v1.Health") {
      out.insert(out.end(), {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"});
    } else if (name == "grpc.reflection.v1alpha.ServerReflection") {
      out.push_back(kReflection);
    } else {
      const auto* service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      INFO("service " << name << " is not known to this test");
      REQUIRE(service != nullptr);
      for (int i = 0; i < service->method_count(); ++i) {
        out.push_back("/" + name + "/" + service->method(i)->name());
      }
    }
  }
  return out;
}

std::vector<Credentials> AllKinds(Certificates& mine, Certificates& foreign) {
  const auto files = [&](security::Role role, const char* name) {
    return mine.Issue({role, name, {}});
  };
  const std::set<Access> reads = {Access::kAnyRole, Access::kReader};
  const std::set<Access> orders = {Access::kAnyRole, Access::kReader, Access::kOperator};
  const std::set<Access> all_orders = {Access::kAnyRole, Access::kReader, Access::kOperator,
                                       Access::kAdmin};
  security::TlsFiles stranger = foreign.Issue({security::Role::kOperator, "ann"});
  stranger.ca = mine.ca();
  return {
      {"nothing", {mine.ca(), "", ""}, "", {}},
      {"an unknown token", {mine.ca(), "", ""}, "0123456789abcdef0124", {}},
      {"a certificate of another authority", stranger, "", {}},
      {"an expired certificate", mine.Issue({security::Role::kOperator, "ann"}, 3), "", {}},
      {"a certificate of the future", mine.Issue({security::Role::kOperator, "ann"}, -3), "", {}},
      {"a reader's certificate", files(security::Role::kReader, "bob"), "", reads},
      {"an operator's certificate", files(security::Role::kOperator, "ann"), "", orders},
      {"an admin's certificate", files(security::Role::kAdmin, "root"), "", all_orders},
      {"a worker's certificate",
       files(security::Role::kWorker, "node-1"),
       "",
       {Access::kAnyRole, Access::kWorker}},
      {"an operator's token", {mine.ca(), "", ""}, kToken, orders},
      {"an admin's token", {mine.ca(), "", ""}, kAdminToken, all_orders}};
}

// The required access of each method. This second copy detects a method whose access widens.
const std::map<std::string, Access> kExpected = {
    {"/espalier.v1.Espalier/Submit", Access::kOperator},
    {"/espalier.v1.Espalier/Renewer", Access::kOperator},
    {"/espalier.v1.Espalier/Withdraw", Access::kOperator},
    {"/espalier.v1.Espalier/Cancel", Access::kOperator},
    {"/espalier.v1.Espalier/Drain", Access::kAdmin},
    {"/espalier.v1.Espalier/Watch", Access::kReader},
    {"/espalier.v1.Espalier/ListJobs", Access::kReader},
    {"/espalier.v1.Espalier/GetJob", Access::kReader},
    {"/espalier.v1.Espalier/ListWorkers", Access::kReader},
    {"/espalier.v1.Coordinator/Attach", Access::kWorker},
    {"/espalier.v1.Peer/Link", Access::kWorker},
    {"/espalier.v1.StateTransfer/Fetch", Access::kWorker},
    {"/grpc.health.v1.Health/Check", Access::kAnyRole},
    {"/grpc.health.v1.Health/Watch", Access::kAnyRole},
    {kReflection, Access::kReader},
};

void TryAll(const std::string& address, const std::vector<std::string>& methods,
            const std::vector<Credentials>& kinds, const std::string& worker) {
  for (const Credentials& kind : kinds) {
    const rpc::Connection connection = Connect(address, kind, worker);
    for (const std::string& method : methods) {
      INFO(method << " with " << kind.what);
      REQUIRE(kExpected.contains(method));  // a new method needs a role
      const Access access = kExpected.at(method);
      // This stream does not end by itself for an allowed caller.
      const bool endless = method == "/grpc.health.v1.Health/Watch" && !kind.may.empty();
      const int64_t limit_ms = endless ? 300 : 20'000;
      const grpc::StatusCode code =
          Call(connection, kind.token, method, nullptr, "", limit_ms).error_code();
      if (kind.may.empty()) {
        CHECK(code == grpc::StatusCode::UNAUTHENTICATED);
      } else if (!kind.may.contains(access)) {
        CHECK(code == grpc::StatusCode::PERMISSION_DENIED);
      } else {
        CHECK(code != grpc::StatusCode::PERMISSION_DENIED);
        CHECK(code != grpc::StatusCode::UNAUTHENTICATED);
        CHECK(code != grpc::StatusCode::UNAVAILABLE);
      }
    }
    const auto none = Call(connection, kind.token, "/espalier.v1.Espalier/None").error_code();
    CHECK(none == (kind.may.empty() ? grpc::StatusCode::UNAUTHENTICATED
                                    : grpc::StatusCode::PERMISSION_DENIED));
    // A client that supports both versions of reflection then tries the older one.
    const auto newer =
        Call(connection, kind.token, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
            .error_code();
    CHECK(newer ==
          (kind.may.empty() ? grpc::StatusCode::UNAUTHENTICATED : grpc::StatusCode::UNIMPLEMENTED));
  }
}

TEST_CASE("every method of a coordinator requires its role") {
  Secured head;
  const auto kinds = AllKinds(head.mine, head.foreign);
  const Credentials reader{"", head.mine.Issue({security::Role::kReader, "walker"}), "", {}};
  const auto services = ServicesOf(Connect(head.server->address(), reader, ""));
  CHECK(services.contains("espalier.v1.Espalier"));
  CHECK(services.contains("espalier.v1.Coordinator"));
  CHECK(services.size() == 4);
  TryAll(head.server->address(), MethodsOf(services), kinds, "");
}

TEST_CASE("orders carry the name and role of their caller") {
  Secured head;
  const auto by_order = [&head](const security::TlsFiles& files, const std::string& token) {
    const auto client = head.Client(files, token);
    CHECK(client->Submit({.client_request_id = "a", .job_yaml = "b"}).ok());
    CHECK(client->Cancel({7}).ok());
    CHECK(client->Withdraw("a").ok());
    std::string seen;
    for (int i = 0; i < 3; ++i) {
      const auto by = head.handler.requesters.PopFor(std::chrono::seconds(20));
      REQUIRE(by.has_value());
      seen += by->name + (by->admin ? "! " : " ");
    }
    return seen;
  };
  const security::TlsFiles none{head.mine.ca(), "", ""};
  CHECK(by_order(head.mine.Issue({security::Role::kOperator, "ann"}), "") == "ann ann ann ");
  CHECK(by_order(head.mine.Issue({security::Role::kAdmin, "root"}), "") == "root! root! root! ");
  CHECK(by_order(none, kToken) == "carl carl carl ");
  CHECK(by_order(none, kAdminToken) == "dora! dora! dora! ");
}

TEST_CASE("on a plain server callers have no names and may do everything") {
  Handler handler;
  const auto server = CoordinatorServer::Make("127.0.0.1:0", &handler);
  REQUIRE(server.ok());
  const auto client = ApiClient::Make((*server)->address(), {});
  REQUIRE(client.ok());
  CHECK((*client)->Cancel({7}).ok());
  const auto by = handler.requesters.PopFor(std::chrono::seconds(20));
  REQUIRE(by.has_value());
  CHECK(by->name.empty());
  CHECK(by->admin);
  CHECK(Caller{.address = "ipv4:127.0.0.1:7"}.ToString() ==
        "unauthenticated caller at ipv4:127.0.0.1:7");
}

TEST_CASE("every method of a worker requires its role") {
  Certificates mine, foreign;
  const security::TlsFiles own = mine.Issue({security::Role::kWorker, "node-9"});
  PeerOptions options;
  options.security.keychain = options.dialling.keychain = MustOpen(own);
  options.security.workers_without_role = true;
  const auto network = PeerNetwork::Make("127.0.0.1:0", options);
  REQUIRE(network.ok());
  auto kinds = AllKinds(mine, foreign);
  std::erase_if(kinds, [](auto& k) { return k.token == kToken || k.token == kAdminToken; });
  const Credentials reader{"", mine.Issue({security::Role::kReader, "walker"}), "", {}};
  const auto services = ServicesOf(Connect((*network)->address(), reader, "node-9"));
  CHECK(services.contains("espalier.v1.Peer"));
  CHECK(services.contains("espalier.v1.StateTransfer"));
  TryAll((*network)->address(), MethodsOf(services), kinds, "node-9");
}

}  // namespace
}  // namespace espalier::rpc
