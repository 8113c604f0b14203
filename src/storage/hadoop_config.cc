#include "src/storage/hadoop_config.h"

#include <expat.h>

#include <memory>
#include <string_view>

#include "src/base/text.h"
#include "src/storage/local_file_system.h"

namespace espalier::storage {
namespace {

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// One document that Expat parses, and the documents that it includes.
class Document {
 public:
  Document(std::string file, ReadInclude include, const void* context, HadoopConfig* config,
           int depth, int* included)
      : file_(std::move(file)),
        include_(include),
        context_(context),
        config_(config),
        include_depth_(depth),
        included_(included) {}

  Status Parse(const std::string& text) {
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(
        XML_ParserCreate(nullptr), [](XML_Parser p) { XML_ParserFree(p); });
    if (!parser) return ResourceExhausted("no memory for an XML parser");
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, Start, End);
    XML_SetCharacterDataHandler(parser_, Characters);
    XML_SetStartDoctypeDeclHandler(
        parser_, [](void* self, const char*, const char*, const char*, int) {
          static_cast<Document*>(self)->Fail("a DOCTYPE is not allowed here; remove it");
        });
    const XML_Status parsed = XML_Parse(parser_, text.data(), static_cast<int>(text.size()), 1);
    if (!error_.ok()) return error_;
    if (parsed == XML_STATUS_OK) return {};
    return At(std::string("it is not well-formed XML: ") +
              XML_ErrorString(XML_GetErrorCode(parser_)));
  }

 private:
  Status At(const std::string& why) const {
    return InvalidArgument("'" + Printable(file_, 1024) + "' line " +
                           std::to_string(XML_GetCurrentLineNumber(parser_)) + ": " + why);
  }
  void Fail(const std::string& why) { Stop(At(why)); }
  void Stop(Status error) {
    if (error_.ok()) error_ = std::move(error);
    XML_StopParser(parser_, XML_FALSE);
  }

  static void Start(void* self, const char* name, const char** attributes) {
    static_cast<Document*>(self)->StartElement(name, attributes);
  }
  static void End(void* self, const char* name) { static_cast<Document*>(self)->EndElement(name); }
  static void Characters(void* self, const char* text, int size) {
    auto* document = static_cast<Document*>(self);
    if (document->target_ != nullptr) document->target_->append(text, size);
  }

  void StartElement(std::string_view name, const char** attributes) {
    if (!error_.ok()) return;
    if (++depth_ > kHadoopElementDepthMax) return Fail("elements are nested too deep");
    if (depth_ == 1 && name != "configuration") {
      return Fail("the outermost element is <" + Printable(name) + ">; expected <configuration>");
    }
    if (name == "property") {
      name_.clear(), value_.clear(), final_.clear();
      has_value_ = false;
      for (; *attributes != nullptr; attributes += 2) {
        const std::string_view key = attributes[0];
        if (key == "name") name_ = attributes[1];
        if (key == "value") value_ = attributes[1], has_value_ = true;
        if (key == "final") final_ = attributes[1];
      }
    }
    target_ = nullptr;
    if (name == "name") target_ = &name_;
    if (name == "value") target_ = &value_, has_value_ = true;
    if (name == "final") target_ = &final_;
    if (target_ != nullptr) target_->clear();
    if (name == "xi:include" || name == "include") Include(attributes);
  }

  void EndElement(std::string_view name) {
    --depth_;
    target_ = nullptr;
    if (name != "property" || !error_.ok()) return;
    const std::string key = Trimmed(name_);
    if (key.empty()) return Fail("a property has no name");
    if (++properties_ > kHadoopPropertiesMax) {
      return Fail("more than " + std::to_string(kHadoopPropertiesMax) + " properties");
    }
    if (has_value_) config_->Set(key, Trimmed(value_), Trimmed(final_) == "true");
  }

  void Include(const char** attributes) {
    std::string href;
    for (; *attributes != nullptr; attributes += 2) {
      if (std::string_view(attributes[0]) == "href") href = attributes[1];
    }
    if (href.empty() || href.find_first_of("/\\:") != std::string::npos || href[0] == '.') {
      return Fail("it includes '" + Printable(href) +
                  "'; only files of the same directory, by their name, are included");
    }
    if (include_depth_ >= kHadoopIncludeDepthMax || ++*included_ > kHadoopIncludedFilesMax) {
      return Fail("'" + Printable(href) + "' is included too deep or in a circle");
    }
    const Result<std::string> text = include_(context_, href);
    if (!text.ok()) return Stop(text.status().Wrap(At("it includes '" + href + "'").message()));
    Document inner(href, include_, context_, config_, include_depth_ + 1, included_);
    if (Status parsed = inner.Parse(*text); !parsed.ok()) Stop(std::move(parsed));
  }

  const std::string file_;
  const ReadInclude include_;
  const void* const context_;
  HadoopConfig* const config_;
  const int include_depth_;
  int* const included_;
  XML_Parser parser_ = nullptr;
  Status error_;
  int depth_ = 0;
  size_t properties_ = 0;
  std::string name_, value_, final_;  // of the open property
  bool has_value_ = false;
  std::string* target_ = nullptr;  // destination of character data
};

Result<std::string> ReadBeside(const void* context, const std::string& name) {
  const auto& directory = *static_cast<const std::string*>(context);
  return MakeLocalFileSystem()->ReadAll(directory + "/" + name, kHadoopFileBytesMax);
}

}  // namespace

Status ParseHadoopXml(const std::string& text, const std::string& file, ReadInclude include,
                      const void* context, HadoopConfig* config) {
  int included = 0;
  return Document(file, include, context, config, 0, &included).Parse(text);
}

void HadoopConfig::Set(const std::string& name, const std::string& value, bool is_final) {
  Value& old = values_[name];
  if (!old.is_final) old = {value, is_final};
}

Result<HadoopConfig> HadoopConfig::Read(const std::string& directory, const std::string& user,
                                        const std::vector<std::string>& more) {
  HadoopConfig config;
  const auto files = MakeLocalFileSystem();
  bool found = false;
  std::vector<std::string> names(kHadoopFiles.begin(), kHadoopFiles.end());
  names.insert(names.end(), more.begin(), more.end());
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const Result<std::string> text = files->ReadAll(path, kHadoopFileBytesMax);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) continue;
    if (!text.ok()) return text.status().Wrap("the Hadoop configuration (HADOOP_CONF_DIR)");
    found = true;
    ESPALIER_RETURN_IF_ERROR(ParseHadoopXml(*text, path, ReadBeside, &directory, &config));
  }
  if (!found) {
    return NotFound("'" + Printable(directory, 1024) +
                    "' (HADOOP_CONF_DIR) holds neither core-site.xml nor hdfs-site.xml");
  }
  if (!user.empty()) config.Set("user.name", user, true);
  config.origin_ = "the Hadoop configuration in '" + Printable(directory, 1024) + "'";
  return config;
}

std::vector<std::string> HadoopConfig::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::string JavaTrustStore(const std::string& directory) {
  const std::string path = directory + "/ssl-client.xml";
  const auto text = MakeLocalFileSystem()->ReadAll(path, kHadoopFileBytesMax);
  HadoopConfig config;
  if (!text.ok() || !ParseHadoopXml(*text, path, ReadBeside, &directory, &config).ok()) return "";
  const auto store = config.Get("ssl.client.truststore.location");
  return store.ok() ? Printable(*store, 1024) : "";
}

Result<std::string> HadoopConfig::Get(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::string();
  std::string text = found->second.text;
  size_t from = 0;
  for (int replaced = 0;;) {
    const size_t begin = text.find("${", from);
    const size_t end = begin == std::string::npos ? begin : text.find('}', begin);
    if (end == std::string::npos) return Trimmed(text);
    const auto variable = values_.find(text.substr(begin + 2, end - begin - 2));
    if (variable == values_.end()) {
      from = begin + 2;
      continue;
    }
    text.replace(begin, end + 1 - begin, variable->second.text);
    if (++replaced > kHadoopVariableDepthMax || text.size() > kHadoopValueBytesMax) {
      return InvalidArgument("the value of '" + Printable(name) + "' in " + origin_ +
                             " takes more than " + std::to_string(kHadoopVariableDepthMax) +
                             " replacements of ${...}; its variables seem to name each other");
    }
  }
}

Result<std::vector<std::string>> HadoopConfig::GetList(const std::string& name) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, Get(name));
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string word = Trimmed(text.substr(begin, end - begin));
    if (!word.empty()) words.push_back(std::move(word));
    begin = end + 1;
  }
  return words;
}

}  // namespace espalier::storage
