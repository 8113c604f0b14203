#include "src/collective/tree_reducer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <deque>

#include "src/base/random.h"
#include "tests/testing/says.h"
#include "tests/testing/scale.h"

namespace espalier::collective {
namespace {

constexpr ReduceIdentity kHere{{1}, {7}, {3}};

AlignedVector<double> LeafVector(int32_t leaf, uint64_t round, int64_t elements) {
  AlignedVector<double> v(elements);
  for (int64_t e = 0; e < elements; ++e) {
    const uint64_t bits = Mix64(round * 1'000'003 + leaf * 1009 + e);
    v[e] = (UnitDouble(bits) - 0.5) * std::pow(10.0, static_cast<double>(bits % 13) - 6);
  }
  return v;
}

// Returns a member's own canonical nodes, joined from single leaves.
Payload OwnNodes(plan::LeafSpan own, int32_t leaves, uint64_t round, int64_t elements) {
  std::vector<plan::TreeNode> singles;
  std::vector<AlignedVector<double>> v;
  for (int32_t l = own.begin; l < own.end; ++l) {
    singles.push_back({0, l});
    v.push_back(LeafVector(l, round, elements));
  }
  const plan::JoinPlan plan = plan::PlanJoin(singles, leaves);
  for (const plan::JoinStep& s : plan.steps) {
    for (int64_t e = 0; e < elements; ++e) v[s.into][e] += v[s.from][e];
  }
  AlignedVector<double> nodes;
  for (int32_t k : plan.kept) nodes.insert(nodes.end(), v[k].begin(), v[k].end());
  return MakePayload(std::move(nodes));
}

std::vector<double> AsDoubles(const Payload& p) {
  std::vector<double> v(p.size / sizeof(double));
  std::memcpy(v.data(), p.data, p.size);
  return v;
}

// All members of a job in one thread. The seed determines the order in which messages arrive.
class Cluster {
 public:
  Cluster(int32_t leaves, int32_t members, uint64_t seed)
      : leaves_(leaves), ownership_(plan::PlanOwnership(leaves, members)), seed_(seed) {
    for (plan::TreePlace& p : plan::PlanTree(ownership_, leaves))
      reducers_.emplace_back(kHere, std::move(p));
  }

  // Performs one round. Returns the totals by member and bucket.
  std::vector<std::vector<std::vector<double>>> Round(uint64_t round, const RoundShape& shape) {
    totals_.assign(reducers_.size(), std::vector<std::vector<double>>(shape.size()));
    std::vector<std::pair<int32_t, int32_t>> todo;  // (member, bucket); bucket -1 begins the round
    for (int32_t m = 0; m < Members(); ++m) todo.push_back({m, -1});
    while (!todo.empty() || !mail_.empty()) {
      const uint64_t draw = Mix64(seed_ + ++turn_);
      if (!todo.empty() && (mail_.empty() || draw % 3 == 0)) {
        const size_t i = draw / 3 % todo.size();
        const auto [member, bucket] = todo[i];
        todo.erase(todo.begin() + static_cast<int64_t>(i));
        if (bucket < 0) {
          for (int32_t c = 0; c < static_cast<int32_t>(shape.size()); ++c)
            todo.push_back({member, c});
          Perform(member, reducers_[member].BeginRound(round, shape));
        } else {
          Perform(member,
                  reducers_[member].OnOwn(bucket, OwnNodes(ownership_.intervals[member], leaves_,
                                                           round + bucket, shape[bucket].doubles)));
        }
      } else {
        const size_t i = draw / 3 % mail_.size();
        ReduceMessage m = std::move(mail_[i]);
        mail_.erase(mail_.begin() + static_cast<int64_t>(i));
        const auto to = static_cast<int32_t>(m.to);
        Perform(to, reducers_[to].OnMessage(std::move(m)));
      }
    }
    return totals_;
  }

  int32_t Members() const { return static_cast<int32_t>(reducers_.size()); }

 private:
  void Perform(int32_t member, ReduceActions actions) {
    REQUIRE(actions.error.ToString() == "OK");
    for (ReduceMessage& m : actions.send) mail_.push_back(std::move(m));
    for (const BucketTotal& t : actions.totals) totals_[member][t.bucket] = AsDoubles(t.payload);
  }

  int32_t leaves_;
  plan::Ownership ownership_;
  std::vector<TreeReducer> reducers_;
  std::deque<ReduceMessage> mail_;
  std::vector<std::vector<std::vector<double>>> totals_;
  uint64_t seed_, turn_ = 0;
};

TEST_CASE("totals do not depend on members or order of arrival") {
  const RoundShape shape = {{0, 5}, {0, 1}, {0, 17}};
  for (int32_t leaves : {1, 3, 6, 16}) {
    Cluster alone(leaves, 1, 1);
    const auto expected = alone.Round(1, shape)[0];
    for (int32_t members = 2; members <= leaves; ++members) {
      for (uint64_t seed = 0; seed < 20 * TestScale(); ++seed) {
        Cluster cluster(leaves, members, seed);
        const auto totals = cluster.Round(1, shape);
        for (int32_t m = 0; m < members; ++m) REQUIRE(totals[m] == expected);
      }
    }
  }
}

TEST_CASE("the same reducers perform many rounds") {
  const RoundShape shape = {{0, 4}};
  Cluster alone(8, 1, 1), cluster(8, 5, 9);
  for (uint64_t round = 1; round <= 30; ++round) {
    const auto expected = alone.Round(round, shape)[0];
    const auto totals = cluster.Round(round, shape);
    for (int32_t m = 0; m < 5; ++m) REQUIRE(totals[m] == expected);
  }
}

struct Pair {
  std::vector<plan::TreePlace> places = plan::PlanTree(plan::PlanOwnership(2, 2), 2);
  TreeReducer holder{kHere, places[0]};
  ReduceMessage Part(uint64_t round, size_t elements, uint32_t bucket = 0) const {
    ReduceMessage m;
    m.incarnation = {1};
    m.job = {7};
    m.generation = {3};
    m.round = round;
    m.kind = MessageKind::kAcross;
    m.from = 1;
    m.to = 0;
    m.bucket = bucket;
    m.payload = MakePayload(AlignedVector<double>(elements, 1.0));
    return m;
  }
};

TEST_CASE("a message of the next round is held, an older one dropped") {
  Pair p;
  CHECK(p.holder.OnMessage(p.Part(1, 1)).error.ok());  // before the first round
  CHECK(p.holder.BeginRound(1, {{0, 1}}).error.ok());
  const auto done = p.holder.OnOwn(0, MakePayload(AlignedVector<double>{2.0}));
  REQUIRE(done.totals.size() == 1);
  CHECK(AsDoubles(done.totals[0].payload) == std::vector<double>{3.0});
  CHECK(p.holder.OnMessage(p.Part(2, 1)).error.ok());  // held
  CHECK(p.holder.BeginRound(2, {{0, 1}}).error.ok());
  CHECK(p.holder.OnMessage(p.Part(1, 1)).error.ok());  // older: dropped
  CHECK(p.holder.OnOwn(0, MakePayload(AlignedVector<double>{5.0})).totals.size() == 1);
}

TEST_CASE("a protocol error names the member and the numbers") {
  const auto error_of = [](auto&& change) {
    Pair p;
    CHECK(p.holder.BeginRound(4, {{0, 2}}).error.ok());
    ReduceMessage m = p.Part(4, 2);
    change(p, m);
    return p.holder.OnMessage(std::move(m)).error.message();
  };
  CHECK(error_of([](Pair&, ReduceMessage& m) { m.round = 6; }) ==
        "member 1 sent bucket 0 of round 6; this member is in round 4 of 1 buckets");
  CHECK(error_of([](Pair&, ReduceMessage& m) { m.bucket = 1; }) ==
        "member 1 sent bucket 1 of round 4; this member is in round 4 of 1 buckets");
  CHECK(error_of([](Pair& p, ReduceMessage& m) { m.payload = p.Part(4, 3).payload; }) ==
        "member 1 sent 24 bytes for bucket 0; expected 16");
  CHECK_THAT(error_of([](Pair&, ReduceMessage& m) { m.kind = MessageKind::kDown; }),
             Says("member 1 sent a message of kind 3"));
  CHECK(error_of([](Pair& p, ReduceMessage&) { (void)p.holder.OnMessage(p.Part(4, 2)); }) ==
        "bucket 0 of round 4 came twice");
}

TEST_CASE("stale messages are dropped and a failure is final") {
  Pair p;
  CHECK(p.holder.BeginRound(1, {{0, 1}}).error.ok());
  ReduceMessage other = p.Part(1, 1);
  other.job = {8};
  CHECK(p.holder.OnMessage(std::move(other)).error.ok());
  ReduceMessage older = p.Part(1, 1);
  older.generation = {2};
  CHECK(p.holder.OnMessage(std::move(older)).error.ok());
  CHECK(p.holder.Missing() == std::vector<int32_t>{0, 1});
  CHECK(!p.holder.OnMessage(p.Part(1, 9)).error.ok());
  CHECK(p.holder.failed());
  CHECK(p.holder.OnMessage(p.Part(1, 1)).send.empty());
}

}  // namespace
}  // namespace espalier::collective
