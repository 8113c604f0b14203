#include <vector>

#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

namespace {

constexpr int kCausesMax = 64;
constexpr size_t kStatusMessageBytesMax = 16 << 10;

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

void ToProto(const Metrics& m, pb::Metrics* out) {
  out->set_rows(m.rows);
  out->set_weight(m.weight);
  out->set_loss(m.loss);
  out->set_accuracy(m.accuracy);
  out->set_precision(m.precision);
  out->set_recall(m.recall);
  out->set_f1(m.f1);
  if (m.auc) out->set_auc(*m.auc);
  for (const ClassMetrics& c : m.classes) {
    pb::ClassMetrics* p = out->add_classes();
    p->set_precision(c.precision);
    p->set_recall(c.recall);
    p->set_f1(c.f1);
    p->set_weight(c.weight);
  }
  out->mutable_confusion()->Add(m.confusion.begin(), m.confusion.end());
  out->set_rmse(m.rmse);
  out->set_mae(m.mae);
  out->set_r2(m.r2);
  out->set_classification(m.classification);
  if (m.f1_micro) out->set_f1_micro(*m.f1_micro);
  if (m.f1_macro) out->set_f1_macro(*m.f1_macro);
}

Result<Metrics> FromProto(const pb::Metrics& in) {
  Fields f("Metrics");
  Metrics m;
  m.rows = f.NotNegative("rows", in.rows());
  m.weight = f.Finite("weight", in.weight());
  m.loss = in.loss();
  m.accuracy = in.accuracy();
  m.precision = in.precision();
  m.recall = in.recall();
  m.f1 = in.f1();
  if (in.has_auc()) m.auc = in.auc();
  const int64_t classes = in.classes_size();
  if (!f.Few("classes", classes, kListMax)) return f.status();
  m.classes.reserve(classes);
  for (const pb::ClassMetrics& c : in.classes()) {
    m.classes.push_back({c.precision(), c.recall(), c.f1(), c.weight()});
  }
  if (in.confusion_size() != 0 && in.confusion_size() != classes * classes) {
    f.Fail("confusion", "has " + std::to_string(in.confusion_size()) + " entries, expected " +
                            std::to_string(classes * classes) + " or none");
  }
  m.confusion.assign(in.confusion().begin(), in.confusion().end());
  m.rmse = in.rmse();
  m.mae = in.mae();
  m.r2 = in.r2();
  m.classification = in.classification();
  if (in.has_f1_micro()) m.f1_micro = in.f1_micro();
  if (in.has_f1_macro()) m.f1_macro = in.f1_macro();
  ESPALIER_RETURN_IF_ERROR(f.status());
  return m;
}

void ToProto(const HistoryRow& row, pb::HistoryRow* out) {
  out->set_epoch(row.epoch);
  out->set_step(row.step);
  out->set_learning_rate(row.learning_rate);
  ToProto(row.train, out->mutable_train());
  if (row.validation) ToProto(*row.validation, out->mutable_validation());
}

Result<HistoryRow> FromProto(const pb::HistoryRow& in) {
  Fields f("HistoryRow");
  HistoryRow row;
  row.epoch = f.Finite("epoch", in.epoch());
  row.step = f.NotNegative("step", in.step());
  row.learning_rate = f.Finite("learning_rate", in.learning_rate());
  row.train = Part(f, "train", FromProto(in.train()));
  if (in.has_validation()) row.validation = Part(f, "validation", FromProto(in.validation()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return row;
}

void ToProto(const Progress& p, pb::Progress* out) {
  out->set_job(p.job.value);
  out->set_generation(p.generation.value);
  out->set_step(p.step);
  out->set_steps_total(p.steps_total);
  out->set_epoch(p.epoch);
  out->set_epochs_total(p.epochs_total);
  out->set_loss(p.loss);
  out->set_accuracy(p.accuracy);
  out->set_learning_rate(p.learning_rate);
  out->set_rows_per_second(p.rows_per_second);
  out->set_phase(Utf8(p.phase, kNameBytesMax));
  out->set_phase_share(p.phase_share);
}

Result<Progress> FromProto(const pb::Progress& in) {
  Fields f("Progress");
  Progress p;
  p.job = {in.job()};
  p.generation = {in.generation()};
  p.step = f.NotNegative("step", in.step());
  p.steps_total = f.NotNegative("steps_total", in.steps_total());
  p.epoch = f.Finite("epoch", in.epoch());
  p.epochs_total = f.Finite("epochs_total", in.epochs_total());
  p.loss = in.loss();
  p.accuracy = in.accuracy();
  p.learning_rate = f.Finite("learning_rate", in.learning_rate());
  p.rows_per_second = f.Finite("rows_per_second", in.rows_per_second());
  p.phase = f.Line("phase", in.phase(), kNameBytesMax);
  p.phase_share = f.Finite("phase_share", in.phase_share());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return p;
}

namespace {

void ScoringToProto(const ScoringResult& r, pb::ScoringResult* out) {
  out->set_rows(r.rows);
  out->set_rejected(r.rejected);
  for (const Status& why : r.first_rejects) ToProto(why, out->add_first_rejects());
  out->set_parts(r.parts);
  out->set_format(r.format);
}

Result<ScoringResult> ScoringFromProto(const pb::ScoringResult& in) {
  Fields f("ScoringResult");
  ScoringResult r;
  r.rows = f.NotNegative("rows", in.rows());
  r.rejected = f.NotNegative("rejected", in.rejected());
  r.first_rejects = RejectsFromProto(in.first_rejects(), f);
  r.parts = f.NotNegative("parts", in.parts());
  r.format = f.Text("format", in.format(), kNameBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return r;
}

}  // namespace

std::vector<Status> RejectsFromProto(const google::protobuf::RepeatedPtrField<pb::ErrorDetail>& in,
                                     Fields& f) {
  std::vector<Status> out;
  if (!f.Few("first_rejects", in.size(), kRejectsKept)) return out;
  for (const pb::ErrorDetail& detail : in) {
    Status why;
    if (Status bad = ErrorFromProto(detail, &why); !bad.ok()) f.Take("first_rejects", bad);
    if (why.ok()) f.Fail("first_rejects", "holds no reason");
    out.push_back(std::move(why));
  }
  return out;
}

void ToProto(const JobResult& r, pb::JobResult* out) {
  out->set_steps(r.steps);
  out->set_epochs(r.epochs);
  out->set_rows_per_epoch(r.rows_per_epoch);
  ToProto(r.train, out->mutable_train());
  if (r.validation) ToProto(*r.validation, out->mutable_validation());
  if (r.test) ToProto(*r.test, out->mutable_test());
  out->mutable_classes()->Add(r.classes.begin(), r.classes.end());
  out->set_weights_sha256(Utf8(r.weights_sha256, kNameBytesMax));
  out->set_bundle(r.bundle);
  out->set_stopped_because(Utf8(r.stopped_because, kNameBytesMax));
  out->set_step_ms_p50(r.step_ms_p50);
  out->set_step_ms_p99(r.step_ms_p99);
  out->set_skipped_rows(r.skipped_rows);
  if (r.scoring) ScoringToProto(*r.scoring, out->mutable_scoring());
  if (!r.async) return;
  out->mutable_async_counts()->set_largest_lag(r.async->largest_lag);
  out->mutable_async_counts()->set_refused(r.async->refused);
}

Result<JobResult> FromProto(const pb::JobResult& in) {
  Fields f("JobResult");
  JobResult r;
  r.steps = f.NotNegative("steps", in.steps());
  r.epochs = f.Finite("epochs", in.epochs());
  r.rows_per_epoch = f.NotNegative("rows_per_epoch", in.rows_per_epoch());
  r.train = Part(f, "train", FromProto(in.train()));
  if (in.has_validation()) r.validation = Part(f, "validation", FromProto(in.validation()));
  if (in.has_test()) r.test = Part(f, "test", FromProto(in.test()));
  if (!f.Few("classes", in.classes_size(), kListMax)) return f.status();
  for (const std::string& c : in.classes())
    r.classes.push_back(f.Text("classes", c, kTextBytesMax));
  r.weights_sha256 = f.Text("weights_sha256", in.weights_sha256(), kNameBytesMax);
  r.bundle = f.Text("bundle", in.bundle(), kTextBytesMax);
  r.stopped_because = f.Line("stopped_because", in.stopped_because(), kNameBytesMax);
  r.step_ms_p50 = f.Finite("step_ms_p50", in.step_ms_p50());
  r.step_ms_p99 = f.Finite("step_ms_p99", in.step_ms_p99());
  r.skipped_rows = f.NotNegative("skipped_rows", in.skipped_rows());
  if (in.has_scoring()) r.scoring = Part(f, "scoring", ScoringFromProto(in.scoring()));
  if (in.has_async_counts()) {
    r.async =
        AsyncCounts{f.NotNegative("async_counts.largest_lag", in.async_counts().largest_lag()),
                    f.NotNegative("async_counts.refused", in.async_counts().refused())};
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return r;
}

}  // namespace espalier::rpc
