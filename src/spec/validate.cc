// JobSpec::Validate: the bounds of every field, then what fields ask of each other. The first
// finding wins; each names the field's path in YAML, what was found and what was expected.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "src/base/text.h"
#include "src/spec/job_spec.h"

namespace espalier {
namespace {

constexpr int64_t kColumnsMax = 1 << 20;
constexpr int64_t kCountMax = 1'000'000'000'000;  // steps, rows
constexpr size_t kListMax = 10'000;               // patterns, feature entries
constexpr size_t kTextMax = 4096;                 // bytes of a path or a name
constexpr double kParametersMax = 2147483648.0;   // 2^31, in the hidden layers

std::string Quoted(std::string_view text) { return "'" + Printable(text) + "'"; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Keeps the first finding.
class Findings {
 public:
  void Expect(bool ok, const std::string& path, const std::string& found,
              const std::string& expected) {
    if (ok || !first_.ok()) return;
    first_ = InvalidArgument(path + ": found " + found + ", expected " + expected);
  }
  void Whole(const std::string& path, int64_t value, int64_t min, int64_t max) {
    Expect(value >= min && value <= max, path, std::to_string(value),
           "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  void Fraction(const std::string& path, double value) {
    Expect(value >= 0 && value < 1, path, ShortestDouble(value),
           "a number of at least 0 and below 1");
  }
  void Positive(const std::string& path, double value) {
    Expect(std::isfinite(value) && value > 0, path, ShortestDouble(value), "a number above 0");
  }
  void NotNegative(const std::string& path, double value) {
    Expect(std::isfinite(value) && value >= 0, path, ShortestDouble(value),
           "a number of at least 0");
  }
  void Paths(const std::string& path, const std::vector<std::string>& patterns) {
    Expect(patterns.size() <= kListMax, path, std::to_string(patterns.size()) + " patterns",
           "at most " + std::to_string(kListMax) + "; use a wildcard or a directory");
    for (const std::string& p : patterns) {
      Expect(!p.empty() && p.size() <= kTextMax && p.find('\0') == std::string::npos, path,
             Quoted(p), "a path of 1 to " + std::to_string(kTextMax) + " bytes");
    }
  }
  Status Take() const { return first_; }

 private:
  Status first_;
};

std::string Shown(const ColumnRef& column) {
  if (const auto* name = std::get_if<std::string>(&column)) return Quoted(*name);
  return "position " + std::to_string(std::get<int64_t>(column));
}

void CheckColumn(Findings& f, const std::string& path, const ColumnRef& column, bool header) {
  if (const auto* position = std::get_if<int64_t>(&column)) {
    return f.Whole(path, *position, 0, kColumnsMax - 1);
  }
  const std::string& name = std::get<std::string>(column);
  f.Expect(!name.empty() && name.size() <= kTextMax, path, Quoted(name),
           "the name of a column or its position");
  f.Expect(header || std::all_of(name.begin(), name.end(), IsDigit), path,
           "the name " + Quoted(name) + " although the files have no header",
           "a position, counted from 0 (or set data.csv.header: true)");
}

void CheckFeatures(Findings& f, const DataSpec& data) {
  const std::string path = "data.features.columns";
  const auto& columns = data.features.columns;
  f.Expect(columns.size() <= kListMax, path, std::to_string(columns.size()) + " entries",
           "at most " + std::to_string(kListMax) + "; use ranges such as \"1..784\"");
  for (const auto& entry : columns) {
    if (const auto* range = std::get_if<ColumnRange>(&entry)) {
      const std::string shown =
          "'" + std::to_string(range->first) + ".." + std::to_string(range->last) + "'";
      f.Expect(range->first >= 0 && range->first <= range->last && range->last < kColumnsMax, path,
               shown, "first..last, counted from 0, both included, below 1048576");
      for (const ColumnRef& label : data.label) {
        const auto* p = std::get_if<int64_t>(&label);
        f.Expect(!p || *p < range->first || *p > range->last, path, shown,
                 "features without the label, which is " + Shown(label));
      }
      continue;
    }
    const ColumnRef column = std::holds_alternative<int64_t>(entry)
                                 ? ColumnRef(std::get<int64_t>(entry))
                                 : ColumnRef(std::get<std::string>(entry));
    CheckColumn(f, path, column, HasHeader(data));
    for (const ColumnRef& label : data.label) {
      f.Expect(label != column, path, Shown(column), "features without the label");
    }
  }
  const Scale& scale = data.features.scale;
  f.Expect(scale.kind != ScaleKind::kDivide || (std::isfinite(scale.divisor) && scale.divisor != 0),
           "data.features.scale.divide", ShortestDouble(scale.divisor), "a number other than 0");
  f.Expect(std::isfinite(data.features.nulls.constant), "data.features.nulls.constant",
           ShortestDouble(data.features.nulls.constant), "a finite number");
}

void CheckValidation(Findings& f, const DataSpec& data) {
  const ValidationSpec& v = data.validation;
  f.Fraction("data.validation.fraction", v.fraction);
  const int ways = (v.fraction > 0) + v.column.has_value() + !v.files.empty();
  f.Expect(ways <= 1, "data.validation", std::to_string(ways) + " ways to choose the rows",
           "one of fraction, column and files");
  if (v.column) {
    CheckColumn(f, "data.validation.column", *v.column, HasHeader(data));
    f.Expect(std::find(data.label.begin(), data.label.end(), *v.column) == data.label.end(),
             "data.validation.column", Shown(*v.column), "another column than the label");
  }
  f.Paths("data.validation.files", v.files);
}

void CheckCsv(Findings& f, const CsvOptions& csv) {
  const auto usable = [](char c) {
    return c == '\t' || (c >= 0x20 && c < 0x7F && !std::isalnum(static_cast<unsigned char>(c)) &&
                         c != '.' && c != '+' && c != '-');
  };
  const std::string expected = "one character that cannot be part of a number";
  const bool control = csv.delimiter > 0 && csv.delimiter < 0x20 && csv.delimiter != '\n' &&
                       csv.delimiter != '\r';  // Hive's is \x01
  f.Expect(control || usable(csv.delimiter), "data.csv.delimiter",
           Quoted(std::string(1, csv.delimiter)), expected);
  f.Expect(usable(csv.quote), "data.csv.quote", Quoted(std::string(1, csv.quote)), expected);
  f.Expect(csv.quote != csv.delimiter, "data.csv.quote", Quoted(std::string(1, csv.quote)),
           "another character than the delimiter");
}

// LIBSVM text: column 0 is the label, column i the feature of index i.
void CheckLibsvm(Findings& f, const DataSpec& data) {
  if (FormatOf(data) != DataFormat::kLibsvm) return;
  const std::vector<ColumnRef> first = {int64_t{0}};
  f.Expect(data.label.empty() || data.label == first, "data.label",
           data.label.empty() ? "nothing" : Shown(data.label[0]),
           "0: the label of LIBSVM text is its first field");
  f.Expect(!data.features.columns.empty(), "data.features.columns", "nothing",
           "the indices that are features, such as \"1..784\", since LIBSVM text does not say how "
           "many there are");
  f.Expect(!data.weight, "data.weight", "a column", "none: LIBSVM text has no weights");
  f.Expect(!data.validation.column, "data.validation.column", "a column",
           "a fraction or files: LIBSVM text has no such column");
}

void CheckData(Findings& f, const DataSpec& data, Task task) {
  f.Expect(!data.train.empty(), "data.train", "nothing",
           "the training files; add `train: PATTERN` to data");
  f.Paths("data.train", data.train);
  f.Paths("data.test", data.test);
  CheckCsv(f, data.csv);
  CheckLibsvm(f, data);
  f.Expect(!data.label.empty(), "data.label", "nothing",
           "the column to predict; add `label: NAME_OR_POSITION` to data");
  f.Expect(task == Task::kRegression || data.label.size() <= 1, "data.label",
           std::to_string(data.label.size()) + " columns",
           "one for classification (several are for model.task: regression)");
  f.Expect(data.label.size() <= 1024, "data.label", std::to_string(data.label.size()) + " columns",
           "at most 1024");
  for (size_t i = 0; i < data.label.size(); ++i) {
    CheckColumn(f, "data.label", data.label[i], HasHeader(data));
    f.Expect(std::count(data.label.begin(), data.label.end(), data.label[i]) == 1, "data.label",
             Shown(data.label[i]) + " twice", "each column once");
  }
  if (data.weight) {
    CheckColumn(f, "data.weight", *data.weight, HasHeader(data));
    f.Expect(std::find(data.label.begin(), data.label.end(), *data.weight) == data.label.end(),
             "data.weight", Shown(*data.weight), "another column than the label");
  }
  CheckFeatures(f, data);
  CheckValidation(f, data);
  if (data.bad_rows.skip) {
    f.Whole("data.bad_rows.limit", data.bad_rows.limit, 1, kCountMax);
  } else {
    f.Expect(data.bad_rows.limit == 0, "data.bad_rows.limit", std::to_string(data.bad_rows.limit),
             "none with `policy: fail`; write `policy: skip` to tolerate bad rows");
  }
  if (data.shuffle.kind == ShuffleKind::kWindow) {
    f.Whole("data.shuffle.window", data.shuffle.window_rows, 8, kCountMax);
  }
  f.Whole("data.shard_bytes", data.shard_bytes, 1 << 10, 1 << 30);
}

void CheckModel(Findings& f, const ModelSpec& model) {
  f.Expect(model.hidden.size() <= 64, "model.hidden",
           std::to_string(model.hidden.size()) + " layers", "at most 64");
  double parameters = 0;
  for (size_t i = 0; i < model.hidden.size(); ++i) {
    f.Whole("model.hidden[" + std::to_string(i) + "]", model.hidden[i], 1, 65536);
    if (i > 0) {
      parameters +=
          static_cast<double>(model.hidden[i - 1] + 1) * static_cast<double>(model.hidden[i]);
    }
  }
  f.Expect(parameters <= kParametersMax, "model.hidden",
           ShortestDouble(parameters) + " parameters between hidden layers",
           "at most 2147483648; make layers narrower");
  f.Expect(
      model.activation.size() == 1 || model.activation.size() == model.hidden.size(),
      "model.activation", std::to_string(model.activation.size()) + " activations",
      "one for all hidden layers, or one for each of the " + std::to_string(model.hidden.size()));
  f.Fraction("model.dropout", model.dropout);
  const Loss loss = EffectiveLoss(model);
  const bool of_classes = loss == Loss::kSoftmaxCrossEntropy || loss == Loss::kBinaryCrossEntropy;
  f.Expect(of_classes == (model.task == Task::kClassification), "model.loss", Name(loss),
           model.task == Task::kClassification
               ? "softmax_cross_entropy or binary_cross_entropy for task classification"
               : "mse, mae or huber for task regression");
  f.Positive("model.loss.huber.delta", model.huber_delta);
}

void CheckOptimizer(Findings& f, const OptimizerSpec& o) {
  const std::string path = std::string("train.optimizer.") + Name(o.kind) + ".";
  f.Positive(path + "learning_rate", o.learning_rate);
  f.Fraction(path + "momentum", o.momentum);
  f.Fraction(path + "beta1", o.beta1);
  f.Fraction(path + "beta2", o.beta2);
  f.Positive(path + "epsilon", o.epsilon);
}

void CheckSchedule(Findings& f, const TrainSpec& train) {
  const ScheduleSpec& s = train.schedule;
  const std::string path = std::string("train.schedule.") + Name(s.kind);
  f.NotNegative(path + ".warmup", s.warmup.amount);
  if (s.kind == ScheduleKind::kStep) {
    f.Expect(std::isfinite(s.every.amount) && s.every.amount > 0, path + ".every",
             ShortestDouble(s.every.amount), "the length of a stair, such as `3 epochs`");
    f.Expect(s.factor > 0 && s.factor <= 1, path + ".factor", ShortestDouble(s.factor),
             "a number above 0 and at most 1");
  }
  if (s.kind == ScheduleKind::kCosine) {
    f.Expect(s.final_fraction >= 0 && s.final_fraction <= 1, path + ".final_fraction",
             ShortestDouble(s.final_fraction), "a number from 0 to 1");
    f.Expect(EpochLimit(train) || train.steps, path, "an end by time alone",
             "train.epochs or train.steps, which say where the curve ends");
  }
}

void CheckEarlyStopping(Findings& f, const JobSpec& job) {
  if (!job.train.early_stopping) return;
  const EarlyStopping& e = *job.train.early_stopping;
  std::vector<std::string> known = MetricNames(job.model.task);
  std::string list;
  for (std::string& name : known) {
    name = "val_" + name;
    list += (list.empty() ? "" : ", ") + name;
  }
  const auto near = Nearest(e.metric, known);
  f.Expect(std::find(known.begin(), known.end(), e.metric) != known.end(),
           "train.early_stopping.metric", Quoted(e.metric),
           "one of " + list + (near ? "; did you mean '" + *near + "'?" : ""));
  f.Whole("train.early_stopping.patience", e.patience, 1, 1'000'000'000);
  f.NotNegative("train.early_stopping.min_delta", e.min_delta);
  f.Expect(job.data.validation.any(), "train.early_stopping", "no validation rows to judge by",
           "data.validation, for instance `validation: {fraction: 0.2}`");
}

void CheckTrain(Findings& f, const JobSpec& job) {
  const TrainSpec& train = job.train;
  CheckOptimizer(f, train.optimizer);
  f.Whole("train.batch", train.batch, 1, 1 << 30);
  if (train.leaves) f.Whole("train.leaves", *train.leaves, 1, 1024);
  if (train.epochs) {
    f.Expect(*train.epochs > 0 && *train.epochs <= 1e9, "train.epochs",
             ShortestDouble(*train.epochs), "a number above 0 and at most 1000000000");
  }
  if (train.steps) f.Whole("train.steps", *train.steps, 1, kCountMax);
  if (train.max_time_ms) {
    f.Expect(*train.max_time_ms > 0 && *train.max_time_ms <= kCountMax, "train.max_time",
             std::to_string(*train.max_time_ms) + " ms", "a time above 0, such as `30 min`");
  }
  CheckSchedule(f, train);
  CheckEarlyStopping(f, job);
  f.NotNegative("train.weight_decay", train.weight_decay);
  f.NotNegative("train.clip_norm", train.clip_norm);
}

void CheckCheckpoint(Findings& f, const JobSpec& job) {
  if (job.checkpoint) {
    const CheckpointSpec& c = *job.checkpoint;
    if (c.every_steps) f.Whole("train.checkpoint.every_steps", *c.every_steps, 1, kCountMax);
    if (c.every_ms) {
      f.Expect(*c.every_ms >= 1000 && *c.every_ms <= kCountMax, "train.checkpoint.every",
               std::to_string(*c.every_ms) + " ms", "a time of at least 1 s, such as `10 min`");
    }
    f.Whole("train.checkpoint.keep", c.keep, 1, 1000);
  }
  if (job.resume) f.Paths("resume.from", {job.resume->from});
}

}  // namespace

Status ValidateFormat(const DataSpec& data) {
  if (FormatOf(data) != DataFormat::kLibsvm) return {};
  Findings f;
  CheckLibsvm(f, data);
  for (const ColumnRef& label : data.label) CheckColumn(f, "data.label", label, HasHeader(data));
  CheckFeatures(f, data);
  return f.Take();
}

Status JobSpec::Validate() const {
  Findings f;
  f.Expect(!name.empty() && name.size() <= 128 &&
               std::none_of(name.begin(), name.end(),
                            [](unsigned char c) { return c < 0x20 || c == 0x7F; }),
           "name", Quoted(name), "1 to 128 bytes without control characters");
  CheckData(f, data, model.task);
  CheckModel(f, model);
  CheckTrain(f, *this);
  CheckCheckpoint(f, *this);
  f.Whole("workers.min", workers.min, 1, 100'000);
  f.Whole("workers.max", workers.max, 0, 100'000);
  f.Expect(workers.max == 0 || workers.max >= workers.min, "workers.max",
           std::to_string(workers.max),
           "at least workers.min, which is " + std::to_string(workers.min));
  f.Expect(!output.path.empty(), "output", "nothing",
           "the directory to write the trained model to; add `output: PATH`");
  f.Paths("output",
          output.path.empty() ? std::vector<std::string>{} : std::vector<std::string>{output.path});
  return f.Take();
}

}  // namespace espalier
