// Hadoop's client configuration: core-site.xml and hdfs-site.xml of one directory, and what else is
// asked for (yarn-site.xml).
//
//   <configuration>
//     <property><name>fs.defaultFS</name><value>hdfs://ns</value><final>true</final></property>
//     <xi:include href="more.xml"/>
//   </configuration>
//
// The later of two values holds, unless the earlier is final. ${name} in a value stands for the
// value of another property (${user.name} for the user); one that nothing defines stays as it is.
// Included files lie in the same directory. Thread rule: a value; const calls from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

inline constexpr std::array kHadoopFiles = {"core-site.xml", "hdfs-site.xml"};
inline constexpr int64_t kHadoopFileBytesMax = 4 << 20;
inline constexpr size_t kHadoopPropertiesMax = 20'000;  // of one document
inline constexpr int kHadoopIncludeDepthMax = 8;
inline constexpr int kHadoopIncludedFilesMax = 64;
inline constexpr int kHadoopElementDepthMax = 16;
inline constexpr int kHadoopVariableDepthMax = 20;       // as many as Hadoop replaces
inline constexpr size_t kHadoopValueBytesMax = 1 << 20;  // after replacement

class HadoopConfig {
 public:
  // No property at all.
  HadoopConfig() = default;
  // Reads `directory` (HADOOP_CONF_DIR). kNotFound when it holds neither file; kInvalidArgument
  // with file and line for bad XML, a DOCTYPE, too much of anything, an include elsewhere.
  // `more`: files that are read after these where they exist.
  static Result<HadoopConfig> Read(const std::string& directory, const std::string& user,
                                   const std::vector<std::string>& more = {});

  // The value with its variables replaced and without spaces around it; empty when it is not set
  // (or set to nothing). kInvalidArgument when variables refer to each other in a circle.
  Result<std::string> Get(const std::string& name) const;
  // The words of a list separated by commas, without spaces and empty ones.
  Result<std::vector<std::string>> GetList(const std::string& name) const;
  // What was read, for messages: "the Hadoop configuration in '/etc/hadoop/conf'", or that none
  // was given and how to give it.
  const std::string& origin() const { return origin_; }
  bool empty() const { return values_.empty(); }
  // The names of all properties, sorted.
  std::vector<std::string> Names() const;
  // For tests and readers: sets a property as a file would.
  void Set(const std::string& name, const std::string& value, bool is_final);

 private:
  struct Value {
    std::string text;
    bool is_final = false;
  };
  std::map<std::string, Value> values_;
  std::string origin_ =
      "no Hadoop configuration was given (set HADOOP_CONF_DIR to the directory with core-site.xml "
      "and hdfs-site.xml)";
};

// The properties of one file's text, added to `config`. Texts of included files come from `include`
// by their name. `file` is for messages. A pure function (tests and fuzzing call it).
using ReadInclude = Result<std::string> (*)(const void* context, const std::string& name);
Status ParseHadoopXml(const std::string& text, const std::string& file, ReadInclude include,
                      const void* context, HadoopConfig* config);

// The Java key store of trusted authorities that ssl-client.xml in `directory` names, for messages;
// empty when it names none, or cannot be read.
std::string JavaTrustStore(const std::string& directory);

}  // namespace espalier::storage
