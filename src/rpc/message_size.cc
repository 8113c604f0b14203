#include "src/rpc/message_size.h"

#include <string>

#include "src/base/text.h"
#include "src/rpc/convert.h"

namespace espalier::rpc {
namespace {

namespace pb = ::espalier::v1;

std::string Bytes(int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); }

// Applies the receiver's checks: first the size, then the content.
template <typename Proto, typename T>
Status Check(const T& value, const std::string& what, const std::string& fix) {
  Proto proto;
  rpc::ToProto(value, &proto);
  const auto bytes = static_cast<int64_t>(proto.ByteSizeLong());
  if (bytes > kMessagePartBytesMax) {
    return InvalidArgument(what + " takes " + Bytes(bytes) + " in a message, at most " +
                           Bytes(kMessagePartBytesMax) + " are possible; " + fix);
  }
  const auto back = rpc::FromProto(proto);
  if (back.ok()) return Status::Ok();
  return InvalidArgument(what + " cannot be sent to others (" + back.status().ToString() + "); " +
                         fix);
}

// Returns what an oversized profile contains and how to make it smaller.
std::string Excess(const spec::ShardProfile& profile) {
  size_t labels = profile.labels.size() + profile.evaluation_labels.size();
  for (const auto& values : profile.categories) labels += values.size();
  return std::to_string(profile.features.size() + profile.targets.size()) + " columns, " +
         std::to_string(labels) + " labels and categories. " +
         (labels > profile.features.size()
              ? "Use smaller shards (data.shard_bytes), or hash categories of many values"
              : "Use fewer columns (data.features.columns)");
}

std::string Excess(const spec::ShardScore& score) {
  const size_t totals = score.evaluated() != nullptr ? score.evaluated()->totals.size() : 0;
  return std::to_string(totals) + " totals. Use a model with fewer classes";
}

}  // namespace

Result<int64_t> MeasureResult(const spec::InputPlan& input, const spec::ShardResult& result) {
  pb::ShardProfile proto;
  rpc::ToProto(result, &proto);
  const auto bytes = static_cast<int64_t>(proto.ByteSizeLong());
  if (bytes <= kMessagePartBytesMax) return bytes;
  const spec::Shard& shard = input.shards[static_cast<size_t>(spec::ShardOf(result))];
  return ResourceExhausted("bytes " + std::to_string(shard.begin) + " to " +
                           std::to_string(shard.end) + ": the result is too large (found " +
                           Bytes(bytes) + ", expected at most " + Bytes(kMessagePartBytesMax) +
                           "): " + std::visit([](const auto& r) { return Excess(r); }, result))
      .At({.file = input.files[static_cast<size_t>(shard.file)].path});
}

Status CheckSendable(const spec::InputPlan& input) {
  return Check<pb::InputPlan>(
      input,
      "data: the list of " + HumanCount(static_cast<int64_t>(input.files.size())) + " files, " +
          HumanCount(static_cast<int64_t>(input.shards.size())) + " shards and " +
          HumanCount(static_cast<int64_t>(input.schema.names.size())) + " columns",
      "use larger shards (data.shard_bytes), or fewer and larger files");
}

Status CheckSendable(const spec::TableProfile& profile) {
  return Check<pb::TableProfile>(
      profile,
      "data: the profile, of " + HumanCount(static_cast<int64_t>(profile.shards.size())) +
          " shards, " + HumanCount(static_cast<int64_t>(profile.preprocessing.features.size())) +
          " columns and " + HumanCount(static_cast<int64_t>(profile.preprocessing.classes.size())) +
          " classes,",
      "use larger shards (data.shard_bytes), shorter names and labels, or hashed categories");
}

Status CheckSendable(const spec::ScoringResult& result) {
  const size_t classes = result.evaluated() != nullptr ? result.evaluated()->classes.size() : 0;
  return Check<pb::JobResult>(
      spec::JobResult(result),
      "the job's result, with metrics of " + HumanCount(static_cast<int64_t>(classes)) +
          " classes or labels,",
      "look for extreme values in the data, and for names of enormous length in the model");
}

}  // namespace espalier::rpc
