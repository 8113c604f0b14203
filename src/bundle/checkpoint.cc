#include "src/bundle/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/bundle/json.h"
#include "src/spec/snapshots.h"

namespace espalier::bundle {
namespace {

constexpr std::string_view kMagic = "ESPALCKP";
constexpr uint32_t kCheckpointFormat = 1;
constexpr size_t kCrcBytes = sizeof(uint32_t);
constexpr size_t kShaBytes = 64;

template <typename T>
void AppendRaw(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T RawAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string HeaderText(const CheckpointHeader& header) {
  Json accepted = Json::array();
  for (const std::string& a : header.accepted) accepted.push_back(TextToJson(a));
  Json json{{"step", header.step},
            {"job", TextToJson(header.job)},
            {"data_fingerprint", TextToJson(header.data_fingerprint)},
            {"arithmetic_id", TextToJson(header.arithmetic_id)},
            {"accepted", std::move(accepted)},
            {"written_by", std::string("espalier ") + kVersion}};
  if (!header.compared) json["compared"] = false;
  if (!header.writer.empty()) json["writer"] = TextToJson(header.writer);
  std::string text = json.dump();
  const size_t more = header.preprocessing.size();
  if (more == 0 || more > kCheckpointHeaderBytesMax) return text;
  json["preprocessing"] = TextToJson(header.preprocessing);
  std::string whole = json.dump();
  return whole.size() <= kCheckpointHeaderBytesMax ? whole : text;
}

Result<CheckpointHeader> HeaderFromText(std::string_view text) {
  const Json json = ParseJson(text);
  const auto known = [&](const char* key) { return json.is_object() && json.contains(key); };
  CheckpointHeader header;
  if (!known("step") || !json["step"].is_number_integer() || !known("accepted") ||
      !json["accepted"].is_array() || json["accepted"].size() > spec::kAcceptedMax) {
    return DataLoss("\"step\" or \"accepted\" in its header is missing or invalid");
  }
  header.step = json["step"].get<int64_t>();
  if (known("compared")) {
    if (!json["compared"].is_boolean()) {
      return DataLoss("\"compared\" in its header is not a boolean");
    }
    header.compared = json["compared"].get<bool>();
  }
  if (known("preprocessing")) {
    ESPALIER_ASSIGN_OR_RETURN(header.preprocessing,
                              TextFromJson(json["preprocessing"], "preprocessing"));
  }
  if (known("writer")) {
    ESPALIER_ASSIGN_OR_RETURN(header.writer, TextFromJson(json["writer"], "writer"));
  }
  const std::pair<const char*, std::string*> texts[] = {
      {"job", &header.job},
      {"data_fingerprint", &header.data_fingerprint},
      {"arithmetic_id", &header.arithmetic_id}};
  for (const auto& [key, out] : texts) {
    if (!known(key)) return DataLoss(std::string("its header does not contain ") + key);
    ESPALIER_ASSIGN_OR_RETURN(*out, TextFromJson(json[key], key));
  }
  for (const Json& item : json["accepted"]) {
    ESPALIER_ASSIGN_OR_RETURN(std::string text_of_item, TextFromJson(item, "accepted"));
    header.accepted.push_back(std::move(text_of_item));
  }
  return header;
}

// Returns the lines of a canonical text, without those that name files if these may differ.
std::vector<std::string_view> Lines(std::string_view text, bool with_files) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string_view path = line.substr(0, line.find_first_of("=["));
    const bool names_files =
        path == "data.train" || path == "data.test" || path == "data.validation.files";
    if (with_files || !names_files) lines.push_back(line);
  }
  return lines;
}

// Returns whether a line determines when training ends.
bool IsAboutTheEnd(std::string_view line) {
  for (const std::string_view key : {"train.epochs", "train.steps", "train.max_time_ms"}) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) return true;
  }
  return line.starts_with("train.early_stopping");
}

std::vector<std::string_view> Judging(std::vector<std::string_view> lines) {
  std::erase_if(lines, [](std::string_view l) { return !l.starts_with("train.early_stopping"); });
  return lines;
}
std::vector<std::string_view> WithoutEnd(std::vector<std::string_view> lines) {
  std::erase_if(lines, IsAboutTheEnd);
  return lines;
}

// Returns the value of a line, without the length that canonical texts put before strings.
std::string ShownValue(std::string_view line) {
  std::string_view value = line.substr(line.find('=') + 1);
  const size_t colon = value.find(':');
  size_t length = 0;
  if (colon != std::string_view::npos) {
    const auto parsed = std::from_chars(value.data(), value.data() + colon, length);
    const bool is_string = parsed.ec == std::errc() && parsed.ptr == value.data() + colon &&
                           length == value.size() - colon - 1;
    if (is_string) value.remove_prefix(colon + 1);
  }
  return Printable(value);
}

std::string_view PathOf(std::string_view line) { return line.substr(0, line.find('=')); }

// Returns, for example, "train.batch: 64 in the checkpoint, 32 in this job" for the first line that
// differs, or "" if none does. A field that is in one text only has "nothing" in the other one.
std::string DifferenceOf(const std::vector<std::string_view>& a,
                         const std::vector<std::string_view>& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (i == a.size() && i == b.size()) return {};
  std::optional<std::string_view> there, here;
  if (i < a.size()) there = a[i];
  if (i < b.size()) here = b[i];
  if (there && here && PathOf(*there) != PathOf(*here)) {
    const bool known = std::any_of(
        a.begin(), a.end(), [&](std::string_view line) { return PathOf(line) == PathOf(*here); });
    (known ? here : there).reset();
  }
  const auto shown = [](const std::optional<std::string_view>& line) {
    return line ? ShownValue(*line) : std::string("nothing");
  };
  return Printable(PathOf(here ? *here : *there)) + ": " + shown(there) + " in the checkpoint, " +
         shown(here) + " in this job";
}

// The first difference of two jobs, by kind; empty: none.
struct JobDifference {
  std::string rest, end, files;
};
JobDifference DifferenceOf(std::string_view there, std::string_view here) {
  const auto a = Lines(there, false), b = Lines(here, false);
  JobDifference difference;
  difference.rest = DifferenceOf(WithoutEnd(a), WithoutEnd(b));
  if (!difference.rest.empty()) return difference;
  difference.end = DifferenceOf(Judging(a), Judging(b));
  if (difference.end.empty()) difference.end = DifferenceOf(a, b);
  difference.files = DifferenceOf(WithoutEnd(Lines(there, true)), WithoutEnd(Lines(here, true)));
  return difference;
}

// Returns a note about a learning rate that follows the end of training.
std::string ScheduleNote(std::string_view job) {
  for (const char* kind : {"cosine", "polynomial"}) {
    if (job.find("\ntrain.schedule.kind=" + std::string(kind) + "\n") == std::string_view::npos) {
      continue;
    }
    return "; the " + std::string(kind) +
           " schedule depends on the end, so the learning rate changes at this step";
  }
  return {};
}

}  // namespace

std::string EncodeCheckpoint(const CheckpointHeader& header, std::string_view state) {
  const std::string text = HeaderText(header);
  std::string out;
  out.reserve(kCheckpointPrefixBytes + text.size() + kCrcBytes + state.size() + kShaBytes);
  out += kMagic;
  AppendRaw(&out, kCheckpointFormat);
  AppendRaw(&out, static_cast<uint32_t>(text.size()));
  AppendRaw(&out, static_cast<uint64_t>(state.size()));
  out += text;
  AppendRaw(&out, Crc32c(out.data(), out.size()));
  out += state;
  out += Sha256Hex(out);  // `return out += ...` would copy the bytes
  return out;
}

Result<CheckpointParts> ParseCheckpointPrefix(std::string_view prefix, uint64_t file_bytes) {
  const std::string length = std::to_string(file_bytes) + " bytes";
  if (prefix.size() < kCheckpointPrefixBytes) return DataLoss("it is cut off after " + length);
  if (!prefix.starts_with(kMagic)) return DataLoss("it does not start with " + std::string(kMagic));
  const auto format = RawAt<uint32_t>(prefix, kMagic.size());
  if (format != kCheckpointFormat) {
    return DataLoss("its format is " + std::to_string(format) + ", this version of Espalier (" +
                    kVersion + ") reads " + std::to_string(kCheckpointFormat));
  }
  CheckpointParts parts;
  parts.header_bytes = RawAt<uint32_t>(prefix, 12);
  parts.state_bytes = RawAt<uint64_t>(prefix, 16);
  const uint64_t around = kCheckpointPrefixBytes + parts.header_bytes + kCrcBytes + kShaBytes;
  if (parts.header_bytes > kCheckpointHeaderBytesMax || file_bytes < around ||
      file_bytes - around != parts.state_bytes) {
    return DataLoss("it has " + length + ", its lengths say " +
                    HumanCount(static_cast<int64_t>(parts.header_bytes)) + " of header and " +
                    std::to_string(parts.state_bytes) +
                    " of state: it was cut off, or written over");
  }
  return parts;
}

Result<CheckpointHeader> ParseCheckpointHeader(std::string_view front) {
  const size_t end = front.size() - kCrcBytes;
  if (RawAt<uint32_t>(front, end) != Crc32c(front.data(), end)) {
    return DataLoss("the checksum of its header differs from the header's bytes");
  }
  return HeaderFromText(front.substr(kCheckpointPrefixBytes, end - kCheckpointPrefixBytes));
}

Result<Checkpoint> DecodeCheckpoint(std::string bytes) {
  ESPALIER_ASSIGN_OR_RETURN(
      const CheckpointParts parts,
      ParseCheckpointPrefix(std::string_view(bytes).substr(0, kCheckpointPrefixBytes),
                            bytes.size()));
  const std::string_view all = bytes;
  const size_t content = bytes.size() - kShaBytes;
  if (Sha256Hex(all.substr(0, content)) != all.substr(content)) {
    return DataLoss("its SHA-256 differs from that of its " + std::to_string(content) + " bytes");
  }
  const size_t front = kCheckpointPrefixBytes + parts.header_bytes + kCrcBytes;
  Checkpoint checkpoint;
  ESPALIER_ASSIGN_OR_RETURN(checkpoint.header, ParseCheckpointHeader(all.substr(0, front)));
  bytes.resize(content);
  bytes.erase(0, front);
  checkpoint.state = std::move(bytes);
  return checkpoint;
}

Result<std::vector<std::string>> AcceptedDifferences(const CheckpointHeader& header,
                                                     const CheckpointDemand& demand) {
  std::vector<std::string> accepted;
  if (demand.compared_only && !header.compared) {
    return FailedPrecondition("its state was never compared with other members', and some differ");
  }
  const std::string at = " until step " + std::to_string(header.step);
  if (!demand.job.empty()) {
    const JobDifference job = DifferenceOf(header.job, demand.job);
    const std::string other = !job.rest.empty() || demand.accept_end ? job.rest : job.end;
    if (!other.empty()) {
      // A preset's scale. Version 0.1.0 had no presets.
      const auto has_preset = [](const std::string& text) {
        return text.find("=robust_smooth_clip\n") != std::string::npos;
      };
      const std::string preset = has_preset(demand.job) && !has_preset(header.job)
                                     ? " (with preset: none if 0.1.0 wrote it)"
                                     : "";
      return FailedPrecondition("it belongs to another job (" + other +
                                "); resume with the unchanged job" + preset +
                                ", or train a new model");
    }
    if (!job.files.empty() && !demand.accept_data) {
      return FailedPrecondition("it belongs to another job (" + job.files +
                                "); accept other files with --accept-other-data");
    }
    if (!job.end.empty()) {
      accepted.push_back(std::string(kOtherEnd) + ": " + job.end + at + ScheduleNote(demand.job));
    }
  }
  if (!demand.data_fingerprint.empty() && header.data_fingerprint != demand.data_fingerprint) {
    if (!demand.accept_data) {
      return FailedPrecondition("its data differs (fingerprint " + header.data_fingerprint +
                                ", now " + demand.data_fingerprint +
                                "); restore the original files, or accept the new ones with "
                                "--accept-other-data");
    }
    accepted.push_back("data_fingerprint " + header.data_fingerprint + at);
  }
  if (!demand.arithmetic_id.empty() && header.arithmetic_id != demand.arithmetic_id) {
    if (!demand.accept_arithmetic) {
      return FailedPrecondition("its arithmetic differs (" + header.arithmetic_id + ", now " +
                                demand.arithmetic_id +
                                "); use the version and BLAS that computed it, or accept the "
                                "new ones with --accept-other-arithmetic");
    }
    accepted.push_back("arithmetic_id " + header.arithmetic_id + at);
  }
  if (!demand.accept_history && !header.accepted.empty()) {
    return FailedPrecondition("it goes back to a run that accepted another " +
                              Printable(header.accepted.front(), 200));
  }
  return accepted;
}

}  // namespace espalier::bundle
