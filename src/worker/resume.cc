#include "src/worker/resume.h"

#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/model_json.h"
#include "src/training/state_codec.h"

namespace espalier::worker {
namespace {

// Returns the possible directories of this job's checkpoints, its own first.
std::vector<std::string> Directories(const spec::JobSpec& spec, const ResumeOptions& options) {
  std::vector<std::string> directories;
  if (spec.resume || options.trained_before) {
    directories.push_back(bundle::CheckpointDirectory(spec.output.path));
  }
  if (spec.resume) {
    std::string from = bundle::CheckpointDirectory(spec.resume->from);
    if (from != directories.front()) directories.push_back(std::move(from));
  }
  return directories;
}

// Returns the furthest checkpoint in any of the directories. An unusable checkpoint is an error
// only if the other directories have none.
Result<bundle::FoundCheckpoint> Furthest(const storage::FileSystem& files,
                                         const std::vector<std::string>& directories,
                                         const bundle::CheckpointDemand& demand) {
  std::optional<bundle::FoundCheckpoint> best;
  Status why;
  for (const std::string& directory : directories) {
    auto found = bundle::FindCheckpoint(files, directory, demand, bundle::CheckpointPart::kAll);
    if (found.ok()) {
      if (!best || best->checkpoint.header.step < found->checkpoint.header.step) {
        best = *std::move(found);
      }
      continue;
    }
    const StatusCode code = found.status().code();
    const bool nothing_here = code == StatusCode::kNotFound || code == StatusCode::kDataLoss ||
                              code == StatusCode::kFailedPrecondition;
    if (!nothing_here) return found.status();
    if (why.ok() || why.code() == StatusCode::kNotFound) why = found.status();
  }
  if (best) return *std::move(best);
  return why;
}

// Rejects a state whose inputs differ. A job that keeps the preprocessing of an earlier model has
// other inputs once that model changes. Earlier versions fitted the preprocessing again, so their
// states do not match either.
Status CheckPreprocessing(const spec::JobSpec& spec, const bundle::FoundCheckpoint& found,
                          const spec::Preprocessing* fitted) {
  const std::string& text = found.checkpoint.header.preprocessing;
  const bool keeps = spec.train.initial && spec.train.initial->keeps_preprocessing();
  const bool accepts = spec.resume && spec.resume->accept_data;
  if (!keeps || accepts || fitted == nullptr || text.empty()) return {};
  ESPALIER_ASSIGN_OR_RETURN(const spec::Preprocessing then, bundle::DecodePreprocessing(text));
  if (then.features == fitted->features && then.classes == fitted->classes &&
      then.targets == fitted->targets) {
    return {};
  }
  return FailedPrecondition(
      "the run cannot be resumed: " + found.path +
      " was written with other scales or categories than this job has. The model of train.initial "
      "has changed, or another version wrote the checkpoint. Begin the run again without resume");
}

}  // namespace

// Continues a state whose run ended, or judged evaluations, by other rules than the job's.
template <typename T>
void BeginWithOtherEnd(const training::TrainingPlan& plan, training::TrainingState<T>* state) {
  state->time_is_up = state->notes.by_request = false;
  if (plan.Averages()) {
    *state = training::StepMachine<T>::WithEnd(plan, std::move(*state));
    return;
  }
  const bool over = state->phase != training::TrainingPhase::kSteps &&
                    state->phase != training::TrainingPhase::kEpochEvaluation;
  if (over && state->step < plan.StepsTotal()) {
    state->phase = training::TrainingPhase::kSteps;
    if (state->ensemble.fit > 0) state->parameters = std::move(state->ensemble.weights);
    state->ensemble = {};
  }
}

// Clears the best evaluation so far, which was chosen by another rule.
template <typename T>
void ForgetTheBest(training::TrainingState<T>* state) {
  state->best_parameters.clear();
  state->best_value.reset();
  state->best_step = -1;
  state->evaluations_without_gain = 0;
  state->notes.kept_value.reset();
  state->notes.kept_step = -1;
  for (training::FitRecord& fit : state->ensemble.earlier_fits) fit = {.steps = fit.steps};
}

template <typename T>
Result<std::optional<training::TrainingState<T>>> LoadCheckpoint(const storage::FileSystem& files,
                                                                 const spec::JobSpec& spec,
                                                                 const training::TrainingPlan& plan,
                                                                 const ResumeOptions& options) {
  const auto directories = Directories(spec, options);
  if (directories.empty()) return std::optional<training::TrainingState<T>>();
  bundle::CheckpointDemand demand;
  demand.job = spec::CanonicalText(spec);
  demand.data_fingerprint = options.data_fingerprint;
  demand.arithmetic_id = options.arithmetic_id;
  demand.accept_data = spec.resume && spec.resume->accept_data;
  demand.accept_arithmetic = spec.resume && spec.resume->accept_arithmetic;
  demand.accept_history = spec.resume.has_value();
  demand.accept_end = spec.resume.has_value();
  demand.compared_only = options.reverts;
  auto found = Furthest(files, directories, demand);
  if (!found.ok()) {
    if (spec.resume && !options.reverts) return found.status().Wrap("the run cannot be resumed");
    const StatusCode code = found.status().code();
    const bool unfit = code == StatusCode::kDataLoss || code == StatusCode::kFailedPrecondition;
    if (unfit) LogWarning(found.status().ToString());
    // An unreachable file system is no reason to start from the beginning.
    if (!unfit && code != StatusCode::kNotFound) return found.status();
    return std::optional<training::TrainingState<T>>();
  }
  for (const std::string& skipped : found->skipped) LogWarning("checkpoint " + skipped);
  ESPALIER_RETURN_IF_ERROR(CheckPreprocessing(spec, *found, options.preprocessing));
  auto state = training::DecodeState<T>(found->checkpoint.state, plan);
  if (!state.ok()) {
    return FailedPrecondition("the run cannot be resumed: " + found->path +
                              " does not fit: " + state.status().message());
  }
  for (const std::string& a : found->accepted) {
    LogWarning("accepted: another " + a);
    if (!a.starts_with(bundle::kOtherEnd)) continue;
    BeginWithOtherEnd(plan, &*state);
    if (a.find("early_stopping") != std::string::npos) ForgetTheBest(&*state);
  }
  LogInfo("the job continues from " + found->path);
  state->accepted = found->accepted;
  return std::optional<training::TrainingState<T>>(*std::move(state));
}

template Result<std::optional<training::TrainingState<float>>> LoadCheckpoint<float>(
    const storage::FileSystem&, const spec::JobSpec&, const training::TrainingPlan&,
    const ResumeOptions&);
template Result<std::optional<training::TrainingState<double>>> LoadCheckpoint<double>(
    const storage::FileSystem&, const spec::JobSpec&, const training::TrainingPlan&,
    const ResumeOptions&);

}  // namespace espalier::worker
