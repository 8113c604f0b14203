#include "src/yarn/staging.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "src/security/certificate.h"
#include "src/security/issue.h"
#include "src/security/roles.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::yarn {
namespace {

constexpr int64_t kNow = 1'800'000'000;

storage::HadoopConfig Config() {
  storage::HadoopConfig config;
  config.Set("fs.defaultFS", "hdfs://ns/", false);
  config.Set("dfs.namenode.http-address.ns.a", "n<1>:${port}", false);
  config.Set("port", "9870", false);
  config.Set("fs.s3a.secret.key", "hush", false);
  config.Set("dfs.datanode.keytab.file", "/k", false);
  config.Set("hadoop.security.credential.provider.path", "jceks://x", false);
  return config;
}

int ModeOf(const std::string& path) {
  struct stat s {};
  REQUIRE(stat(path.c_str(), &s) == 0);
  return s.st_mode & 0777;
}

TEST_CASE("a user's files lie in .espalier at home on HDFS") {
  const std::string hdfs = DefaultHdfs(Config()).value();
  CHECK(hdfs == "hdfs://ns");
  CHECK(YarnBase(hdfs, "/user/ann") == "hdfs://ns/user/ann/.espalier");
  CHECK_THAT(DefaultHdfs(storage::HadoopConfig()).status().message(),
             Catch::Contains("fs.defaultFS"));
}

TEST_CASE("containers are told of HDFS what clients need, and no secret") {
  const std::string site = ClientSite(Config()).value();
  CHECK_THAT(site, Catch::Contains("<name>fs.defaultFS</name><value>hdfs://ns/</value>"));
  CHECK_THAT(site, Catch::Contains("<value>n&lt;1>:9870</value>"));
  for (const char* word : {"hush", "keytab", "jceks"}) CHECK(site.find(word) == std::string::npos);
}

TEST_CASE("the tarball is sent once for each content") {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  REQUIRE(files->WriteAtomically(dir / "a.tar.gz", "first").ok());
  bool sent = false;
  const std::string first = SendPackage(*files, dir / "base", dir / "a.tar.gz", &sent).value();
  CHECK(sent);
  CHECK(SendPackage(*files, dir / "base", dir / "a.tar.gz", &sent).value() == first);
  CHECK_FALSE(sent);
  REQUIRE(files->WriteAtomically(dir / "a.tar.gz", "second").ok());
  CHECK(SendPackage(*files, dir / "base", dir / "a.tar.gz", &sent).value() != first);
  CHECK(sent);
  CHECK(files->ReadAll(first, 100).value() == "first");
  CHECK(SendPackage(*files, dir / "base", dir / "none", &sent).status().code() ==
        StatusCode::kNotFound);
}

TEST_CASE("a service has an authority of its own, and its keys are its user's alone") {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  const YarnPlaces places{.package = "p", .folder = dir / "yarn/mnist"};
  const std::string kept = dir / "kept/mnist";
  const auto prepare = [&] {
    const YarnHadoop hadoop = HadoopForNodes(*files, Config(), "").value();
    return PrepareFolder(*files, places, "mnist", hadoop, "ann@EXAMPLE/x y", kept, kNow);
  };
  REQUIRE(prepare().ok());
  CHECK(ModeOf(places.folder) == 0700);
  CHECK(ModeOf(kept) == 0700);
  CHECK(ModeOf(kept + "/tls.key") == 0600);
  const auto read = [&](const std::string& path) { return files->ReadAll(path, 1 << 20).value(); };
  const security::Trust trust = security::Trust::Parse(read(places.File("ca.crt")), "ca").value();
  const std::string coordinator = read(places.File("coordinator.crt"));
  CHECK(trust.Verify(coordinator, security::Purpose::kServer, kNow, "it").ok());
  CHECK(security::CheckHost(coordinator, "mnist").ok());
  CHECK_FALSE(security::CheckHost(coordinator, "other").ok());
  CHECK(security::IsOfWorker(security::ReadNames(read(places.File("worker.crt"))).value(),
                             "worker:7"));
  CHECK(security::CheckKeyFits(read(places.File("worker.crt")), read(places.File("worker.key")))
            .ok());
  const auto person =
      security::IdentityOf(security::ReadNames(read(kept + "/tls.crt")).value(), {});
  REQUIRE(person.ok());
  CHECK(person->names.at(security::Role::kAdmin) == "ann@EXAMPLE-x-y");
  CHECK(read(kept + "/coordinator") == places.address() + "\n");
  CHECK(read(places.File("core-site.xml")) == ClientSite(Config()).value());
  CHECK(files->Stat(places.File("hadoop-ca.pem")).status().code() == StatusCode::kNotFound);
  const std::string before = read(kept + "/ca.crt");
  REQUIRE(prepare().ok());
  CHECK(read(kept + "/ca.crt") != before);
}

TEST_CASE("the keytab lies among the service's secrets, and is gone with the next one without") {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  YarnHadoop hadoop = HadoopForNodes(*files, Config(), "").value();
  hadoop.keytab = "keys";
  YarnPlaces places{.package = "p", .folder = dir / "yarn/mnist", .keytab = true};
  REQUIRE(PrepareFolder(*files, places, "mnist", hadoop, "ann", dir / "kept", kNow).ok());
  CHECK(files->ReadAll(places.File("service.keytab"), 10).value() == "keys");
  CHECK((ModeOf(places.File("service.keytab")) & 077) == 0);
  CHECK(files->Stat(dir / "kept/service.keytab").status().code() == StatusCode::kNotFound);
  places.keytab = false;
  REQUIRE(PrepareFolder(*files, places, "mnist", hadoop, "ann", dir / "kept", kNow).ok());
  CHECK(files->Stat(places.File("service.keytab")).status().code() == StatusCode::kNotFound);
}

TEST_CASE("the authorities of HDFS over HTTPS are sent along, and a file without one is refused") {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  const std::string pem = security::MakeAuthority("Hadoop's own", kNow).value().certificate_pem;
  REQUIRE(files->WriteAtomically(dir / "ca.pem", pem).ok());
  const YarnHadoop hadoop = HadoopForNodes(*files, Config(), dir / "ca.pem").value();
  const YarnPlaces places{.package = "p", .folder = dir / "yarn/mnist", .hadoop_ca = true};
  REQUIRE(PrepareFolder(*files, places, "mnist", hadoop, "ann", dir / "kept", kNow).ok());
  CHECK(files->ReadAll(places.File("hadoop-ca.pem"), 1 << 20).value() == pem);

  REQUIRE(files->WriteAtomically(dir / "jks", "\xfe\xed\xfe\xed").ok());
  for (const char* name : {"jks", "none"}) {
    const Status refused = HadoopForNodes(*files, Config(), dir / name).status();
    CHECK(refused.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(refused.message(), Catch::StartsWith("ESPALIER_HADOOP_CA") &&
                                      Catch::Contains(dir / name) &&
                                      Catch::EndsWith("HDFS over HTTPS"));
  }
}

}  // namespace
}  // namespace espalier::yarn
