// Runs of a member, event by event. The simulation (tests/sim) runs clusters of the same core.
#include "src/member/member_core.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace espalier::member {
namespace {

constexpr int32_t kLeaves = 8;

// Returns the order of a generation to the member `self` of `workers`, each with equal leaves.
TrainingOrder Order(uint64_t generation, int32_t self, const std::vector<uint64_t>& workers) {
  TrainingOrder order;
  order.self = self;
  order.order.incarnation = {1};
  order.order.job = {7};
  order.order.generation = {generation};
  const auto count = static_cast<int32_t>(workers.size());
  for (int32_t i = 0; i < count; ++i) {
    order.order.members.push_back({.worker = {workers[static_cast<size_t>(i)]}, .name = "a"});
    order.order.leaves.push_back({kLeaves * i / count, kLeaves * (i + 1) / count});
  }
  return order;
}

const char* Name(const MemberAction& action) {
  constexpr const char* kNames[] = {
      "close", "open",    "aside",      "close-aside", "find",   "revert",   "cover",
      "stage", "unstage", "adopt",      "fetch",       "offer",  "withdraw", "agree-present",
      "hold",  "agree",   "checkpoint", "history",     "next",   "run",      "send",
      "abort", "commit",  "loop",       "end-loop",    "report", "end"};
  return kNames[action.index()];
}

// A core, and what it ordered last.
struct Member {
  explicit Member(MemberCoreOptions options = {.leaves = kLeaves, .agreement_steps = 2})
      : core(options) {}

  // Passes in an event. Returns the names of the actions.
  std::string Do(MemberEvent event) {
    actions = core.Step(std::move(event), now_us);
    std::string names;
    for (const MemberAction& action : actions) {
      names += (names.empty() ? "" : " ") + std::string(Name(action));
    }
    return names;
  }
  template <typename Action>
  const Action* Find() const {
    for (const MemberAction& action : actions) {
      if (const auto* found = std::get_if<Action>(&action)) return found;
    }
    return nullptr;
  }
  template <typename Message>
  const Message* Reported() const {
    for (const MemberAction& action : actions) {
      const auto* report = std::get_if<Report>(&action);
      if (report == nullptr) continue;
      if (const auto* message = std::get_if<Message>(&report->message)) return message;
    }
    return nullptr;
  }

  // Brings a new member to its first round in a generation that all members begin together.
  void Begin(const TrainingOrder& order) {
    Do(TakePart{order});
    Do(StateFound{});
    Do(RowsCovered{{}, 1});
    REQUIRE(Do(Proceeds(order.order.generation, 1, order.self)) == "next");
  }
  static ProceedCame Proceeds(Generation generation, uint64_t round, int32_t holder,
                              bool fetched = false) {
    return {{{1}, {7}, generation, round, holder, fetched}};
  }
  static RoundReached Gradient(int64_t step) {
    return {RoundReached::Kind::kGradient, static_cast<uint64_t>(step) + 1, step};
  }
  // Returns the totals of a step with these checksums of the members.
  static TotalsCame Totals(const std::vector<int64_t>& checksums, Generation next = {}) {
    training::StepSignals signals;
    signals.root.next = next;
    for (const int64_t checksum : checksums) signals.members.push_back({1.0, checksum});
    return {std::move(signals), 1.0};
  }

  MemberCore core;
  MemberActions actions;
  int64_t now_us = 1'000'000;
};

TEST_CASE("a generation begins with links, state, rows and a report") {
  Member m;
  CHECK(m.Do(TakePart{Order(1, 0, {1, 2})}) == "close open find");
  CHECK(m.Do(StateFound{}) == "cover");
  CHECK(m.Do(RowsCovered{{}, 1}) == "report");
  CHECK(m.Reported<cluster::MemberReady>()->round == 1);
  CHECK(m.Do(Member::Proceeds({1}, 1, 0)) == "next");
}

TEST_CASE("a Proceed that comes before the rows is kept") {
  Member m;
  m.Do(TakePart{Order(1, 0, {1, 2})});
  m.Do(StateFound{});
  CHECK(m.Do(Member::Proceeds({1}, 1, 0)).empty());
  CHECK(m.Do(RowsCovered{{}, 1}) == "report next");
}

TEST_CASE("a Proceed of another generation is not obeyed") {
  Member m;
  m.Do(TakePart{Order(2, 0, {1, 2})});
  m.Do(StateFound{});
  m.Do(RowsCovered{{}, 1});
  CHECK(m.Do(Member::Proceeds({1}, 1, 0)).empty());
  CHECK(m.Do(Member::Proceeds({2}, 1, 0)) == "next");
}

TEST_CASE("a member that is behind fetches the state and passes it on") {
  Member m;
  m.Do(TakePart{Order(2, 1, {1, 2, 3})});
  m.Do(StateFound{});
  m.Do(RowsCovered{{}, 4});
  CHECK(m.Do(Member::Proceeds({2}, 5, 0, true)) == "fetch");
  CHECK(m.Find<FetchState>()->holder == 0);
  CHECK(m.Do(StateFetched{NotFound("not yet")}) == "fetch");
  CHECK(m.Find<FetchState>()->delay_us > 0);
  SECTION("then it begins the round of all") {
    CHECK(m.Do(StateFetched{{}, {}, 5}) == "offer next");
  }
  SECTION("a state of another round is refused") {
    CHECK(m.Do(StateFetched{{}, {}, 6}) == "end");
    CHECK(m.Find<EndRun>()->status.code() == StatusCode::kFailedPrecondition);
  }
  SECTION("a state that is not one is refused") {
    CHECK(m.Do(StateFetched{{}, BadInput("no state"), 0}) == "end");
    CHECK_FALSE(m.Find<EndRun>()->broken);
  }
  SECTION("an unreachable holder breaks the generation") {
    CHECK(m.Do(StateFetched{Unavailable("gone")}) == "report end");
    CHECK(m.Reported<cluster::LinkBroken>()->other == WorkerId{1});
    CHECK(m.Find<EndRun>()->broken);
  }
  SECTION("a holder that never offers its state breaks the generation") {
    m.now_us += 61'000'000;
    CHECK(m.Do(StateFetched{NotFound("not yet")}) == "report end");
  }
}

TEST_CASE("a Proceed that cannot be followed ends the run") {
  Member m;
  m.Do(TakePart{Order(1, 0, {1, 2})});
  m.Do(StateFound{});
  m.Do(RowsCovered{{}, 3});
  const auto [round, holder] =
      GENERATE(table<uint64_t, int32_t>({{2, 1}, {4, 0}, {4, 2}, {4, -1}}));
  CHECK(m.Do(Member::Proceeds({1}, round, holder)) == "end");
  CHECK(m.Find<EndRun>()->status.code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("an unreadable state fails the job unless another member is further") {
  Member m;
  m.Do(TakePart{Order(2, 0, {1, 2})});
  m.Do(StateFound{{}, Unavailable("the storage")});
  m.Do(RowsCovered{{}, 1});
  const uint64_t round = GENERATE(1, 2);
  CHECK(m.Do(Member::Proceeds({2}, round, round == 1 ? 0 : 1)) == (round == 1 ? "end" : "fetch"));
}

TEST_CASE("equal states become the agreed one before the step is applied") {
  Member m;
  m.Begin(Order(1, 0, {1, 2}));
  CHECK(m.Do(Member::Gradient(0)) == "hold run");
  CHECK(m.Find<RunRound>()->checksum);
  CHECK(m.Do(LeavesDone{5}) == "send");
  CHECK(m.Find<SendSums>()->own.state_checksum == 5);
  CHECK(m.Do(Member::Totals({5, 5})) == "withdraw close-aside agree checkpoint commit");
  CHECK(m.Do(Member::Gradient(1)) == "run");
  CHECK_FALSE(m.Find<RunRound>()->checksum);
  m.Do(LeavesDone{});
  CHECK(m.Do(Member::Totals({0, 0})) == "commit");
}

TEST_CASE("the root requests a comparison for a checkpoint") {
  Member m({.leaves = kLeaves, .agreement_steps = 100});
  m.Begin(Order(1, 0, {1, 2}));
  m.Do(Member::Gradient(1));
  m.Do(LeavesDone{0, true});
  REQUIRE(m.Find<SendSums>()->root);
  CHECK(m.Find<SendSums>()->root->compare_next);
  TotalsCame totals = Member::Totals({0, 0});
  totals.signals->root.compare_next = true;
  m.Do(totals);
  CHECK(m.Do(Member::Gradient(2)) == "hold run");
}

TEST_CASE("states that differ end the run, and the minority is named") {
  Member m;
  m.Begin(Order(1, 2, {1, 2, 3}));
  m.Do(Member::Gradient(0));
  m.Do(LeavesDone{5});
  CHECK(m.Do(Member::Totals({5, 6, 5})) == "withdraw close-aside report end");
  CHECK(m.Reported<cluster::StatesDiffer>()->members == std::vector<int32_t>{1});
  CHECK(m.Find<EndRun>()->broken);
  CHECK(m.core.differs());
  TrainingOrder next = Order(2, 0, {1, 3});
  next.order.reverts = true;
  m.Do(TakePart{next});
  CHECK(m.Do(StateFound{}) == "revert cover");
  CHECK_FALSE(m.core.differs());
}

TEST_CASE("a broken link is reported once and ends the round") {
  Member m;
  m.Begin(Order(1, 0, {1, 2, 3}));
  m.Do(Member::Gradient(0));
  CHECK(m.Do(LinkBroke{{1}, 2, Unavailable("reset")}) == "report abort");
  CHECK(m.Reported<cluster::LinkBroken>()->other == WorkerId{3});
  CHECK(m.Do(LinkBroke{{1}, 1, Unavailable("reset")}).empty());
  CHECK(m.Do(LinkBroke{{9}, 1, Unavailable("reset")}).empty());
  SECTION("the failed round ends the run") {
    CHECK(m.Do(Failed{Unavailable("reset")}) == "end");
    CHECK(m.Find<EndRun>()->broken);
  }
  SECTION("a complete total is applied first") {
    m.Do(LeavesDone{5});
    CHECK(m.Do(Member::Totals({5, 5, 5})) == "withdraw close-aside agree checkpoint commit");
    CHECK(m.Do(Member::Gradient(1)) == "end");
  }
  SECTION("the stamped end of the generation comes first") {
    m.Do(Prepare{Order(2, 0, {1, 2, 3})});
    m.Do(RowsStaged{m.Find<StageRows>()->number, {}});
    m.Do(LeavesDone{5});
    m.Do(Member::Totals({5, 5, 5}, {2}));
    CHECK(m.Do(Member::Gradient(1)) == "withdraw aside adopt report open next");
  }
}

TEST_CASE("an interruption ends a run in each phase") {
  Member m;
  SECTION("while it waits for others") {
    m.Do(TakePart{Order(1, 0, {1, 2})});
    m.Do(StateFound{});
    m.Do(RowsCovered{{}, 1});
    CHECK(m.Do(Interrupt{}) == "end");
  }
  SECTION("while it loads rows") {
    m.Do(TakePart{Order(1, 0, {1, 2})});
    m.Do(StateFound{});
    CHECK(m.Do(Interrupt{}).empty());
    CHECK(m.Do(RowsCovered{Cancelled("stopped"), 1}) == "end");
  }
  SECTION("in a round") {
    m.Begin(Order(1, 0, {1, 2}));
    m.Do(Member::Gradient(0));
    CHECK(m.Do(Interrupt{}) == "abort");
    CHECK(m.Do(LinkBroke{{1}, 1, Unavailable("reset")}) == "abort");  // no report
    CHECK(m.Do(Failed{Cancelled("stopped")}) == "end");
  }
  SECTION("before it begins") {
    m.Do(Interrupt{});
    CHECK(m.Do(TakePart{Order(1, 0, {1, 2})}) == "end");
    m.Do(Rearm{});
    CHECK(m.Do(TakePart{Order(1, 0, {1, 2})}) == "close open find");
  }
  CHECK(m.core.phase() ==
        (m.core.interrupted() ? MemberCore::Phase::kIdle : MemberCore::Phase::kFinding));
}

TEST_CASE("a planned generation begins after the total that the root stamped") {
  Member m;
  m.Begin(Order(1, 0, {1, 2}));
  CHECK(m.Do(Prepare{Order(2, 0, {1, 2, 3})}) == "stage");
  const uint64_t number = m.Find<StageRows>()->number;
  CHECK(m.Do(RowsStaged{number + 1, {}}).empty());
  CHECK(m.Do(RowsStaged{number, {}}) == "report");
  m.Do(Member::Gradient(1));
  m.Do(SwitchTo{{2}});
  m.Do(LeavesDone{});
  REQUIRE(m.Find<SendSums>()->root);
  CHECK(m.Find<SendSums>()->root->next == Generation{2});
  CHECK(m.Do(Member::Totals({0, 0}, {2})) == "withdraw close-aside commit");
  CHECK(m.Do(Member::Gradient(2)) ==
        "withdraw aside adopt report open offer next");  // member 0 is the holder
  CHECK(m.Reported<cluster::Switched>()->round == 3);
  CHECK(m.Do(SwitchTo{{2}}).empty());
}

TEST_CASE("a member without the rows of the next generation leaves") {
  Member m;
  m.Begin(Order(1, 1, {1, 2}));
  m.Do(Member::Gradient(1));
  m.Do(LeavesDone{});
  m.Do(Member::Totals({0, 0}, {2}));
  CHECK(m.Do(Member::Gradient(2)) == "end");
  CHECK(m.Find<EndRun>()->left);
}

TEST_CASE("a member joins with the state of the holder, whatever its round") {
  Member m;
  TrainingOrder order = Order(2, 2, {1, 2, 3});
  order.order.planned = true;
  CHECK(m.Do(TakePart{order}) == "close cover");
  CHECK(m.Do(RowsCovered{{}, 1}) == "report fetch");
  CHECK(m.core.joining());
  CHECK(m.Do(StateFetched{{}, {}, 9}) == "report open next");
  CHECK(m.Reported<cluster::Switched>()->round == 9);
  CHECK_FALSE(m.core.joining());
}

TEST_CASE("rows that cannot be staged fail the plan, not the run") {
  Member m;
  m.Begin(Order(1, 0, {1, 2}));
  m.Do(Prepare{Order(2, 0, {1, 2, 3})});
  CHECK(m.Do(RowsStaged{m.Find<StageRows>()->number, Unavailable("the storage")}) == "report");
  CHECK(m.Reported<cluster::JobFailed>()->generation == Generation{2});
  CHECK(m.core.phase() == MemberCore::Phase::kTraining);
}

TEST_CASE("an order with wrong leaves is refused") {
  Member m;
  TrainingOrder order = Order(1, 0, {1, 2});
  const int kind = GENERATE(0, 1, 2);
  if (kind == 0) order.order.leaves[1].end = kLeaves - 1;
  if (kind == 1) order.order.leaves[1].begin = 3;
  if (kind == 2) order.self = 2;
  CHECK(m.Do(TakePart{order}) == "end");
  CHECK(m.Find<EndRun>()->status.code() == StatusCode::kFailedPrecondition);
  m.Begin(Order(1, 0, {1, 2}));
  CHECK(m.Do(Prepare{order}) == "unstage report");
}

TEST_CASE("the root ends the job by time or by request") {
  Member m({.leaves = kLeaves, .max_time_us = 500});
  m.Begin(Order(1, 0, {1, 2}));
  m.Do(Member::Gradient(1));
  m.Do(LeavesDone{});
  CHECK(m.Find<SendSums>()->root->ends == training::StepEnds::kNo);
  m.Do(Member::Totals({0, 0}));
  m.Do(Member::Gradient(2));
  m.now_us += 500;
  m.Do(LeavesDone{});
  CHECK(m.Find<SendSums>()->root->ends == training::StepEnds::kByTime);
  m.Do(EndEarly{{1}});
  m.Do(LeavesDone{});
  CHECK(m.Find<SendSums>()->root->ends == training::StepEnds::kByRequest);
}

TEST_CASE("only the root reports the history, from its beginning") {
  Member root, other;
  root.Begin(Order(1, 0, {1, 2}));
  other.Begin(Order(1, 1, {1, 2}));
  RoundReached reached = Member::Gradient(1);
  reached.evaluations = 3;
  CHECK(root.Do(reached) == "history run");
  CHECK(root.Find<ReportHistory>()->first == 0);
  CHECK(other.Do(reached) == "run");
  reached.evaluations = 4;
  root.Do(reached);
  CHECK(root.Find<ReportHistory>()->first == 3);
  CHECK(root.Do(reached) == "run");
}

TEST_CASE("the root reports members of different speeds once a second") {
  Member m({.leaves = kLeaves, .agreement_steps = 1000, .pace_steps = 2});
  m.Begin(Order(1, 0, {1, 2}));
  const auto step = [&m](int64_t at) {
    m.Do(Member::Gradient(at));
    m.Do(LeavesDone{});
    TotalsCame totals = Member::Totals({0, 0});
    totals.signals->members[1].leaf_ms = 4;
    m.Do(totals);
    return m.Reported<cluster::Uneven>() != nullptr;
  };
  CHECK_FALSE(step(1));
  CHECK(step(2));
  CHECK(m.Reported<cluster::Uneven>()->leaf_ms == std::vector<double>{1, 4});
  step(3);
  CHECK_FALSE(step(4));
  m.now_us += 1'000'000;
  step(5);
  CHECK(step(6));
}

TEST_CASE("an allocation that fails makes the state doubtful") {
  Member m;
  m.Begin(Order(1, 0, {1}));
  CHECK(m.Do(Member::Gradient(0)) == "run");  // alone: nothing to compare
  m.Do(LeavesDone{});
  CHECK(m.Do(Member::Totals({0})) == "withdraw close-aside agree-present checkpoint commit");
  CHECK(m.Do(Failed{ResourceExhausted("memory")}) == "end");
  CHECK(m.core.differs());
}

TEST_CASE("asynchronous training runs one loop a generation") {
  Member m({.leaves = kLeaves, .async = true});
  m.Do(TakePart{Order(1, 0, {1, 2})});
  m.Do(StateFound{});
  m.Do(RowsCovered{{}, 1});
  m.Do(Prepare{Order(2, 0, {1, 2, 3})});
  m.Do(RowsStaged{m.Find<StageRows>()->number, {}});
  CHECK(m.Do(Member::Proceeds({1}, 1, 0)) == "loop");
  CHECK(m.Do(SwitchTo{{2}}) == "end-loop");
  CHECK(m.Do(LoopEnded{{}, false, {2}, 12}) == "withdraw aside adopt report open offer loop");
  CHECK(m.Reported<cluster::Switched>()->round == 12);
  SECTION("until the job is trained") {
    CHECK(m.Do(LoopEnded{{}, true}) == "end");
    CHECK(m.Find<EndRun>()->finished);
  }
  SECTION("an interruption counts although the loop ended well") {
    m.Do(Prepare{Order(3, 0, {1, 2})});
    m.Do(RowsStaged{m.Find<StageRows>()->number, {}});
    CHECK(m.Do(Interrupt{}) == "abort");
    CHECK(m.Do(LoopEnded{{}, false, {3}, 20}) == "end");
    CHECK(m.Find<EndRun>()->status.code() == StatusCode::kCancelled);
  }
}

TEST_CASE("an order that is refused does not end as the run before") {
  Member m;
  m.Begin(Order(1, 0, {1, 2}));
  m.Do(Member::Gradient(0));
  m.Do(LinkBroke{{1}, 1, Unavailable("reset")});
  m.Do(Failed{Unavailable("reset")});
  CHECK(m.Find<EndRun>()->broken);
  m.Do(TakePart{Order(2, 5, {1, 2})});
  CHECK_FALSE(m.Find<EndRun>()->broken);
}

TEST_CASE("a load that an interruption cancels is not a failure") {
  Member m;
  m.Begin(Order(1, 0, {1, 2}));
  m.Do(Member::Gradient(0));
  m.Do(Prepare{Order(2, 0, {1, 2, 3})});
  const uint64_t number = m.Find<StageRows>()->number;
  m.Do(Interrupt{});
  CHECK(m.Do(RowsStaged{number, Cancelled("stopped")}).empty());
}

}  // namespace
}  // namespace espalier::member
