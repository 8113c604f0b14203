// CA files of estates: several levels of authorities, revocation lists of some, and damaged files.
#include <catch2/catch.hpp>

#include "src/security/certificate.h"
#include "src/security/issue.h"
#include "src/security/trust_replacement.h"
#include "tests/security/estate.h"

namespace espalier::security {
namespace {

using Catch::Contains;

constexpr int64_t kNow = 1'800'000'000, kDay = 86'400;

Status Judge(const std::string& ca_pem, const std::string& chain) {
  const auto trust = Trust::Parse(ca_pem, "ca.crt");
  REQUIRE(trust.status().ToString() == "OK");
  return trust->Verify(chain, Purpose::kClient, kNow, "the certificate");
}

void CheckRefused(const Status& status, const std::string& whom, const std::string& why) {
  CHECK(status.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(status.ToString(), Contains(whom) && Contains(why));
}

// The chain Root - Issuing - ann, and two certificates only for revocation lists.
struct Estate {
  EstateAuthority root{"Root", nullptr, kNow};
  EstateAuthority issuing{"Issuing", &root, kNow};
  std::string ann = issuing.IssueLeaf("ann", kNow), bob = issuing.IssueLeaf("bob", kNow);
  std::string old = EstateAuthority("Old", &root, kNow).pem();
};

TEST_CASE("revocation lists apply at each level where one exists") {
  const Estate e;
  const std::string chain = e.ann + e.issuing.pem();
  CHECK(Judge(e.root.pem(), chain).ok());
  // Only the issuing authority has a list. The root has not published one.
  CHECK(Judge(e.root.pem() + e.issuing.List({e.bob}, kNow), chain).ok());
  CheckRefused(Judge(e.root.pem() + e.issuing.List({e.ann}, kNow), chain), "'CN = ann'",
               "was revoked");
  // Only the root has a list.
  CHECK(Judge(e.root.pem() + e.root.List({e.old}, kNow), chain).ok());
  CheckRefused(Judge(e.root.pem() + e.root.List({e.issuing.pem()}, kNow), chain), "'CN = Issuing'",
               "was revoked");
  // Both have a list.
  const std::string both = e.root.List({e.old}, kNow) + e.issuing.List({e.bob}, kNow);
  CHECK(Judge(e.root.pem() + both, chain).ok());
  CheckRefused(Judge(e.root.pem() + both, e.bob + e.issuing.pem()), "'CN = bob'", "was revoked");
}

TEST_CASE("a root may revoke an authority that the file also holds") {
  const Estate e;
  const std::string file = e.issuing.pem() + e.root.pem();
  CHECK(Judge(file, e.ann).ok());
  CHECK(Judge(file + e.root.List({e.old}, kNow), e.ann).ok());
  CheckRefused(Judge(file + e.root.List({e.issuing.pem()}, kNow), e.ann), "'CN = Issuing'",
               "was revoked");
}

TEST_CASE("an authority without its root in the file is trusted") {
  const Estate e;
  CHECK(Judge(e.issuing.pem(), e.ann).ok());
  CHECK(Judge(e.issuing.pem() + e.issuing.List({e.bob}, kNow), e.ann).ok());
  CheckRefused(Judge(e.issuing.pem() + e.issuing.List({e.ann}, kNow), e.ann), "'CN = ann'",
               "was revoked");
  // The list of an authority that is not in the file cannot be verified, so it is an error.
  CheckRefused(Judge(e.issuing.pem() + e.root.List({e.issuing.pem()}, kNow), e.ann),
               "'CN = Issuing'", "the file needs the authority's own certificate");
}

TEST_CASE("an outdated list or one of a namesake refuses all") {
  const Estate e;
  const std::string chain = e.ann + e.issuing.pem();
  const Status late = Judge(e.root.pem() + e.root.List({e.old}, kNow - 2 * kDay), chain);
  CHECK(late.code() == StatusCode::kUnavailable);
  CHECK_THAT(late.message(), Contains("out of date"));
  const Status early = Judge(e.root.pem() + e.root.List({e.old}, kNow + kDay), chain);
  CHECK(early.code() == StatusCode::kUnavailable);
  CHECK_THAT(early.message(), Contains("clocks"));
  const EstateAuthority twin("Root", nullptr, kNow);
  CheckRefused(Judge(e.root.pem() + twin.List({e.old}, kNow), chain), "'CN = Issuing'",
               "does not fit that authority");
}

TEST_CASE("a truncated CA file is refused as a whole") {
  const Estate e;
  const std::string head = "# Our authorities\n" + e.root.pem() + "\nand their lists:\n";
  const std::string whole = head + e.root.List({e.old}, kNow) + e.issuing.List({e.ann}, kNow);
  REQUIRE(Trust::Parse(whole, "ca.crt").ok());
  const size_t second = whole.rfind("-----BEGIN");
  // In the last block each byte counts. A cut between blocks cannot be noticed.
  for (size_t end = second + 1; end + 2 < whole.size(); ++end) {
    const Status cut = Trust::Parse(whole.substr(0, end), "ca.crt").status();
    if (cut.code() != StatusCode::kPermissionDenied) FAIL("taken when cut off at " << end);
    CHECK_THAT(cut.message(), Contains("'ca.crt'") && Contains("cut off or damaged"));
  }
  CHECK(Trust::Parse(whole.substr(0, whole.size() - 1), "ca.crt").ok());  // no final newline
  // In the middle, followed by whole blocks.
  std::string damaged = whole;
  damaged[second - 100] = '!';
  CHECK_THAT(Trust::Parse(damaged, "ca.crt").status().message(),
             Contains("PEM block 2 of 3 cannot be read"));
  damaged = whole;
  damaged.insert(second, " ");  // no longer at the start of a line
  CHECK_FALSE(Trust::Parse(damaged, "ca.crt").ok());
}

TEST_CASE("a CA file holds only certificates and lists, up to a limit") {
  const auto ca = MakeAuthority("Test CA", kNow);
  REQUIRE(ca.ok());
  CHECK_THAT(Trust::Parse(ca->certificate_pem + ca->key_pem, "ca.crt").status().message(),
             Contains("found the PEM block 'PRIVATE KEY'"));
  CHECK_THAT(Trust::Parse("nothing", "ca.crt").status().message(), Contains("no certificate"));
  const std::string empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  CHECK_THAT(Trust::Parse(ca->certificate_pem + empty, "ca.crt").status().message(),
             Contains("PEM block 2 of 2"));
  // The last of forty authorities counts like the first one.
  std::string file;
  std::vector<std::string> leaves;
  std::string lists;
  for (int i = 0; i < 40; ++i) {
    const EstateAuthority one("Authority " + std::to_string(i), nullptr, kNow);
    leaves.push_back(one.IssueLeaf("leaf", kNow));
    file += one.pem();
    lists += one.List({leaves.back()}, kNow);
  }
  CHECK(Judge(file, leaves.back()).ok());
  CheckRefused(Judge(file + lists, leaves.front()), "'CN = leaf'", "was revoked");
  CheckRefused(Judge(file + lists, leaves.back()), "'CN = leaf'", "was revoked");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += empty;
  CHECK_THAT(Trust::Parse(many, "ca.crt").status().message(), Contains("found 5000 PEM blocks"));
}

TEST_CASE("a CA file does not replace one that refuses more") {
  const auto ca = MakeAuthority("Test CA", kNow), other = MakeAuthority("Test CA", kNow);
  REQUIRE(other.ok());
  const auto a = Issue(*ca, {Role::kWorker, "a", {}}, kNow);
  const auto b = Issue(*ca, {Role::kWorker, "b", {}}, kNow);
  const std::string bare = *TrustOf(*ca, "");
  const std::string one = ca->certificate_pem + *Revoke(*ca, "", a->certificate_pem, kNow);
  const std::string two = ca->certificate_pem + *Revoke(*ca, one, b->certificate_pem, kNow);
  CHECK(bare == ca->certificate_pem);
  CHECK(*TrustOf(*ca, one) == one);
  const auto check = [](const std::string& before, const std::string& after) {
    return CheckReplaces({before, "installed"}, {after, "new"});
  };
  for (const std::string& same : {bare, one, two}) CHECK(check(same, same).ok());
  CHECK(check(bare, one).ok());
  CHECK(check(one, two).ok());  // made in the same second
  for (const auto& [before, after] : {std::pair(one, bare), {two, bare}, {two, one}}) {
    const Status undone = check(before, after);
    CHECK(undone.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(undone.message(),
               Contains("'new' would admit certificates that 'installed' refuses") &&
                   Contains("CN = Test CA") && Contains("trust.pem"));
  }
  // Another authority with the same name, whose list is about other certificates.
  CHECK(check(two, other->certificate_pem).ok());
  CHECK(check(two + other->certificate_pem, other->certificate_pem).ok());
  CHECK_FALSE(check(two, ca->certificate_pem +
                             *Revoke(*other, "",
                                     Issue(*other, {Role::kWorker, "c", {}}, kNow)->certificate_pem,
                                     kNow + kDay))
                  .ok());
  CHECK(check("nothing", one).ok());
  CHECK(check(one.substr(0, one.size() - 40), two).code() == StatusCode::kPermissionDenied);
  CHECK(check(one, two.substr(0, two.size() - 40)).code() == StatusCode::kPermissionDenied);
}

TEST_CASE("an intermediate authority's list is kept, possibly shorter") {
  const Estate e;
  const std::string before = e.root.pem() + e.issuing.List({e.ann, e.bob}, kNow);
  CHECK_FALSE(CheckReplaces({before, "a"}, {e.root.pem(), "b"}).ok());
  const std::string pruned = e.root.pem() + e.issuing.List({e.bob}, kNow + kDay);
  CHECK(CheckReplaces({before, "a"}, {pruned, "b"}).ok());
  CHECK_FALSE(CheckReplaces({pruned, "a"}, {before, "b"}).ok());
}

TEST_CASE("a list is passed on only if whole and the authority's") {
  const auto ca = MakeAuthority("Test CA", kNow), other = MakeAuthority("Other CA", kNow);
  const auto a = Issue(*ca, {Role::kWorker, "a", {}}, kNow);
  const std::string list = *Revoke(*ca, "", a->certificate_pem, kNow);
  CHECK(TrustOf(*ca, list).ok());
  for (const std::string& wrong : {list.substr(0, list.size() - 30), std::string("nonsense")}) {
    CHECK_THAT(TrustOf(*ca, wrong).status().message(), Contains("revocation list so far"));
  }
  CHECK_FALSE(TrustOf(*other, list).ok());
}

}  // namespace
}  // namespace espalier::security
