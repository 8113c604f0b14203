// Asynchronous training in CoordinatorCore: one member has the newest state, possibly one that
// joined later.
#include <catch2/catch.hpp>
#include <string>

#include "tests/cluster/coordinator_player.h"

namespace espalier::cluster::script {
namespace {

// A job of three workers at step 90, with one spare worker.
constexpr const char* kTrains = R"(> a attaches
> b attaches
> c attaches
> submit one min=3 max=3 star=1
> a profiles
> b profiles
> c profiles
> merged job-1
> a is ready
> b is ready
> c is ready
> a progresses step=90
> d attaches
)";
// One member is lost and the spare worker replaces it. All start from a checkpoint.
constexpr const char* kLosesOne = R"(> a breaks
> pass 6000
)";
constexpr const char* kGoesOn = R"(> b is ready round=41
> c is ready round=41
> d is ready round=1
> b progresses step=41
)";

bool Has(const std::string& played, const std::string& words) {
  return played.find(words) != std::string::npos;
}

TEST_CASE("after the holder's loss the step is that of the checkpoint") {
  CoordinatorPlayer player;
  Replay(kTrains, player);
  CHECK(Has(Replay("> show jobs\n", player), "step 90"));
  CHECK(Has(Replay(kLosesOne, player), "d <- StartTraining job-1/2"));
  CHECK(Has(Replay("> show jobs\n", player), "step 0"));
  Replay(kGoesOn, player);
  CHECK(Has(Replay("> show jobs\n", player), "step 41"));
}

TEST_CASE("the furthest member keeps the state, even if it came later") {
  CoordinatorPlayer player;
  Replay(kTrains, player);
  Replay(kLosesOne, player);
  Replay(kGoesOn, player);
  Replay("> d beats step=70\n> b breaks\n", player);
  const std::string played = Replay("> pass 40000\n", player);
  INFO(played);
  CHECK(Has(played, "d <- KeepState job-1/2"));
}

}  // namespace
}  // namespace espalier::cluster::script
