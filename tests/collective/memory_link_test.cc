#include "src/collective/memory_link.h"

#include <catch2/catch.hpp>

#include "tests/collective/link_suite.h"

namespace espalier::collective {
namespace {

struct InMemory {
  std::shared_ptr<MemoryNetwork> network = MemoryNetwork::Make(kLinkSuiteMembers, 42);
  std::unique_ptr<Links> Open(uint32_t self, LinkListener* listener) {
    return network->Open(self, kLinkSuiteGeneration, listener);
  }
  void Break(uint32_t a, uint32_t b, std::unique_ptr<Links>&) { network->Cut(a, b); }
};

TEST_CASE("links in memory pass the conformance suite") { RunLinkSuite<InMemory>(); }

}  // namespace
}  // namespace espalier::collective
