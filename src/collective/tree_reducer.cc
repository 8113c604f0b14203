#include "src/collective/tree_reducer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "src/base/check.h"

namespace espalier {
namespace {

// At most this many messages of the next round are held: two inputs a chunk and the total.
constexpr size_t kHeldMax = 3 * 65536;

template <typename T>
void Add(const std::byte* a, const std::byte* b, std::byte* out, int64_t n) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  T* z = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

void AddVectors(const ChunkShape& shape, const std::byte* a, const std::byte* b, std::byte* out) {
  if (shape.is_double) {
    Add<double>(a, b, out, shape.elements);
  } else {
    Add<float>(a, b, out, shape.elements);
  }
}

// Joins the nodes of two inputs into the canonical nodes of their union. A position that is kept
// adds up in its place of the result; one that is joined further up adds up in memory of its own.
Payload Join(const JoinPlan& plan, const ChunkShape& shape, size_t left_nodes, size_t nodes,
             const Payload& left, const Payload& right) {
  const auto bytes = static_cast<size_t>(shape.bytes());
  MutablePayload result = AllocatePayload(plan.kept.size() * bytes);
  std::vector<const std::byte*> value(nodes);
  std::vector<std::byte*> sum(nodes, nullptr);  // where a position adds up
  std::vector<MutablePayload> scratch;
  for (size_t i = 0; i < nodes; ++i) {
    value[i] = i < left_nodes ? left.data + i * bytes : right.data + (i - left_nodes) * bytes;
  }
  for (size_t k = 0; k < plan.kept.size(); ++k) sum[plan.kept[k]] = result.data + k * bytes;
  for (const JoinStep& step : plan.steps) {
    if (sum[step.into] == nullptr) {
      scratch.push_back(AllocatePayload(bytes));
      sum[step.into] = scratch.back().data;
    }
    AddVectors(shape, value[step.into], value[step.from], sum[step.into]);
    value[step.into] = sum[step.into];
  }
  for (int32_t position : plan.kept) {
    if (value[position] != sum[position]) std::memcpy(sum[position], value[position], bytes);
  }
  return std::move(result).Freeze();
}

}  // namespace

TreeReducer::TreeReducer(ReduceIdentity identity, TreePlace place)
    : identity_(identity), place_(std::move(place)) {}

ReduceActions TreeReducer::BeginRound(uint64_t round, RoundShape shape) {
  ReduceActions actions;
  if (failed()) return actions;
  ESPALIER_CHECK(!begun_ || round == round_ + 1,
                 std::to_string(round) + " after " + std::to_string(round_));
  for (const ChunkState& c : chunks_)
    ESPALIER_CHECK(c.done, "a round began before its forerunner's end");
  round_ = round;
  begun_ = true;
  shape_ = std::move(shape);
  chunks_.assign(shape_.size(), {});
  for (ReduceMessage& m : std::exchange(held_, {})) {
    if (failed()) break;
    Take(std::move(m), actions);
  }
  return actions;
}

ReduceActions TreeReducer::OnOwn(uint32_t chunk, Payload nodes) {
  ReduceActions actions;
  if (failed()) return actions;
  ESPALIER_CHECK(begun_ && chunk < chunks_.size() && !chunks_[chunk].own_given,
                 "chunk " + std::to_string(chunk) + " of " + std::to_string(chunks_.size()));
  ESPALIER_CHECK(nodes.size == place_.own_nodes.size() * shape_[chunk].bytes(),
                 "own sums have " + std::to_string(nodes.size) + " bytes");
  chunks_[chunk].own_given = true;
  if (place_.leaves_to < 0) {
    TakeTotal(chunk, std::move(nodes), actions);
  } else if (place_.leaves_to == place_.self) {
    TakeInput(chunk, place_.left.kind == SourceKind::kOwnLeaves, std::move(nodes), actions);
  } else {
    actions.send.push_back(Make(MessageKind::kLeafUp, place_.leaves_to, chunk, std::move(nodes)));
  }
  return actions;
}

ReduceActions TreeReducer::OnMessage(ReduceMessage message) {
  ReduceActions actions;
  if (!failed()) Take(std::move(message), actions);
  return actions;
}

void TreeReducer::Take(ReduceMessage m, ReduceActions& actions) {
  const std::string sender = "member " + std::to_string(m.from);
  // Before the first round all messages of this generation wait for it.
  const ReduceFate fate =
      begun_ ? FateOf(m, identity_, round_)
             : (FateOf(m, identity_, m.round) == ReduceFate::kTake ? ReduceFate::kHold
                                                                   : ReduceFate::kDrop);
  if (fate == ReduceFate::kDrop) return;
  if (fate == ReduceFate::kHold) {
    if (held_.size() >= kHeldMax) {
      return Fail(ResourceExhausted(sender + " sent more messages of the next round than it has"),
                  actions);
    }
    held_.push_back(std::move(m));
    return;
  }
  if (fate == ReduceFate::kError || m.chunk >= chunks_.size()) {
    return Fail(FailedPrecondition(sender + " sent chunk " + std::to_string(m.chunk) +
                                   " of round " + std::to_string(m.round) +
                                   "; this member is in round " + std::to_string(round_) + " of " +
                                   std::to_string(chunks_.size()) + " chunks"),
                actions);
  }
  const auto from = static_cast<int32_t>(m.from);
  const auto comes_from = [&](const JoinSource& s, SourceKind kind) {
    return place_.joins && s.kind == kind && s.member == from;
  };
  const size_t bytes = static_cast<size_t>(shape_[m.chunk].bytes());
  const SourceKind kind =
      m.kind == MessageKind::kLeafUp ? SourceKind::kLeavesOf : SourceKind::kJoinOf;
  const bool is_total = m.kind == MessageKind::kDown && place_.down_from == from;
  const bool is_up = m.kind == MessageKind::kLeafUp || m.kind == MessageKind::kJoinUp;
  const bool is_left = is_up && comes_from(place_.left, kind);
  const bool is_right = is_up && !is_left && comes_from(place_.right, kind);
  if (!is_total && !is_left && !is_right) {
    return Fail(FailedPrecondition(sender + " sent a message of kind " +
                                   std::to_string(static_cast<int>(m.kind)) +
                                   " that its place in the tree does not send here"),
                actions);
  }
  const size_t vectors = is_total ? 1 : (is_left ? place_.left : place_.right).nodes.size();
  if (m.payload.size != vectors * bytes) {
    return Fail(FailedPrecondition(sender + " sent " + std::to_string(m.payload.size) +
                                   " bytes for chunk " + std::to_string(m.chunk) + "; expected " +
                                   std::to_string(vectors * bytes)),
                actions);
  }
  if (is_total) {
    TakeTotal(m.chunk, std::move(m.payload), actions);
  } else {
    TakeInput(m.chunk, is_left, std::move(m.payload), actions);
  }
}

std::vector<int32_t> TreeReducer::Missing() const {
  std::set<int32_t> missing;
  for (const ChunkState& c : chunks_) {
    if (c.done) continue;
    if (!c.own_given) missing.insert(place_.self);
    if (place_.joins && !c.has_left) missing.insert(place_.left.member);
    if (place_.joins && !c.has_right) missing.insert(place_.right.member);
    if ((!place_.joins || (c.has_left && c.has_right)) && place_.down_from >= 0) {
      missing.insert(place_.down_from);
    }
  }
  return {missing.begin(), missing.end()};
}

void TreeReducer::TakeInput(uint32_t chunk, bool is_left, Payload nodes, ReduceActions& actions) {
  ChunkState& state = chunks_[chunk];
  bool& has = is_left ? state.has_left : state.has_right;
  if (has) {
    return Fail(FailedPrecondition("chunk " + std::to_string(chunk) + " of round " +
                                   std::to_string(round_) + " came twice"),
                actions);
  }
  has = true;
  (is_left ? state.left : state.right) = std::move(nodes);
  if (!state.has_left || !state.has_right) return;
  Payload sum = Join(place_.join, shape_[chunk], place_.left.nodes.size(),
                     place_.left.nodes.size() + place_.right.nodes.size(), state.left, state.right);
  state.left = state.right = {};
  if (place_.join_to < 0) {
    TakeTotal(chunk, std::move(sum), actions);
  } else {
    actions.send.push_back(Make(MessageKind::kJoinUp, place_.join_to, chunk, std::move(sum)));
  }
}

void TreeReducer::TakeTotal(uint32_t chunk, Payload total, ReduceActions& actions) {
  if (chunks_[chunk].done) {
    return Fail(FailedPrecondition("the total of chunk " + std::to_string(chunk) + " came twice"),
                actions);
  }
  chunks_[chunk].done = true;
  for (int32_t to : place_.down_to) {
    actions.send.push_back(Make(MessageKind::kDown, to, chunk, total));
  }
  actions.totals.push_back({chunk, std::move(total)});
}

ReduceMessage TreeReducer::Make(MessageKind kind, int32_t to, uint32_t chunk,
                                Payload payload) const {
  ReduceMessage m;
  m.incarnation = identity_.incarnation;
  m.job = identity_.job;
  m.generation = identity_.generation;
  m.round = round_;
  m.kind = kind;
  m.from = static_cast<uint32_t>(place_.self);
  m.to = static_cast<uint32_t>(to);
  m.chunk = chunk;
  m.payload = std::move(payload);
  return m;
}

void TreeReducer::Fail(Status error, ReduceActions& actions) {
  failure_ = error;
  actions.error = std::move(error);
}

}  // namespace espalier
