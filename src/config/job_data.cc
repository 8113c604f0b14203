#include <filesystem>

#include "src/config/job_sections.h"
#include "src/config/units.h"
#include "src/storage/uri.h"

namespace espalier::config {

Status ReadPath(Reader& reader, const YamlNode& node, const std::string& path, std::string& out) {
  ESPALIER_RETURN_IF_ERROR(reader.Read(node, path, out));
  const auto uri = storage::ParseUri(out);
  if (!uri.ok()) return reader.ErrorAt(node.mark, path + ": " + uri.status().message());
  return {};
}

namespace {

// Reads a path of input data. Its extension also indicates the format.
Status ReadPattern(Reader& reader, const YamlNode& node, const std::string& path,
                   std::vector<std::string>& out) {
  std::string pattern;
  ESPALIER_RETURN_IF_ERROR(ReadPath(reader, node, path, pattern));
  if (pattern.ends_with(".orc")) return reader.Lacking(node, path, "ORC reader");
  out.push_back(std::move(pattern));
  return {};
}

// A choice that consists of a word without a value.
template <typename F>
Choice Word(Reader& reader, std::string word, F set) {
  return {std::move(word), [&reader, set](const YamlNode* body, const std::string& path) {
            if (body) return reader.Unexpected(*body, path, "the word alone, without a value");
            set();
            return Status();
          }};
}

// A choice that needs a value: `{word: value}`.
template <typename T, typename F>
Choice WithValue(Reader& reader, std::string word, const char* example, T& out, F set) {
  return {std::move(word),
          [&reader, &out, set, example](const YamlNode* body, const std::string& path) {
            if (!body) {
              return reader.Locate(InvalidArgument(
                  path + ": found no value, expected one, as in `" + example + "`"));
            }
            set();
            return reader.Read(*body, path, out);
          }};
}

// Reads a path alone, or a map with the path and other keys.
template <typename S>
Status ReadPathOrMap(Reader& reader, const YamlNode& node, const std::string& path,
                     std::string& place, S& out) {
  if (node.kind != YamlNode::Kind::kMap) return ReadPath(reader, node, path, place);
  return reader.ReadMap(node, path, FieldsOf(reader, out));
}

// Parses "1..784": integers on both sides of two dots.
std::optional<spec::ColumnRange> ParseRange(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto first = ParseWhole(text.substr(0, dots));
  const auto last = ParseWhole(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return spec::ColumnRange{*first, *last};
}

Status ReadColumnsOrAuto(Reader& reader, const YamlNode& node, const std::string& path,
                         std::vector<spec::ColumnPattern>& out) {
  out.clear();
  if (node.is_scalar() && !node.quoted && node.text == "auto") return {};
  return ReadSpec(reader, node, path, out);
}

// Reads `one_hot`, or `{embedding: 8}`.
Status ReadEncoding(Reader& reader, const YamlNode& node, const std::string& path,
                    spec::CategoryOptions& out) {
  out.embedding = 0;
  ESPALIER_RETURN_IF_ERROR(reader.ReadChoice(
      node, path,
      {Word(reader, "one_hot", [] {}),
       WithValue(reader, "embedding", "encode: {embedding: 8}", out.embedding, [] {})}));
  if (node.is_scalar() || out.embedding > 0) return {};
  return reader.ErrorAt(node.mark, path + ".embedding: found " + std::to_string(out.embedding) +
                                       ", expected a width of at least 1");
}

}  // namespace

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::Scale& out) {
  const auto set = [&out](spec::ScaleKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(
      node, path,
      {Word(reader, "none", set(spec::ScaleKind::kNone)),
       Word(reader, "standard", set(spec::ScaleKind::kStandard)),
       Word(reader, "minmax", set(spec::ScaleKind::kMinMax)),
       Word(reader, "robust", set(spec::ScaleKind::kRobust)),
       Word(reader, "robust_smooth_clip", set(spec::ScaleKind::kRobustSmoothClip)),
       WithValue(reader, "divide", "scale: {divide: 255}", out.divisor,
                 set(spec::ScaleKind::kDivide))});
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::NullPolicy& out) {
  const auto set = [&out](spec::NullKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(node, path,
                           {Word(reader, "fail", set(spec::NullKind::kFail)),
                            Word(reader, "mean", set(spec::NullKind::kMean)),
                            Word(reader, "median", set(spec::NullKind::kMedian)),
                            Word(reader, "drop", set(spec::NullKind::kDrop)),
                            Word(reader, "category", set(spec::NullKind::kCategory)),
                            WithValue(reader, "constant", "nulls: {constant: 0}", out.constant,
                                      set(spec::NullKind::kConstant))});
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::Shuffle& out) {
  const auto set = [&out](spec::ShuffleKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(node, path,
                           {Word(reader, "full", set(spec::ShuffleKind::kFull)),
                            Word(reader, "none", set(spec::ShuffleKind::kNone)),
                            WithValue(reader, "window", "shuffle: {window: 100000}",
                                      out.window_rows, set(spec::ShuffleKind::kWindow))});
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path, spec::BadRows& out) {
  bool has_limit = false;
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(
      node, path,
      {{"policy",
        [&](const auto& value, const auto& at) {
          const auto set = [&out](bool skip) { return [&out, skip] { out.skip = skip; }; };
          return reader.ReadChoice(
              value, at, {Word(reader, "fail", set(false)), Word(reader, "skip", set(true))});
        }},
       {"limit", [&](const auto& value, const auto& at) {
          has_limit = true;
          return reader.Read(value, at, out.limit);
        }}}));
  if (!out.skip || has_limit) return {};
  return reader.ErrorAt(node.mark, path +
                                       ".limit: found nothing, expected `limit: N`, how many bad "
                                       "rows `policy: skip` may leave out");
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::vector<std::string>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    return ReadPattern(reader, item, at, out);
  });
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::optional<std::vector<std::string>>& out) {
  std::vector<std::string>& texts = out.emplace();
  const Status status =
      reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
        std::string& text = texts.emplace_back("null");  // the spelling of YAML's own null
        return item.kind == YamlNode::Kind::kNull ? Status() : reader.Read(item, at, text);
      });
  if (!reader.describes()) return status;
  reader.NoDefault(path);
  out.reset();
  return status;
}

// Reads a name, a position, a range, or a list of them.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                std::vector<spec::ColumnPattern>& out) {
  out.clear();
  if (node.kind == YamlNode::Kind::kSequence && node.items.empty()) {
    return reader.ErrorAt(node.mark, path + ": found an empty list, expected columns or `auto`");
  }
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    if (item.is_scalar()) {
      if (const auto range = ParseRange(item.text)) {
        out.emplace_back(*range);
        return Status();
      }
    }
    spec::ColumnRef column;
    ESPALIER_RETURN_IF_ERROR(reader.Read(item, at, column));
    std::visit([&](auto& value) { out.emplace_back(std::move(value)); }, column);
    return Status();
  });
}

template <typename S>
Status ReadWithEncoding(Reader& reader, const YamlNode& node, const std::string& path, S& out) {
  std::vector<Field> fields = FieldsOf(reader, out);
  fields.push_back({"encode", [&](const auto& value, const auto& at) {
                      return ReadEncoding(reader, value, at, out);
                    }});
  return reader.ReadMap(node, path, fields);
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::FeatureGroup& out) {
  return ReadWithEncoding(reader, node, path, out);
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::CategoryOptions& out) {
  return ReadWithEncoding(reader, node, path, out);
}

// Reads `auto` or columns alone, or a map.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::FeatureSpec& out) {
  if (node.kind != YamlNode::Kind::kMap) return ReadColumnsOrAuto(reader, node, path, out.columns);
  std::vector<Field> fields = FieldsOf(reader, out);
  fields.push_back({"columns", [&](const auto& value, const auto& at) {
                      return ReadColumnsOrAuto(reader, value, at, out.columns);
                    }});
  return reader.ReadMap(node, path, fields);
}

// Reads `none`, or a map.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ValidationSpec& out) {
  if (node.is_scalar() && node.text == "none" && !reader.describes()) {
    out = {};
    return {};
  }
  return reader.ReadMap(node, path, FieldsOf(reader, out));
}

std::string OneSpelling(const std::string& place) {
  const Result<storage::Uri> uri = storage::ParseUri(place);
  if (!uri.ok()) return place;  // the code that uses the place reports the error
  if (uri->kind != storage::Uri::Kind::kLocal) return uri->prefix + uri->path;
  // The path may lead through a link.
  if (uri->path.find("/..") != std::string::npos) return uri->path;
  std::string path = std::filesystem::path(uri->path).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::OutputSpec& out) {
  return ReadPathOrMap(reader, node, path, out.path, out);
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ResumeSpec& out) {
  return ReadPathOrMap(reader, node, path, out.from, out);
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::InitialSpec& out) {
  return ReadPathOrMap(reader, node, path, out.from, out);
}

}  // namespace espalier::config
