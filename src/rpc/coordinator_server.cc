#include "src/rpc/coordinator_server.h"

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/thread_pool.h"
#include "src/config/address.h"
#include "src/rpc/acceptor.h"
#include "src/rpc/api_service.h"
#include "src/rpc/rechecker.h"
#include "src/rpc/server.h"
#include "src/rpc/worker_encoder.h"
#include "src/rpc/worker_session.h"

namespace espalier::rpc {

namespace {

using rpc::WorkerSession;

class Server final : public CoordinatorServer {
 public:
  Server(CoordinatorHandler* handler, const CoordinatorServerLimits& limits,
         const ServerSecurity& security)
      : handler_(handler),
        limits_(limits),
        authorizer_(rpc::MakeAuthorizer(security)),
        calls_({limits.calls_a_caller_max, limits.unread_bytes_max, limits.read_timeout_ms}),
        api_(handler, &calls_, authorizer_, limits) {}
  ~Server() override { Shutdown(0); }

  Status Start(const std::string& listen) {
    rpc::TransportSettings settings;
    settings.message_bytes_max = limits_.message_bytes_max;
    settings.keepalive_interval_ms = limits_.keepalive_interval_ms;
    settings.keepalive_timeout_ms = limits_.keepalive_timeout_ms;
    settings.memory_bytes_max = limits_.memory_bytes_max;
    settings.idle_timeout_ms = limits_.idle_timeout_ms;
    rpc::Methods methods = api_.MakeMethods();
    methods["/espalier.v1.Coordinator/Attach"] = [this](grpc::CallbackServerContext* context,
                                                        const rpc::Caller& caller) {
      return Attach(context, caller);
    };
    ESPALIER_ASSIGN_OR_RETURN(
        running_, rpc::StartServer(listen, std::move(methods), settings, &calls_, authorizer_));
    if (authorizer_ != nullptr) {
      rechecker_ =
          std::make_unique<rpc::Rechecker>(authorizer_, &calls_, limits_.recheck_interval_ms);
    }
    return Status::Ok();
  }

  grpc::ServerGenericBidiReactor* Attach(grpc::CallbackServerContext* context,
                                         const rpc::Caller& caller) {
    auto may = rpc::MayStay(authorizer_, caller, rpc::Access::kWorker, "the stream");
    std::shared_ptr<WorkerSession> session;
    {
      MutexLock lock(mutex_);
      const cluster::SessionId id{++last_session_};
      session = std::make_shared<WorkerSession>(id, context, caller, handler_, limits_, authorizer_,
                                                [this](WorkerSession* s) { Forget(s); });
      sessions_[id] = session;
    }
    handler_->OnWorkerOpened(session->id(), context->peer());
    (void)calls_.Add(session, "", std::move(may));  // on error, Add ends the session
    session->Start();
    return session.get();
  }

  int port() const override { return running_.address.port; }
  std::string address() const override { return config::ToString(running_.address); }

  void Send(cluster::SessionId id, cluster::ToWorker message) override {
    encoding_.Submit([this, id, message = std::move(message)] {
      if (const auto session = Find(id)) session->Send(encoder_.Encode(message));
    });
  }
  void Close(cluster::SessionId id, Status why) override {
    encoding_.Submit([this, id, why = std::move(why)] {
      if (const auto session = Find(id)) session->End(why);
    });
  }

  void Shutdown(int64_t deadline_ms) override {
    if (running_.server == nullptr) return;
    rechecker_.reset();
    std::promise<void> sent;  // waits for the messages of earlier Send and Close calls
    encoding_.Submit([&sent] { sent.set_value(); });
    sent.get_future().wait();
    calls_.EndAll(rpc::OpenCalls::ShuttingDown());
    rpc::StopServer(&running_, deadline_ms);
  }

 private:
  std::shared_ptr<WorkerSession> Find(cluster::SessionId id) {
    MutexLock lock(mutex_);
    const auto it = sessions_.find(id);
    return it == sessions_.end() ? nullptr : it->second;
  }
  void Forget(WorkerSession* session) {
    std::shared_ptr<WorkerSession> last;
    {
      MutexLock lock(mutex_);
      if (auto node = sessions_.extract(session->id())) last = std::move(node.mapped());
    }
    calls_.Remove(session);
  }

  CoordinatorHandler* const handler_;
  const CoordinatorServerLimits limits_;
  const std::shared_ptr<rpc::Authorizer> authorizer_;
  rpc::OpenCalls calls_;
  rpc::ApiService api_;
  Mutex mutex_;
  std::map<cluster::SessionId, std::shared_ptr<WorkerSession>> sessions_ GUARDED_BY(mutex_);
  uint64_t last_session_ GUARDED_BY(mutex_) = 0;
  rpc::RunningServer running_;
  std::unique_ptr<rpc::Rechecker> rechecker_;  // null on a plain server
  rpc::WorkerEncoder encoder_;                 // used by encoding_
  JobPool encoding_{1};                        // last member: its jobs refer to the members above
};

}  // namespace

Status CoordinatorServer::CheckCanListen(const std::string& listen) {
  ESPALIER_ASSIGN_OR_RETURN(const config::Address address, config::ParseAddress(listen));
  return rpc::Acceptor::Listen(address, CoordinatorServerLimits{}.keepalive_timeout_ms).status();
}

Result<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Make(
    const std::string& listen, CoordinatorHandler* handler, const CoordinatorServerLimits& limits,
    const ServerSecurity& security) {
  auto server = std::make_unique<Server>(handler, limits, security);
  ESPALIER_RETURN_IF_ERROR(server->Start(listen));
  return std::unique_ptr<CoordinatorServer>(std::move(server));
}

}  // namespace espalier::rpc
