#include "src/security/roles.h"

#include <catch2/catch.hpp>

namespace espalier::security {
namespace {

const CertificateNames kNode7{"node-7", {}, {"espalier://worker/node-7"}};
const CertificateNames kForeign{"node-8", {"node-8.workers.example.org"}, {"spiffe://x/node-8"}};

TEST_CASE("a certificate's URI gives its role") {
  const auto node = IdentityOf(kNode7, {});
  REQUIRE(node.ok());
  CHECK(node->ToString() == "worker 'node-7'");
  CHECK(node->May(Role::kWorker));
  CHECK_FALSE(node->May(Role::kReader));
  CHECK_FALSE(node->May(Role::kOperator));
  const auto both = IdentityOf({"x", {}, {"espalier://worker/a", "espalier://reader/b"}}, {});
  REQUIRE(both.ok());
  CHECK(both->ToString() == "reader 'b', worker 'a'");
}

TEST_CASE("an operator has the rights of a reader, not vice versa") {
  const auto ann = IdentityOf({"ann", {}, {"espalier://operator/ann"}}, {});
  const auto bob = IdentityOf({"bob", {}, {"espalier://reader/bob"}}, {});
  REQUIRE(ann.ok());
  REQUIRE(bob.ok());
  CHECK(ann->May(Role::kReader));
  CHECK(bob->May(Role::kReader));
  CHECK_FALSE(bob->May(Role::kOperator));
  CHECK_FALSE(ann->May(Role::kWorker));
}

TEST_CASE("an admin has the rights of an operator, not vice versa") {
  const auto root = IdentityOf({"root", {}, {"espalier://admin/root"}}, {});
  const auto ann = IdentityOf({"ann", {}, {"espalier://operator/ann"}}, {});
  REQUIRE(root.ok());
  REQUIRE(ann.ok());
  CHECK(root->ToString() == "admin 'root'");
  CHECK(root->May(Role::kAdmin));
  CHECK(root->May(Role::kOperator));
  CHECK(root->May(Role::kReader));
  CHECK_FALSE(root->May(Role::kWorker));
  CHECK_FALSE(root->May(Role::kCoordinator));
  CHECK_FALSE(ann->May(Role::kAdmin));
}

TEST_CASE("URIs that resemble ours give no role, even by rule") {
  for (const char* uri :
       {"espalier://boss/ann", "espalier://operator/", "espalier://operator",
        "espalier://operator/a/b", "ESPALIER://operator/ann", "xespalier://operator/ann"}) {
    const bool ours = std::string(uri).starts_with("espalier://");
    const auto identity = IdentityOf({"ann", {}, {uri}}, {{"ann", Role::kReader}});
    CHECK(identity.ok() == !ours);
    CHECK_FALSE(IdentityOf({"ann", {}, {uri}}, {}).ok());
  }
}

TEST_CASE("rules give roles to names of another authority") {
  CHECK(IdentityOf(kForeign, {}).status().code() == StatusCode::kPermissionDenied);
  const auto by_domain = IdentityOf(kForeign, {{"*.workers.example.org", Role::kWorker}});
  REQUIRE(by_domain.ok());
  CHECK(by_domain->names.at(Role::kWorker) == "node-8.workers.example.org");
  CHECK(IdentityOf(kForeign, {{"spiffe://x/node-8", Role::kReader}}).ok());
  CHECK(IdentityOf(kForeign, {{"node-8", Role::kWorker}}).ok());
  for (const char* name : {"*.example.com", "node", "*.node-8.workers.example.org", "orkers"}) {
    CHECK_FALSE(IdentityOf(kForeign, {{name, Role::kWorker}}).ok());
  }
  CHECK(IdentityOf(kForeign, {{"node-8", Role::kAdmin}})->May(Role::kAdmin));
  const std::string domain = ".workers.example.org";
  for (const size_t bytes : {512, 513}) {
    const std::string name = std::string(bytes - domain.size(), 'n') + domain;
    const auto identity = IdentityOf({"", {name}, {}}, {{"*" + domain, Role::kOperator}});
    CHECK(identity.ok() == (bytes == 512));
  }
  // A URI with a role takes precedence over rules.
  CHECK_FALSE(IdentityOf(kNode7, {{"node-7", Role::kOperator}})->May(Role::kOperator));
}

TEST_CASE("a worker's name is that of its certificate plus a suffix") {
  CHECK(MayCallItself("node-7", "node-7"));
  CHECK(MayCallItself("node-7", "node-7:1234"));
  CHECK_FALSE(MayCallItself("node-7", "node-77"));
  CHECK_FALSE(MayCallItself("node-7", "node"));
  CHECK_FALSE(MayCallItself("", ":1234"));
  CHECK(IsOfWorker(kNode7, "node-7:1"));
  CHECK_FALSE(IsOfWorker(kNode7, "node-8"));
  CHECK_FALSE(IsOfWorker({"node-7", {}, {"espalier://operator/node-7"}}, "node-7"));
  CHECK(IsOfWorker(kForeign, "node-8.workers.example.org:5"));
  CHECK_FALSE(IsOfWorker(kForeign, "node-9"));
}

TEST_CASE("a worker's certificate is not valid for a coordinator") {
  CHECK_FALSE(MayBeCoordinator(kNode7));
  CHECK(MayBeCoordinator(kForeign));
  CHECK(MayBeCoordinator({"", {}, {"espalier://coordinator/head"}}));
}

}  // namespace
}  // namespace espalier::security
