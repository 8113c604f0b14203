// Entry point of espalier-worker; see program.h.
#include "src/base/standard_streams.h"
#include "src/worker/program.h"

int main(int argc, char** argv) {
  if (!espalier::OpenMissingStreams()) return 1;
  return espalier::worker::WorkerMain(argc, argv);
}
