#include "src/cli/yarn_cluster.h"

#include <chrono>
#include <utility>

#include "src/base/text.h"
#include "src/base/version.h"
#include "src/cli/clock.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/yarn_kept.h"
#include "src/cli/yarn_view.h"
#include "src/config/units.h"
#include "src/security/secret_file.h"
#include "src/storage/hdfs_home.h"
#include "src/storage/keytab.h"
#include "src/yarn/capacity.h"

namespace espalier::cli {
namespace {

constexpr int64_t kYarnPollMs = 500, kYarnLookMs = 3'000, kReplyMs = 30'000;
constexpr int64_t kTemplateBytesMax = 1 << 20, kAddressBytesMax = 1 << 16;

int64_t SecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<YarnCluster> YarnCluster::Open(const CommandContext& context) {
  return Open(context, false);
}

Result<YarnCluster> YarnCluster::OpenToStart(const CommandContext& context) {
  return Open(context, true);
}

Result<YarnCluster> YarnCluster::Open(const CommandContext& context, bool starts) {
  const storage::HadoopEnvironment& hadoop = context.env.hadoop;
  if (hadoop.conf_dir.empty()) {
    return InvalidArgument(
        "HADOOP_CONF_DIR is not set: expected the directory with core-site.xml, hdfs-site.xml and "
        "yarn-site.xml of the cluster");
  }
  YarnCluster out(context);
  ESPALIER_ASSIGN_OR_RETURN(
      out.config_, storage::HadoopConfig::Read(hadoop.conf_dir, hadoop.user, {"yarn-site.xml"}));
  ESPALIER_ASSIGN_OR_RETURN(out.kerberos_, yarn::HasKerberos(out.config_));
  if (starts) ESPALIER_RETURN_IF_ERROR(out.TakeIdentity());
  ESPALIER_ASSIGN_OR_RETURN(auto addresses, yarn::FindResourceManagers(out.config_));
  ESPALIER_RETURN_IF_ERROR(out.FindBase());
  storage::HttpOptions http;
  http.reply_ms = kReplyMs;
  http.ca_file = hadoop.ca;
  http.cancelled = [&context] { return context.interrupts.any(); };
  out.rm_ = std::make_unique<yarn::ResourceManager>(
      std::move(addresses), yarn::YarnCaller{.user = out.user_, .kerberos = out.kerberos_}, http);
  return out;
}

Status YarnCluster::TakeIdentity() {
  const YarnArguments& y = context_.options.yarn;
  if (!kerberos_ && y.keytab.empty()) return {};
  if (!kerberos_) {
    return InvalidArgument(
        "--keytab: hadoop.security.authentication is not kerberos in " + config_.origin() +
        " (expected no keytab there: any user of an HDFS without Kerberos could read it)");
  }
  if (y.keytab.empty()) {
    return FailedPrecondition(
        "this YARN has Kerberos (hadoop.security.authentication in " + config_.origin() +
        "): expected --keytab FILE --principal NAME/HOST@REALM. YARN's master of a service, the "
        "coordinator and the workers log in by themselves, for longer than a person's ticket "
        "lasts");
  }
  const auto limit = static_cast<int64_t>(storage::kKeytabBytesMax);
  Status exposure;
  auto bytes =
      security::ReadSmallFile(y.keytab, security::Secrecy::kSecret, limit, "--keytab", &exposure);
  ESPALIER_RETURN_IF_ERROR(bytes.status());
  if (!exposure.ok()) context_.console.Err("note: " + exposure.message() + "\n");
  identity_ = {y.principal, *std::move(bytes)};
  ESPALIER_RETURN_IF_ERROR(yarn::CheckKeytab(identity_, QuotedPath(y.keytab)));
  ESPALIER_ASSIGN_OR_RETURN(const std::string policy, config_.Get("dfs.http.policy"));
  if (policy != "HTTPS_ONLY") {
    context_.console.Err(
        "note: the keytab goes to HDFS unencrypted (dfs.http.policy is not HTTPS_ONLY): give one "
        "of "
        "a principal that is for this alone\n");
  }
  return {};
}

Status YarnCluster::FindBase() {
  user_ = context_.env.hadoop.user;
  ESPALIER_ASSIGN_OR_RETURN(const std::string hdfs, yarn::DefaultHdfs(config_));
  if (user_.empty() && !kerberos_) {
    return InvalidArgument(
        "the request has no user: set HADOOP_USER_NAME to a user of the cluster");
  }
  std::string home = "/user/" + user_;
  if (kerberos_) {
    ESPALIER_ASSIGN_OR_RETURN(home, storage::HdfsHome(context_.storage, hdfs));
    user_ = home.substr(home.rfind('/') + 1);
  }
  base_ = yarn::YarnBase(hdfs, home);
  return {};
}

yarn::YarnPlaces YarnCluster::PlacesOf(const std::string& name) const {
  return {.folder = yarn::YarnFolder(base_, name)};
}

void YarnCluster::Say(const std::string& words) const {
  if (!context_.options.json) context_.console.Out(words + "\n");
}

void YarnCluster::SayNew(const std::string& words) {
  if (words != std::exchange(said_, words)) Say(words);
}

Status YarnCluster::CheckNameIsFree(const std::string& name) {
  const Result<yarn::YarnService> there = rm_->Service(name);
  if (there.status().code() == StatusCode::kNotFound) return {};
  ESPALIER_RETURN_IF_ERROR(there.status());
  if (there->ended()) return rm_->Destroy(name);
  return AlreadyExists("a service " + name + " of yours runs already (" + Printable(there->state) +
                       ", " + Printable(there->application) + "); `espalier yarn down " + name +
                       "` ends it; another name starts a second one");
}

Status YarnCluster::CheckNodes(const yarn::YarnRequest& request) {
  ESPALIER_ASSIGN_OR_RETURN(const auto nodes, rm_->Nodes());
  ESPALIER_ASSIGN_OR_RETURN(nodes_, yarn::CountWorkerNodes(nodes, request));
  if (request.workers > nodes_) {
    context_.console.Err("note: " + std::to_string(nodes_) +
                         (nodes_ == 1 ? " node has" : " nodes have") +
                         " the memory and the vcores for a worker, one each; those beyond wait for "
                         "more nodes\n");
  }
  return {};
}

// Checks ZooKeeper. Without it YARN accepts a service but never starts its containers and gives no
// reason.
Status YarnCluster::CheckZooKeeper() const {
  ESPALIER_ASSIGN_OR_RETURN(const auto quorum, yarn::FindZooKeepers(config_));
  if (quorum.empty()) return {};
  for (const std::string& member : quorum) {
    if (!rm_->IsClosed(member)) return {};
  }
  if (context_.interrupts.any()) return Cancelled("interrupted");
  std::string all;
  for (const std::string& member : quorum) all += (all.empty() ? "" : ", ") + member;
  return Unavailable("ZooKeeper does not run at " + all +
                     " (hadoop.registry.zk.quorum): connections are refused. YARN's services need "
                     "it; without it they wait for ever");
}

Result<std::string> YarnCluster::FindTarball() const {
  const std::string& given = context_.options.yarn.tarball;
  if (!given.empty()) {
    ESPALIER_RETURN_IF_ERROR(context_.files.Stat(given).status());
    return given;
  }
  const std::string name = std::string("espalier-") + kVersion + "-linux-x86_64.tar.gz";
  ESPALIER_ASSIGN_OR_RETURN(const std::string programs, ProgramDirectory(context_));
  const std::string beside = programs + "/../../" + name;
  for (const std::string& path : {name, beside}) {
    if (context_.files.Stat(path).ok()) return path;
  }
  return NotFound(
      "the tarball " + name +
      ", which the containers run, is neither in the working directory nor next to this "
      "program's tree. Name it with --tarball FILE. It comes from where this program "
      "came from (a Debian package does not hold it; tools/package makes both)");
}

Result<std::string> YarnCluster::ReadTemplate() const {
  std::string path = context_.options.yarn.service;
  if (path.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string programs, ProgramDirectory(context_));
    path = programs + "/../deploy/yarn/service.json";
  }
  Result<std::string> text = context_.files.ReadAll(path, kTemplateBytesMax);
  if (text.ok()) return text;
  return text.status().Wrap("the template of the service (--service)");
}

Status YarnCluster::Start(yarn::YarnRequest request) {
  request.user = user_;
  request.principal = identity_.principal;
  ESPALIER_RETURN_IF_ERROR(request.Validate());
  ESPALIER_ASSIGN_OR_RETURN(const std::string tarball, FindTarball());
  ESPALIER_ASSIGN_OR_RETURN(const std::string form, ReadTemplate());
  ESPALIER_ASSIGN_OR_RETURN(yarn::YarnHadoop hadoop,
                            yarn::HadoopForNodes(context_.files, config_, context_.env.hadoop.ca));
  request.places = PlacesOf(request.name);
  request.places.hadoop_ca = !hadoop.ca_pem.empty();
  hadoop.keytab = identity_.keytab;
  request.places.keytab = !hadoop.keytab.empty();
  request.places.package = base_;  // placeholder, to find errors in the template early
  ESPALIER_RETURN_IF_ERROR(yarn::BuildService(form, request).status());
  // HDFS first: without it, the ResourceManager only fails with an unclear message.
  const Status hdfs = context_.files.Stat(base_).status();
  if (!hdfs.ok() && hdfs.code() != StatusCode::kNotFound) return hdfs;
  ESPALIER_RETURN_IF_ERROR(CheckNameIsFree(request.name));
  ESPALIER_RETURN_IF_ERROR(CheckKeptKeys(request.name));
  ESPALIER_RETURN_IF_ERROR(CheckNodes(request));
  ESPALIER_RETURN_IF_ERROR(CheckZooKeeper());
  bool sent = false;
  ESPALIER_ASSIGN_OR_RETURN(request.places.package,
                            yarn::SendPackage(context_.files, base_, tarball, &sent));
  Say((sent ? "sent the tarball: " : "the tarball is there: ") + request.places.package);
  // Sending may take long. A service that another `up` has started in the meantime needs its
  // folder.
  if (sent) ESPALIER_RETURN_IF_ERROR(CheckNameIsFree(request.name));
  const Status made =
      yarn::PrepareFolder(context_.files, request.places, request.name, hadoop, request.user,
                          KeptOfYarn(context_.env, request.name).directory, SecondsSince1970());
  if (!made.ok()) {
    // An existing folder belongs to a concurrent `up`.
    if (made.code() != StatusCode::kAlreadyExists) TakeBack(request.name);
    return made;
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::string spec, yarn::BuildService(form, request));
  if (Status created = rm_->Create(spec); !created.ok()) {
    if (created.code() == StatusCode::kCancelled || created.code() == StatusCode::kUnavailable) {
      return created.Wrap("YARN did not answer whether it starts the service " + request.name +
                          ": `espalier yarn status " + request.name +
                          "` shows it, `espalier yarn down " + request.name + "` ends it");
    }
    // Returns the refusal. kAlreadyExists means that a concurrent `up` uses the files.
    if (created.code() != StatusCode::kAlreadyExists) TakeBack(request.name);
    return created;
  }
  Say("YARN starts the service " + request.name + ": a coordinator and " +
      Counted(request.workers, "worker") + " of " + std::to_string(request.worker.memory_mb) +
      " MiB");
  return {};
}

Status YarnCluster::CheckAlive(const std::string& name) {
  const Result<yarn::YarnService> service = rm_->Service(name);
  if (service.status().code() == StatusCode::kNotFound) {
    return Aborted("the service " + name + " was ended by another client");
  }
  // A short outage of the ResourceManager is not an error.
  if (!service.ok()) return {};
  if (!service->ended()) {
    SayNew(YarnProgress(*service));
    return {};
  }
  std::string why = service->diagnostics;
  if (const auto app = rm_->Application(service->application); app.ok() && why.empty()) {
    why = app->diagnostics;
  }
  return Aborted("YARN ended the service " + name + " (" + Printable(service->state) + ", " +
                 Printable(service->application) +
                 "): " + (why.empty() ? "it does not say why; see `yarn logs`" : why));
}

Status YarnCluster::AwaitCoordinator(const CommandContext& context, const std::string& name) {
  const int64_t begin_ms = NowMs(),
                limit_ms = *config::ParseMilliseconds(context.options.yarn.wait);
  int64_t look_ms = begin_ms + kYarnLookMs;
  for (;;) {
    const auto client = ConnectTo(context);
    const auto workers = client.ok() ? (*client)->Workers() : client.status();
    if (workers.ok()) {
      Say("the coordinator answers after " + HumanDuration(NowMs() - begin_ms));
      return {};
    }
    const StatusCode code = workers.status().code();
    if (context.interrupts.any()) return Cancelled("interrupted");
    if (code != StatusCode::kUnavailable && code != StatusCode::kDeadlineExceeded) {
      return workers.status();
    }
    if (NowMs() >= look_ms) {
      look_ms = NowMs() + kYarnLookMs;
      ESPALIER_RETURN_IF_ERROR(CheckAlive(name));
    }
    if (NowMs() - begin_ms > limit_ms) {
      return DeadlineExceeded(
          "the coordinator did not start within " + HumanDuration(limit_ms) +
          " (--wait). `espalier yarn status " + name + "` shows what YARN has started, " +
          "`espalier yarn logs " + name + "` its logs. Often the queue has no room, or " +
          "ZooKeeper is unreachable from the nodes. Last: " + workers.status().message());
    }
    if (!rm_->Wait(kYarnPollMs)) return Cancelled("interrupted");
  }
}

Result<bool> YarnCluster::AwaitWorkers(const CommandContext& context, int64_t count,
                                       int64_t limit_ms) {
  const int64_t begin_ms = NowMs();
  for (;;) {
    ESPALIER_ASSIGN_OR_RETURN(const auto client, ConnectTo(context));
    const auto workers = client->Workers();
    const int64_t there = workers.ok() ? static_cast<int64_t>(workers->size()) : 0;
    if (there >= count) return true;
    if (workers.ok()) {
      SayNew(std::to_string(there) + " of " + std::to_string(count) +
             (count == 1 ? " worker has come" : " workers have come"));
    }
    if (NowMs() - begin_ms > limit_ms) return false;
    if (!rm_->Wait(kYarnPollMs)) return Cancelled("interrupted");
  }
}

Result<bool> YarnCluster::End(const std::string& name) {
  const Result<yarn::YarnService> service = rm_->Service(name);
  const bool there = service.status().code() != StatusCode::kNotFound;
  if (there) {
    ESPALIER_RETURN_IF_ERROR(service.status());
    Status ended = rm_->Destroy(name);
    if (!ended.ok() && !service->application.empty() && !service->ended()) {
      // Its master does not respond. Kill the application, then free its name.
      ESPALIER_RETURN_IF_ERROR(rm_->KillApplication(service->application));
      ended = rm_->Destroy(name);
    }
    ESPALIER_RETURN_IF_ERROR(ended);
  }
  ESPALIER_RETURN_IF_ERROR(RemoveRemains(name));
  return there;
}

// On YARN, each user has separate service names. In the local home directory, names are shared.
Status YarnCluster::CheckKeptKeys(const std::string& name) const {
  const yarn::YarnKept kept = KeptOfYarn(context_.env, name);
  const auto whose = context_.files.ReadAll(kept.CoordinatorFile(), kAddressBytesMax);
  if (!whose.ok() || *whose == PlacesOf(name).address() + "\n") return {};
  return AlreadyExists("the keys of a service " + name +
                       " of another user or cluster are kept in " + kept.directory +
                       ". Choose another name, or remove that directory when it has ended");
}

// Removes the files of a service that was not started.
void YarnCluster::TakeBack(const std::string& name) const {
  context_.interrupts.BeginEnding();  // the removal needs storage
  if (RemoveRemains(name).ok()) return;
  context_.console.Err("note: keys may be left in " + PlacesOf(name).folder +
                       "; `espalier yarn down " + name + "` removes them\n");
}

Status YarnCluster::RemoveRemains(const std::string& name) const {
  const yarn::YarnPlaces places = PlacesOf(name);
  const yarn::YarnKept kept = KeptOfYarn(context_.env, name);
  const Status remote = context_.files.RemoveTree(places.folder);
  // If the current user differs, for example after a change of ticket, the first user's files stay.
  const auto whose = context_.files.ReadAll(kept.CoordinatorFile(), kAddressBytesMax);
  if (whose.ok() && *whose != places.address() + "\n") return remote;
  const Status local = context_.files.RemoveTree(kept.directory);
  return remote.ok() ? local : remote;
}

}  // namespace espalier::cli
