// The fuzz targets: functions of hostile bytes, without network and disk. libFuzzer runs them with
// coverage feedback (fuzz_main.cc, `tools/fuzz`). replay_test runs the kept inputs.
//
// A target ends the process if the code breaks a promise: a crash, a report of a sanitizer, or a
// failed ESPALIER_CHECK.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view input);
  std::vector<std::string> (*seeds)();  // valid inputs to start from
};

const std::vector<Target>& Targets();
// Returns the target with that name, or null.
const Target* FindTarget(std::string_view name);

// coordinator_target.cc
void RunCoordinator(std::string_view input);
std::vector<std::string> CoordinatorSeeds();
void RunJournal(std::string_view input);
std::vector<std::string> JournalSeeds();
// merge_target.cc
void RunMerge(std::string_view input);
std::vector<std::string> MergeSeeds();
// wire_target.cc
void RunFrame(std::string_view input);
std::vector<std::string> FrameSeeds();
void RunMessages(std::string_view input);
std::vector<std::string> MessagesSeeds();
// bundle_target.cc
void RunCheckpoint(std::string_view input);
std::vector<std::string> CheckpointSeeds();
void RunSafetensors(std::string_view input);
std::vector<std::string> SafetensorsSeeds();
void RunModelJson(std::string_view input);
std::vector<std::string> ModelJsonSeeds();
// state_target.cc
void RunState(std::string_view input);
std::vector<std::string> StateSeeds();
// metadata_target.cc
void RunMetadata(std::string_view input);
std::vector<std::string> MetadataSeeds();
// webhdfs_target.cc
void RunWebHdfs(std::string_view input);
std::vector<std::string> WebHdfsSeeds();

}  // namespace espalier::fuzz
