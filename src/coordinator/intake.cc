#include "src/coordinator/intake.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/coordinator/preparation.h"
#include "src/coordinator/token_keeper.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kStorageGiveUpMs = 20'000;
constexpr int64_t kStorageConnectMs = 5'000;

}  // namespace

storage::StorageOptions PatienceOfIntake(storage::StorageOptions storage) {
  storage::RetryOptions& retry = storage.webhdfs.retry;
  retry.give_up_ms = std::min(retry.give_up_ms, kStorageGiveUpMs);
  storage::HttpOptions& http = storage.webhdfs.http;
  http.connect_ms = std::min(http.connect_ms, kStorageConnectMs);
  http.reply_ms = std::min(http.reply_ms, kStorageGiveUpMs);
  http.stall_ms = std::min(http.stall_ms, kStorageGiveUpMs);
  return storage;
}

// A job that names more file systems counts for the default one.
constexpr size_t kFileSystemsMax = 16;

std::set<std::string> FileSystemsNamed(const std::string& job_yaml) {
  const auto of_scheme = [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-'; };
  std::set<std::string> out;
  constexpr std::string_view kMark = "://";
  for (size_t at = job_yaml.find(kMark); at != std::string::npos; at = job_yaml.find(kMark, at)) {
    size_t begin = at;
    while (begin > 0 && of_scheme(job_yaml[begin - 1])) --begin;
    at += kMark.size();
    const size_t end = std::min(job_yaml.find_first_of("/\"' \t\r\n,]}", at), job_yaml.size());
    if (end > at) out.insert(job_yaml.substr(begin, end - begin));
    if (out.size() > kFileSystemsMax) return {""};
  }
  if (out.empty()) out.insert("");
  return out;
}

Intake::Intake(const storage::StorageOptions& storage, const IntakeLimits& limits, Post post,
               Ready ready)
    : storage_(storage),
      limits_(limits),
      post_(std::move(post)),
      ready_(std::move(ready)),
      pool_(limits.threads) {}

Intake::~Intake() { Close(); }

int Intake::Group::Share(int all) const {
  return std::max(1, caller && file_system ? all / 4 : all / 2);
}

// Returns "of 'ann' wait for hdfs://a:8020", for example.
std::string Intake::Group::ToString() const {
  const std::string of = caller ? "of " + *caller + " " : "";
  if (!file_system) return of + "are being read";
  return of + "wait for " +
         (file_system->empty() ? "the default file system" : Printable(*file_system, 200));
}

std::vector<Intake::Group> Intake::GroupsOf(const cluster::Requester& by,
                                            const std::string& job_yaml) {
  const std::string caller = by.name.empty() ? "the client at " + Printable(by.address, 128)
                                             : "'" + Printable(by.name, 128) + "'";
  std::vector<Group> groups = {{caller, {}}};
  for (const std::string& name : FileSystemsNamed(job_yaml)) {
    groups.push_back({caller, name});
    groups.push_back({{}, name});
  }
  return groups;
}

Status Intake::CheckLimits(const std::vector<Group>& groups) const {
  if (reading_ >= limits_.reading_max) {
    return ResourceExhausted(
        "too many submissions are being read (found " + std::to_string(reading_) +
        ", expected fewer than " + std::to_string(limits_.reading_max) +
        "). Submit again in a moment. The coordinator's log reports unreachable storage.");
  }
  for (const Group& group : groups) {
    const auto load = loads_.find(group);
    const int taken = load == loads_.end() ? 0 : load->second.taken;
    const int most = group.Share(limits_.reading_max);
    if (taken < most) continue;
    return ResourceExhausted("too many submissions " + group.ToString() + " (found " +
                             std::to_string(taken) + ", expected fewer than " +
                             std::to_string(most) +
                             "). Submit again in a moment. The coordinator's log reports "
                             "unreachable storage.");
  }
  return Status::Ok();
}

void Intake::Add(const cluster::Requester& by, spec::SubmitRequest request, rpc::CallerGone gone,
                 rpc::Done<JobId> done) {
  request.client_request_id = cluster::RequestKey(by.name, request.client_request_id);
  const auto it = by_key_.find(request.client_request_id);
  if (it != by_key_.end()) {
    it->second.callers.push_back({std::move(gone), std::move(done)});
    return;
  }
  std::vector<Group> groups = GroupsOf(by, request.job_yaml);
  if (Status s = CheckLimits(groups); !s.ok()) return done(s);
  ++reading_;
  Reading& reading = by_key_[request.client_request_id];
  reading.owner = by.name;
  reading.callers.push_back({std::move(gone), std::move(done)});
  reading.dropped = std::make_shared<std::atomic<bool>>(false);
  for (const Group& group : groups) ++loads_[group].taken;
  waiting_.push_back({by.name, std::move(request), std::move(groups), reading.dropped});
  ReadNext();
}

// Starts waiting submissions, oldest first, within the limits of their groups.
void Intake::ReadNext() {
  const auto may = [&](const Waiting& w) {
    return std::all_of(w.groups.begin(), w.groups.end(), [&](const Group& group) {
      return loads_[group].reading < group.Share(limits_.threads);
    });
  };
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (!may(*it)) {
      ++it;
      continue;
    }
    for (const Group& group : it->groups) ++loads_[group].reading;
    pool_.Submit([this, waiting = std::move(*it)] { Read(waiting); });
    it = waiting_.erase(it);
  }
}

// Runs on a thread of the pool.
void Intake::Read(const Waiting& waiting) {
  Result<cluster::Submission> prepared = Cancelled("the submission was withdrawn");
  if (!*waiting.dropped) {
    storage::StorageOptions storage = WithTokens(storage_, waiting.request.tokens);
    storage.webhdfs.http.cancelled = [dropped = waiting.dropped] { return dropped->load(); };
    prepared = PrepareSubmission(waiting.request, storage);
    if (prepared.ok()) prepared->owner = waiting.owner;
  }
  --reading_;
  post_([this, waiting, prepared = std::move(prepared)]() mutable {
    End(waiting, std::move(prepared));
  });
}

void Intake::GiveUpPlace(const Waiting& waiting) {
  for (const Group& group : waiting.groups) {
    if (--loads_[group].taken == 0) loads_.erase(group);
  }
}

void Intake::End(const Waiting& read, Result<cluster::Submission> prepared) {
  for (const Group& group : read.groups) --loads_[group].reading;
  GiveUpPlace(read);
  ReadNext();
  DropAbandoned();
  if (*read.dropped) return;  // another reading may have the id by now
  const std::string& key = read.request.client_request_id;
  std::vector<rpc::Done<JobId>> callers;
  for (Caller& caller : by_key_.at(key).callers) callers.push_back(std::move(caller.done));
  by_key_.erase(key);
  if (prepared.ok()) return ready_(*std::move(prepared), std::move(callers));
  LogInfo("refused a submission: " + prepared.status().ToString());
  for (const rpc::Done<JobId>& done : callers) done(prepared.status());
}

void Intake::Withdraw(const cluster::Requester& by, const std::string& client_request_id) {
  std::vector<std::string> keys;
  for (const auto& [key, reading] : by_key_) {
    const bool may = by.admin || reading.owner == by.name;
    if (may && key == cluster::RequestKey(reading.owner, client_request_id)) keys.push_back(key);
  }
  // An admin's own submission comes first.
  const std::string own = cluster::RequestKey(by.name, client_request_id);
  if (by_key_.contains(own)) keys = {own};
  for (const std::string& key : keys) Drop(key);
}

void Intake::Drop(const std::string& key) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return;
  *it->second.dropped = true;
  std::erase_if(waiting_, [&](const Waiting& w) {
    if (w.dropped != it->second.dropped) return false;
    GiveUpPlace(w);
    --reading_;
    return true;
  });
  for (const Caller& caller : it->second.callers) {
    caller.done(Cancelled("the submission was withdrawn"));
  }
  by_key_.erase(it);
}

void Intake::DropAbandoned() {
  std::vector<std::string> abandoned;
  for (const auto& [key, reading] : by_key_) {
    const bool gone = std::all_of(reading.callers.begin(), reading.callers.end(),
                                  [](const Caller& caller) { return caller.gone(); });
    if (gone) abandoned.push_back(key);
  }
  for (const std::string& key : abandoned) {
    LogInfo("dropped a submission: no client waits for its answer");
    Drop(key);
  }
}

void Intake::Close() {
  for (auto& [key, reading] : by_key_) *reading.dropped = true;
  by_key_.clear();
  reading_ -= static_cast<int>(waiting_.size());
  waiting_.clear();
}

}  // namespace espalier::coordinator
