#include "src/worker/async_exchange.h"

#include <cmath>
#include <utility>

namespace espalier::worker {

AsyncExchange::AsyncExchange(collective::ReduceIdentity identity, int32_t self, int32_t holder,
                             std::vector<std::string> names, int64_t parts_max, int64_t bytes_max,
                             std::function<void(int32_t, const Status&)> on_broken)
    : identity_(identity),
      self_(self),
      holder_(holder),
      names_(std::move(names)),
      parts_max_(parts_max),
      bytes_max_(bytes_max),
      on_broken_(std::move(on_broken)),
      incoming_(names_.size()),
      whole_([this](int32_t member) { HandOver(member); }) {}

AsyncExchange::~AsyncExchange() {
  whole_.Stop();
  links_.reset();
}

void AsyncExchange::Start(std::unique_ptr<collective::Links> links) { links_ = std::move(links); }

void AsyncExchange::Abort(Status why) {
  MutexLock listening(listener_mutex_);
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = why;
  }
  if (listener_ != nullptr) listener_->on_failed(why);
}

bool AsyncExchange::broken() const {
  MutexLock lock(mutex_);
  return broken_;
}

void AsyncExchange::Listen(Listener listener) {
  std::vector<int32_t> waiting;
  {
    MutexLock listening(listener_mutex_);
    listener_ = std::make_shared<const Listener>(std::move(listener));
    MutexLock lock(mutex_);
    if (!failure_.ok()) listener_->on_failed(failure_);
    for (size_t m = 0; m < incoming_.size(); ++m) {
      if (incoming_[m].waits) waiting.push_back(static_cast<int32_t>(m));
    }
  }
  for (const int32_t member : waiting) whole_.Post(member);
}

void AsyncExchange::Ignore() {
  {
    MutexLock listening(listener_mutex_);
    listener_.reset();
  }
  whole_.WaitUntilIdle();
}

void AsyncExchange::HandOver(int32_t member) {
  std::shared_ptr<const Listener> listener;
  Letter letter;
  {
    MutexLock listening(listener_mutex_);
    MutexLock lock(mutex_);
    Incoming& in = incoming_[member];
    if (listener_ == nullptr || !in.waits) return;
    listener = listener_;
    letter = std::move(std::exchange(in, {}).letter);
  }
  listener->on_letter(std::move(letter));
}

void AsyncExchange::Send(const Letter& letter) {
  collective::ReduceMessage m;
  m.incarnation = identity_.incarnation;
  m.job = identity_.job;
  m.generation = identity_.generation;
  m.round = letter.number;
  m.kind = self_ == holder_ ? collective::MessageKind::kDown : collective::MessageKind::kLeafUp;
  m.from = static_cast<uint32_t>(self_);
  m.to = static_cast<uint32_t>(letter.member);
  AlignedVector<double> header(letter.header.begin(), letter.header.end());
  header[kLetterParts] = static_cast<double>(letter.parts.size());
  m.payload = collective::MakePayload(std::move(header));
  links_->Send(m);
  for (const collective::Payload& part : letter.parts) {
    ++m.bucket;
    m.payload = part;
    links_->Send(m);
  }
}

void AsyncExchange::OnMessage(collective::ReduceMessage message) {
  const auto from = static_cast<int32_t>(message.from);
  bool whole = false;
  Status taken;
  {
    MutexLock lock(mutex_);
    taken = TakeLocked(message, whole);
  }
  if (!taken.ok()) return Abort(taken.Wrap("the exchange broke down"));
  if (whole) whole_.Post(from);
}

Status AsyncExchange::TakeLocked(collective::ReduceMessage& m, bool& whole) {
  if (collective::FilterMessage(m, identity_, m.round) != collective::ReduceDecision::kTake)
    return Status::Ok();
  const collective::MessageKind kind =
      self_ == holder_ ? collective::MessageKind::kLeafUp : collective::MessageKind::kDown;
  const auto from = static_cast<int32_t>(m.from);
  const bool partner =
      m.from < incoming_.size() && from != self_ && (self_ == holder_ || from == holder_);
  if (!partner || m.kind != kind) {
    return FailedPrecondition("member " + std::to_string(m.from) + " sent a message of kind " +
                              std::to_string(static_cast<int>(m.kind)) +
                              " that is not expected here; does it have the same version?");
  }
  Incoming& in = incoming_[from];
  in.bytes += static_cast<int64_t>(m.payload.size);
  if (in.waits || in.bytes > bytes_max_ ||
      m.bucket != (in.begun ? in.letter.parts.size() + 1 : 0) ||
      (in.begun && m.round != in.letter.number)) {
    return FailedPrecondition(names_[from] + " sent part " + std::to_string(m.bucket) + " of " +
                              std::to_string(in.bytes) + " bytes of letter " +
                              std::to_string(m.round) + ", which is none that can follow");
  }
  if (!in.begun) {
    if (m.payload.size != kLetterHeaderSize * sizeof(double)) {
      return FailedPrecondition(names_[from] + " sent a header of " +
                                std::to_string(m.payload.size) + " bytes");
    }
    const auto* header = reinterpret_cast<const double*>(m.payload.data);
    in.letter.header.assign(header, header + kLetterHeaderSize);
    const double parts = in.letter.header[kLetterParts];
    if (!(parts >= 0 && parts <= static_cast<double>(parts_max_)) || parts != std::floor(parts)) {
      return FailedPrecondition(names_[from] + " sent a letter of impossibly many parts");
    }
    in.letter.member = from;
    in.letter.number = m.round;
    in.begun = true;
  } else {
    in.letter.parts.push_back(std::move(m.payload));
  }
  whole = in.letter.parts.size() == static_cast<size_t>(in.letter.header[kLetterParts]);
  in.waits = whole;
  return Status::Ok();
}

void AsyncExchange::OnBroken(Generation, uint32_t member, Status why) {
  const auto index = static_cast<int32_t>(member);
  {
    MutexLock listening(listener_mutex_);
    if (listener_ != nullptr && listener_->is_done && listener_->is_done(index)) return;
  }
  bool first = false;
  {
    MutexLock lock(mutex_);
    first = !std::exchange(broken_, true);
  }
  if (first && on_broken_) on_broken_(index, why);
  Abort(
      why.Wrap("the link to " + (member < names_.size() ? names_[member] : "a member") + " broke"));
}

}  // namespace espalier::worker
