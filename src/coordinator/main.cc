// espalier-coordinator.
#include "src/coordinator/program.h"

int main(int argc, char** argv) { return espalier::CoordinatorMain(argc, argv); }
