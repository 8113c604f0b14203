#include "src/cluster/packed_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::cluster {
namespace {

constexpr int64_t kPackedPlanVersion = 1;

// Appends values to a packed plan. It has the calls of Unpacker, so that one function maps a type
// in both directions.
class Packer {
 public:
  static constexpr bool kUnpacks = false;

  void Number(int64_t value) {
    auto bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; bits >= 0x80; bits >>= 7) bytes_.push_back(static_cast<char>(bits | 0x80));
    bytes_.push_back(static_cast<char>(bits));
  }
  template <typename T>
  void Enum(const T& value, T) {
    Number(static_cast<int64_t>(value));
  }
  void Text(std::string_view text) {
    Number(static_cast<int64_t>(text.size()));
    bytes_.append(text);
  }
  template <typename T, typename Each>
  void List(const std::vector<T>& list, Each each) {
    Number(static_cast<int64_t>(list.size()));
    for (const T& item : list) each(item);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads values of a packed plan. After the first error, all values are 0 or empty.
class Unpacker {
 public:
  static constexpr bool kUnpacks = true;

  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }
  void Fail() { ok_ = false; }

  int64_t Next() {
    uint64_t bits = 0;
    for (int shift = 0; ok_; shift += 7) {
      if (bytes_.empty() || shift > 63) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      bits |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    }
    Fail();
    return 0;
  }
  // Returns a number within these limits.
  int64_t Within(int64_t least, int64_t most) {
    const int64_t value = Next();
    if (value >= least && value <= most) return value;
    Fail();
    return std::clamp<int64_t>(0, least, std::max(least, most));
  }
  template <typename T>
  void Number(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = Within(0, 1) != 0;
    } else {
      value = static_cast<T>(Within(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  template <typename T>
  void Enum(T& value, T last) {
    value = static_cast<T>(Within(0, static_cast<int64_t>(last)));
  }
  std::string_view View() {
    const auto size = static_cast<uint64_t>(Next());
    if (!ok_ || size > bytes_.size()) {
      Fail();
      return {};
    }
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  void Text(std::string& text) { text = View(); }
  template <typename T, typename Each>
  void List(std::vector<T>& list, Each each) {
    // Each item has a byte or more, so a false count reserves little.
    const int64_t count = Within(0, static_cast<int64_t>(bytes_.size()));
    for (int64_t i = 0; i < count && ok_; ++i) each(list.emplace_back());
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// `A` is Packer or Unpacker. The structured bindings do not compile if a type has a new member.
template <typename A>
void MapSchema(A& a, auto& schema) {
  auto& [names, features, label, weight, validation, partitions, rules, left_out] = schema;
  const auto number = [&](auto& value) { a.Number(value); };
  a.List(names, [&](auto& name) { a.Text(name); });
  a.List(features, number);
  a.List(label, number);
  a.Number(weight);
  a.Number(validation);
  a.Number(partitions);
  a.List(rules, [&](auto& rule) {
    auto& [type, group, part] = rule;
    a.Enum(type, spec::FeatureType::kCategorical);
    a.Number(group);
    a.Enum(part, spec::DatePart::kEpoch);
  });
  a.List(left_out, [&](auto& out) {
    auto& [column, reason] = out;
    a.Number(column);
    a.Enum(reason, spec::LeftOutReason::kDirectoryText);
  });
}

void MapPath(Packer& a, const std::string& path, const std::string& before) {
  const auto differ = std::mismatch(path.begin(), path.end(), before.begin(), before.end());
  const auto shared = differ.first - path.begin();
  a.Number(shared);
  a.Text(std::string_view(path).substr(static_cast<size_t>(shared)));
}

void MapPath(Unpacker& a, std::string& path, const std::string& before) {
  const auto shared = static_cast<size_t>(a.Within(0, static_cast<int64_t>(before.size())));
  path = before.substr(0, shared);
  path += a.View();
}

// Maps a number as its difference from `before`, modulo 2^64.
void MapFrom(Packer& a, int64_t value, int64_t before) {
  a.Number(static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(before)));
}

void MapFrom(Unpacker& a, int64_t& value, int64_t before) {
  value = static_cast<int64_t>(static_cast<uint64_t>(a.Next()) + static_cast<uint64_t>(before));
}

template <typename A>
void MapFiles(A& a, auto& files) {
  spec::InputFile before;
  a.List(files, [&](auto& file) {
    auto& [path, length, modified_ms, role, columns] = file;
    MapPath(a, path, before.path);
    a.Number(length);
    MapFrom(a, modified_ms, before.modified_ms);
    a.Enum(role, spec::FileRole::kTest);
    a.List(columns, [&](auto& column) { a.Number(column); });
    before.path = path;
    before.modified_ms = modified_ms;
  });
}

// Returns whether `next` adjoins `shard` in the same file and has its length.
bool Continues(const spec::Shard& shard, const spec::Shard& next) {
  return next.file == shard.file && next.begin == shard.end &&
         next.end - next.begin == shard.end - shard.begin;
}

// Returns where a run of this file is expected to begin.
int64_t ExpectedBegin(const spec::Shard& before, int32_t file) {
  return file == before.file ? before.end : 0;
}

void MapShards(Packer& a, const std::vector<spec::Shard>& shards) {
  a.Number(static_cast<int64_t>(shards.size()));
  spec::Shard before;
  for (size_t i = 0; i < shards.size();) {
    size_t end = i + 1;
    while (end < shards.size() && Continues(shards[end - 1], shards[end])) ++end;
    const auto& [file, begin, shard_end] = shards[i];
    a.Number(int64_t{file} - before.file);
    MapFrom(a, begin, ExpectedBegin(before, file));
    MapFrom(a, shard_end, begin);
    a.Number(static_cast<int64_t>(end - i));
    before = shards[end - 1];
    i = end;
  }
}

void MapShards(Unpacker& a, std::vector<spec::Shard>& shards) {
  const int64_t count = a.Within(0, kPackedShardsMax);
  spec::Shard before;
  while (a.ok() && std::ssize(shards) < count) {
    constexpr int64_t kFileMax = std::numeric_limits<int32_t>::max();
    spec::Shard shard;
    shard.file = static_cast<int32_t>(before.file + a.Within(-before.file, kFileMax - before.file));
    MapFrom(a, shard.begin, ExpectedBegin(before, shard.file));
    MapFrom(a, shard.end, shard.begin);
    const int64_t run = a.Within(1, count - std::ssize(shards));
    if (!a.ok() || shard.begin < 0 || shard.end < shard.begin) return a.Fail();
    const int64_t length = shard.end - shard.begin;
    const int64_t room = std::numeric_limits<int64_t>::max() - shard.end;  // for the later shards
    if (run > 1 && length > room / (run - 1)) return a.Fail();
    for (int64_t i = 0; i < run; ++i) {
      before = {shard.file, shard.begin + i * length, shard.end + i * length};
      shards.push_back(before);
    }
  }
}

using Hosts = std::vector<std::vector<std::string>>;

void MapHosts(Packer& a, const Hosts& hosts) {
  std::map<std::string, int64_t> places;
  std::vector<std::string> names;
  for (const auto& of_shard : hosts) {
    for (const std::string& name : of_shard) {
      if (places.emplace(name, std::ssize(names)).second) names.push_back(name);
    }
  }
  a.List(names, [&](const std::string& name) { a.Text(name); });
  a.List(hosts, [&](const auto& of_shard) {
    a.List(of_shard, [&](const std::string& name) { a.Number(places.at(name)); });
  });
}

void MapHosts(Unpacker& a, Hosts& hosts) {
  std::vector<std::string> names;
  a.List(names, [&](std::string& name) { a.Text(name); });
  a.List(hosts, [&](auto& of_shard) {
    a.List(of_shard, [&](std::string& name) {
      const int64_t place = a.Within(0, std::ssize(names) - 1);
      if (a.ok()) name = names[static_cast<size_t>(place)];
    });
  });
}

template <typename A>
void MapPlan(A& a, auto& plan) {
  auto& [files, shards, schema, hosts, provisional, notes] = plan;
  MapFiles(a, files);
  MapShards(a, shards);
  MapSchema(a, schema);
  a.Number(provisional);
  a.List(notes, [&](auto& note) { a.Text(note); });
  MapHosts(a, hosts);
}

}  // namespace

std::string PackPlan(const spec::InputPlan& plan) {
  Packer packer;
  packer.Number(kPackedPlanVersion);
  MapPlan(packer, plan);
  std::string bytes = packer.Take();
  bytes.shrink_to_fit();
  return bytes;
}

Result<spec::InputPlan> UnpackPlan(std::string_view bytes) {
  Unpacker unpacker(bytes);
  if (const int64_t version = unpacker.Next(); version != kPackedPlanVersion) {
    return DataLoss("the packed input plan of a job has another version (found " +
                    std::to_string(version) + ", expected " + std::to_string(kPackedPlanVersion) +
                    "). Start the version of the coordinator that wrote it.");
  }
  spec::InputPlan plan;
  MapPlan(unpacker, plan);
  if (!unpacker.at_end())
    return DataLoss("the packed input plan of a job is damaged. Restore the state directory.");
  return plan;
}

}  // namespace espalier::cluster
