#include "src/data/input/judge_table.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "src/base/text.h"
#include "src/data/features/column_judgement.h"
#include "src/data/features/column_stats.h"
#include "src/data/features/dates.h"
#include "src/data/input/infer_features.h"
#include "src/data/parquet/columns.h"
#include "src/data/table/value_rules.h"
#include "src/spec/names.h"
#include "src/spec/shard_sums.h"

namespace espalier::data {
namespace {

const char* WordsOf(spec::LeftOutReason reason) {
  switch (reason) {
    case spec::LeftOutReason::kEmpty:
      return "empty in all training rows";
    case spec::LeftOutReason::kConstant:
      return "constant in all training rows";
    default:
      return "different in nearly every training row";
  }
}

// Counts of features and labels over all shards. Only the texts with the smallest hashes are added
// up, so vocabularies of any size are judged in limited memory.
struct TableCounts {
  std::vector<spec::ColumnStats> features, targets;
  std::vector<spec::ColumnStats> clean_features, clean_targets;  // of shards without evidence
  std::vector<spec::TextCounts> categories;                      // by feature with a vocabulary
  std::vector<spec::ColumnEvidence> evidence;
  spec::TextCounts labels;
  const Status* failure = nullptr;  // first one
};

TableCounts Count(std::span<const spec::ShardProfile> profiles) {
  TableCounts all;
  const auto add = [](const std::map<std::string, int64_t>& counts, spec::TextCounts* to) {
    for (const auto& [text, rows] : counts) spec::AddText(text, rows, to);
  };
  const auto merge = [](const std::vector<spec::ColumnStats>& more,
                        std::vector<spec::ColumnStats>* to) {
    to->resize(std::max(to->size(), more.size()));
    for (size_t i = 0; i < more.size(); ++i) (*to)[i] = Merged((*to)[i], more[i]);
  };
  for (const spec::ShardProfile& shard : profiles) {
    spec::AddEvidence(shard.evidence, &all.evidence);
    all.categories.resize(std::max(all.categories.size(), shard.categories.size()));
    for (size_t i = 0; i < shard.categories.size(); ++i)
      add(shard.categories[i], &all.categories[i]);
    if (!shard.failure.ok()) {
      if (all.failure == nullptr) all.failure = &shard.failure;
      continue;
    }
    merge(shard.features, &all.features);
    merge(shard.targets, &all.targets);
    if (shard.evidence.empty()) {
      merge(shard.features, &all.clean_features);
      merge(shard.targets, &all.clean_targets);
    }
    add(shard.labels, &all.labels);
  }
  for (spec::TextCounts& texts : all.categories) {
    spec::TextCounts exact;
    spec::AddTexts(texts, &exact);
    texts = std::move(exact);
  }
  spec::TextCounts exact;
  spec::AddTexts(all.labels, &exact);
  all.labels = std::move(exact);
  return all;
}

class TableJudge {
 public:
  TableJudge(const spec::InputPlan& plan, const spec::JobSpec& job, const TableCounts& all)
      : plan_(plan),
        job_(job),
        all_(all),
        format_(spec::FormatOf(job.data, plan.files.front().path)),
        rules_(job.data, format_ == spec::DataFormat::kCsv),
        directory_rules_(job.data, false) {
    const std::string& format = job.data.features.date_format;
    if (!format.empty() && format != "auto") dates_.emplace(format);
    judgement_.schema = plan.schema;
    judgement_.task = job.model.task;
  }

  Result<TableJudgement> Run(bool task_open) {
    ESPALIER_RETURN_IF_ERROR(JudgeColumns());
    if (task_open) ESPALIER_RETURN_IF_ERROR(JudgeTask());
    if (judgement_.notes.empty() && all_.failure != nullptr) return *all_.failure;
    return std::move(judgement_);
  }

 private:
  const DateFormat* dates() const { return dates_ ? &*dates_ : nullptr; }

  bool IsOfFiles(int32_t column) const {
    const spec::Schema& schema = plan_.schema;
    return column < static_cast<int32_t>(schema.names.size()) - schema.partitions;
  }
  const ValueRules& RulesOf(int32_t column) const {
    return IsOfFiles(column) ? rules_ : directory_rules_;
  }

  const spec::ColumnEvidence* EvidenceOf(int32_t column) const {
    for (const spec::ColumnEvidence& e : all_.evidence) {
      if (e.column == column) return &e;
    }
    return nullptr;
  }

  // Returns the sample of a column with features [first, last) from all shards. Nothing: too little
  // data.
  std::optional<ColumnSample> SampleOf(size_t first, size_t last, size_t vocabulary) const {
    const spec::FeatureRule rule = plan_.schema.rule(first);
    const spec::ColumnEvidence* evidence = EvidenceOf(plan_.schema.features[first]);
    const ValueRules& rules = RulesOf(plan_.schema.features[first]);
    if (all_.failure != nullptr && evidence == nullptr) return std::nullopt;
    const auto& stats = evidence == nullptr ? all_.features : all_.clean_features;
    ColumnSample sample;
    if (rule.type == spec::FeatureType::kCategorical) {
      if (!spec::HasVocabulary(job_.data.features, rule)) return std::nullopt;
      if (vocabulary < all_.categories.size()) {
        sample.AddTexts(all_.categories[vocabulary], rules, dates());
      }
      AddNulls(first, &sample);
    } else if (first < stats.size()) {
      // Of the parts of a date, use one that varies, if there is one.
      size_t shown = first;
      for (size_t i = first; i < last; ++i) {
        const spec::ColumnStats& s = stats[i];
        if (s.count > 0 && s.min < s.max) shown = i;
      }
      sample.AddStats(rule.type, stats[shown]);
    }
    if (evidence != nullptr) sample.AddEvidence(rule.type, *evidence, rules, dates());
    return sample;
  }

  // Nulls of a category have no text, unless null is a category.
  void AddNulls(size_t feature, ColumnSample* sample) const {
    if (feature >= all_.features.size()) return;
    for (int64_t i = 0; i < std::min<int64_t>(1, all_.features[feature].nulls); ++i) {
      sample->AddNull();
    }
  }

  bool IsElement(int32_t column) const {
    std::string vector;
    int64_t element = 0;
    const std::string& name = plan_.schema.names[static_cast<size_t>(column)];
    return format_ == spec::DataFormat::kParquet && ParseElementName(name, &vector, &element);
  }

  Status JudgeColumns() {
    const spec::Schema& schema = plan_.schema;
    const std::vector<bool> open = OpenColumns(job_.data, schema);
    std::vector<ColumnDecision> decisions(open.size());
    size_t vocabulary = 0;
    for (size_t first = 0, last = 0; first < schema.features.size(); first = last) {
      const int32_t column = schema.features[first];
      while (last < schema.features.size() && schema.features[last] == column) ++last;
      const size_t own_vocabulary = vocabulary;
      for (size_t i = first; i < last; ++i) {
        vocabulary += spec::HasVocabulary(job_.data.features, schema.rule(i));
      }
      if (!open[static_cast<size_t>(column)] || IsElement(column)) continue;
      ESPALIER_RETURN_IF_ERROR(
          JudgeColumn(first, last, own_vocabulary, &decisions[static_cast<size_t>(column)]));
    }
    if (other_columns_.empty()) return {};
    NoteColumns();
    return DecideColumns(open, decisions, plan_.files.front().path, &judgement_.schema);
  }

  Status JudgeColumn(size_t first, size_t last, size_t vocabulary, ColumnDecision* decision) {
    const std::optional<ColumnSample> sample = SampleOf(first, last, vocabulary);
    if (!sample) return {};
    const auto column = static_cast<size_t>(plan_.schema.features[first]);
    const ColumnFacts facts = {
        .name = plan_.schema.names[column],
        .complete = true,
        .csv = format_ == spec::DataFormat::kCsv && IsOfFiles(plan_.schema.features[first])};
    const spec::FeatureType before = plan_.schema.rule(first).type;
    const Judgement judged = Judge(*sample, facts);
    const std::string name = Quoted(facts.name);
    const std::string looked =
        std::string(", although the sampled rows looked ") + spec::NameOf(before);
    if (const auto* undecided = std::get_if<Undecided>(&judged)) {
      return InvalidArgument(UndecidedFault(facts.name, facts, *undecided))
          .At({.file = plan_.files.front().path,
               .column = Printable(facts.name),
               .text = Printable(undecided->example)});
    }
    if (const auto* reason = std::get_if<spec::LeftOutReason>(&judged)) {
      *decision = *reason;
      const std::string words = WordsOf(*reason) + looked;
      AddColumn({" is left out: it is " + words, " are left out: they are " + words}, name);
    } else if (const auto type = std::get<spec::FeatureType>(judged); type != before) {
      *decision = type;
      const std::string words = spec::NameOf(type) + (" by all training rows" + looked);
      AddColumn({" is " + words, " are " + words}, name);
    }
    return {};
  }

  // Result for a column by all rows, in the words for one column and for several.
  struct Finding {
    std::string one, several;
    auto operator<=>(const Finding&) const = default;
  };

  void AddColumn(Finding finding, const std::string& name) {
    const auto same = [&](const auto& group) { return group.first == finding; };
    auto group = std::find_if(other_columns_.begin(), other_columns_.end(), same);
    if (group == other_columns_.end()) {
      group = other_columns_.insert(group, {std::move(finding), {}});
    }
    group->second.push_back(name);
  }

  // Adds one note for all columns with the same finding. An image can have dozens of constant
  // columns.
  void NoteColumns() {
    constexpr size_t kNamed = 5;
    for (const auto& [finding, names] : other_columns_) {
      if (names.size() == 1) {
        Note("column " + names.front() + finding.one);
        continue;
      }
      std::string list;
      for (size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
        list += (i > 0 ? ", " : "") + names[i];
      }
      if (names.size() > kNamed) list += " and " + HumanCount(names.size() - kNamed) + " more";
      Note(HumanCount(names.size()) + " columns" + finding.several + ": " + list);
    }
  }

  Status JudgeTask() {
    const int32_t label = plan_.schema.label.front();
    const spec::ColumnEvidence* evidence = EvidenceOf(label);
    const auto& targets = evidence == nullptr ? all_.targets : all_.clean_targets;
    ColumnSample sample;
    if (job_.model.task == spec::Task::kClassification) {
      sample.AddTexts(all_.labels, ValueRules(job_.data, false), nullptr);  // with decimal points
    } else if (!targets.empty()) {
      sample.AddStats(spec::FeatureType::kNumeric, targets.front());
    }
    if (evidence != nullptr) sample.AddTexts(evidence->texts, RulesOf(label), nullptr);
    if (sample.values() == 0) return {};
    // Numbers remain numbers, even if shards contain only few integers.
    const bool numbers = 2 * sample.numbers() >= sample.values();
    if (job_.model.task == spec::Task::kRegression && numbers) return {};
    ESPALIER_RETURN_IF_ERROR(CheckLabel(plan_, job_, sample));
    LabelTask task = TaskOfLabel(sample);
    if (task.task == job_.model.task) return {};
    Note("the task is " + std::string(spec::NameOf(task.task)) + ": " + task.why +
         ", although the sampled rows meant " + spec::NameOf(job_.model.task));
    judgement_.task = task.task;
    judgement_.task_why = std::move(task.why);
    return {};
  }

  void Note(std::string line) {
    if (judgement_.notes.size() < kNotesMax) judgement_.notes.push_back(std::move(line));
  }

  static constexpr size_t kNotesMax = 100;
  const spec::InputPlan& plan_;
  const spec::JobSpec& job_;
  const TableCounts& all_;
  const spec::DataFormat format_;
  const ValueRules rules_, directory_rules_;  // of the files, and of the names of directories
  std::optional<DateFormat> dates_;
  std::vector<std::pair<Finding, std::vector<std::string>>> other_columns_;  // in the order found
  TableJudgement judgement_;
};

}  // namespace

Status CheckLabel(const spec::InputPlan& plan, const spec::JobSpec& job,
                  const ColumnSample& labels) {
  const std::optional<Undecided> undecided = UndecidedLabel(labels);
  if (!undecided) return {};
  const std::string& file = plan.files.front().path;
  const ColumnFacts facts = {
      .name = plan.schema.names[static_cast<size_t>(plan.schema.label.front())],
      .csv = spec::FormatOf(job.data, file) == spec::DataFormat::kCsv,
      .label = true};
  return InvalidArgument(UndecidedFault(facts.name, facts, *undecided))
      .At({.file = file, .column = Printable(facts.name), .text = Printable(undecided->example)});
}

Result<TableJudgement> JudgeTable(const spec::InputPlan& plan, const spec::JobSpec& job,
                                  std::span<const spec::ShardProfile> profiles, bool task_open) {
  const TableCounts all = Count(profiles);
  return TableJudge(plan, job, all).Run(task_open);
}

}  // namespace espalier::data
