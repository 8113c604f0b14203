#include "tests/fuzz_targets/targets.h"

#include <algorithm>

namespace espalier::fuzz {

const std::vector<Target>& Targets() {
  static const std::vector<Target> kTargets = {
      {"coordinator", RunCoordinator, CoordinatorSeeds},
      {"journal", RunJournal, JournalSeeds},
      {"merge", RunMerge, MergeSeeds},
      {"frame", RunFrame, FrameSeeds},
      {"messages", RunMessages, MessagesSeeds},
      {"checkpoint", RunCheckpoint, CheckpointSeeds},
      {"state", RunState, StateSeeds},
      {"safetensors", RunSafetensors, SafetensorsSeeds},
      {"model_json", RunModelJson, ModelJsonSeeds},
      {"metadata", RunMetadata, MetadataSeeds},
      {"webhdfs", RunWebHdfs, WebHdfsSeeds},
  };
  return kTargets;
}

const Target* FindTarget(std::string_view name) {
  const auto found = std::find_if(Targets().begin(), Targets().end(),
                                  [name](const Target& t) { return t.name == name; });
  return found == Targets().end() ? nullptr : &*found;
}

}  // namespace espalier::fuzz
