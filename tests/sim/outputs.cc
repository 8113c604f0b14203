#include "tests/sim/outputs.h"

#include <algorithm>
#include <utility>

#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

Status Missing() { return NotFound("it does not exist"); }
Status Exists() { return AlreadyExists("it exists"); }

bundle::OutputResult Seen(const std::optional<SimBundle>& there, const SimBundle& own) {
  bundle::OutputContent content = bundle::OutputContent::kReplaceable;
  if (!there) {
    content = bundle::OutputContent::kNothing;
  } else if (there->job == own.job) {
    content = there->hash == own.hash              ? bundle::OutputContent::kDone
              : there->generation > own.generation ? bundle::OutputContent::kNewer
                                                   : bundle::OutputContent::kOwn;
  }
  return {Status::Ok(), {}, content};
}

}  // namespace

Outputs::Place& Outputs::At(const std::string& output) {
  const auto it = places_.find(output);
  if (it != places_.end()) return it->second;
  Place& place = places_[output];
  place.swaps = world_.dice.Once(2);
  return place;
}

void Outputs::Reserve(const std::string& output, const bundle::WriterName& writer) {
  At(output).slots[writer];
}

bundle::OutputResult Outputs::List(const Place& place) const {
  bundle::OutputResult out;
  using Kind = bundle::OutputLeftover::Kind;
  for (const auto& [writer, slot] : place.slots) out.leftovers.push_back({Kind::kSlot, writer});
  for (const auto& [writer, slot] : place.fenced) out.leftovers.push_back({Kind::kFenced, writer});
  for (const auto& [writer, draft] : place.drafts) out.leftovers.push_back({Kind::kDraft, writer});
  return out;
}

// Moves a bundle. A null pointer means that its directory does not exist.
Status Outputs::Move(std::optional<SimBundle>* from, std::optional<SimBundle>* to) {
  if (from == nullptr || !*from || to == nullptr) return Missing();
  if (*to) return Exists();
  std::swap(*from, *to);
  return Status::Ok();
}

void Outputs::Appears(const std::string& output, const Place& place) {
  world_.checks.Written(output, *place.output);
}

bundle::OutputResult Outputs::Perform(const std::string& output, const bundle::OutputAction& action,
                                      const SimBundle& own) {
  Place& place = At(output);
  const auto slot = place.slots.find(action.writer);
  const auto fenced = place.fenced.find(action.writer);
  const auto part = [](auto it, auto& all, std::optional<SimBundle> Slot::*which) {
    return it == all.end() ? nullptr : &(it->second.*which);
  };
  const auto fresh = part(slot, place.slots, &Slot::fresh);
  const auto old = part(slot, place.slots, &Slot::old);
  Status done;
  switch (action.op) {
    case bundle::OutputOp::kList:
      return List(place);
    case bundle::OutputOp::kInspect:
      return Seen(place.output, own);
    case bundle::OutputOp::kFence:
      if (world_.bugs(Bug::kDoNotFence)) return {};
      if (slot == place.slots.end()) return {Missing(), {}, {}};
      if (fenced != place.fenced.end()) return {Exists(), {}, {}};
      place.fenced[action.writer] = slot->second;
      place.slots.erase(slot);
      return {};
    case bundle::OutputOp::kRestore:
      return {Move(part(fenced, place.fenced, &Slot::old), &place.output), {}, {}};
    case bundle::OutputOp::kRemoveFenced:
      place.fenced.erase(action.writer);
      return {};
    case bundle::OutputOp::kRemoveDraft:
      place.drafts.erase(action.writer);
      return {};
    case bundle::OutputOp::kRemoveSlot:
      place.slots.erase(action.writer);
      return {};
    case bundle::OutputOp::kWriteDraft:
      place.drafts[action.writer] = own;
      return {};
    case bundle::OutputOp::kFill: {
      const auto draft = place.drafts.find(action.writer);
      if (draft == place.drafts.end()) return {Missing(), {}, {}};
      if (fresh == nullptr && world_.bugs(Bug::kFillAnySlot)) {
        place.slots[action.writer].fresh = draft->second;
        return {};
      }
      if (fresh == nullptr) return {Missing(), {}, {}};
      if (*fresh) return {Exists(), {}, {}};
      *fresh = draft->second;
      place.drafts.erase(draft);
      return {};
    }
    case bundle::OutputOp::kExchange:
      if (!place.swaps) return {Unimplemented("no swap"), {}, {}};
      if (fresh == nullptr || !*fresh || !place.output) return {Missing(), {}, {}};
      std::swap(*fresh, place.output);
      if ((*fresh)->job != action.writer.job) world_.fired(Fault::kOutputReplaced);
      Appears(output, place);
      return {};
    case bundle::OutputOp::kPut:
      done = Move(fresh, &place.output);
      if (done.ok() && *old) world_.fired(Fault::kOutputReplaced);
      if (done.ok()) Appears(output, place);
      return {done, {}, {}};
    case bundle::OutputOp::kSetAside:
      return {Move(&place.output, old), {}, {}};
    case bundle::OutputOp::kPutBack:
      return {Move(old, &place.output), {}, {}};
  }
  return {Internal("no such action"), {}, {}};
}

void Outputs::Overwrite(const std::string& output, const SimBundle& bundle) {
  Place& place = At(output);
  place.output = bundle;
  Appears(output, place);
}

const SimBundle* Outputs::Find(const std::string& output) const {
  const auto it = places_.find(output);
  return it == places_.end() || !it->second.output ? nullptr : &*it->second.output;
}

void Outputs::Keep(const std::string& job, Checkpoint checkpoint) {
  auto& kept = checkpoints_[job];
  const auto at = std::find_if(kept.begin(), kept.end(), [&](const Checkpoint& other) {
    return other.step >= checkpoint.step;
  });
  if (at != kept.end() && at->step == checkpoint.step) {
    *at = std::move(checkpoint);
  } else {
    kept.insert(at, std::move(checkpoint));
  }
}

void Outputs::Prune(const std::string& job, int64_t step) {
  auto& kept = checkpoints_[job];
  for (size_t i = 0; kept.size() > 2 && i < kept.size();) {
    if (kept[i].step == step) {
      ++i;
    } else {
      kept.erase(kept.begin() + static_cast<int64_t>(i));
    }
  }
}

void Outputs::DropUncompared(const std::string& job) {
  std::erase_if(checkpoints_[job], [](const Checkpoint& c) { return !c.compared; });
}

bool Outputs::Damage(Dice& dice) {
  for (auto& [job, kept] : checkpoints_) {
    if (kept.empty() || kept.back().bytes.empty() || world_.client.HasEnded(job)) continue;
    std::string& bytes = kept.back().bytes;
    const auto at = static_cast<size_t>(dice.Below(static_cast<int64_t>(bytes.size())));
    dice.Once(2) ? bytes.resize(at) : void(bytes[at] ^= 1);
    return true;
  }
  return false;
}

}  // namespace espalier::sim
