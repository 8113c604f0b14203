// The coordinator's core, with events of clients, storage and hostile workers, and with hostile
// journals.
#include <google/protobuf/stubs/logging.h>

#include "src/base/check.h"
#include "src/rpc/convert.h"
#include "src/rpc/journal_codec.h"
#include "tests/fuzz_targets/coordinator_life.h"
#include "tests/fuzz_targets/targets.h"
#include "tests/rpc/messages.h"

namespace espalier::fuzz {
namespace {

constexpr int kEventsMax = 150;  // longer inputs find no more than short ones

void PlayAll(CoordinatorLife& life, Input& input) {
  for (int i = 0; i < kEventsMax && !input.empty(); ++i) life.Play(input);
  life.CheckMemory();
}

// Returns events in the format of CoordinatorLife::Play.
std::string Event(std::initializer_list<int> bytes) {
  std::string out;
  for (int b : bytes) out.push_back(static_cast<char>(b));
  return out;
}

std::string Raw(const cluster::FromWorker& message) {
  v1::FromWorker proto;
  rpc::ToProto(message, &proto);
  return Event({18, 1, 0}) + Packed(proto.SerializeAsString());
}

// Returns the events of a job with two workers: submission, streams, profiles and merge.
std::string Profiled(int kind) {
  std::string out = Event({3, 1, kind, 1, 7, 200});
  for (int worker = 1; worker <= 2; ++worker) {
    out += Event({14, 1}) + Event({16, 1, 0, worker, 0, 0, 0, 0});
  }
  const int shape = kind == 0 ? 6 : kind == 1 ? 1 : 3;
  for (int session : {0, 1}) out += Event({19, 1, session, 0, shape, 0});
  return out + Event({12, 1, 1});
}

}  // namespace

void RunCoordinator(std::string_view bytes) {
  google::protobuf::LogSilencer silent;  // protobuf logs each text that is not UTF-8
  Input input(bytes);
  CoordinatorLife life({});
  PlayAll(life, input);
}

std::vector<std::string> CoordinatorSeeds() {
  std::vector<std::string> seeds;
  for (int kind = 0; kind < 3; ++kind) seeds.push_back(Profiled(kind));
  // Both members are ready. Messages of all kinds arrive, members are lost and return, and the
  // process ends.
  std::string trained = Profiled(0);
  for (int session : {0, 1}) trained += Event({20, 1, session, 0, 4, 1});
  for (int message = 0; message < 17; ++message) {
    seeds.push_back(trained + Event({20, 1, 1, 0, message, 2}) + Event({1, 255}) +
                    Event({8, 1, 2}) + Event({0, 1}));
  }
  seeds.push_back(trained + Event({5, 1, 1}) + Event({9, 1, 3, 1}) + Event({2, 1, 1}));
  seeds.push_back(trained + Event({15, 1, 0, 0}) + Event({1, 255, 1, 255, 1, 255, 1, 255}));
  seeds.push_back(trained + Event({7, 1, 1}) + Event({14, 1, 16, 1, 0, 3, 0, 0, 0, 0, 1, 255}));
  seeds.push_back(trained + Event({0, 1, 14, 1, 16, 1, 0, 1, 1, 1, 1, 3}) + Event({1, 255}));
  std::string raw = trained;
  for (const cluster::FromWorker& message : rpc::SamplesFromWorker()) raw += Raw(message);
  seeds.push_back(raw);
  return seeds;
}

// Input: entries, each as Input::Text, up to an empty one. Then events.
void RunJournal(std::string_view bytes) {
  google::protobuf::LogSilencer silent;
  Input input(bytes);
  std::vector<cluster::JournalEntry> past;
  for (std::string_view text = input.Text(); !text.empty(); text = input.Text()) {
    auto entry = rpc::DecodeJournalEntry(text);
    if (!entry.ok()) return;
    past.push_back(*std::move(entry));
  }
  CoordinatorLife life(std::move(past));
  life.CheckMemory();
  PlayAll(life, input);
}

std::vector<std::string> JournalSeeds() {
  std::vector<std::string> seeds;
  std::string all;
  for (const cluster::JournalEntry& entry : rpc::SampleEntries()) {
    const std::string bytes = Packed(*rpc::EncodeJournalEntry(entry));
    all += bytes;
    seeds.push_back(bytes);
    seeds.push_back(all + Event({0, 0, 1, 255, 14, 1, 16, 1, 0, 0, 5, 7, 3, 3, 1, 255, 0, 0}));
  }
  return seeds;
}

}  // namespace espalier::fuzz
