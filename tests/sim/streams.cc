#include "tests/sim/streams.h"

#include <utility>

#include "tests/sim/coordinator.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

StreamRef Streams::Open(SimWorker& worker, uint64_t attempt) {
  auto stream = std::make_shared<Stream>();
  stream->session = {++sessions_};
  stream->worker = &worker;
  stream->attempt = attempt;
  stream->coordinator = world_.FindCoordinator();
  stream->up = std::make_shared<Pipe>(world_.net, worker.host(), kCoordinatorHost);
  stream->down = std::make_shared<Pipe>(world_.net, kCoordinatorHost, worker.host());
  stream->up->Send([this, stream] {
    SimCoordinator* coordinator = stream->coordinator;
    if (coordinator == nullptr || !coordinator->alive()) {
      stream->down->Send([this, stream] { WorkerLearns(stream, Unavailable("refused")); });
      return;
    }
    coordinator->Do([this, stream] {
      stream->coordinator_open = true;
      stream->coordinator->Opened(stream);
      stream->down->Send([stream] {
        stream->worker->Do([stream] {
          if (stream->worker_open) stream->worker->Handle(cluster::LinkUp{stream->attempt});
        });
      });
    });
  });
  return stream;
}

void Streams::Up(const StreamRef& stream, cluster::FromWorker message) {
  if (!stream->worker_open) return;
  stream->up->Send([stream, message = std::move(message)] {
    if (!stream->coordinator_open) return;
    stream->coordinator->Do([stream, message] {
      if (stream->coordinator_open)
        stream->coordinator->Feed(cluster::WorkerMessage{stream->session, message});
    });
  });
}

void Streams::Down(const StreamRef& stream, cluster::ToWorker message) {
  if (!stream->coordinator_open) return;
  stream->down->Send([stream, message = std::move(message)] {
    stream->worker->Do([stream, message] {
      if (stream->worker_open)
        stream->worker->Handle(cluster::CoordinatorMessage{stream->attempt, message});
    });
  });
}

void Streams::WorkerLearns(const StreamRef& stream, const Status& why) {
  stream->worker->Do([stream, why] {
    if (std::exchange(stream->worker_open, false)) {
      stream->worker->Handle(cluster::LinkDown{stream->attempt, why});
    }
  });
}

void Streams::CoordinatorLearns(const StreamRef& stream, const Status& why) {
  if (stream->coordinator == nullptr) return;
  stream->coordinator->Do([stream, why] {
    if (std::exchange(stream->coordinator_open, false)) {
      stream->coordinator->Feed(cluster::SessionClosed{stream->session, why});
    }
  });
}

void Streams::CloseByWorker(const StreamRef& stream) {
  if (!std::exchange(stream->worker_open, false)) return;
  stream->up->Send([this, stream] { CoordinatorLearns(stream, Status::Ok()); });
}

void Streams::CloseByCoordinator(const StreamRef& stream, const Status& why) {
  if (!std::exchange(stream->coordinator_open, false)) return;
  stream->down->Send([this, stream, why] { WorkerLearns(stream, why); });
}

void Streams::Reset(const StreamRef& stream, int64_t worker_us, int64_t coordinator_us) {
  stream->up->Break();
  stream->down->Break();
  const Status why = Unavailable("reset");
  if (worker_us >= 0) {
    world_.queue.After(worker_us, [this, stream, why] { WorkerLearns(stream, why); });
  }
  if (coordinator_us >= 0) {
    world_.queue.After(coordinator_us, [this, stream, why] { CoordinatorLearns(stream, why); });
  }
}

}  // namespace espalier::sim
