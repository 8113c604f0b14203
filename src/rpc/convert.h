// Between plain structs and protos. ToProto fills a fresh message; FromProto checks everything (see
// the .proto files for the rules) and answers kInvalidArgument "malformed StartSurvey: self is 7,
// expected 0 to 2" otherwise. Private to rpc/.
//
// Round trip: FromProto(ToProto(x)) is x, except for bytes that are not UTF-8 in texts for people,
// and error chains of more than 64 links.
//
// Thread rule: pure functions.
#pragma once

#include "proto/espalier/v1/api.pb.h"
#include "proto/espalier/v1/cluster.pb.h"
#include "proto/espalier/v1/types.pb.h"
#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/spec/snapshots.h"

namespace espalier::rpc {

namespace pb = ::espalier::v1;

// convert_types.cc
void ToProto(const Status& status, pb::ErrorDetail* out);
// Returns an error when the detail is malformed; `out` may become OK.
Status ErrorFromProto(const pb::ErrorDetail& detail, Status* out);
void ToProto(const StorageToken& token, pb::StorageToken* out);
Result<StorageToken> FromProto(const pb::StorageToken& in);
void ToProto(const Metrics& metrics, pb::Metrics* out);
Result<Metrics> FromProto(const pb::Metrics& in);
void ToProto(const HistoryRow& row, pb::HistoryRow* out);
Result<HistoryRow> FromProto(const pb::HistoryRow& in);
void ToProto(const JobProgress& progress, pb::Progress* out);
Result<JobProgress> FromProto(const pb::Progress& in);
void ToProto(const JobResult& result, pb::JobResult* out);
Result<JobResult> FromProto(const pb::JobResult& in);

// convert_input.cc
void ToProto(const InputPlan& plan, pb::InputPlan* out);
Result<InputPlan> FromProto(const pb::InputPlan& in);
void ToProto(const ShardSurvey& survey, pb::ShardSurvey* out);
Result<ShardSurvey> FromProto(const pb::ShardSurvey& in);
void ToProto(const SurveyResult& result, pb::SurveyResult* out);
Result<SurveyResult> FromProto(const pb::SurveyResult& in);

// convert_from_worker.cc
void ToProto(const FromWorker& message, pb::FromWorker* out);
Result<FromWorker> FromProto(const pb::FromWorker& in);

// convert_to_worker.cc
void ToProto(const ToWorker& message, pb::ToWorker* out);
Result<ToWorker> FromProto(const pb::ToWorker& in);

// convert_api.cc
void ToProto(const SubmitRequest& request, pb::SubmitRequest* out);
Result<SubmitRequest> FromProto(const pb::SubmitRequest& in);
void ToProto(const JobSnapshot& snapshot, pb::JobSnapshot* out);
Result<JobSnapshot> FromProto(const pb::JobSnapshot& in);
void ToProto(const JobUpdate& update, pb::JobUpdate* out);
Result<JobUpdate> FromProto(const pb::JobUpdate& in);
void ToProto(const WorkerSnapshot& snapshot, pb::WorkerSnapshot* out);
Result<WorkerSnapshot> FromProto(const pb::WorkerSnapshot& in);

}  // namespace espalier::rpc
