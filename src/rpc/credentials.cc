#include "src/rpc/credentials.h"

#include <grpc/support/time.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <functional>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/security/issue.h"

namespace espalier::rpc {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kReadAgainS = 1;

Status Judge(const security::TlsMaterial& own, std::string_view chain, const Expected& expected) {
  const bool worker = !expected.worker.empty();
  const std::string whose = worker ? "the certificate of worker " + Printable(expected.worker)
                                   : "the coordinator's certificate";
  ESPALIER_RETURN_IF_ERROR(own.trust.Verify(chain, security::Purpose::kServer,
                                            gpr_now(GPR_CLOCK_REALTIME).tv_sec, whose));
  ESPALIER_ASSIGN_OR_RETURN(const security::CertificateNames names, security::ReadNames(chain));
  if (!worker) {
    ESPALIER_RETURN_IF_ERROR(security::CheckHost(chain, expected.host));
    if (security::MayBeCoordinator(names)) return Status::Ok();
    return PermissionDenied("the server there shows the certificate of '" +
                            Printable(names.common_name) +
                            "', which is not a coordinator's; is it the address of a worker?");
  }
  if (security::IsOfWorker(names, expected.worker)) return Status::Ok();
  return PermissionDenied("expected worker " + Printable(expected.worker) +
                          " there, found the certificate of '" + Printable(names.common_name) +
                          "', which does not belong to it");
}

// Checks a server's certificate and stores the result.
class ServerJudge final : public tls::ExternalCertificateVerifier {
 public:
  ServerJudge(std::shared_ptr<const security::TlsMaterial> own, Expected expected,
              std::shared_ptr<Verdict> verdict)
      : own_(std::move(own)), expected_(std::move(expected)), verdict_(std::move(verdict)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    const auto text = [](grpc::string_ref s) { return std::string(s.data(), s.size()); };
    const Status why =
        Judge(*own_, text(request->peer_cert()) + text(request->peer_cert_full_chain()), expected_);
    verdict_->Set(why);
    *sync_status = why.ok() ? grpc::Status::OK
                            : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, why.message());
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::shared_ptr<const security::TlsMaterial> own_;
  const Expected expected_;
  const std::shared_ptr<Verdict> verdict_;
};

// Rejects every server.
class Probe final : public tls::ExternalCertificateVerifier {
 public:
  explicit Probe(std::shared_ptr<Verdict> verdict) : verdict_(std::move(verdict)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest*, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    verdict_->Set(PermissionDenied("only asking"));
    *sync_status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "only asking");
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::shared_ptr<Verdict> verdict_;
};

// Returns unused root certificates. A channel requires roots even if it does not verify with them.
// Otherwise it looks for the system's roots, which may not exist; see issue 27896 of grpc/grpc.
const std::string& UnusedRoots() {
  constexpr int64_t kAnyTimeS = 86'400;
  static const std::string roots = [] {
    const Result<security::KeyAndCertificate> nobody = security::MakeAuthority("nobody", kAnyTimeS);
    return nobody.ok() ? nobody->certificate_pem : std::string();
  }();
  return roots;
}

// `own` is the key and certificate to present, or empty.
std::shared_ptr<grpc::ChannelCredentials> Judged(
    const std::vector<tls::IdentityKeyCertPair>& own,
    std::shared_ptr<tls::CertificateVerifier> verifier) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(UnusedRoots(), own));
  options.watch_root_certs();
  if (!own.empty()) options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);  // the verifier checks it
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::move(verifier));
  return tls::TlsCredentials(options);
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const security::Keychain* keychain) {
  if (keychain == nullptr) return grpc::InsecureServerCredentials();
  // These are not the configured files. gRPC would present replaced files before they are checked.
  // If a key did not match its certificate, gRPC would present nothing at all.
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      keychain->shown_key(), keychain->shown_certificate(), kReadAgainS));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const ClientSecurity& security,
                                                                 const Expected& expected,
                                                                 std::shared_ptr<Verdict> verdict) {
  if (security.keychain == nullptr) return grpc::InsecureChannelCredentials();
  const std::shared_ptr<const security::TlsMaterial> own = security.keychain->Current();
  std::vector<tls::IdentityKeyCertPair> shown;
  if (!own->certificate_pem.empty()) shown.push_back({own->key_pem, own->certificate_pem});
  return Judged(shown, tls::ExternalCertificateVerifier::Create<ServerJudge>(own, expected,
                                                                             std::move(verdict)));
}

std::shared_ptr<grpc::ChannelCredentials> MakeProbeCredentials(std::shared_ptr<Verdict> verdict) {
  return Judged({}, tls::ExternalCertificateVerifier::Create<Probe>(std::move(verdict)));
}

}  // namespace espalier::rpc
