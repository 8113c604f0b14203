#include "src/security/certificate.h"

#include <catch2/catch.hpp>

#include "src/security/issue.h"
#include "src/security/openssl_types.h"

namespace espalier::security {
namespace {

using Catch::Contains;

constexpr int64_t kNow = 1'800'000'000, kDay = 86'400;

KeyAndCertificate MustMake(const std::string& name = "Test CA", int64_t now_s = kNow) {
  auto authority = MakeAuthority(name, now_s);
  REQUIRE(authority.ok());
  return *authority;
}

KeyAndCertificate MustIssue(const KeyAndCertificate& authority, const CertificateRequest& request,
                            int64_t now_s = kNow) {
  auto issued = Issue(authority, request, now_s);
  REQUIRE(issued.status().ToString() == "OK");
  return *issued;
}

Trust MustTrust(const KeyAndCertificate& authority) {
  auto trust = Trust::Parse(authority.certificate_pem, "ca.crt");
  REQUIRE(trust.ok());
  return *trust;
}

const CertificateRequest kHead{Role::kCoordinator, "head", {"head.example.org", "10.0.0.5", "::1"}};

TEST_CASE("a certificate has the requested names and is verified") {
  const KeyAndCertificate ca = MustMake();
  const KeyAndCertificate head = MustIssue(ca, kHead);
  CHECK(CheckKeyFits(head.certificate_pem, head.key_pem).ok());
  CHECK_FALSE(CheckKeyFits(head.certificate_pem, ca.key_pem).ok());
  const auto names = ReadNames(head.certificate_pem);
  REQUIRE(names.ok());
  CHECK(names->common_name == "head");
  CHECK(names->dns_names == std::vector<std::string>{"head.example.org"});
  CHECK(names->uris == std::vector<std::string>{"espalier://coordinator/head"});
  for (Purpose purpose : {Purpose::kServer, Purpose::kClient}) {
    CHECK(MustTrust(ca).Verify(head.certificate_pem, purpose, kNow, "it").ok());
  }
}

TEST_CASE("a host is matched by DNS name or address only") {
  const KeyAndCertificate head = MustIssue(MustMake(), kHead);
  for (const char* host : {"head.example.org", "10.0.0.5", "::1"}) {
    CHECK(CheckHost(head.certificate_pem, host).ok());
  }
  for (const char* host : {"head", "10.0.0.6", "example.org", "x.head.example.org", ""}) {
    const Status other = CheckHost(head.certificate_pem, host);
    CHECK(other.code() == StatusCode::kPermissionDenied);
    CHECK_THAT(other.message(), Contains("--host"));
  }
}

TEST_CASE("a certificate error names the exact defect") {
  const KeyAndCertificate ca = MustMake();
  const Trust trust = MustTrust(ca);
  const KeyAndCertificate ann = MustIssue(ca, {Role::kOperator, "ann", {}, 10});
  const auto why = [&](const std::string& pem, Purpose purpose, int64_t now_s) {
    const Status status = trust.Verify(pem, purpose, now_s, "the caller's certificate");
    // Errors of dates may pass, so they are unavailable.
    CHECK(status.code() ==
          (now_s == kNow ? StatusCode::kPermissionDenied : StatusCode::kUnavailable));
    return status.ok() ? "" : status.message();
  };
  CHECK(trust.Verify(ann.certificate_pem, Purpose::kClient, kNow + 9 * kDay, "").ok());
  const std::string late = why(ann.certificate_pem, Purpose::kClient, kNow + 11 * kDay);
  CHECK_THAT(late, Contains("the caller's certificate 'CN = ann' of authority 'CN = Test CA'"));
  CHECK_THAT(late, Contains("expired on Jan 25 08:00:00 2027 GMT") && Catch::EndsWith(" clock"));
  CHECK_THAT(why(ann.certificate_pem, Purpose::kClient, kNow - kDay),
             Contains("is not valid before") && Contains("clocks"));
  CHECK_THAT(why(ann.certificate_pem, Purpose::kServer, kNow),
             Contains("not meant for TLS servers"));
  const KeyAndCertificate foreign = MustIssue(MustMake("Other CA"), {Role::kOperator, "ann"});
  CHECK_THAT(
      why(foreign.certificate_pem, Purpose::kClient, kNow),
      Contains("'CN = Other CA'") && Contains("is not in the CA file") && Contains("'ca.crt'"));
  // An authority with the same name is another authority.
  const KeyAndCertificate twin = MustIssue(MustMake(), {Role::kOperator, "ann"});
  CHECK_THAT(why(twin.certificate_pem, Purpose::kClient, kNow), Contains("is not in the CA file"));
  CHECK_THAT(why("", Purpose::kClient, kNow), Contains("is missing"));
  CHECK_THAT(
      why("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", Purpose::kClient, kNow),
      Contains("is missing"));
}

TEST_CASE("a certificate cannot issue certificates") {
  const KeyAndCertificate ca = MustMake();
  const KeyAndCertificate ann = MustIssue(ca, {Role::kOperator, "ann"});
  const KeyAndCertificate forged = MustIssue(ann, {Role::kOperator, "eve", {}, 100});
  CHECK_FALSE(MustTrust(ca)
                  .Verify(forged.certificate_pem + ann.certificate_pem, Purpose::kClient, kNow, "")
                  .ok());
}

TEST_CASE("invalid certificate requests are refused with a reason") {
  const KeyAndCertificate ca = MustMake();
  const auto why = [&](const CertificateRequest& request) {
    const Status status = Issue(ca, request, kNow).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return status.ok() ? "" : status.message();
  };
  CHECK_THAT(why({Role::kWorker, "a/b"}), Contains("a/b"));
  CHECK_THAT(why({Role::kWorker, ""}), Contains("letters"));
  CHECK_THAT(why({Role::kCoordinator, "head"}), Contains("host names"));
  CHECK_THAT(why({Role::kWorker, "node", {"node:7701"}}), Contains("node:7701"));
  CHECK_THAT(why({Role::kWorker, "node", {"a,URI:espalier://operator/x"}}), Contains("host name"));
  CHECK_THAT(why({Role::kWorker, "node", {}, 826}), Contains("826"));
  CHECK_FALSE(MakeAuthority("", kNow).ok());
  const Status late = Issue(ca, {Role::kWorker, "node"}, kNow + 3600 * kDay).status();
  CHECK_THAT(late.message(), Contains("expires before"));
  CHECK_FALSE(Issue({ca.key_pem, "nothing"}, {Role::kWorker, "node"}, kNow).ok());
  CHECK_FALSE(Issue({"nothing", ca.certificate_pem}, {Role::kWorker, "node"}, kNow).ok());
}

TEST_CASE("no two certificates have the same serial number or key") {
  const KeyAndCertificate ca = MustMake();
  std::vector<CertificatePtr> certificates = ReadCertificates(ca.certificate_pem);
  for (int i = 0; i < 3; ++i) {
    const KeyAndCertificate node = MustIssue(ca, {Role::kWorker, "node"});
    certificates.push_back(std::move(ReadCertificates(node.certificate_pem).at(0)));
  }
  REQUIRE(certificates.size() == 4);
  for (size_t i = 0; i < certificates.size(); ++i) {
    const X509* one = certificates[i].get();
    const ASN1_INTEGER* serial = X509_get0_serialNumber(one);
    CHECK(ASN1_STRING_length(serial) >= 8);   // too long to repeat by chance
    CHECK(ASN1_STRING_length(serial) <= 20);  // RFC 5280, section 4.1.2.2
    for (size_t j = 0; j < i; ++j) {
      INFO("certificates " << j << " and " << i);
      const X509* other = certificates[j].get();
      CHECK(ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(other)) != 0);
      CHECK(EVP_PKEY_eq(X509_get0_pubkey(one), X509_get0_pubkey(other)) == 0);
    }
  }
}

TEST_CASE("only a revoked certificate on the CA file's list is refused") {
  const KeyAndCertificate ca = MustMake(), other = MustMake("Other CA");
  const KeyAndCertificate a = MustIssue(ca, {Role::kWorker, "a", {}});
  const KeyAndCertificate b = MustIssue(ca, {Role::kWorker, "b", {}});
  const KeyAndCertificate c = MustIssue(other, {Role::kWorker, "c", {}});
  const auto first = Revoke(ca, "", a.certificate_pem, kNow);
  REQUIRE(first.status().ToString() == "OK");
  const auto verify = [&](const std::string& list, const KeyAndCertificate& whose, int64_t now_s) {
    const auto trust = Trust::Parse(ca.certificate_pem + list + other.certificate_pem, "trust.pem");
    REQUIRE(trust.ok());
    return trust->Verify(whose.certificate_pem, Purpose::kClient, now_s, "the certificate");
  };
  CHECK(verify("", a, kNow).ok());
  const Status refused = verify(*first, a, kNow);
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(refused.message(),
             Contains("'CN = a'") && Contains("was revoked") && Contains("trust.pem"));
  CHECK(verify(*first, b, kNow).ok());
  CHECK(verify(*first, c, kNow).ok());  // from an authority without a list
  // The list grows. The whole CA file may be given instead of the list.
  const auto second = Revoke(ca, ca.certificate_pem + *first, b.certificate_pem, kNow + kDay);
  REQUIRE(second.status().ToString() == "OK");
  CHECK_FALSE(verify(*second, a, kNow + kDay).ok());
  CHECK_FALSE(verify(*second, b, kNow + kDay).ok());
  CHECK(Revoke(ca, *second, b.certificate_pem, kNow).status().code() == StatusCode::kAlreadyExists);
}

TEST_CASE("a revoked certificate and the list must be the authority's") {
  const KeyAndCertificate ca = MustMake(), other = MustMake("Other CA");
  const KeyAndCertificate a = MustIssue(ca, {Role::kWorker, "a", {}});
  const KeyAndCertificate c = MustIssue(other, {Role::kWorker, "c", {}});
  CHECK_THAT(Revoke(ca, "", c.certificate_pem, kNow).status().message(),
             Contains("no certificate of the authority"));
  CHECK_THAT(Revoke(ca, "", "nonsense", kNow).status().message(), Contains("to revoke"));
  CHECK_THAT(Revoke(ca, "", ca.certificate_pem, kNow).status().message(),
             Contains("is the authority itself"));
  const auto list = Revoke(other, "", c.certificate_pem, kNow);
  REQUIRE(list.ok());
  for (const std::string& text : {*list, std::string("nonsense")}) {
    CHECK_THAT(Revoke(ca, text, a.certificate_pem, kNow).status().message(),
               Contains("revocation list so far"));
  }
}

}  // namespace
}  // namespace espalier::security
