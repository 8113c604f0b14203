// Conversion between plain structs and protos. ToProto fills a new message. FromProto checks every
// field (the .proto files contain the rules). It returns kInvalidArgument, for example "malformed
// StartProfiling: self is 7, expected 0 to 2", if a check fails. Private to rpc/.
//
// Round trip: FromProto(ToProto(x)) equals x, except for bytes that are not UTF-8 in texts for
// people and for error chains with more than 64 links.
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
// Returns an error if the detail is malformed. `out` may become OK.
Status ErrorFromProto(const pb::ErrorDetail& detail, Status* out);
void ToProto(const spec::StorageToken& token, pb::StorageToken* out);
Result<spec::StorageToken> FromProto(const pb::StorageToken& in);
void ToProto(const spec::Metrics& metrics, pb::Metrics* out);
Result<spec::Metrics> FromProto(const pb::Metrics& in);
void ToProto(const spec::HistoryRow& row, pb::HistoryRow* out);
Result<spec::HistoryRow> FromProto(const pb::HistoryRow& in);
void ToProto(const spec::JobProgress& progress, pb::Progress* out);
Result<spec::JobProgress> FromProto(const pb::Progress& in);
void ToProto(const spec::JobResult& result, pb::JobResult* out);
Result<spec::JobResult> FromProto(const pb::JobResult& in);

// convert_input.cc
void ToProto(const spec::InputPlan& plan, pb::InputPlan* out);
Result<spec::InputPlan> FromProto(const pb::InputPlan& in);
// Returns the error that FromProto returns for a plan whose parts do not match.
Status CheckPlan(const spec::InputPlan& plan);
void ToProto(const spec::ShardProfile& profile, pb::ShardProfile* out);
void ToProto(const spec::ShardResult& result, pb::ShardProfile* out);
Result<spec::ShardResult> FromProto(const pb::ShardProfile& in);
void ToProto(const spec::TableProfile& result, pb::TableProfile* out);
Result<spec::TableProfile> FromProto(const pb::TableProfile& in);

// convert_from_worker.cc
void ToProto(const cluster::FromWorker& message, pb::FromWorker* out);
Result<cluster::FromWorker> FromProto(const pb::FromWorker& in);

// convert_to_worker.cc
void ToProto(const cluster::ToWorker& message, pb::ToWorker* out);
Result<cluster::ToWorker> FromProto(const pb::ToWorker& in);

// convert_api.cc
void ToProto(const spec::SubmitRequest& request, pb::SubmitRequest* out);
Result<spec::SubmitRequest> FromProto(const pb::SubmitRequest& in);
void ToProto(const spec::JobSnapshot& snapshot, pb::JobSnapshot* out);
Result<spec::JobSnapshot> FromProto(const pb::JobSnapshot& in);
void ToProto(const spec::JobUpdate& update, pb::JobUpdate* out);
Result<spec::JobUpdate> FromProto(const pb::JobUpdate& in);
void ToProto(const spec::WorkerSnapshot& snapshot, pb::WorkerSnapshot* out);
Result<spec::WorkerSnapshot> FromProto(const pb::WorkerSnapshot& in);

}  // namespace espalier::rpc
