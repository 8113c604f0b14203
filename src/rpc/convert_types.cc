// Errors, tokens, metrics, progress and results, which other messages contain.
#include <limits>

#include "src/base/text.h"
#include "src/rpc/convert_fields.h"

namespace espalier::rpc {

namespace {

constexpr int kCausesMax = 64;
constexpr size_t kStatusMessageBytesMax = 16 << 10;
constexpr size_t kFileSystemBytesMax = 1024;
constexpr size_t kTokenTextBytesMax = 16 << 10;

void PositionToProto(const InputPosition& position, pb::InputPosition* out) {
  out->set_file(position.file.substr(0, kTextBytesMax));
  if (position.row) out->set_row(*position.row);
  out->set_column(position.column.substr(0, kTextBytesMax));
  if (position.offset) out->set_offset(*position.offset);
  out->set_text(Utf8(position.text, kNameBytesMax));
}

InputPosition PositionFromProto(const pb::InputPosition& in, Fields& f) {
  InputPosition out;
  out.file = f.Text("position.file", in.file(), kTextBytesMax);
  if (in.has_row()) out.row = f.NotNegative("position.row", in.row());
  out.column = f.Text("position.column", in.column(), kTextBytesMax);
  if (in.has_offset()) out.offset = f.NotNegative("position.offset", in.offset());
  out.text = f.Text("position.text", in.text(), kNameBytesMax);
  return out;
}

}  // namespace

void ToProto(const Status& status, pb::ErrorDetail* out) {
  out->set_code(static_cast<pb::ErrorCode>(status.code()));
  for (const Status* s = &status; !s->ok() && out->messages_size() < kCausesMax; s = &s->cause()) {
    out->add_messages(Utf8(s->message(), kStatusMessageBytesMax));
  }
  if (status.position()) PositionToProto(*status.position(), out->mutable_position());
}

Status ErrorFromProto(const pb::ErrorDetail& in, Status* out) {
  Fields f("ErrorDetail");
  *out = Status();
  const int64_t code = f.In("code", in.code(), 0, static_cast<int64_t>(StatusCode::kInternal));
  if (!f.Few("messages", in.messages_size(), kCausesMax)) return f.status();
  if (code == 0) {
    if (in.messages_size() > 0) f.Fail("messages", "are there though the code is OK");
    return f.status();
  }
  if (in.messages_size() == 0) f.Fail("messages", "are missing");
  Status status;
  for (int i = in.messages_size() - 1; i >= 0; --i) {
    std::string message = f.Line("messages", in.messages(i), kStatusMessageBytesMax);
    status = status.ok() ? Status(static_cast<StatusCode>(code), std::move(message))
                         : status.Wrap(std::move(message));
  }
  if (in.has_position()) status = status.At(PositionFromProto(in.position(), f));
  if (f.status().ok()) *out = status;
  return f.status();
}

template <typename W>
void Map(W& w, Is<spec::StorageToken> auto& t) {
  w(ESPALIER_AT(file_system), t.file_system, Present(kFileSystemBytesMax));
  w(ESPALIER_AT(text), t.text,
    TextRule{.bytes_max = kTokenTextBytesMax, .required = true, .secret = true});
}

template <typename W>
void Map(W& w, Is<spec::ClassMetrics> auto& c) {
  w(ESPALIER_AT(precision), c.precision);
  w(ESPALIER_AT(recall), c.recall);
  w(ESPALIER_AT(f1), c.f1);
  w(ESPALIER_AT(weight), c.weight);
}

template <typename W>
void Map(W& w, Is<spec::TargetMetrics> auto& t) {
  w(ESPALIER_AT(name), t.name, Raw());
  w(ESPALIER_AT(rmse), t.rmse);
  w(ESPALIER_AT(mae), t.mae);
  w(ESPALIER_AT(r2), t.r2);
  w(ESPALIER_AT(constant), t.constant);
  w(ESPALIER_AT(coverage), t.coverage);
}

template <typename W>
void Map(W& w, Is<spec::Metrics> auto& m) {
  w(ESPALIER_AT(rows), m.rows);
  w(ESPALIER_AT(weight), m.weight, kFinite);
  w(ESPALIER_AT(loss), m.loss);
  w(ESPALIER_AT(accuracy), m.accuracy);
  w(ESPALIER_AT(precision), m.precision);
  w(ESPALIER_AT(recall), m.recall);
  w(ESPALIER_AT(f1), m.f1);
  w(ESPALIER_AT(auc), m.auc);
  w(ESPALIER_AT(classes), m.classes);
  w(ESPALIER_AT(confusion), m.confusion, Each{kAny, std::numeric_limits<int64_t>::max()});
  w(ESPALIER_AT(rmse), m.rmse);
  w(ESPALIER_AT(mae), m.mae);
  w(ESPALIER_AT(r2), m.r2);
  w(ESPALIER_AT(classification), m.classification);
  w(ESPALIER_AT(f1_micro), m.f1_micro);
  w(ESPALIER_AT(f1_macro), m.f1_macro);
  w(ESPALIER_AT(unknown_labels), m.unknown_labels);
  w(ESPALIER_AT(targets), m.targets);
  w(ESPALIER_AT(average_precision), m.average_precision);
  w(ESPALIER_AT(coverage), m.coverage);
  if constexpr (W::kDecodes) {
    const size_t classes = m.classes.size();
    if (!m.confusion.empty() && m.confusion.size() != classes * classes) {
      w.fields().Fail("confusion", "has " + std::to_string(m.confusion.size()) +
                                       " entries, expected " + std::to_string(classes * classes) +
                                       " or none");
    }
  }
}

template <typename W>
void Map(W& w, Is<spec::HistoryRow> auto& row) {
  w(ESPALIER_AT(epoch), row.epoch, kFinite);
  w(ESPALIER_AT(step), row.step);
  w(ESPALIER_AT(learning_rate), row.learning_rate, kFinite);
  w(ESPALIER_AT(train), row.train);
  w(ESPALIER_AT(validation), row.validation);
  w(ESPALIER_AT(fit), row.fit);
  w(ESPALIER_AT(fit_epoch), row.fit_epoch, kFinite);
}

template <typename W>
void Map(W& w, Is<spec::JobProgress> auto& p) {
  w(ESPALIER_AT(step), p.step);
  w(ESPALIER_AT(steps_total), p.steps_total);
  w(ESPALIER_AT(epoch), p.epoch, kFinite);
  w(ESPALIER_AT(epochs_total), p.epochs_total, kFinite);
  w(ESPALIER_AT(loss), p.loss);
  w(ESPALIER_AT(accuracy), p.accuracy);
  w(ESPALIER_AT(learning_rate), p.learning_rate, kFinite);
  w(ESPALIER_AT(rows_per_second), p.rows_per_second, kFinite);
  w(ESPALIER_AT(phase), p.phase, kFewWords);
  w(ESPALIER_AT(phase_share), p.phase_share, kFinite);
  w(ESPALIER_AT(fit), p.fit);
  w(ESPALIER_AT(fits), p.fits);
  w(ESPALIER_AT(fit_epoch), p.fit_epoch, kFinite);
}

template <typename W>
void Map(W& w, Is<spec::AsyncCounts> auto& c) {
  w(ESPALIER_AT(largest_lag), c.largest_lag);
  w(ESPALIER_AT(refused), c.refused);
}

template <typename W>
void Map(W& w, Is<spec::ChosenThreshold> auto& t) {
  w(ESPALIER_AT(metric), t.metric, kName);
  w(ESPALIER_AT(threshold), t.threshold, kFinite);
  w(ESPALIER_AT(value), t.value, kFinite);
  w(ESPALIER_AT(value_at_half), t.value_at_half, kFinite);
  w(ESPALIER_AT(reached), t.reached);
}

template <typename W>
void Map(W& w, Is<spec::PredictionIntervals> auto& i) {
  w(ESPALIER_AT(level), i.level, kFinite);
  w(ESPALIER_AT(half_widths), i.half_widths, Each{kFinite, spec::kIntervalTargetsMax});
}

template <typename W>
void Map(W& w, Is<spec::TrainingResult> auto& r) {
  w(ESPALIER_AT(steps), r.steps);
  w(ESPALIER_AT(epochs), r.epochs, kFinite);
  w(ESPALIER_AT(rows_per_epoch), r.rows_per_epoch);
  w(ESPALIER_AT(train), r.train);
  w(ESPALIER_AT(validation), r.validation);
  w(ESPALIER_AT(test), r.test);
  w(ESPALIER_AT(classes), r.classes, Raw());
  w(ESPALIER_AT(weights_sha256), r.weights_sha256, kName);
  w(ESPALIER_AT(bundle), r.bundle, Raw());
  w(ESPALIER_AT(stopped_because), r.stopped_because, kFewWords);
  w(ESPALIER_AT(step_ms_p50), r.step_ms_p50, kFinite);
  w(ESPALIER_AT(step_ms_p99), r.step_ms_p99, kFinite);
  w(ESPALIER_AT(skipped_rows), r.skipped_rows);
  w(ESPALIER_AT(async_counts), r.async);
  w(ESPALIER_AT(best_epochs), r.best_epochs, Each{kFinite, spec::kFitsMax});
  w(ESPALIER_AT(skipped_steps), r.skipped_steps);
  w(ESPALIER_AT(fits), r.fits, Within{0, spec::kFitsMax});
  w(ESPALIER_AT(threshold), r.threshold);
  w(ESPALIER_AT(positive), r.positive, Raw());
  w(ESPALIER_AT(intervals), r.intervals);
  w(ESPALIER_AT(accepted), r.accepted, Each{kWords, spec::kAcceptedMax});
}

// Maps the fields of the scoring message itself.
template <typename W>
requires std::same_as<typename W::Proto, pb::ScoringResult>
void Map(W& w, Is<spec::ScoringResult> auto& r) {
  w(ESPALIER_AT(rows), r.rows);
  w(ESPALIER_AT(rejected), r.rejected);
  w(ESPALIER_AT(first_rejects), r.first_rejects, Each{kRequired, spec::kRejectsKept});
  w(ESPALIER_AT(unseen), r.unseen);
  if (auto* predicted = std::get_if<spec::PredictionResult>(&r.work)) {
    w(ESPALIER_AT(parts), predicted->parts);
    w(ESPALIER_AT(format), predicted->format, kName);
    w(ESPALIER_AT(reject_parts), predicted->reject_parts);
  }
  if constexpr (W::kDecodes) {
    if (r.evaluated() == nullptr) return;
    RefuseParts(w.proto(), "next to the metrics of an evaluation", w.fields());
    if (const std::string& format = w.proto().format(); !format.empty()) {
      w.fields().Fail("format", "is '" + Printable(format, 40) +
                                    "' next to the metrics of an evaluation, expected none");
    }
  }
}

// Maps the fields of the message that contains it. An evaluation has metrics.
template <typename W>
requires std::same_as<typename W::Proto, pb::JobResult>
void Map(W& w, Is<spec::ScoringResult> auto& r) {
  if constexpr (W::kDecodes) {
    if (w.proto().has_test()) r.work = spec::EvaluationResult();
  }
  w(ESPALIER_AT(scoring), r);
  if (auto* evaluated = std::get_if<spec::EvaluationResult>(&r.work)) {
    w(ESPALIER_AT(test), evaluated->metrics);
    w(ESPALIER_AT(classes), evaluated->classes, Raw());
  }
  w(ESPALIER_AT(bundle), r.output, Raw());
}

void ToProto(const spec::StorageToken& token, pb::StorageToken* out) { EncodeFields(token, out); }
Result<spec::StorageToken> FromProto(const pb::StorageToken& in) {
  return DecodeFields<spec::StorageToken>(in);
}
void ToProto(const spec::Metrics& metrics, pb::Metrics* out) { EncodeFields(metrics, out); }
Result<spec::Metrics> FromProto(const pb::Metrics& in) { return DecodeFields<spec::Metrics>(in); }
void ToProto(const spec::HistoryRow& row, pb::HistoryRow* out) { EncodeFields(row, out); }
Result<spec::HistoryRow> FromProto(const pb::HistoryRow& in) {
  return DecodeFields<spec::HistoryRow>(in);
}
void ToProto(const spec::JobProgress& progress, pb::Progress* out) { EncodeFields(progress, out); }
Result<spec::JobProgress> FromProto(const pb::Progress& in) {
  return DecodeFields<spec::JobProgress>(in);
}

void ToProto(const spec::JobResult& result, pb::JobResult* out) {
  if (const auto* trained = std::get_if<spec::TrainingResult>(&result)) EncodeFields(*trained, out);
  if (const auto* scored = std::get_if<spec::ScoringResult>(&result)) EncodeFields(*scored, out);
}

Result<spec::JobResult> FromProto(const pb::JobResult& in) {
  if (in.has_scoring()) {
    ESPALIER_ASSIGN_OR_RETURN(spec::ScoringResult scored, DecodeFields<spec::ScoringResult>(in));
    return spec::JobResult(std::move(scored));
  }
  ESPALIER_ASSIGN_OR_RETURN(spec::TrainingResult trained, DecodeFields<spec::TrainingResult>(in));
  return spec::JobResult(std::move(trained));
}

}  // namespace espalier::rpc
