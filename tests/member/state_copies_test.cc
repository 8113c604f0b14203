#include "src/member/state_copies.h"

#include <catch2/catch.hpp>

#include "src/model/network.h"

namespace espalier::member {
namespace {

training::TrainingPlan SmallPlan() {
  training::TrainingPlan plan;
  plan.shape = *model::MakeNetworkShape(spec::ModelSpec{}, 2, 2);
  plan.train.batch = 10;
  plan.train.epochs = 3;
  plan.train_rows = 40;
  return plan;
}

// Returns copies whose present state is the one before this round.
StateCopies<float> CopiesAt(uint64_t round) {
  StateCopies<float> copies(SmallPlan());
  copies.machine().state().round = round;
  return copies;
}

TEST_CASE("a member goes back to the agreed state") {
  StateCopies<float> copies = CopiesAt(5);
  copies.Perform(HoldCompared{});
  copies.machine().state().round = 6;
  CHECK(!copies.agreed());
  copies.Perform(AgreeOnCompared{});
  REQUIRE(copies.agreed());
  CHECK(copies.agreed()->round == 5);
  copies.Perform(Revert{});
  CHECK(copies.present().round == 5);
}

TEST_CASE("a member without an agreed state begins again") {
  StateCopies<float> copies = CopiesAt(5);
  const uint64_t first = StateCopies<float>(SmallPlan()).present().round;
  copies.Perform(Revert{});
  CHECK(copies.present().round == first);
}

TEST_CASE("a state of another round is not taken") {
  StateCopies<float> copies = CopiesAt(5);
  const std::string bytes = training::EncodeState(CopiesAt(7).present());
  const StateFetched other = copies.Take(bytes, 6);
  CHECK(other.round == 7);
  CHECK(copies.present().round == 5);
  const StateFetched right = copies.Take(bytes, 7);
  CHECK((right.status.ok() && right.decoded.ok()));
  CHECK(copies.present().round == 7);
  CHECK(!copies.agreed());
}

TEST_CASE("bytes that are not a state change nothing") {
  StateCopies<float> copies = CopiesAt(5);
  CHECK(!copies.Take(std::string("no state"), std::nullopt).decoded.ok());
  const StateFetched failed = copies.Take(NotFound("it offers none"), std::nullopt);
  CHECK(failed.status.code() == StatusCode::kNotFound);
  CHECK(copies.present().round == 5);
}

TEST_CASE("only a state from a checkpoint is agreed at once") {
  StateCopies<float> copies = CopiesAt(5);
  copies.GoOnFrom(CopiesAt(8).present(), false);
  CHECK(!copies.agreed());
  copies.GoOnFrom(CopiesAt(9).present(), true);
  REQUIRE(copies.agreed());
  CHECK(copies.agreed()->round == 9);
}

}  // namespace
}  // namespace espalier::member
