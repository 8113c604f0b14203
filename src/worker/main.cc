// espalier-worker; see program.h.
#include "src/worker/program.h"

int main(int argc, char** argv) { return espalier::WorkerMain(argc, argv); }
