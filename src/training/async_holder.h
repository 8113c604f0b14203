// Asynchronous training, seen from the one member that holds the job state: who computes what next,
// which push is applied, when all evaluate, when it is over. Pure; src/worker/async_trainer.h
// carries orders and answers.
//
// Every member, the holder too, does one thing at a time: it gets an order, answers it, and waits
// for the next one.
//   gradient: at the parameters that go with the order, of a batch of the member's own rows. The
//     answer is a push. It is applied at once, with the optimizer: that is a step of the
//     StepMachine as in synchronous training, so schedules, epochs, evaluations and ends are the
//     same code. One that is staler than the bound is refused: the order comes again, with newer
//     parameters, for the same rows.
//   evaluation: of the own rows of a set. After an epoch, and at the end, all members have to; a
//     push that comes meanwhile waits, and is applied when the evaluation is over.
//   level: the generation, or the job, is over for all; the member takes the whole job state from
//     the holder, so that all begin the next generation (or write the bundle) alike. The holder
//     gets this order first: when it has offered its state (OnOffered), the others get theirs.
//     Pushes that come then are dropped.
//
// A push of no rows is of a member that has none; it gets no gradient to compute any more.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/plan/chunks.h"
#include "src/training/step_machine.h"

namespace espalier::training {

enum class AsyncTask : uint8_t { kGradient, kEvaluation, kLevel };

struct AsyncOrder {
  int32_t member = 0;
  AsyncTask task = AsyncTask::kGradient;
  spec::FileRole set = spec::FileRole::kValidation;  // kEvaluation
  bool again = false;  // kGradient: the rows of the last one once more
};

// What a call leads to.
struct AsyncActions {
  std::vector<AsyncOrder> orders;
  int64_t applied = 0;  // pushes that became steps
  int64_t rows = 0;     // of them
  Status error;         // the job fails
};

// The gradient sum of a batch.
template <typename T>
struct AsyncPush {
  std::vector<double> stats;                        // as StepMachine::OnGradient wants them
  std::function<const T*(int64_t chunk)> gradient;  // by the chunk's index
};

template <typename T>
class AsyncHolder {
 public:
  // The machine and the chunks must outlive this; nobody else calls the machine meanwhile.
  AsyncHolder(StepMachine<T>& machine, std::span<const plan::Chunk> chunks, int32_t members,
              int32_t self, int64_t staleness);

  AsyncActions Begin();
  // Answers of member `member`. REQUIRES: it was ordered that and has not answered.
  AsyncActions OnPush(int32_t member, AsyncPush<T> push);
  AsyncActions OnEvaluated(int32_t member, std::vector<double> totals);
  AsyncActions OnLevelled(int32_t member);
  // The holder has done its own level order.
  AsyncActions OnOffered();

  // This generation ends before the next step; the next one is that. Told again: the first counts.
  AsyncActions SwitchTo(Generation next);
  // The next step is the last one.
  // `why`: kEndedByTime or kEndedByRequest.
  void EndSoon(double why) { end_soon_ = why; }

  // What the member is to do; none: it has answered.
  std::optional<AsyncTask> Doing(int32_t member) const { return members_[member].doing; }
  bool Levelled(int32_t member) const { return members_[member].levelled; }
  // All are level: the generation is over here too.
  bool over() const;
  Generation next() const { return next_; }
  // Whether each member has answered an order of this generation.
  bool all_began() const;
  // Members that owe an answer, ascending.
  std::vector<int32_t> Missing() const;

 private:
  struct MemberState {
    std::optional<AsyncTask> doing;
    int64_t pulled = 0;  // steps committed when it got its parameters
    bool again = false;  // its last push was refused
    bool empty = false;  // it has no rows
    bool began = false, levelled = false;
    std::optional<AsyncPush<T>> push;  // that waits for an evaluation's end
    std::optional<std::vector<double>> totals;
  };

  void Advance(AsyncActions& actions);
  void TakePush(MemberState& member, AsyncActions& actions);
  bool Evaluate(const EvaluateAction& evaluation, AsyncActions& actions);
  void End(AsyncActions& actions);
  void Order(int32_t member, AsyncOrder order, AsyncActions& actions);
  MemberState& Answer(int32_t member, AsyncTask task);

  StepMachine<T>& machine_;
  const std::span<const plan::Chunk> chunks_;
  const int32_t self_;
  const int64_t staleness_;
  Action action_;
  std::vector<MemberState> members_;
  std::deque<int32_t> waiting_;  // members with a push, as they came
  double end_soon_ = 0;
  bool offered_ = false;
  Generation next_;
};

}  // namespace espalier::training
