#include "src/data/features/class_weights.h"

#include <catch2/catch.hpp>

#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Weights = std::vector<double>;

TEST_CASE("balanced weights add up to the number of training rows") {
  DataFixture f;
  f.job.train.class_weight.balanced = true;
  f.job.data.shard_bytes = 1024;
  std::string text = "x,v,y\n";
  for (int i = 0; i < 600; ++i) {
    const char* label = i % 6 == 0 ? "b" : i % 6 < 3 ? "c" : "a";
    text += std::to_string(i) + ",0," + label + "\n";
  }
  for (int i = 0; i < 50; ++i) text += "0,1,b\n";  // validation rows
  f.Train(text);
  f.job.data.validation.column = std::string("v");
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  CHECK(f.plan.shards.size() > 3);
  CHECK(profile->preprocessing.classes == std::vector<std::string>{"a", "b", "c"});
  CHECK(profile->preprocessing.class_weights == Weights{600.0 / 3 / 300, 2, 1});
}

TEST_CASE("given weights follow the class order; others are 1") {
  DataFixture f;
  f.Train("x,y\n1,0\n2,10\n3,2\n4,0\n");
  CHECK(f.Profile()->preprocessing.class_weights.empty());
  f.job.train.class_weight.given = {{"10", 0.5}, {"0", 3}};
  CHECK(f.Profile()->preprocessing.class_weights == Weights{3, 1, 0.5});
  f.Train("x,y\n1,0.0\n2,10.0\n3,2.0\n4,0.0\n");
  CHECK(f.Profile()->preprocessing.class_weights == Weights{3, 1, 0.5});
}

TEST_CASE("a weight for an unknown class suggests the nearest class") {
  DataFixture f;
  f.Train("x,y\n1,yes\n2,no\n");
  f.job.train.class_weight.given = {{"yess", 2}};
  const Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(error.message(), Says("train.class_weight: found 'yess' ... did you mean 'yes'?"));
  CHECK(error.position()->column == "y");
  f.job.train.class_weight.given = {{"yes", 0}, {"no", 0}};
  CHECK_THAT(f.Profile().status().message(),
             Says("train.class_weight: all classes have the weight 0"));
}

TEST_CASE("costs go by the positions of classes") {
  const std::vector<std::string> classes = {"1", "2", "other"};
  const auto costs = [&](const std::vector<spec::ClassCosts>& given) {
    return CostsOfClasses({given}, classes);
  };
  const auto found = costs({{"2.0", {{"other", 5}, {"1", 1}}}, {"other", {{"1", 0}}}});
  REQUIRE(found.ok());
  CHECK(*found == std::vector<spec::CostOfClass>{{1, 2, 5}, {2, 0, 0}});
  CHECK(costs({})->empty());
  CHECK_THAT(costs({{"3", {{"1", 5}}}}).status().message(), Says("model.costs: found '3'"));
  CHECK_THAT(costs({{"1", {{"3", 5}}}}).status().message(), Says("model.costs: found '3'"));
  CHECK_THAT(costs({{"1", {{"1.0", 5}}}}).status().message(), Says("model.costs.1 ... same class"));
  CHECK_THAT(costs({{"1", {{"2", 5}, {"2.0", 6}}}}).status().message(),
             Says("model.costs.1: found '2.0'"));
}

TEST_CASE("balanced label weights are the ratio of 0s to 1s, bounded") {
  DataFixture f;
  f.job.model.task = spec::Task::kMultilabel;
  f.job.data.label = {std::string("p"), std::string("q"), std::string("never"),
                      std::string("always"), std::string("once")};
  f.job.data.shard_bytes = 1024;
  std::string text = "x,v,p,q,never,always,once\n";
  for (int i = 0; i < 3003; ++i) {
    text += std::to_string(i) + ",0," + (i % 3 == 0 ? "1" : "0") + (i % 7 == 0 ? ",0" : ",1") +
            ",0,1," + (i == 5 ? "1" : "0") + "\n";
  }
  for (int i = 0; i < 50; ++i) text += "0,1,1,1,1,0,1\n";  // validation rows
  f.Train(text);
  f.job.data.validation.column = std::string("v");
  CHECK(f.Profile()->preprocessing.class_weights.empty());
  f.job.train.class_weight.balanced = true;
  const auto profile = f.Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  CHECK(f.plan.shards.size() > 3);
  CHECK(profile->preprocessing.class_weights == Weights{2, 429.0 / 2574, 1, 1, 1000});
}

TEST_CASE("given label weights go by column name") {
  DataFixture f;
  f.job.model.task = spec::Task::kMultilabel;
  f.job.data.label = {std::string("spam"), std::string("urgent"), std::string("1")};
  f.Train("x,spam,urgent,1\n1,0,1,0\n2,1,0,1\n");
  f.job.train.class_weight.given = {{"1", 0.5}, {"spam", 3}};
  CHECK(f.Profile()->preprocessing.class_weights == Weights{3, 1, 0.5});
  f.job.train.class_weight.given = {{"spamm", 3}};
  const Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(error.message(),
             Says("train.class_weight: found 'spamm' ... data.label ... did you mean 'spam'?"));
}

TEST_CASE("Poisson refuses counts below 0 and does not scale targets") {
  DataFixture f;
  f.job.model.task = spec::Task::kRegression;
  f.job.model.loss = spec::Loss::kPoisson;
  f.Train("x,y\n1,10\n2,0\n3,3\n");
  CHECK(f.Profile()->preprocessing.targets[0] == spec::FittedTarget{"y", 0, 1});
  f.Train("x,y\n1,10\n2,-2\n3,3\n");
  CHECK_THAT(f.Profile().status().message(),
             Says("the target goes down to -2 ... model.loss: poisson"));
}

}  // namespace
}  // namespace espalier::data
