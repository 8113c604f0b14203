// Asynchronous training at the one member that holds the job state. AsyncHolder decides what each
// member computes next, which push is applied, when all members evaluate, and when training is
// over. It does no I/O. src/worker/async_trainer.h transports orders and answers.
//
// Every member, including the holder, does one thing at a time: it gets an order, answers it, and
// waits for the next one. The orders are:
// - gradient: compute the gradient of a batch of the member's own rows, at the parameters sent with
//   the order. The answer is a push. The holder applies it at once, with the optimizer. This is a
//   step of the StepMachine as in synchronous training, so schedules, epochs, evaluations and ends
//   use the same code. The holder refuses a push that is staler than the bound. Then it repeats the
//   order for the same rows, with newer parameters.
// - evaluation: evaluate the member's own rows of a set. After an epoch, and at the end, all
//   members have to. A push that arrives during an evaluation is applied when the evaluation is
//   over.
// - level: the generation, or the job, is over for all members. The member takes the whole job
//   state from the holder, so that all members begin the next generation (or write the bundle) with
//   the same state. The holder gets this order first. When it has offered its state (OnOffered),
//   the others get the order. Pushes that arrive then are dropped.
//
// A push without rows comes from a member that has no rows. The member gets no further gradient
// orders.
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
  spec::FileRole set = spec::FileRole::kValidation;  // set of kEvaluation
  bool again = false;  // kGradient: repeats the rows of the last order
};

// The results of a call.
struct AsyncActions {
  std::vector<AsyncOrder> orders;
  int64_t applied = 0;  // pushes that became steps
  int64_t rows = 0;     // rows of these pushes
  Status error;         // the job fails
};

// The gradient sum of a batch.
template <typename T>
struct AsyncPush {
  std::vector<double> stats;                        // statistics for StepMachine::OnGradient
  std::function<const T*(int64_t chunk)> gradient;  // indexed by chunk
};

template <typename T>
class AsyncHolder {
 public:
  // The machine and the chunks must outlive this object. No other code may call the machine in the
  // meantime.
  AsyncHolder(StepMachine<T>& machine, std::span<const plan::Chunk> chunks, int32_t members,
              int32_t self, int64_t staleness);

  AsyncActions Begin();
  // The answers of member `member`. REQUIRES: the member has this order and has not answered it.
  AsyncActions OnPush(int32_t member, AsyncPush<T> push);
  AsyncActions OnEvaluated(int32_t member, std::vector<double> totals);
  AsyncActions OnLevelled(int32_t member);
  // The holder has carried out its own level order.
  AsyncActions OnOffered();

  // Ends this generation before the next step. `next`: the next generation. Only the first call
  // counts.
  AsyncActions SwitchTo(Generation next);
  // Makes the next step the last one.
  void EndSoon(StepEnds why) { end_soon_ = why; }

  // Returns the present order of the member. None: it has answered.
  std::optional<AsyncTask> Doing(int32_t member) const { return members_[member].doing; }
  bool Levelled(int32_t member) const { return members_[member].levelled; }
  // Returns whether all members are level, so that the generation is over at the holder too.
  bool over() const;
  Generation next() const { return next_; }
  // Returns whether each member has answered an order of this generation.
  bool all_began() const;
  // Returns the members that owe an answer, ascending.
  std::vector<int32_t> Missing() const;

 private:
  struct MemberState {
    std::optional<AsyncTask> doing;
    int64_t pulled = 0;  // committed steps at the time of its parameters
    bool again = false;  // its last push was refused
    bool empty = false;  // it has no rows
    bool began = false, levelled = false;
    std::optional<AsyncPush<T>> push;  // waits for the end of an evaluation
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
  std::deque<int32_t> waiting_;  // members with a push, in order of arrival
  StepEnds end_soon_ = StepEnds::kNo;
  bool offered_ = false;
  Generation next_;
};

}  // namespace espalier::training
