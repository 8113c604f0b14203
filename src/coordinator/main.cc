// Entry point of espalier-coordinator.
#include "src/base/standard_streams.h"
#include "src/coordinator/program.h"

int main(int argc, char** argv) {
  if (!espalier::OpenMissingStreams()) return 1;
  return espalier::coordinator::CoordinatorMain(argc, argv);
}
