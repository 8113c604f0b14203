#include "src/storage/hadoop_config.h"

#include <netdb.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "src/storage/file_systems.h"
#include "src/storage/name_nodes.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::storage {
namespace {

std::string Property(const std::string& name, const std::string& value,
                     const std::string& more = "") {
  return "<property><name>" + name + "</name><value>" + value + "</value>" + more + "</property>\n";
}

std::string Site(const std::string& inner) {
  return "<?xml version=\"1.0\"?>\n<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n" +
         inner + "</configuration>\n";
}

HadoopConfig Config(const std::string& inner) {
  TemporaryDirectory dir;
  dir.Put("hdfs-site.xml", Site(inner));
  auto config = HadoopConfig::Read(dir.path(), "ada");
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  return *std::move(config);
}

TEST_CASE("values are read as Hadoop reads them") {
  TemporaryDirectory dir;
  dir.Put("core-site.xml",
          Site(Property("a", " 1 ") + Property("kept", "core", "<final>true</final>") +
               Property("later", "core") + Property("cdata", "<![CDATA[x<&y]]>") +
               "<property name=\"short\" value=\"attributes\"/>" +
               "<property><value>v</value><name>turned</name><description>d</description>"
               "</property>" +
               "<property><name>nothing</name></property><property><name>empty</name><value/>"
               "</property><xi:include href=\"more.xml\"/>"));
  dir.Put("hdfs-site.xml", Site(Property("kept", "hdfs") + Property("later", "hdfs")));
  dir.Put("more.xml", Site(Property("included", "yes")));
  const auto config = HadoopConfig::Read(dir.path(), "ada");
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  const auto get = [&](const std::string& name) { return config->Get(name).value(); };
  CHECK(get("a") == "1");
  CHECK(get("kept") == "core");
  CHECK(get("later") == "hdfs");
  CHECK(get("cdata") == "x<&y");
  CHECK(get("short") == "attributes");
  CHECK(get("turned") == "v");
  CHECK(get("nothing").empty());
  CHECK(get("empty").empty());
  CHECK(get("included") == "yes");
  CHECK(get("user.name") == "ada");
  CHECK(get("never set").empty());
}

TEST_CASE("variables are replaced and cycles are reported") {
  const HadoopConfig config =
      Config(Property("host", "nn.${domain}") + Property("domain", "example") +
             Property("address", "${host}:${port}/${user.name}") + Property("x", "${y}") +
             Property("y", "a${x}") + Property("list", " a , b,, ${domain} "));
  CHECK(config.Get("address").value() == "nn.example:${port}/ada");
  CHECK(config.GetList("list").value() == std::vector<std::string>{"a", "b", "example"});
  const Status circle = config.Get("x").status();
  CHECK(circle.code() == StatusCode::kInvalidArgument);
  CHECK(circle.message().find("takes more than 20 replacements of ${...}") != std::string::npos);
}

TEST_CASE("a malformed configuration is refused with file and line") {
  struct Case {
    std::string text, words;
  };
  const std::vector<Case> cases = {
      {"", "no element found"},
      {"<configuration>\n<property>", "line 2: it is not well-formed XML"},
      {"<html/>", "the outermost element is <html>"},
      {"<!DOCTYPE c [<!ENTITY a \"b\">]><configuration/>", "a DOCTYPE is not allowed"},
      {Site("<property><value>1</value></property>"), "a property has no name"},
      {Site("<xi:include href=\"../secret.xml\"/>"), "it includes '../secret.xml'; only files of"},
      {Site("<xi:include href=\"http://h/x.xml\"/>"), "only files of the same directory"},
      {Site("<xi:include href=\"none.xml\"/>"), "it includes 'none.xml'"},
      {Site("<xi:include href=\"core-site.xml\"/>"), "too deep or in a circle"},
      {std::string(100, '<'), "not well-formed"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    TemporaryDirectory dir;
    dir.Put("core-site.xml", c.text);
    const Status status = HadoopConfig::Read(dir.path(), "").status();
    INFO(status.ToString());
    CHECK_FALSE(status.ok());
    CHECK(status.ToString().find(c.words) != std::string::npos);
    CHECK(status.ToString().find("core-site.xml' line ") != std::string::npos);
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  TemporaryDirectory dir;
  dir.Put("core-site.xml", "<configuration>" + deep);
  CHECK(HadoopConfig::Read(dir.path(), "").status().message().find("nested too deep") !=
        std::string::npos);
}

// Returns "host:port host:port" of the NameNodes, or the error.
std::string NameNodesOf(const std::string& uri, const HadoopConfig& config) {
  const auto found = FindNameNodes(ParseUri(uri).value(), config);
  if (!found.ok()) return found.status().message();
  std::string all;
  for (const NameNode& node : *found) all += (all.empty() ? "" : " ") + ToString(node.http);
  return all;
}

TEST_CASE("NameNode addresses come from configuration, URI or default") {
  const HadoopConfig none;
  CHECK(NameNodesOf("hdfs://h/p", none) == "h:9870");
  CHECK(NameNodesOf("hdfs://h:8020/p", none) == "h:9870");
  CHECK(NameNodesOf("webhdfs://h:1234/p", none) == "h:1234");
  CHECK(NameNodesOf("webhdfs://h/p", none) == "h:9870");
  const HadoopConfig one = Config(Property("fs.defaultFS", "hdfs://h:9000") +
                                  Property("dfs.namenode.http-address", "0.0.0.0:50070"));
  CHECK(NameNodesOf("hdfs:///p", one) == "h:50070");
  CHECK(NameNodesOf("hdfs://h:9000/p", one) == "h:50070");
  CHECK(NameNodesOf("hdfs://other:9000/p", one) == "other:9870");
  const std::string services = Property("dfs.nameservices", "ns, single") +
                               Property("dfs.ha.namenodes.ns", "nn1,nn2") +
                               Property("dfs.client.failover.proxy.provider.ns", "org.x.Provider") +
                               Property("dfs.namenode.rpc-address.ns.nn1", "a:8020") +
                               Property("dfs.namenode.rpc-address.ns.nn2", "b:8020") +
                               Property("dfs.namenode.http-address.ns.nn1", "a:50070") +
                               Property("dfs.namenode.http-address.single", "c:50070") +
                               Property("fs.defaultFS", "hdfs://ns");
  const HadoopConfig ha = Config(services);
  CHECK(NameNodesOf("hdfs://ns/p", ha) == "a:50070 b:9870");
  CHECK(NameNodesOf("hdfs:///p", ha) == "a:50070 b:9870");
  CHECK(NameNodesOf("webhdfs://ns/p", ha) == "a:50070 b:9870");
  CHECK(NameNodesOf("hdfs://single/p", ha) == "c:50070");
  CHECK(NameNodesOf("hdfs://a:8020/p", ha) == "a:50070");
  CHECK(NameNodesOf("hdfs://a/p", ha) == "a:50070");
}

std::string FileSystemOf(const std::string& uri, const HadoopConfig& config) {
  const auto name = FileSystemName(ParseUri(uri).value(), config);
  return name.ok() ? *name : name.status().message();
}

TEST_CASE("an HDFS has one name under all of its addresses") {
  const HadoopConfig none;
  for (const char* uri : {"hdfs://h/p", "hdfs://H:8020/p", "webhdfs://h/p", "webhdfs://h.:9870/p",
                          "swebhdfs://h/p", "swebhdfs://h:9871/p"}) {
    INFO(uri);
    CHECK(FileSystemOf(uri, none) == "webhdfs://h:9870");
  }
  CHECK(FileSystemOf("webhdfs://h:1/p", none) == "webhdfs://h:1");
  CHECK(FileSystemOf("hdfs://[::1]/p", none) == "webhdfs://[::1]:9870");
  const HadoopConfig one = Config(Property("fs.defaultFS", "hdfs://h:9000") +
                                  Property("dfs.namenode.http-address", "0.0.0.0:50070") +
                                  Property("dfs.namenode.https-address", "h:50470"));
  for (const char* uri : {"hdfs:///p", "hdfs:/p", "hdfs://h:9000/p", "hdfs://H:9000/p",
                          "webhdfs://h:50070/p", "swebhdfs://h:50470/p"}) {
    INFO(uri);
    CHECK(FileSystemOf(uri, one) == "webhdfs://h:50070");
  }
  CHECK(FileSystemOf("hdfs://other:9000/p", one) == "webhdfs://other:9870");
  const HadoopConfig ha = Config(Property("dfs.nameservices", "ns, other") +
                                 Property("dfs.ha.namenodes.ns", "nn1,nn2") +
                                 Property("dfs.namenode.rpc-address.ns.nn1", "a:8020") +
                                 Property("dfs.namenode.rpc-address.ns.nn2", "b:8020") +
                                 Property("dfs.namenode.http-address.ns.nn1", "a:50070") +
                                 Property("dfs.namenode.https-address.ns.nn1", "a:50470") +
                                 Property("dfs.namenode.rpc-address.other", "a:9020") +
                                 Property("dfs.namenode.http-address.other", "a:60070") +
                                 Property("fs.defaultFS", "hdfs://ns"));
  for (const char* uri :
       {"hdfs:///p", "hdfs://ns/p", "webhdfs://ns/p", "hdfs://a/p", "hdfs://A/p", "hdfs://b:8020/p",
        "webhdfs://a:50070/p", "webhdfs://b/p", "swebhdfs://a:50470/p", "swebhdfs://b:9871/p"}) {
    INFO(uri);
    CHECK(FileSystemOf(uri, ha) == "hdfs://ns");
  }
  for (const char* uri : {"hdfs://other/p", "hdfs://a:9020/p", "webhdfs://a:60070/p"}) {
    INFO(uri);
    CHECK(FileSystemOf(uri, ha) == "hdfs://other");
  }
  CHECK(FileSystemOf("hdfs://c/p", ha) == "webhdfs://c:9870");
}

TEST_CASE("a place on an HDFS has one name") {
  TemporaryDirectory dir;
  dir.Put("hdfs-site.xml", Site(Property("fs.defaultFS", "hdfs://h:9000") +
                                Property("dfs.namenode.http-address", "h:50070")));
  StorageOptions options;
  options.hadoop_conf_dir = dir.path();
  const auto place = [&options](const std::string& path) { return PlaceName(path, options); };
  for (const char* path : {"hdfs:///a/b", "hdfs:/a//b/", "hdfs://h:9000//a/b", "hdfs://H:9000/a/b/",
                           "webhdfs://h:50070/a/b//"}) {
    INFO(path);
    CHECK(place(path).value() == "webhdfs://h:50070/a/b");
  }
  CHECK(place("hdfs:///a/B").value() != place("hdfs:///a/b").value());
  CHECK(place("hdfs:///").value() == "webhdfs://h:50070/");
  CHECK(place(dir / "x/../y/").value() == CanonicalPath(dir / "y"));
  const auto refused = [&place](const std::string& path, const std::string& advice) {
    INFO(path);
    CHECK(place(path).status().code() == StatusCode::kInvalidArgument);
    CHECK_THAT(place(path).status().message(), Catch::Contains(advice));
  };
  refused("hdfs:///a/../b", "write the path without it");
  refused("webhdfs://h:50070/a/./b", "write the path without it");
  refused("hdfs:///.reserved/.inodes/16390/b", "Give the usual path");
  refused("hdfs:///a/.snapshot/s/b", "Give the usual path");
}

TEST_CASE("a missing NameNode is reported with the key and the file") {
  CHECK(NameNodesOf("hdfs:///p", Config(Property("fs.defaultFS", "file:///")))
            .find("fs.defaultFS in the Hadoop configuration in '") != std::string::npos);
  CHECK(NameNodesOf("hdfs:///p", Config(Property("fs.defaultFS", "s3a://b"))).find("'s3a://b'") !=
        std::string::npos);
  CHECK(NameNodesOf("hdfs://ns/p", Config(Property("dfs.ha.namenodes.ns", "n1")))
            .starts_with("neither dfs.namenode.http-address.ns.n1 nor "
                         "dfs.namenode.rpc-address.ns.n1 is set in the Hadoop configuration in"));
  CHECK(NameNodesOf("hdfs://ns/p", Config(Property("dfs.nameservices", "ns") +
                                          Property("dfs.namenode.http-address.ns", "a:b")))
            .find("between 1 and 65535") != std::string::npos);
  CHECK(NameNodesOf("webhdfs://h/p", Config(Property("dfs.http.policy", "HTTPS_ONLY")))
            .find("is HTTPS_ONLY; write swebhdfs://HOST:PORT/PATH") != std::string::npos);
}

TEST_CASE("HTTPS is used if the URI or the policy requires it") {
  const std::string https = Property("dfs.namenode.https-address", "h:9999") +
                            Property("dfs.namenode.rpc-address", "h:8020");
  CHECK(NameNodesOf("swebhdfs://h/p", Config(https)).starts_with("h:9871"));
  CHECK(NameNodesOf("swebhdfs://h:1/p", Config(https)).starts_with("h:1"));
  const HadoopConfig only = Config(https + Property("dfs.http.policy", "HTTPS_ONLY"));
  CHECK(NameNodesOf("hdfs://h/p", only).starts_with("h:9999"));
  CHECK(FindNameNodes(ParseUri("hdfs://h/p").value(), only).value()[0].secure);
  CHECK_FALSE(FindNameNodes(ParseUri("hdfs://h/p").value(), Config(https)).value()[0].secure);
}

TEST_CASE("tokens are found by name service, name and address") {
  const HadoopConfig config = Config(Property("dfs.namenode.http-address", "127.0.0.1:9870") +
                                     Property("dfs.namenode.rpc-address", "127.0.0.1:8020"));
  const auto services = [&](const std::string& text) {
    const Uri uri = ParseUri(text).value();
    const auto found = TokenServices(uri, config, FindNameNodes(uri, config).value());
    return std::set<std::string>(found.begin(), found.end());
  };
  CHECK(services("hdfs://127.0.0.1:8020/p").contains("127.0.0.1:8020"));
  CHECK(services("webhdfs://127.0.0.1:9870/p").contains("127.0.0.1:8020"));
  CHECK_FALSE(services("webhdfs://127.0.0.1:9871/p").contains("127.0.0.1:8020"));
  CHECK(services("hdfs://ns/p").contains("ha-hdfs:ns"));
}

// Without this rule, a job could name a host whose DNS server returns the address of a NameNode
// once, to get the NameNode's token, and then another address.
TEST_CASE("DNS chooses tokens only for hosts in the configuration") {
  std::string own(256, 0);  // a name with an address, other than localhost
  REQUIRE(gethostname(own.data(), own.size()) == 0);
  own.resize(own.find('\0'));
  const auto services = [](const std::string& text, const HadoopConfig& config) {
    const Uri uri = ParseUri(text).value();
    return TokenServices(uri, config, FindNameNodes(uri, config).value());
  };
  const std::string at_rpc = "hdfs://" + own + ":8020/p", at_http = "webhdfs://" + own + ":9870/p";
  const HadoopConfig none, known = Config(Property("fs.defaultFS", "hdfs://" + own + ":8020"));
  using Strings = std::vector<std::string>;
  CHECK(services(at_rpc, none) == Strings{own + ":8020", own + ":9870"});
  CHECK(services(at_http, none) == Strings{own + ":9870"});
  CHECK(services("hdfs://127.0.0.1:8020/p", none).size() == 4);  // two names, two addresses
  addrinfo* found = nullptr;
  if (getaddrinfo(own.c_str(), nullptr, nullptr, &found) != 0) return;  // the host has no address
  freeaddrinfo(found);
  CHECK(services(at_rpc, known).size() > 2);
  CHECK(services(at_http, known).size() > 1);
}

}  // namespace
}  // namespace espalier::storage
