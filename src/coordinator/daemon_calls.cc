// CoordinatorDaemon: calls of workers and clients. They arrive on gRPC's threads, which only post
// to the loop.
#include <boost/asio/post.hpp>
#include <utility>

#include "src/base/text.h"
#include "src/coordinator/daemon.h"
#include "src/storage/kerberos.h"

namespace espalier::coordinator {

void CoordinatorDaemon::OnWorkerOpened(cluster::SessionId session, std::string peer) {
  boost::asio::post(loop_, [this, session, peer = std::move(peer)] {
    Feed(cluster::SessionOpened{session, peer});
  });
}

void CoordinatorDaemon::OnWorkerMessage(cluster::SessionId session, cluster::FromWorker message,
                                        rpc::MessageHold hold) {
  boost::asio::post(loop_, [this, session, message = std::move(message), hold]() mutable {
    Feed(cluster::WorkerMessage{session, std::move(message)});
    hold.reset();
  });
}

void CoordinatorDaemon::OnWorkerClosed(cluster::SessionId session, Status why) {
  boost::asio::post(loop_, [this, session, why = std::move(why)] {
    Feed(cluster::SessionClosed{session, why});
  });
}

void CoordinatorDaemon::OnSubmit(cluster::Requester by, spec::SubmitRequest request,
                                 rpc::CallerGone gone, rpc::Done<JobId> done) {
  boost::asio::post(loop_, [this, by = std::move(by), request = std::move(request),
                            gone = std::move(gone), done = std::move(done)]() mutable {
    StartSubmission(by, std::move(request), std::move(gone), std::move(done));
  });
}

void CoordinatorDaemon::OnRenewer(rpc::Done<std::string> done) {
  boost::asio::post(loop_, [this, done = std::move(done)]() mutable {
    OnPool(*keeping_tokens_, {"the own principal"}, [this, done = std::move(done)] {
      const Result<std::string> own =
          storage::OwnPrincipal({PatienceOfIntake(storage_).webhdfs.http.reply_ms, {}});
      done(own.ok() ? own : Result<std::string>(FailedPrecondition(own.status().message())));
    });
  });
}

void CoordinatorDaemon::OnWithdraw(cluster::Requester by, std::string client_request_id,
                                   rpc::Done<JobId> done) {
  boost::asio::post(loop_, [this, by = std::move(by), id = std::move(client_request_id),
                            done = std::move(done)]() mutable {
    intake_->Withdraw(by, id);
    const cluster::RequestId request{next_request_++};
    replies_[request].push_back(std::move(done));
    Feed(cluster::WithdrawSubmission{request, std::move(id), std::move(by)});
  });
}

void CoordinatorDaemon::OnCancel(cluster::Requester by, JobId job, bool keep,
                                 rpc::Done<JobId> done) {
  boost::asio::post(loop_, [this, by = std::move(by), job, keep, done = std::move(done)]() mutable {
    const cluster::RequestId request{next_request_++};
    replies_[request].push_back(std::move(done));
    const std::string who = by.name.empty() ? "a client" : "'" + Printable(by.name, 128) + "'";
    Feed(cluster::CancelJob{request, job, "cancelled by " + who, std::move(by), keep});
  });
}

void CoordinatorDaemon::OnDrain(WorkerId worker, rpc::Done<WorkerId> done) {
  boost::asio::post(loop_, [this, worker, done = std::move(done)]() mutable {
    const cluster::RequestId request{next_request_++};
    drains_[request] = std::move(done);
    Feed(cluster::DrainWorker{request, worker, "drained by a client"});
  });
}

// Between any two answers, the loop handles the messages of workers. A flood of requests must not
// make a live worker look lost.
void CoordinatorDaemon::Tell(rpc::CallerGone gone, std::function<void()> answer) {
  boost::asio::post(loop_, [this, gone = std::move(gone), answer = std::move(answer)]() mutable {
    answers_.push_back({std::move(gone), std::move(answer)});
    if (answers_.size() == 1) TellNext();
  });
}

// Callers that have gone get no turn. Clients that repeatedly ask and disconnect thus cannot make
// the queue longer than the time to skip them.
void CoordinatorDaemon::TellNext() {
  boost::asio::post(loop_, [this] {
    while (!answers_.empty() && answers_.front().gone()) answers_.pop_front();
    if (answers_.empty()) return;
    answers_.front().tell();
    answers_.pop_front();
    if (!answers_.empty()) TellNext();
  });
}

void CoordinatorDaemon::OnList(rpc::CallerGone gone,
                               rpc::Done<std::vector<spec::JobSnapshot>> done) {
  Tell(std::move(gone), [this, done = std::move(done)] { done(core_.Jobs()); });
}

void CoordinatorDaemon::OnGet(JobId job, rpc::CallerGone gone, rpc::Done<spec::JobUpdate> done) {
  Tell(std::move(gone), [this, job, done = std::move(done)] {
    const auto snapshot = core_.Job(job);
    if (!snapshot) {
      done(NotFound(ToString(job) + " does not exist. Run `espalier list` to see the jobs."));
    } else {
      done(spec::JobUpdate{*snapshot, core_.History(job, 0)});
    }
  });
}

void CoordinatorDaemon::OnWorkers(rpc::CallerGone gone,
                                  rpc::Done<std::vector<spec::WorkerSnapshot>> done) {
  Tell(std::move(gone), [this, done = std::move(done)] { done(core_.Workers()); });
}

void CoordinatorDaemon::OnWatch(JobId job, std::shared_ptr<rpc::WatchSink> sink) {
  Tell([sink] { return sink->cancelled(); },
       [this, job, sink]() mutable {
         watchers_.Add(job, std::move(sink));
         const auto snapshot = core_.Job(job);
         if (!snapshot || !spec::IsFinal(snapshot->state)) return;
         cluster::CoordinatorActions end;
         end.notify.push_back({.job = job, .over = true});
         outbox_.Push(std::move(end));
       });
}

}  // namespace espalier::coordinator
