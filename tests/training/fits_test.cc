// Several fits in one job, and the model of all fits.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "src/base/aligned.h"
#include "src/model/decision.h"
#include "src/model/vector_math.h"
#include "src/training/state_codec.h"
#include "tests/training/driven_machine.h"

namespace espalier::training {
namespace {

// Returns a plan with one epoch of four steps for each fit. The weights become 10 * fit + step.
TrainingPlan FitsPlan(int64_t fits) {
  TrainingPlan plan = SmallPlan();
  plan.train.epochs = 1;
  plan.train.ensemble.fits = fits;
  plan.validation_rows = 0;
  plan.train_rows = 50;
  plan.train.ensemble.folds = 5;  // 40 rows and 4 steps for each fit
  plan.train.early_stopping = spec::EarlyStopping{.metric = "val_loss", .patience = 100};
  return plan;
}

Action Answer(StepMachine<float>& machine, const Action& action, double loss = 1) {
  const TrainingPlan& plan = machine.plan();
  if (const auto* g = std::get_if<GradientAction>(&action)) {
    const int64_t of_fit = g->step - machine.state().ensemble.begun_step;
    CHECK(g->step_of_epoch == of_fit % plan.StepsPerEpoch());
    return machine.OnGradient(StepStats(plan, loss));
  }
  if (std::get_if<UpdateAction>(&action)) {
    TrainingState<float>& state = machine.state();
    const int64_t of_fit = state.step + 1 - state.ensemble.begun_step;
    std::fill(state.parameters.begin(), state.parameters.end(),
              static_cast<float>(10 * state.ensemble.fit + of_fit));
    return machine.OnUpdated();
  }
  const auto& evaluate = std::get<EvaluateAction>(action);
  if (evaluate.measure != Measure::kTrials) {
    std::vector<double> totals = EvaluationTotals(plan, loss);
    if (evaluate.measure == Measure::kResiduals) totals.clear();  // no rows
    totals.resize(static_cast<size_t>(machine.EvaluationSize(evaluate.measure)));
    return machine.OnEvaluation(totals);
  }
  std::vector<double> sums(machine.Trials().size(), 99.0);
  sums.front() = 0;  // the lowest temperature, 1/4, or share 0
  return machine.OnEvaluation(sums);
}

std::string Letters(StepMachine<float>& machine, FinishAction* finish, double loss = 1) {
  std::string letters;
  Action action = machine.Begin();
  while (!std::holds_alternative<FinishAction>(action)) {
    if (const auto* e = std::get_if<EvaluateAction>(&action)) {
      const bool decides = machine.state().phase == TrainingPhase::kDecision;
      const bool tries = e->measure == Measure::kTrials;
      letters += decides ? 'D' : tries ? 'R' : "LVT"[static_cast<int>(e->set)];
      for (const auto& part : machine.EvaluationParts()) {
        letters += part.fold < 0 ? "*" : std::to_string(part.fold);
      }
    } else if (std::holds_alternative<GradientAction>(action)) {
      letters += 'G';
    }
    REQUIRE(!std::holds_alternative<FailAction>(action));
    action = Answer(machine, action, loss);
  }
  *finish = std::get<FinishAction>(action);
  return letters;
}

TEST_CASE("fits follow one another into one model") {
  StepMachine<float> machine(FitsPlan(2));
  FinishAction finish;
  CHECK(Letters(machine, &finish) == "GGGGL0GGGGL1L*L01");
  const TrainingState<float>& state = machine.state();
  const model::NetworkShape shape = ShapeOfParameters(machine.plan(), state);
  CHECK(shape.fits == 2);
  REQUIRE(std::ssize(state.parameters) == model::ParameterCount(shape));
  CHECK(state.parameters.front() == 4);
  CHECK(state.parameters.back() == 14);
  CHECK(finish.steps == 8);
  CHECK(finish.best_epochs == std::vector<double>{1, 1});
  REQUIRE(state.history.size() == 2);
  for (const int64_t fit : {1, 2}) {
    const spec::HistoryRow& row = state.history[static_cast<size_t>(fit - 1)];
    CHECK(row.epoch == static_cast<double>(fit));
    CHECK(row.fit == fit);
    CHECK(row.fit_epoch == 1);
  }
  CHECK(machine.CurrentFit() == 2);
}

TEST_CASE("fits over seeds share the validation rows") {
  TrainingPlan plan = FitsPlan(2);
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.train.ensemble.folds.reset();
  plan.train.ensemble.over = spec::FitsOver::kSeeds;
  plan.train.calibrate = true;
  StepMachine<float> machine(plan);
  FinishAction finish;
  CHECK(Letters(machine, &finish) == "GGGGV*GGGGV*R*L*V*");
  CHECK(machine.state().ensemble.temperature == 0.25);
  CHECK(machine.state().parameters.front() == 16);  // 4 / temperature
}

TEST_CASE("a threshold is chosen before the model is evaluated") {
  for (const bool folds : {false, true}) {
    TrainingPlan plan = FitsPlan(folds ? 2 : 1);
    plan.train.threshold.kind = spec::ThresholdKind::kF1;
    if (!folds) {
      plan.train_rows = 40;
      plan.validation_rows = 8;
      plan.train.ensemble = {};
    }
    StepMachine<float> machine(plan);
    FinishAction finish;
    CHECK(Letters(machine, &finish) == (folds ? "GGGGL0GGGGL1D01L*L01" : "GGGGV*D*L*V*"));
    REQUIRE(finish.threshold);
    CHECK(finish.threshold->threshold == 0.5);  // no row counts
    const auto bytes = EncodeState(machine.state());
    auto decoded = DecodeState<float>(bytes, plan);
    REQUIRE(decoded.status().ToString() == "OK");
    CHECK(decoded->ensemble.threshold == finish.threshold);
    const model::NetworkShape shape = ShapeOfParameters(plan, machine.state());
    CHECK(shape.thresholds == std::vector<double>{0.5, 0.5});
    plan.train.threshold = {};
    plan.train.calibrate = true;
    CHECK(!DecodeState<float>(bytes, plan).ok());
  }
}

TEST_CASE("given thresholds apply to the rows of each fold") {
  TrainingPlan plan = FitsPlan(2);
  plan.shape.thresholds = {0.75, 0.25};
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  while (machine.state().phase != TrainingPhase::kFinalValidation) action = Answer(machine, action);
  for (const auto& part : machine.EvaluationParts()) {
    CHECK(part.shape.thresholds == plan.shape.thresholds);
  }
}

TEST_CASE("half-widths of intervals are in the units of the target") {
  TrainingPlan plan = FitsPlan(1);
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  plan.shape = *model::MakeNetworkShape(model, 2, 1);
  plan.targets = {{.name = "y", .shift = 5, .factor = 0.25}};
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.train.ensemble = {};
  plan.train.intervals = 0.75;
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  while (machine.state().phase != TrainingPhase::kDecision) action = Answer(machine, action);
  REQUIRE(std::get<EvaluateAction>(action).measure == Measure::kResiduals);
  // Eight rows have residuals of 2^0 to 2^7. The seventh is 64.
  std::vector<double> sums(static_cast<size_t>(machine.EvaluationSize(Measure::kResiduals)));
  for (int r = 0; r < 8; ++r) {
    AlignedVector<double> output(model::kPadding, std::ldexp(1.0, r)), zero(1, 0.0), one(1, 1.0);
    model::OutputRows<double> row{.rows = 1, .pitch = model::kPadding};
    row.outputs = output.data(), row.targets = zero.data(), row.weights = one.data();
    model::AddResiduals(plan.shape, row, sums.data());
  }
  action = machine.OnEvaluation(sums);
  const model::NetworkShape shape = ShapeOfParameters(plan, machine.state());
  REQUIRE(shape.half_widths.size() == 1);
  CHECK(shape.half_widths[0] == 65);  // upper end of the bin
  while (!std::holds_alternative<FinishAction>(action)) action = Answer(machine, action);
  const auto intervals = std::get<FinishAction>(action).intervals;
  REQUIRE(intervals);
  CHECK(intervals->level == 0.75);
  CHECK(intervals->half_widths == std::vector<double>{260});
}

TEST_CASE("held-out rows without weight give no intervals") {
  TrainingPlan plan = FitsPlan(1);
  spec::ModelSpec model;
  model.task = spec::Task::kRegression;
  plan.shape = *model::MakeNetworkShape(model, 2, 1);
  plan.targets = {{.name = "y"}};
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.train.ensemble = {};
  plan.train.intervals = 0.75;
  StepMachine<float> machine(plan);
  FinishAction finish;
  CHECK(Letters(machine, &finish) == "GGGGV*D*L*V*");  // no row has a weight
  REQUIRE(finish.intervals);
  CHECK(finish.intervals->half_widths.empty());
  const TrainingState<float> good = machine.state();
  CHECK(DecodeState<float>(EncodeState(good), plan).ok());
  const double infinite = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& widths :
       std::vector<std::vector<double>>{{1, 1}, {0}, {-1}, {infinite}, {std::nan("")}}) {
    TrainingState<float> state = good;
    state.ensemble.half_widths = widths;
    CHECK(!DecodeState<float>(EncodeState(state), plan).ok());
  }
  TrainingState<float> state = good;
  state.ensemble.half_widths = {1};
  CHECK(DecodeState<float>(EncodeState(state), plan).ok());
}

TEST_CASE("a state with false choices is refused") {
  TrainingPlan plan = FitsPlan(1);
  plan.train_rows = 40;
  plan.validation_rows = 8;
  plan.train.ensemble = {};
  plan.train.threshold.kind = spec::ThresholdKind::kF1;
  StepMachine<float> machine(plan);
  FinishAction finish;
  Letters(machine, &finish);
  const TrainingState<float> good = machine.state();
  REQUIRE(DecodeState<float>(EncodeState(good), plan).ok());
  const auto refused = [&](auto change) {
    TrainingState<float> state = good;
    change(state.ensemble);
    return !DecodeState<float>(EncodeState(state), plan).ok();
  };
  CHECK(refused([](auto& e) { e.threshold.reset(); }));
  CHECK(refused([](auto& e) { e.threshold->threshold = 1; }));
  CHECK(refused([](auto& e) { e.thresholds = {0.5}; }));
  CHECK(refused([](auto& e) { e.thresholds = {0, 1}; }));
  CHECK(refused([](auto& e) { e.thresholds = {std::nan(""), 0.5}; }));
  CHECK(refused([](auto& e) { e.half_widths = {1, 1}; }));
}

TEST_CASE("each fit starts with first weights and empty moments") {
  StepMachine<float> machine(FitsPlan(2));
  Action action = machine.Begin();
  const auto first = machine.state().parameters;
  while (machine.state().ensemble.fit == 0) action = Answer(machine, action);
  CHECK(machine.state().parameters != first);
  CHECK(machine.state().updates == 0);
  CHECK(machine.state().step == 4);
  CHECK(machine.state().best_parameters.empty());
  CHECK(machine.AllSteps() == 8);
  for (const auto& slot : machine.state().slots) {
    CHECK(std::all_of(slot.begin(), slot.end(), [](float v) { return v == 0; }));
  }
}

TEST_CASE("held-out rows choose the share of the constant answer") {
  TrainingPlan plan = FitsPlan(2);
  plan.train.ensemble.shrink = true;
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  while (machine.state().phase != TrainingPhase::kOutOfFold) action = Answer(machine, action);
  std::vector<double> totals = EvaluationTotals(plan, 1);
  totals[model::kTotalsFixed + 1] = 2;  // class 0; class 1 has six
  totals[model::kTotalsFixed + 2] = 6;
  action = machine.OnEvaluation(totals);
  CHECK(machine.Trials().answer == std::vector<double>{0.25, 0.75});
  CHECK(machine.Trials().temperatures == std::vector<double>{1});
  std::vector<double> sums(machine.Trials().size(), 9.0);
  sums[10] = 1;
  action = machine.OnEvaluation(sums);
  CHECK(machine.state().ensemble.share == 0.5);
  CHECK(ShapeOfParameters(plan, machine.state()).constant);
  const auto& parameters = machine.state().parameters;
  CHECK(parameters.back() == 0.5f);
  CHECK(parameters[parameters.size() - 2] == 0.75f);
  // The held-out rows are evaluated by their fit, with the constant answer.
  while (machine.state().phase != TrainingPhase::kFinalValidation) action = Answer(machine, action);
  const auto parts = machine.EvaluationParts();
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].shape.fits == 1);
  CHECK(parts[1].shape.constant);
  CHECK(parts[1].parameters[0] == 14);
}

TEST_CASE("an interrupted fit is left out if others are complete") {
  for (const int64_t whole : {0, 1}) {
    StepMachine<float> machine(FitsPlan(3));
    Action action = machine.Begin();
    while (machine.state().ensemble.fit < whole) action = Answer(machine, action);
    while (!std::holds_alternative<GradientAction>(action)) action = Answer(machine, action);
    std::vector<double> stats = StepStats(machine.plan(), 1);
    stats[stats.size() - kStepExtras + kExtraEnds] = static_cast<double>(StepEnds::kByRequest);
    action = machine.OnGradient(stats);
    while (!std::holds_alternative<FinishAction>(action)) action = Answer(machine, action);
    CHECK(std::get<FinishAction>(action).stopped_because == "request");
    CHECK(ShapeOfParameters(machine.plan(), machine.state()).fits == 1);
    CHECK(machine.state().parameters.front() == (whole == 0 ? 1 : 4));
  }
}

TEST_CASE("a later fit that diverges at once is left out") {
  StepMachine<float> machine(FitsPlan(3));
  Action action = machine.Begin();
  while (machine.state().ensemble.fit == 0) action = Answer(machine, action);
  action = Answer(machine, action, NAN);
  while (!std::holds_alternative<FinishAction>(action)) {
    REQUIRE(!std::holds_alternative<FailAction>(action));
    action = Answer(machine, action);
  }
  CHECK(std::get<FinishAction>(action).stopped_because == "divergence");
  CHECK(ShapeOfParameters(machine.plan(), machine.state()).fits == 1);
}

TEST_CASE("a state between any two actions continues unchanged") {
  TrainingPlan plan = FitsPlan(2);
  plan.train.ensemble.shrink = plan.train.calibrate = true;
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  int moments = 0;
  for (; !std::holds_alternative<FinishAction>(action); ++moments) {
    if (!std::holds_alternative<UpdateAction>(action)) {
      const std::string bytes = EncodeState(machine.state());
      auto state = DecodeState<float>(bytes, plan);
      REQUIRE(state.ok());
      StepMachine<float> other(plan, *std::move(state));
      CHECK(other.Resume().index() == action.index());
      CHECK(EncodeState(other.state()) == bytes);
      machine = std::move(other);
      action = machine.Resume();
    }
    action = Answer(machine, action);
  }
  CHECK(moments == 22);
  CHECK(DecodeState<float>(EncodeState(machine.state()), plan).ok());
}

TEST_CASE("a state with fits of another job is refused") {
  StepMachine<float> machine(FitsPlan(2));
  Action action = machine.Begin();
  while (machine.state().ensemble.fit == 0) action = Answer(machine, action);
  const auto refuses = [&](const std::function<void(TrainingState<float>&)>& change) {
    TrainingState<float> state = machine.state();
    change(state);
    return !DecodeState<float>(EncodeState(state), machine.plan()).ok();
  };
  CHECK(!refuses([](auto&) {}));
  CHECK(refuses([](auto& s) { s.ensemble.fit = 3; }));
  CHECK(refuses([](auto& s) { s.ensemble.fit = -1; }));
  CHECK(refuses([](auto& s) {  // no fit left for the steps
    s.ensemble.fit = 2;
    s.ensemble.weights.resize(2 * s.ensemble.weights.size());
  }));
  CHECK(refuses([](auto& s) {  // no fit to try
    s.phase = TrainingPhase::kFinalTraining;
    s.ensemble.fit = 0;
    s.ensemble.weights.clear();
  }));
  CHECK(refuses([](auto& s) { s.phase = TrainingPhase::kTrials; }));
  CHECK(refuses([](auto& s) { s.phase = TrainingPhase::kOutOfFold; }));
  CHECK(refuses([](auto& s) { s.ensemble.weights.pop_back(); }));
  CHECK(refuses([](auto& s) { s.ensemble.begun_step = 99; }));
  CHECK(refuses([](auto& s) { s.ensemble.temperature = 0; }));
  CHECK(refuses([](auto& s) { s.ensemble.share = 2; }));
  CHECK(refuses([](auto& s) { s.ensemble.share = 0.5; }));        // the job does not shrink
  CHECK(refuses([](auto& s) { s.ensemble.temperature = 0.5; }));  // the job does not calibrate
  CHECK(refuses([](auto& s) { s.ensemble.answer = {1}; }));
  CHECK(refuses([](auto& s) { s.ensemble.finished.resize(3); }));
  CHECK(refuses([](auto& s) { s.parameters.pop_back(); }));
}

// Extends a run of two fits from one epoch to two, and checks the rest of the run.
void CheckGoesOn(StepMachine<float> before, const std::string& letters, double second_best) {
  TrainingPlan plan = FitsPlan(2);
  plan.train.epochs = 2;
  const auto decoded = DecodeState<float>(EncodeState(before.state()), plan);
  INFO(decoded.status().ToString());
  REQUIRE(decoded.ok());
  StepMachine<float> machine(plan, StepMachine<float>::WithEnd(plan, *decoded));
  CHECK(machine.state().parameters.front() == 4);
  CHECK(DecodeState<float>(EncodeState(machine.state()), plan).ok());
  FinishAction finish;
  CHECK(Letters(machine, &finish, 0.5) == letters);
  CHECK(machine.state().parameters.front() == 8);
  CHECK(machine.state().parameters.back() == 10 + 4 * second_best);
  CHECK(finish.best_epochs == std::vector<double>{2, second_best});
  CHECK(machine.state().history.back().fit == 2);
  CHECK(machine.state().history.back().fit_epoch == 2);
}

TEST_CASE("finished fits continue if a resumed run has more epochs") {
  StepMachine<float> machine(FitsPlan(2));
  FinishAction finish;
  Letters(machine, &finish);
  CheckGoesOn(machine, "GGGGL0GGGGL1L*L01", 2);
  // With the same epochs there is no training left.
  const auto same = StepMachine<float>::WithEnd(FitsPlan(2), machine.state());
  CHECK(EncodeState(same) == EncodeState(machine.state()));
}

TEST_CASE("fits that go on keep their weights until others are better") {
  StepMachine<float> machine(FitsPlan(2));
  FinishAction finish;
  Letters(machine, &finish);
  TrainingPlan plan = FitsPlan(2);
  plan.train.epochs = 2;
  StepMachine<float> longer(plan, StepMachine<float>::WithEnd(plan, machine.state()));
  CHECK(Letters(longer, &finish, 2) == "GGGGL0GGGGL1L*L01");
  CHECK(longer.state().parameters.front() == 4);
  CHECK(longer.state().parameters.back() == 14);
  CHECK(finish.best_epochs == std::vector<double>{1, 1});
}

TEST_CASE("a fit that was cut goes on from its best weights") {
  TrainingPlan plan = FitsPlan(2), longer = FitsPlan(2);
  plan.train.epochs = 2;
  longer.train.epochs = 3;
  StepMachine<float> machine(plan);
  Action action = machine.Begin();
  while (machine.state().step < 14) {  // the second epoch of the second fit is worse
    const bool second = machine.state().ensemble.fit == 1 && machine.state().step > 12;
    action = Answer(machine, action, second ? 2 : 1);
  }
  const TrainingState<float> state = StepMachine<float>::WithEnd(longer, machine.state());
  CHECK(state.ensemble.earlier.back() == 14);  // after its first epoch
  CHECK(state.ensemble.earlier_fits[1] ==
        FitRecord{6, 4, state.ensemble.earlier_fits[0].kept_value});
  CHECK(DecodeState<float>(EncodeState(state), longer).ok());
}

TEST_CASE("an unfinished fit and earlier ones continue") {
  StepMachine<float> machine(FitsPlan(2));
  Action action = machine.Begin();
  while (machine.state().step < 6) action = Answer(machine, action);
  CheckGoesOn(machine, "GGGGL0GGL1GGGGL1L*L01", 1);
}

std::vector<double> StepsOf(const std::vector<FitRecord>& fits) {
  std::vector<double> steps;
  for (const FitRecord& fit : fits) steps.push_back(fit.steps);
  return steps;
}

TEST_CASE("a run resumed twice with more epochs uses its own steps") {
  StepMachine<float> machine(FitsPlan(3));
  FinishAction finish;
  Letters(machine, &finish);
  TrainingPlan two = FitsPlan(3), three = FitsPlan(3);
  two.train.epochs = 2;
  three.train.epochs = 3;
  StepMachine<float> second(two, StepMachine<float>::WithEnd(two, machine.state()));
  Action action = second.Begin();
  while (second.state().ensemble.fit == 0) action = Answer(second, action, 0.5);
  CHECK(StepsOf(second.state().ensemble.finished) == std::vector<double>{8});
  const auto state = StepMachine<float>::WithEnd(three, second.state());
  // One fit has two epochs, one has started its second, and one has not been reached.
  CHECK(StepsOf(state.ensemble.earlier_fits) == std::vector<double>{8, 4, 4});
  CHECK(state.ensemble.earlier.back() == 24);
  const auto decoded = DecodeState<float>(EncodeState(state), three);
  INFO(decoded.status().ToString());
  REQUIRE(decoded.ok());
  StepMachine<float> third(three, *decoded);
  CHECK(Letters(third, &finish) == "GGGGL0GGGGL1GGGGL1GGGGL2GGGGL2L*L012");
}

}  // namespace
}  // namespace espalier::training
