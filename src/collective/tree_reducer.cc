#include "src/collective/tree_reducer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "src/base/check.h"

namespace espalier::collective {
namespace {

// Limit for the messages held for the next round: two inputs per bucket, and the other part or the
// total.
constexpr size_t kHeldMax = 3 * 65536;

template <typename T>
void Add(const std::byte* a, const std::byte* b, std::byte* out, int64_t n) {
  const T* x = reinterpret_cast<const T*>(a);
  const T* y = reinterpret_cast<const T*>(b);
  T* z = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

void AddVectors(const BucketShape& shape, const std::byte* a, const std::byte* b, std::byte* out) {
  Add<float>(a, b, out, shape.floats);
  const int64_t at = shape.float_bytes();
  Add<double>(a + at, b + at, out + at, shape.doubles);
}

// Joins the nodes of two inputs into the canonical nodes of their union. A position that is kept is
// added up in its place in the result. A position that is joined further up is added up in separate
// memory.
Payload Join(const plan::JoinPlan& plan, const BucketShape& shape, size_t left_nodes, size_t nodes,
             const Payload& left, const Payload& right) {
  const auto bytes = static_cast<size_t>(shape.bytes());
  MutablePayload result = AllocatePayload(plan.kept.size() * bytes);
  std::vector<const std::byte*> value(nodes);
  std::vector<std::byte*> sum(nodes, nullptr);  // memory for the sum of each position
  std::vector<MutablePayload> scratch;
  for (size_t i = 0; i < nodes; ++i) {
    value[i] = i < left_nodes ? left.data + i * bytes : right.data + (i - left_nodes) * bytes;
  }
  for (size_t k = 0; k < plan.kept.size(); ++k) sum[plan.kept[k]] = result.data + k * bytes;
  for (const plan::JoinStep& step : plan.steps) {
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

// Returns whether this source sends a message of this kind up the tree.
bool Sends(const plan::JoinSource& source, const ReduceMessage& m) {
  const plan::SourceKind kind =
      m.kind == MessageKind::kLeafUp ? plan::SourceKind::kLeavesOf : plan::SourceKind::kJoinOf;
  return source.kind == kind && source.member == static_cast<int32_t>(m.from);
}

}  // namespace

TreeReducer::TreeReducer(ReduceIdentity identity, plan::TreePlace place)
    : identity_(identity), place_(std::move(place)) {}

ReduceActions TreeReducer::BeginRound(uint64_t round, RoundShape shape) {
  ReduceActions actions;
  if (failed()) return actions;
  ESPALIER_CHECK(!begun_ || round == round_ + 1,
                 std::to_string(round) + " after " + std::to_string(round_));
  for (const BucketState& b : buckets_)
    ESPALIER_CHECK(b.done, "a round began before its forerunner's end");
  for (const BucketShape& b : shape)
    ESPALIER_CHECK(b.floats % 2 == 0, std::to_string(b.floats) + " floats before doubles");
  round_ = round;
  begun_ = true;
  shape_ = std::move(shape);
  buckets_.assign(shape_.size(), {});
  for (ReduceMessage& m : std::exchange(held_, {})) {
    if (failed()) break;
    Take(std::move(m), actions);
  }
  return actions;
}

ReduceActions TreeReducer::OnOwn(uint32_t bucket, Payload nodes) {
  ReduceActions actions;
  if (failed()) return actions;
  ESPALIER_CHECK(begun_ && bucket < buckets_.size() && !buckets_[bucket].own_given,
                 "bucket " + std::to_string(bucket) + " of " + std::to_string(buckets_.size()));
  ESPALIER_CHECK(nodes.size == place_.own_nodes.size() * shape_[bucket].bytes(),
                 "own sums have " + std::to_string(nodes.size) + " bytes");
  buckets_[bucket].own_given = true;
  if (place_.leaves_to < 0 && place_.top) {
    TakeOwnPart(bucket, std::move(nodes), actions);
  } else if (place_.leaves_to < 0) {
    TakeTotal(bucket, std::move(nodes), actions);
  } else if (place_.leaves_to == place_.self) {
    TakeInput(bucket, place_.left.kind == plan::SourceKind::kOwnLeaves, std::move(nodes), actions);
  } else {
    actions.send.push_back(Make(MessageKind::kLeafUp, place_.leaves_to, bucket, std::move(nodes)));
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
  // Before the first round, the member holds all messages of this generation.
  const ReduceDecision decision =
      begun_
          ? FilterMessage(m, identity_, round_)
          : (FilterMessage(m, identity_, m.round) == ReduceDecision::kTake ? ReduceDecision::kHold
                                                                           : ReduceDecision::kDrop);
  if (decision == ReduceDecision::kDrop) return;
  if (decision == ReduceDecision::kHold) {
    if (held_.size() >= kHeldMax) {
      return Fail(ResourceExhausted(sender + " sent more messages of the next round than it has"),
                  actions);
    }
    held_.push_back(std::move(m));
    return;
  }
  if (decision == ReduceDecision::kError || m.bucket >= buckets_.size()) {
    return Fail(FailedPrecondition(sender + " sent bucket " + std::to_string(m.bucket) +
                                   " of round " + std::to_string(m.round) +
                                   "; this member is in round " + std::to_string(round_) + " of " +
                                   std::to_string(buckets_.size()) + " buckets"),
                actions);
  }
  const size_t vectors = VectorsExpected(m);
  if (vectors == 0) {
    return Fail(FailedPrecondition(sender + " sent a message of kind " +
                                   std::to_string(static_cast<int>(m.kind)) +
                                   " that its place in the tree does not send here"),
                actions);
  }
  const size_t bytes = vectors * static_cast<size_t>(shape_[m.bucket].bytes());
  if (m.payload.size != bytes) {
    return Fail(FailedPrecondition(sender + " sent " + std::to_string(m.payload.size) +
                                   " bytes for bucket " + std::to_string(m.bucket) + "; expected " +
                                   std::to_string(bytes)),
                actions);
  }
  if (m.kind == MessageKind::kDown) {
    TakeTotal(m.bucket, std::move(m.payload), actions);
  } else if (m.kind == MessageKind::kAcross) {
    TakePart(m.bucket, !place_.top->holds_left, std::move(m.payload), actions);
  } else {
    TakeInput(m.bucket, Sends(place_.left, m), std::move(m.payload), actions);
  }
}

size_t TreeReducer::VectorsExpected(const ReduceMessage& m) const {
  const auto from = static_cast<int32_t>(m.from);
  switch (m.kind) {
    case MessageKind::kDown:
      return place_.down_from == from ? 1 : 0;
    case MessageKind::kAcross:
      return place_.top && place_.top->partner == from ? place_.top->theirs.size() : 0;
    case MessageKind::kLeafUp:
    case MessageKind::kJoinUp:
      if (place_.joins && Sends(place_.left, m)) return place_.left.nodes.size();
      return place_.joins && Sends(place_.right, m) ? place_.right.nodes.size() : 0;
    case MessageKind::kHello:
      return 0;
  }
  return 0;
}

std::vector<int32_t> TreeReducer::Missing() const {
  std::set<int32_t> missing;
  for (const BucketState& c : buckets_) {
    if (c.done) continue;
    if (!c.own_given) missing.insert(place_.self);
    if (place_.joins && !c.has_left) missing.insert(place_.left.member);
    if (place_.joins && !c.has_right) missing.insert(place_.right.member);
    if (place_.joins && (!c.has_left || !c.has_right)) continue;
    if (place_.top && !(place_.top->holds_left ? c.has_top_right : c.has_top_left)) {
      missing.insert(place_.top->partner);
    }
    if (place_.down_from >= 0) missing.insert(place_.down_from);
  }
  return {missing.begin(), missing.end()};
}

void TreeReducer::TakeInput(uint32_t bucket, bool is_left, Payload nodes, ReduceActions& actions) {
  BucketState& state = buckets_[bucket];
  bool& has = is_left ? state.has_left : state.has_right;
  if (std::exchange(has, true)) return FailTwice(bucket, actions);
  (is_left ? state.left : state.right) = std::move(nodes);
  if (!state.has_left || !state.has_right) return;
  Payload sum = Join(place_.join, shape_[bucket], place_.left.nodes.size(),
                     place_.left.nodes.size() + place_.right.nodes.size(), state.left, state.right);
  state.left = state.right = {};
  if (place_.top) {
    TakeOwnPart(bucket, std::move(sum), actions);
  } else {
    actions.send.push_back(Make(MessageKind::kJoinUp, place_.join_to, bucket, std::move(sum)));
  }
}

void TreeReducer::TakeOwnPart(uint32_t bucket, Payload nodes, ReduceActions& actions) {
  actions.send.push_back(Make(MessageKind::kAcross, place_.top->partner, bucket, nodes));
  TakePart(bucket, place_.top->holds_left, std::move(nodes), actions);
}

void TreeReducer::TakePart(uint32_t bucket, bool is_left, Payload nodes, ReduceActions& actions) {
  BucketState& state = buckets_[bucket];
  bool& has = is_left ? state.has_top_left : state.has_top_right;
  if (std::exchange(has, true)) return FailTwice(bucket, actions);
  (is_left ? state.top_left : state.top_right) = std::move(nodes);
  if (!state.has_top_left || !state.has_top_right) return;
  const plan::TopJoin& top = *place_.top;
  const size_t left_nodes = (top.holds_left ? top.own : top.theirs).size();
  Payload total = Join(top.join, shape_[bucket], left_nodes, top.own.size() + top.theirs.size(),
                       state.top_left, state.top_right);
  state.top_left = state.top_right = {};
  TakeTotal(bucket, std::move(total), actions);
}

void TreeReducer::FailTwice(uint32_t bucket, ReduceActions& actions) {
  Fail(FailedPrecondition("bucket " + std::to_string(bucket) + " of round " +
                          std::to_string(round_) + " came twice"),
       actions);
}

void TreeReducer::TakeTotal(uint32_t bucket, Payload total, ReduceActions& actions) {
  if (buckets_[bucket].done) {
    return Fail(FailedPrecondition("the total of bucket " + std::to_string(bucket) + " came twice"),
                actions);
  }
  buckets_[bucket].done = true;
  for (int32_t to : place_.down_to) {
    actions.send.push_back(Make(MessageKind::kDown, to, bucket, total));
  }
  actions.totals.push_back({bucket, std::move(total)});
}

ReduceMessage TreeReducer::Make(MessageKind kind, int32_t to, uint32_t bucket,
                                Payload payload) const {
  ReduceMessage m;
  m.incarnation = identity_.incarnation;
  m.job = identity_.job;
  m.generation = identity_.generation;
  m.round = round_;
  m.kind = kind;
  m.from = static_cast<uint32_t>(place_.self);
  m.to = static_cast<uint32_t>(to);
  m.bucket = bucket;
  m.payload = std::move(payload);
  return m;
}

void TreeReducer::Fail(Status error, ReduceActions& actions) {
  failure_ = error;
  actions.error = std::move(error);
}

}  // namespace espalier::collective
