// Hadoop's client configuration: core-site.xml and hdfs-site.xml of one directory, and other
// requested files (yarn-site.xml).
//
//   <configuration>
//     <property><name>fs.defaultFS</name><value>hdfs://ns</value><final>true</final></property>
//     <xi:include href="more.xml"/>
//   </configuration>
//
// The later of two values is used, unless the earlier one is final. ${name} in a value is replaced
// by the value of another property (${user.name} by the user). An undefined name stays unchanged.
// Included files must be in the same directory.
//
// Thread rule: a value; const calls from any thread.
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
inline constexpr size_t kHadoopPropertiesMax = 20'000;  // in one document
inline constexpr int kHadoopIncludeDepthMax = 8;
inline constexpr int kHadoopIncludedFilesMax = 64;
inline constexpr int kHadoopElementDepthMax = 16;
inline constexpr int kHadoopVariableDepthMax = 20;       // same limit as in Hadoop
inline constexpr size_t kHadoopValueBytesMax = 1 << 20;  // after replacement

class HadoopConfig {
 public:
  // Creates a configuration without properties.
  HadoopConfig() = default;
  // Reads `directory` (HADOOP_CONF_DIR). kNotFound if it contains neither file. kInvalidArgument,
  // with file and line, for bad XML, a DOCTYPE, an exceeded limit or an include of another
  // directory. `more` are files to read after these, if they exist.
  static Result<HadoopConfig> Read(const std::string& directory, const std::string& user,
                                   const std::vector<std::string>& more = {});

  // Returns the value with its variables replaced and without surrounding spaces, or "" if it is
  // not set or empty. kInvalidArgument if variables refer to each other in a cycle.
  Result<std::string> Get(const std::string& name) const;
  // Returns the items of a comma-separated list, without spaces and empty items.
  Result<std::vector<std::string>> GetList(const std::string& name) const;
  // Returns the source of the configuration, for messages: "the Hadoop configuration in
  // '/etc/hadoop/conf'", or a text that none was given and how to set it.
  const std::string& origin() const { return origin_; }
  bool empty() const { return values_.empty(); }
  // Returns the names of all properties, sorted.
  std::vector<std::string> Names() const;
  // Sets a property as a file would. For tests and parsers.
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

// Adds the properties in one file's text to `config`. `include` returns the texts of included files
// by their name. `file` is for messages. A pure function (tests and fuzzing call it).
using ReadInclude = Result<std::string> (*)(const void* context, const std::string& name);
Status ParseHadoopXml(const std::string& text, const std::string& file, ReadInclude include,
                      const void* context, HadoopConfig* config);

// Returns the Java key store of trusted authorities from ssl-client.xml in `directory`, for
// messages, or "" if it is not set or not readable.
std::string JavaTrustStore(const std::string& directory);

}  // namespace espalier::storage
