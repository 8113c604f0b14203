#include <filesystem>

#include "src/config/job_sections.h"
#include "src/config/units.h"
#include "src/storage/uri.h"

namespace espalier {

Status ReadPath(Reader& reader, const YamlNode& node, const std::string& path, std::string& out) {
  ESPALIER_RETURN_IF_ERROR(reader.Read(node, path, out));
  const auto uri = ParseUri(out);
  if (!uri.ok()) return reader.ErrorAt(node.mark, path + ": " + uri.status().message());
  return {};
}

namespace {

// The same for input, whose extension also says its format.
Status ReadPattern(Reader& reader, const YamlNode& node, const std::string& path,
                   std::vector<std::string>& out) {
  std::string pattern;
  ESPALIER_RETURN_IF_ERROR(ReadPath(reader, node, path, pattern));
  if (pattern.ends_with(".orc")) return reader.Lacking(node, path, "ORC reader");
  out.push_back(std::move(pattern));
  return {};
}

Field Patterns(Reader& reader, std::string key, std::vector<std::string>& out) {
  return {std::move(key), [&](const YamlNode& node, const std::string& path) {
            out.clear();
            return reader.ReadOneOrMany(node, path, [&](const auto& item, const auto& at) {
              return ReadPattern(reader, item, at, out);
            });
          }};
}

// A choice that is a word alone and takes no value.
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

Status ReadScale(Reader& reader, const YamlNode& node, const std::string& path, Scale& out) {
  const auto set = [&out](ScaleKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(
      node, path,
      {Word(reader, "none", set(ScaleKind::kNone)),
       Word(reader, "standard", set(ScaleKind::kStandard)),
       Word(reader, "minmax", set(ScaleKind::kMinMax)),
       Word(reader, "robust", set(ScaleKind::kRobust)),
       WithValue(reader, "divide", "scale: {divide: 255}", out.divisor, set(ScaleKind::kDivide))});
}

Status ReadNulls(Reader& reader, const YamlNode& node, const std::string& path, NullPolicy& out) {
  const auto set = [&out](NullKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(
      node, path,
      {Word(reader, "fail", set(NullKind::kFail)), Word(reader, "mean", set(NullKind::kMean)),
       Word(reader, "drop", set(NullKind::kDrop)),
       Word(reader, "category", set(NullKind::kCategory)),
       WithValue(reader, "constant", "nulls: {constant: 0}", out.constant,
                 set(NullKind::kConstant))});
}

Status ReadShuffle(Reader& reader, const YamlNode& node, const std::string& path, Shuffle& out) {
  const auto set = [&out](ShuffleKind kind) { return [&out, kind] { out.kind = kind; }; };
  return reader.ReadChoice(
      node, path,
      {Word(reader, "full", set(ShuffleKind::kFull)), Word(reader, "none", set(ShuffleKind::kNone)),
       WithValue(reader, "window", "shuffle: {window: 100000}", out.window_rows,
                 set(ShuffleKind::kWindow))});
}

// "1..784": whole numbers on both sides of two dots.
std::optional<ColumnRange> ParseRange(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto first = ParseWhole(text.substr(0, dots));
  const auto last = ParseWhole(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return ColumnRange{*first, *last};
}

// A name, a position, a range, or a list of them.
Status ReadColumns(Reader& reader, const YamlNode& node, const std::string& path,
                   std::vector<ColumnPattern>& out) {
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
    ColumnRef column;
    ESPALIER_RETURN_IF_ERROR(reader.Read(item, at, column));
    std::visit([&](auto& value) { out.emplace_back(std::move(value)); }, column);
    return Status();
  });
}

Status ReadColumnsOrAuto(Reader& reader, const YamlNode& node, const std::string& path,
                         std::vector<ColumnPattern>& out) {
  out.clear();
  if (node.is_scalar() && !node.quoted && node.text == "auto") return {};
  return ReadColumns(reader, node, path, out);
}

// `one_hot`, or `{embedding: 8}`.
Status ReadEncoding(Reader& reader, const YamlNode& node, const std::string& path,
                    FeatureGroup& out) {
  out.embedding = 0;
  ESPALIER_RETURN_IF_ERROR(reader.ReadChoice(
      node, path,
      {Word(reader, "one_hot", [] {}),
       WithValue(reader, "embedding", "encode: {embedding: 8}", out.embedding, [] {})}));
  if (node.is_scalar() || out.embedding > 0) return {};
  return reader.ErrorAt(node.mark, path + ".embedding: found " + std::to_string(out.embedding) +
                                       ", expected a width of at least 1");
}

Status ReadGroup(Reader& reader, const YamlNode& node, const std::string& path, FeatureGroup& out) {
  const auto parts = [&](const YamlNode& value, const std::string& at) {
    out.parts.clear();
    return reader.ReadOneOrMany(value, at, [&](const YamlNode& item, const std::string& where) {
      out.parts.emplace_back();
      return reader.Read(item, where, out.parts.back());
    });
  };
  return reader.ReadMap(
      node, path,
      {{"columns", [&](const auto& value,
                       const auto& at) { return ReadColumns(reader, value, at, out.columns); }},
       reader.Value("type", out.type),
       {"scale", [&](const auto& value,
                     const auto& at) { return ReadScale(reader, value, at, out.scale.emplace()); }},
       {"nulls", [&](const auto& value,
                     const auto& at) { return ReadNulls(reader, value, at, out.nulls.emplace()); }},
       reader.Value("null_indicator", out.null_indicator),
       reader.Value("log1p", out.log1p),
       {"parts", parts},
       {"encode",
        [&](const auto& value, const auto& at) { return ReadEncoding(reader, value, at, out); }},
       reader.Value("hash", out.hash),
       reader.Value("min_count", out.min_count)});
}

Status ReadFeatures(Reader& reader, const YamlNode& node, const std::string& path,
                    FeatureSpec& out) {
  if (node.kind != YamlNode::Kind::kMap) {
    return ReadColumnsOrAuto(reader, node, path, out.columns);
  }
  return reader.ReadMap(
      node, path,
      {{"columns",
        [&](const auto& value, const auto& at) {
          return ReadColumnsOrAuto(reader, value, at, out.columns);
        }},
       {"scale",
        [&](const auto& value, const auto& at) { return ReadScale(reader, value, at, out.scale); }},
       {"nulls",
        [&](const auto& value, const auto& at) { return ReadNulls(reader, value, at, out.nulls); }},
       {"groups", [&](const auto& value, const auto& at) {
          out.groups.clear();
          return reader.ReadOneOrMany(value, at, [&](const YamlNode& item, const std::string& in) {
            return ReadGroup(reader, item, in, out.groups.emplace_back());
          });
        }}});
}

Status ReadBadRows(Reader& reader, const YamlNode& node, const std::string& path, BadRows& out) {
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

Status ReadLabel(Reader& reader, const YamlNode& node, const std::string& path,
                 std::vector<ColumnRef>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    ColumnRef column;
    ESPALIER_RETURN_IF_ERROR(reader.Read(item, at, column));
    out.push_back(std::move(column));
    return Status();
  });
}

}  // namespace

Status ReadDataSection(Reader& reader, const YamlNode& node, const std::string& path,
                       DataSpec& out) {
  const auto section = [&reader](auto read, auto& part) -> ReadValue {
    return [&reader, read, &part](const YamlNode& value, const std::string& at) {
      return read(reader, value, at, part);
    };
  };
  return reader.ReadMap(
      node, path,
      {Patterns(reader, "train", out.train),
       Patterns(reader, "test", out.test),
       reader.Value("format", out.format),
       {"csv",
        [&](const auto& value, const auto& at) {
          return reader.ReadMap(
              value, at,
              {reader.Value("header", out.csv.header), reader.Value("delimiter", out.csv.delimiter),
               reader.Value("quote", out.csv.quote), reader.Value("multiline", out.csv.multiline)});
        }},
       {"label", section(ReadLabel, out.label)},
       reader.Value("weight", out.weight),
       {"features", section(ReadFeatures, out.features)},
       {"validation",
        [&](const auto& value, const auto& at) {
          return reader.ReadMap(
              value, at,
              {reader.Value("fraction", out.validation.fraction),
               reader.Value("stratify", out.validation.stratify),
               reader.Value("column", out.validation.column),
               Patterns(reader, "files", out.validation.files),
               reader.Value("fold", out.validation.fold), reader.Value("of", out.validation.of)});
        }},
       {"bad_rows", section(ReadBadRows, out.bad_rows)},
       {"shuffle", section(ReadShuffle, out.shuffle)},
       reader.Bytes("shard_bytes", out.shard_bytes)});
}

std::string OneSpelling(const std::string& place) {
  const Result<Uri> uri = ParseUri(place);
  if (!uri.ok()) return place;  // what is wrong with it is told where it is used
  if (uri->kind != Uri::Kind::kLocal) return uri->prefix + uri->path;
  if (uri->path.find("/..") != std::string::npos) return uri->path;  // it may lead behind a link
  std::string path = std::filesystem::path(uri->path).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status ReadOutput(Reader& reader, const YamlNode& node, const std::string& path, OutputSpec& out) {
  const auto read_path = [&](const YamlNode& value, const std::string& at) {
    return ReadPath(reader, value, at, out.path);
  };
  if (node.kind != YamlNode::Kind::kMap) return read_path(node, path);
  return reader.ReadMap(node, path,
                        {{"path", read_path}, reader.Value("overwrite", out.overwrite)});
}

Status ReadResume(Reader& reader, const YamlNode& node, const std::string& path,
                  std::optional<ResumeSpec>& out) {
  ResumeSpec& resume = out.emplace();
  const auto read_path = [&](const YamlNode& value, const std::string& at) {
    return ReadPath(reader, value, at, resume.from);
  };
  if (node.kind != YamlNode::Kind::kMap) return read_path(node, path);
  return reader.ReadMap(node, path,
                        {{"from", read_path},
                         reader.Value("accept_data", resume.accept_data),
                         reader.Value("accept_arithmetic", resume.accept_arithmetic)});
}

Status ReadLayers(Reader& reader, const YamlNode& node, const std::string& path,
                  std::vector<int64_t>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    out.emplace_back();
    return reader.Read(item, at, out.back());
  });
}

Status ReadInitial(Reader& reader, const YamlNode& node, const std::string& path,
                   std::optional<InitialSpec>& out) {
  InitialSpec& initial = out.emplace();
  const auto read_path = [&](const YamlNode& value, const std::string& at) {
    return ReadPath(reader, value, at, initial.from);
  };
  if (node.kind != YamlNode::Kind::kMap) return read_path(node, path);
  return reader.ReadMap(
      node, path, {{"from", read_path}, {"layers", [&](const auto& value, const auto& at) {
                                           return ReadLayers(reader, value, at, initial.layers);
                                         }}});
}

}  // namespace espalier
