// `espalier check`: reads all data once, on this machine, and reports the problems that a job would
// have.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "src/base/memory.h"
#include "src/base/mutex.h"
#include "src/base/queue.h"
#include "src/base/text.h"
#include "src/base/thread_pool.h"
#include "src/bundle/initial_weights.h"
#include "src/cli/check_view.h"
#include "src/cli/commands.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/format.h"
#include "src/cli/job_file.h"
#include "src/config/daemon_options.h"
#include "src/config/job_yaml.h"
#include "src/config/yaml_tree.h"
#include "src/data/features/column_stats.h"
#include "src/data/input/column_types.h"
#include "src/data/input/listing.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/merge.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/table/class_text.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/number.h"
#include "src/data/table/sparse_record.h"
#include "src/model/metrics.h"
#include "src/model/network.h"
#include "src/model/optimizer.h"
#include "src/plan/rows.h"
#include "src/spec/inferred_text.h"
#include "src/spec/names.h"
#include "src/spec/shard_hosts.h"
#include "src/spec/shard_sums.h"
#include "src/training/memory_plan.h"

namespace espalier::cli {
namespace {

constexpr int kReaderThreadsMax = 16;

// Profiles all shards on one thread for each core and keeps statistics, not rows. Of several errors
// it reports the first shard's, independent of thread timing.
class LocalProfile {
 public:
  LocalProfile(const storage::FileSystem& files, const spec::InputPlan& plan,
               const spec::JobSpec& spec, const std::string& temporary_directory)
      : plan_(plan),
        spec_(spec),
        room_(PhysicalMemoryBytes() / 2, temporary_directory,
              config::WorkerOptions{}.spill_bytes_max),
        reader_(data::MakeShardReader({files, plan, spec}, {.room = &room_})),
        first_bad_(plan.shards.size()) {}

  Result<std::vector<spec::ShardProfile>> Run(const CommandContext& context) {
    profiles_.resize(plan_.shards.size());
    JobPool pool(std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1,
                                 kReaderThreadsMax));
    for (size_t i = 0; i < profiles_.size(); ++i) {
      pool.Submit([this, i] { ReadOne(i); });
    }
    bool interrupted = false;
    for (size_t left = profiles_.size(); left > 0;) {
      if (done_.PopFor(std::chrono::milliseconds(100))) --left;
      interrupted |= context.interrupts.any();
      if (interrupted) first_bad_ = 0;  // skips shards that have not begun
      Draw(context, profiles_.size() - left);
    }
    if (context.console.live() && !context.options.json) context.console.Out("\r\x1b[K");
    if (interrupted) return Cancelled("interrupted");
    MutexLock lock(mutex_);
    if (!error_.ok()) return error_;
    std::vector<spec::ShardProfile*> places;
    for (spec::ShardProfile& profile : profiles_) places.push_back(&profile);
    sums_.MoveTo(places);
    return std::move(profiles_);
  }

  // Returns the largest memory of one shard.
  int64_t reading_bytes() const {
    MutexLock lock(mutex_);
    return reading_bytes_;
  }

 private:
  void ReadOne(size_t i) {
    if (i < first_bad_) {
      Result<data::ProfiledShard> shard = data::ProfileShard(*reader_, static_cast<int>(i));
      MutexLock lock(mutex_);
      const Status status = shard.ok() ? Take(i, *shard) : shard.status();
      if (!status.ok() && i < first_bad_) {
        first_bad_ = i;
        error_ = status;
      }
    }
    done_.Push(i);
  }

  // Adds up large parts as they arrive, as a coordinator does, because all shards together could be
  // too large.
  Status Take(size_t i, data::ProfiledShard& shard) REQUIRES(mutex_) {
    const int64_t bytes = shard.rows.MemoryBytes() + FetchedBytes(plan_.shards[i]);
    reading_bytes_ = std::max(reading_bytes_, bytes);
    profiles_[i] = std::move(shard.profile);
    ESPALIER_RETURN_IF_ERROR(sums_.Add(profiles_[i]));
    spec::TakeOutSums(&profiles_[i]);
    return Status::Ok();
  }

  // Parquet is decoded from memory, text as it arrives.
  int64_t FetchedBytes(const spec::Shard& shard) const {
    const std::string& path = plan_.files[static_cast<size_t>(shard.file)].path;
    return spec::FormatOf(spec_.data, path) == spec::DataFormat::kParquet ? shard.end - shard.begin
                                                                          : 0;
  }

  void Draw(const CommandContext& context, size_t done) const {
    if (!context.console.live() || context.options.json) return;
    const double share = static_cast<double>(done) / static_cast<double>(profiles_.size());
    const int percent = static_cast<int>(share * 100);
    context.console.Out("\rreading the data " + Bar(share, 24) + " " + std::to_string(percent) +
                        " %\x1b[K");
  }

  const spec::InputPlan& plan_;
  const spec::JobSpec& spec_;
  data::MemoryBudget room_;  // memory of the shards in progress
  const std::unique_ptr<const data::ShardReader> reader_;
  std::vector<spec::ShardProfile> profiles_;  // each thread writes only its own elements
  Queue<size_t> done_;                        // at most one item for each shard
  std::atomic<size_t> first_bad_;             // written under mutex_, or by an interrupt
  mutable Mutex mutex_;
  Status error_ GUARDED_BY(mutex_);
  int64_t reading_bytes_ GUARDED_BY(mutex_) = 0;
  spec::ShardSums sums_ GUARDED_BY(mutex_);
};

struct ProfiledTable {
  std::vector<spec::ShardProfile> profiles;
  int64_t reading_bytes = 0;  // largest memory of one shard
};

// Profiles a table. Repeats it if all rows complete the job differently from the sample of rows.
Result<ProfiledTable> ProfileTable(const CommandContext& context,
                                   data::JobCompletion::Completed* completed) {
  for (;;) {
    data::FindHosts(context.files, &completed->input);
    LocalProfile profile(context.files, completed->input, completed->job,
                         context.env.temporary_directory);
    ESPALIER_ASSIGN_OR_RETURN(std::vector<spec::ShardProfile> profiles, profile.Run(context));
    if (!completed->open()) return ProfiledTable{std::move(profiles), profile.reading_bytes()};
    ESPALIER_ASSIGN_OR_RETURN(const auto completion,
                              data::JobCompletion::Read(completed->asked, "job"));
    ESPALIER_ASSIGN_OR_RETURN(auto judged,
                              completion.Judge(completed->input, completed->yaml, profiles));
    if (!judged) return ProfiledTable{std::move(profiles), profile.reading_bytes()};
    if (judged->task_why.empty()) judged->task_why = completed->task_why;
    *completed = *std::move(judged);
  }
}

std::vector<ColumnSummary> MergeColumns(const std::vector<spec::ShardProfile>& profiles,
                                        std::vector<spec::ColumnStats> spec::ShardProfile::*columns,
                                        const std::vector<std::string>& names) {
  std::vector<ColumnSummary> merged;
  for (const std::string& name : names) merged.push_back({name, {}});
  for (const spec::ShardProfile& profile : profiles) {
    const std::vector<spec::ColumnStats>& shard = profile.*columns;
    for (size_t c = 0; c < std::min(merged.size(), shard.size()); ++c) {
      merged[c].stats = data::Merged(merged[c].stats, shard[c]);
    }
  }
  return merged;
}

std::vector<std::string> NamesOf(const spec::Schema& schema,
                                 const std::vector<int32_t>& positions) {
  std::vector<std::string> names;
  for (int32_t p : positions) names.push_back(schema.names[static_cast<size_t>(p)]);
  return names;
}

// Returns the fields beyond the columns that are dropped from the rows of CSV files
// (data.csv.extra_field).
std::string ExtraFieldText(const spec::InputPlan& plan) {
  std::string text;
  const auto add = [&text](const std::string& more) {
    if (text.find(more) == text.npos) text += (text.empty() ? "" : "; ") + more;
  };
  for (const spec::InputFile& file : plan.files) {
    if (file.columns.empty()) continue;
    const bool first = file.columns.front() == spec::InputFile::kLeftOut;
    const bool last =
        std::count(file.columns.begin(), file.columns.end(), spec::InputFile::kEmpty) > 0;
    if (first && plan.schema.partitions == 0) {
      add("left out: the first field of the rows, row names without a name in the header");
    }
    if (last) add("left out: the empty field after a delimiter at the end of the rows");
  }
  return text;
}

SchemaSummary SummaryOf(const spec::DataSpec& data, const spec::InputPlan& plan) {
  const spec::Schema& schema = plan.schema;
  SchemaSummary summary;
  summary.format = spec::NameOf(spec::FormatOf(data, plan.files.front().path));
  summary.columns = static_cast<int64_t>(schema.names.size());
  summary.label = NamesOf(schema, schema.label);
  if (schema.weight >= 0) summary.weight = schema.names[schema.weight];
  if (schema.validation >= 0) summary.validation = schema.names[schema.validation];
  summary.inferred = spec::InferredText(schema);
  const std::string extra = ExtraFieldText(plan);
  if (!extra.empty()) summary.inferred += (summary.inferred.empty() ? "" : "; ") + extra;
  for (const std::string& name : schema.names) summary.list.push_back({name, "", "ignored"});
  for (const int32_t c : schema.features) summary.list[c].role = "feature";
  for (const int32_t c : schema.label) summary.list[c].role = "label";
  if (schema.weight >= 0) summary.list[schema.weight].role = "weight";
  if (schema.validation >= 0) summary.list[schema.validation].role = "validation";
  for (const ColumnEntry& column : summary.list) {
    if (column.role == "ignored") summary.unused.push_back(column.name);
  }
  return summary;
}

// Adds column types: that of a feature as the job uses it, and others as found. A number of Parquet
// has the type in the file. Classes are known from all rows, other types of text from a sample.
Status AddTypes(const storage::FileSystem& files, const spec::JobSpec& spec,
                const spec::InputPlan& plan, const std::vector<std::string>& classes,
                SchemaSummary* summary) {
  ESPALIER_ASSIGN_OR_RETURN(const auto types, data::ColumnTypes(files, spec.data, plan));
  for (size_t c = 0; c < types.size(); ++c) summary->list[c].type = types[c];
  for (size_t i = 0; i < plan.schema.features.size(); ++i) {
    std::string& type = summary->list[plan.schema.features[i]].type;
    const spec::FeatureType used = plan.schema.rule(i).type;
    if (used != spec::FeatureType::kNumeric || type == "text") type = data::TypeWord(used);
  }
  double value = 0;
  const bool text = std::any_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return data::ParseNumberSlowly(name, &value) != data::NumberKind::kNumber;
  });
  if (text && summary->format != "parquet") summary->list[plan.schema.label[0]].type = "text";
  return {};
}

std::vector<LabelSummary> CountLabels(const std::vector<spec::ShardProfile>& profiles,
                                      const std::vector<std::string>& classes) {
  const data::ClassIndex index(classes);
  std::vector<LabelSummary> labels;
  for (const std::string& name : classes) labels.push_back({.label = name});
  const auto add = [&](const std::string& label, int64_t LabelSummary::*rows, int64_t more) {
    const int32_t found = index.Of(label);
    if (found >= 0) labels[static_cast<size_t>(found)].*rows += more;
  };
  for (const spec::ShardProfile& profile : profiles) {
    for (const auto& [label, rows] : profile.labels) add(label, &LabelSummary::train_rows, rows);
    for (const auto& [label, rows] : profile.evaluation_labels) {
      add(label, &LabelSummary::evaluation_rows, rows);
    }
  }
  return labels;
}

// Reports everything known from the shards before they are merged.
CheckReport ReportShards(const spec::JobSpec& spec, const spec::InputPlan& plan,
                         const std::vector<spec::ShardProfile>& profiles) {
  CheckReport report;
  report.job_name = spec.name;
  report.preset = spec.preset;
  report.task = spec.model.task;
  report.shards = static_cast<int64_t>(plan.shards.size());
  report.output = spec.output.path;
  report.schema = SummaryOf(spec.data, plan);
  report.sets = {{"train"}, {"validation"}, {"test"}};
  for (const spec::InputFile& file : plan.files) {
    SetSummary& set = report.sets[static_cast<size_t>(file.role)];
    ++set.files;
    set.bytes += file.length;
  }
  std::map<std::string, int64_t> near;
  for (size_t i = 0; i < plan.hosts.size(); ++i) {
    for (const std::string& host : plan.hosts[i]) {
      near[host] += plan.shards[i].end - plan.shards[i].begin;
    }
  }
  report.hosts.assign(near.begin(), near.end());
  for (const spec::ShardProfile& s : profiles) {
    report.dropped_rows += s.dropped_rows;
    report.skipped_rows += s.skipped_rows;
    for (const Status& bad : s.skipped) {
      if (report.skipped.size() < data::kSkippedKept) report.skipped.push_back(bad);
    }
  }
  report.features = MergeColumns(profiles, &spec::ShardProfile::features,
                                 NamesOf(plan.schema, plan.schema.features));
  if (spec.model.task != spec::Task::kClassification && !plan.schema.label.empty()) {
    report.targets = MergeColumns(profiles, &spec::ShardProfile::targets,
                                  NamesOf(plan.schema, plan.schema.label));
  }
  return report;
}

std::string EncodingOf(const spec::FittedFeature& feature) {
  if (feature.codes == 0 && feature.embedding == 0) return "";
  if (feature.codes == 0) {
    return Counted(static_cast<int64_t>(feature.bin_edges.size()) - 1, "bin") + ", embedding of " +
           HumanCount(feature.embedding);
  }
  const auto values = static_cast<int64_t>(feature.vocabulary.size());
  std::string text =
      feature.hashed ? "hashed to " + HumanCount(feature.codes) : Counted(values, "value");
  if (!feature.hashed && feature.codes > values) text += " and others";
  return text +
         (feature.embedding == 0 ? ", one-hot" : ", embedding of " + HumanCount(feature.embedding));
}

// Reports the model and its memory.
Status ReportModel(const storage::FileSystem& files, const spec::JobSpec& spec,
                   const spec::TableProfile& profile, CheckReport* report) {
  const spec::InputShape inputs = spec::InputsOf(profile.preprocessing);
  const bool classes = spec.model.task == spec::Task::kClassification;
  ESPALIER_ASSIGN_OR_RETURN(
      const model::NetworkShape shape,
      model::MakeNetworkShape(spec, inputs,
                              spec::AnswersOf(spec.model.task, profile.preprocessing)));
  if (spec.train.initial) {  // checks that it fits
    ESPALIER_RETURN_IF_ERROR(bundle::ReadInitialWeights(files, *spec.train.initial,
                                                        model::Tensors(shape),
                                                        profile.preprocessing)
                                 .status());
  }
  for (size_t i = 0; i < report->features.size(); ++i) {
    report->features[i].name = profile.preprocessing.features[i].name;
    report->features[i].encoding = EncodingOf(profile.preprocessing.features[i]);
  }
  report->layers = {inputs.width()};
  for (const model::LayerShape& layer : shape.layers) report->layers.push_back(layer.out);
  report->parameters = model::ParameterCount(shape);
  report->leaves = spec::LeafCount(spec.train);
  report->batch = spec.train.batch;
  report->epochs = spec::EpochLimit(spec.train);
  report->fits = spec.train.ensemble.fits;
  report->folds = spec::FoldsOf(spec.train);
  report->steps_per_epoch =
      plan::StepsPerEpoch(spec::FitRows(spec.train, profile.train_rows), spec.train.batch);

  constexpr const char* kStorageNames[] = {"uint8", "float32", "float64"};
  report->storage = kStorageNames[static_cast<size_t>(profile.storage)];
  const int64_t rows = profile.train_rows + profile.validation_rows + profile.test_rows;
  const int64_t label_bytes = classes ? 4 : 8 * static_cast<int64_t>(spec.data.label.size());
  const auto stored = static_cast<int64_t>(profile.preprocessing.features.size());
  int64_t numbers_bytes = rows * stored * data::ElementBytes(profile.storage);
  if (profile.sparse) {
    report->sparse = true;
    numbers_bytes = rows * (8 + data::SparseRecordBytes(0, profile.storage));
    for (const spec::ShardProfile& shard : profile.shards) {
      numbers_bytes += shard.nonzeros * (4 + data::ElementBytes(profile.storage));
    }
  }
  report->rows_bytes = numbers_bytes + rows * label_bytes;
  const training::TrainingPlan plan{.train = spec.train,
                                    .shape = shape,
                                    .targets = profile.preprocessing.targets,
                                    .train_rows = profile.train_rows,
                                    .validation_rows = profile.validation_rows,
                                    .test_rows = profile.test_rows};
  ESPALIER_RETURN_IF_ERROR(training::CheckHeldOutRows(plan));
  const bool wide = spec.model.precision == spec::Precision::kFloat64;
  report->model_bytes =
      static_cast<int64_t>(training::PlanMemory(plan, {.encoded = 2}, wide ? 8 : 4).model_bytes);
  if (profile.validation_rows + profile.test_rows > 0 || report->folds > 0) {
    report->evaluation_bytes =
        report->leaves * plan.EvaluationNumbersMax() * static_cast<int64_t>(sizeof(double));
  }
  return Status::Ok();
}

Result<CheckReport> MakeReport(const storage::FileSystem& files, const spec::JobSpec& spec,
                               const spec::InputPlan& plan,
                               std::vector<spec::ShardProfile> profiles) {
  CheckReport report = ReportShards(spec, plan, profiles);
  ESPALIER_ASSIGN_OR_RETURN(const auto earlier, bundle::ReadEarlierFit(files, spec));
  ESPALIER_ASSIGN_OR_RETURN(
      const spec::TableProfile merged,
      data::MergeShardProfiles(plan, spec, profiles, &files, earlier ? &*earlier : nullptr));
  if (spec.model.task == spec::Task::kClassification) {
    report.labels = CountLabels(profiles, merged.preprocessing.classes);
  }
  report.sets[0].rows = merged.train_rows;
  report.sets[1].rows = merged.validation_rows;
  report.sets[2].rows = merged.test_rows;
  report.notes = plan.notes;
  report.notes.insert(report.notes.end(), merged.warnings.begin(), merged.warnings.end());
  std::erase_if(report.sets, [](const SetSummary& s) { return s.files == 0 && s.rows == 0; });
  ESPALIER_RETURN_IF_ERROR(
      AddTypes(files, spec, plan, merged.preprocessing.classes, &report.schema));
  ESPALIER_RETURN_IF_ERROR(ReportModel(files, spec, merged, &report));
  return report;
}

// Reports the input close to the workers of the specified cluster. The report is still shown if the
// cluster does not answer.
void AskWorkers(const CommandContext& context, const spec::InputPlan& plan, CheckReport* report) {
  if (context.options.coordinator.empty()) return;
  const auto workers = Ask<std::vector<spec::WorkerSnapshot>>(
      context, [](rpc::ApiClient& client) { return client.Workers(); });
  if (!workers.ok()) {
    context.console.Err("note: what lies near the workers is not shown: " +
                        MessageWithCauses(workers.status()) + "\n");
    return;
  }
  report->workers.emplace();
  for (const spec::WorkerSnapshot& w : *workers) {
    const spec::HeldShards held = spec::HeldBy(plan, spec::HostNames(w.name, w.address));
    report->workers->push_back({ToString(w.worker), w.name, w.address, held.shards, held.bytes});
  }
}

// This command needs no coordinator, so an unreachable service is storage.
ExitCode LocalExitCode(const Status& error) {
  const ExitCode code = ExitCodeOf(error);
  return code == kExitUnreachable ? kExitJobFailed : code;
}

// Shows the job with all of its keys.
int ShowEffective(const CommandContext& context, spec::JobSpec job) {
  job.preset = spec::Preset::kNone;  // the preset has nothing left to fill
  job.train.epochs = spec::EpochLimit(job.train);
  config::YamlNode root = config::JobToYaml(job);
  root.entries.insert(root.entries.begin(),
                      {config::ScalarNode("preset"), config::ScalarNode(spec::NameOf(job.preset))});
  context.console.KeepOutLines();
  context.console.Out(config::EmitYaml(root));
  return kExitSuccess;
}

}  // namespace

int RunCheck(const CommandContext& context) {
  const Result<JobFile> file = LoadJobFile(context.options.job_file, {});
  if (!file.ok()) return ShowError(context, file.status(), kExitUsage);
  auto completed = CompleteLocally(context.files, *file);
  if (!completed.ok()) {
    return ShowError(context, completed.status(), PlanExitCode(completed.status()));
  }
  spec::JobSpec& job = completed->job;
  const bool sized = job.train.batch > 0 && job.train.epochs != 0.0;
  if (context.options.effective && sized) return ShowEffective(context, job);
  const spec::InputPlan& plan = completed->input;
  Result<ProfiledTable> profiled = ProfileTable(context, &*completed);
  if (!profiled.ok()) {
    const bool interrupted = context.interrupts.any();
    return ShowError(context, profiled.status(),
                     interrupted ? kExitInterrupted : LocalExitCode(profiled.status()));
  }
  int64_t train_rows = 0;
  for (const spec::ShardProfile& shard : profiled->profiles) train_rows += shard.train_rows;
  job = spec::Sized(std::move(job), train_rows);
  if (context.options.effective) return ShowEffective(context, job);
  Result<CheckReport> report = MakeReport(context.files, job, plan, std::move(profiled->profiles));
  if (!report.ok()) return ShowError(context, report.status(), LocalExitCode(report.status()));
  report->task_why = completed->task_why;
  report->reading_bytes = profiled->reading_bytes;
  // The data report is useful even if this check fails.
  report->output_status = CheckOutputHere(context.files, file->spec.output);
  AskWorkers(context, plan, &*report);
  context.console.Out(context.options.json ? JsonLine(CheckJson(*report))
                                           : CheckText(*report, context.console.out_color()));
  const Status& output = report->output_status;
  return output.ok() ? kExitSuccess : ShowError(context, output, PlanExitCode(output));
}

}  // namespace espalier::cli
