#include "src/coordinator/intake.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "src/base/queue.h"
#include "src/rpc/api_client.h"
#include "tests/storage/fake_hdfs.h"
#include "tests/testing/eventually.h"
#include "tests/testing/says.h"

namespace espalier::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int64_t kForever = 3'600'000;  // ms

bool InSafeMode(const storage::ServedRequest& request, storage::ServedReply* reply) {
  if (request.method == "GET") return false;
  *reply = storage::Exception(403, "SafeModeException", "Name node is in safe mode.");
  return true;
}

bool IsStarting(const storage::ServedRequest& request, storage::ServedReply* reply) {
  if (request.op() != "GETFILESTATUS") return false;
  *reply = storage::Exception(403, "RetriableException", "The NameNode is starting.");
  return true;
}

// Plays the daemon for the intake. RunOne runs posted calls on this thread.
struct Desk {
  explicit Desk(int64_t give_up_ms, const IntakeLimits& limits = {}) {
    storage::StorageOptions storage = storage::Quick();
    storage.webhdfs.retry.give_up_ms = storage.webhdfs.retry.first_contact_ms = give_up_ms;
    storage.webhdfs.retry.attempts_max = 1'000'000'000;
    intake.emplace(
        storage, limits, [this](auto call) { posted.Push(std::move(call)); },
        [this](cluster::Submission s, std::vector<rpc::Done<JobId>> callers) {
          ready.push_back(s.name);
          owners.push_back(s.owner);
          for (const auto& done : callers) done(JobId{ready.size()});
        });
  }
  // Adds a request. `done` stores the result in `answers` by the caller's name. A caller without an
  // owner's name has its own address.
  void Add(const spec::SubmitRequest& request, const std::string& caller = "caller",
           const std::string& owner = "") {
    AddFrom({.name = owner, .address = caller}, request, caller);
  }
  void AddFrom(const cluster::Requester& by, const spec::SubmitRequest& request,
               const std::string& caller) {
    intake->Add(
        by, request, [this, caller] { return gone.count(caller) > 0; },
        [this, caller](Result<JobId> answer) { answers.emplace(caller, std::move(answer)); });
  }
  void RunOne() {
    auto call = posted.PopFor(kPatience);
    REQUIRE(call.has_value());
    (*call)();
  }

  Queue<std::function<void()>> posted;
  std::set<std::string> gone;
  std::vector<std::string> ready, owners;
  std::map<std::string, Result<JobId>> answers;
  std::optional<Intake> intake;  // last, because it posts to the others
};

spec::SubmitRequest Request(const std::string& name, const std::string& place = "") {
  const fs::path directory = fs::path(std::getenv("TEST_TMPDIR")) / "intake";
  fs::create_directories(directory);
  // Other requests may be reading the file.
  if (!fs::exists(directory / "in.csv")) {
    std::ofstream(directory / "in.csv") << "y,x\n0,1\n1,2\n";
  }
  return {.version = "1",
          .client_request_id = name,
          .job_yaml = "name: " + name +
                      "\npreset: none\ndata: {train: " + (directory / "in.csv").string() +
                      ", label: y}\noutput: " + (place.empty() ? directory.string() : place) + "/" +
                      name + "\n"};
}

TEST_CASE("a submission aborts if its storage refuses for too long") {
  storage::FakeHdfs hdfs(InSafeMode);
  Desk desk(300);
  desk.Add(Request("a", hdfs.base));
  desk.RunOne();
  const Status why = desk.answers.at("caller").status();
  CHECK(why.code() == StatusCode::kAborted);
  CHECK_THAT(why.ToString(), Catch::Contains("is in safe mode") && Catch::Contains("given up"));
  CHECK(desk.ready.empty());
}

TEST_CASE("the coordinator gives up on storage before the client does") {
  const storage::StorageOptions storage = PatienceOfIntake({});
  const storage::HttpOptions& http = storage.webhdfs.http;
  const int64_t longest_ms =
      storage.webhdfs.retry.give_up_ms + std::max(http.reply_ms, http.stall_ms);
  CHECK(longest_ms < rpc::ApiClientOptions().submit_timeout_ms / 2);
  const IntakeLimits limits;
  CHECK(storage.webhdfs.retry.give_up_ms * limits.reading_max / limits.threads <
        rpc::ApiClientOptions().submit_timeout_ms);
}

TEST_CASE("slow storage does not delay submissions on other storage") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever, {.threads = 2, .reading_max = 8});
  for (const char* name : {"a", "b", "c", "d"}) desk.Add(Request(name, hdfs.base), name);
  desk.Add(Request("local"), "local");
  desk.RunOne();
  CHECK(desk.answers.at("local").ok());
  CHECK(desk.answers.size() == 1);
  desk.Add(Request("e", hdfs.base), "e");
  CHECK(desk.answers.at("e").status().code() == StatusCode::kResourceExhausted);
  CHECK_THAT(desk.answers.at("e").status().message(),
             Catch::StartsWith("too many submissions wait for " + hdfs.base + " (found 4"));
  desk.intake->Withdraw({}, "b");  // frees its place
  desk.Add(Request("f", hdfs.base), "f");
  CHECK(desk.answers.count("f") == 0);
}

TEST_CASE("the limit of concurrent submissions is reported") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever, {.threads = 1, .reading_max = 2});
  desk.Add(Request("a", hdfs.base), "a");
  desk.Add(Request("b"), "b");
  desk.Add(Request("surplus"), "surplus");
  CHECK(desk.answers.at("surplus").status().code() == StatusCode::kResourceExhausted);
  CHECK_THAT(desk.answers.at("surplus").status().message(), Says("too many submissions ... 2"));
}

TEST_CASE("one caller cannot block the submissions of another") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever);
  constexpr int kSubmissions = 130;
  for (int i = 0; i < kSubmissions; ++i) {
    const std::string id = "a" + std::to_string(i);
    desk.Add(Request(id, i % 2 == 0 ? hdfs.base : "webhdfs://127.0.0.1:1"), id, "ann");
  }
  const IntakeLimits limits;
  CHECK(static_cast<int>(desk.answers.size()) >= kSubmissions - limits.reading_max / 2);
  const Status refused = desk.answers.rbegin()->second.status();
  CHECK(refused.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(refused.message(), Says("too many submissions of 'ann' ... Submit again in a moment"));
  desk.Add(Request("local"), "local", "bob");
  while (desk.answers.count("local") == 0) desk.RunOne();
  CHECK(desk.answers.at("local").ok());
  desk.Add(Request("same", hdfs.base), "same", "bob");  // has a place on the same file system
  CHECK(desk.answers.count("same") == 0);
}

TEST_CASE("a caller's submissions on other storage pass its slow ones") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever, {.threads = 4, .reading_max = 16});
  for (const char* name : {"a", "b", "c", "d"}) desk.Add(Request(name, hdfs.base), name, "ann");
  desk.Add(Request("local"), "local", "ann");
  desk.RunOne();
  CHECK(desk.answers.at("local").ok());
  desk.Add(Request("e", hdfs.base), "e", "ann");
  CHECK_THAT(desk.answers.at("e").status().message(),
             Says("too many submissions of 'ann' wait for " + hdfs.base +
                  " (found 4, expected fewer than 4)"));
}

TEST_CASE("callers without names count by their address") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever, {.threads = 4, .reading_max = 8});
  const cluster::Requester one{.address = "ipv4:10.0.0.1"}, other{.address = "ipv4:10.0.0.2"};
  for (const char* name : {"a", "b", "c"}) desk.AddFrom(one, Request(name, hdfs.base), name);
  desk.AddFrom(other, Request("d", hdfs.base), "d");
  CHECK(desk.answers.size() == 1);
  CHECK_THAT(desk.answers.at("c").status().message(),
             Says("too many submissions of the client at ipv4:10.0.0.1 wait for"));
}

TEST_CASE("FileSystemsNamed finds the file systems of a job text") {
  using Names = std::set<std::string>;
  CHECK(FileSystemsNamed("data: {train: hdfs://a:8020/x, test: 'webhdfs://b/y'}\noutput: /z") ==
        Names{"hdfs://a:8020", "webhdfs://b"});
  CHECK(FileSystemsNamed("{\"output\":\"hdfs://a\"}") == Names{"hdfs://a"});
  CHECK(FileSystemsNamed("output: hdfs:///x") == Names{""});
  CHECK(FileSystemsNamed("://") == Names{""});
  CHECK(FileSystemsNamed("") == Names{""});
}

TEST_CASE("an abandoned submission makes no job and frees its thread") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever);
  desk.Add(Request("a", hdfs.base), "first");
  desk.Add(Request("a", hdfs.base), "second");
  REQUIRE(Eventually([&] { return hdfs.server.Count("GETFILESTATUS") > 0; }));
  desk.gone = {"first"};
  desk.intake->DropAbandoned();
  CHECK(desk.answers.empty());
  desk.gone = {"first", "second"};
  desk.intake->DropAbandoned();
  desk.RunOne();  // its wait has ended
  REQUIRE(Eventually([&] { return !desk.intake->busy(); }));
  CHECK(desk.ready.empty());
  desk.Add(Request("a"), "third");  // the same id again, with a waiting caller
  desk.RunOne();
  CHECK(desk.answers.at("third").ok());
  CHECK(desk.ready.size() == 1);
}

TEST_CASE("a caller that leaves during preparation gets no job") {
  Desk desk(300);
  desk.Add(Request("left"), "left");
  REQUIRE(Eventually([&] { return !desk.intake->busy(); }));
  desk.gone = {"left"};
  desk.RunOne();
  CHECK(desk.ready.empty());
}

TEST_CASE("a withdrawn submission makes no job and is reported") {
  storage::FakeHdfs hdfs(InSafeMode);
  Desk desk(600);
  desk.Add(Request("a", hdfs.base));
  desk.intake->Withdraw({}, "a");
  desk.intake->Withdraw({}, "nothing");
  CHECK(desk.answers.at("caller").status().code() == StatusCode::kCancelled);
  REQUIRE(Eventually([&] { return !desk.intake->busy(); }));
  while (auto call = desk.posted.TryPop()) (*call)();
  CHECK(desk.ready.empty());
}

TEST_CASE("all callers of one submission get its job") {
  Desk desk(300);
  desk.Add(Request("shared"), "one");
  desk.Add(Request("shared"), "two");
  desk.RunOne();
  CHECK(*desk.answers.at("one") == JobId{1});
  CHECK(*desk.answers.at("two") == JobId{1});
}

TEST_CASE("one id of two owners makes two submissions") {
  Desk desk(300);
  desk.Add(Request("same"), "anna", "anna");
  desk.Add(Request("same"), "bob", "bob");
  desk.RunOne();
  desk.RunOne();
  CHECK(*desk.answers.at("anna") != *desk.answers.at("bob"));
  std::sort(desk.owners.begin(), desk.owners.end());
  CHECK(desk.owners == std::vector<std::string>{"anna", "bob"});
}

TEST_CASE("only its owner and an admin withdraw a submission") {
  storage::FakeHdfs hdfs(IsStarting);
  Desk desk(kForever);
  desk.Add(Request("a", hdfs.base), "first", "anna");
  desk.intake->Withdraw({"bob", false}, "a");
  desk.intake->Withdraw({"", false}, "a");
  CHECK(desk.answers.empty());
  desk.intake->Withdraw({"anna", false}, "a");
  CHECK(desk.answers.at("first").status().code() == StatusCode::kCancelled);
  desk.Add(Request("a", hdfs.base), "second", "anna");
  desk.intake->Withdraw({"root", true}, "a");
  CHECK(desk.answers.at("second").status().code() == StatusCode::kCancelled);
}

}  // namespace
}  // namespace espalier::coordinator
