#include "src/run/trace_ring.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::run {

using plan::BodyId;
using plan::kLanes;

namespace {

bool trains(BodyId body) { return body == plan::kStep || body == plan::kFinish; }

}  // namespace

TraceRing::TraceRing(const plan::Plan& plan, int bodies) {
  ZERO_REQUIRE(bodies >= 1, "a trace of ", bodies, " bodies: at least 1");
  for (size_t body = 0; body < plan::kBodies; ++body) {
    const plan::Rounds rounds(plan.bodies[body]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      counts_[body][lane] = size_t(rounds.size(plan::Lane(lane)));
    }
  }
  slots_.resize(size_t(bodies));
  for (Slot& slot : slots_) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      slot.ops[lane].resize(std::max(counts_[plan::kStep][lane], counts_[plan::kFinish][lane]));
    }
  }
}

TraceRing::Notes TraceRing::begin(BodyId body, int64_t step) {
  Notes notes{};
  if (!trains(body)) return notes;
  Slot& slot = current();
  slot.body = body;
  slot.step = step;
  slot.whole.begin = OpTime::Clock::now();
  for (size_t lane = 0; lane < kLanes; ++lane) notes[lane] = slot.ops[lane].data();
  return notes;
}

void TraceRing::end(BodyId body) {
  if (!trains(body)) return;
  current().whole.end = OpTime::Clock::now();
  ++ended_;
}

std::vector<TracedBody> TraceRing::bodies() const {
  std::vector<TracedBody> kept;
  const size_t first = ended_ - std::min(ended_, slots_.size());
  for (size_t turn = first; turn < ended_; ++turn) {
    const Slot& slot = slots_[turn % slots_.size()];
    TracedBody traced{.body = slot.body, .step = slot.step, .whole = slot.whole, .ops = {}};
    for (size_t lane = 0; lane < kLanes; ++lane) {
      traced.ops[lane] = std::span(slot.ops[lane]).first(counts_[slot.body][lane]);
    }
    kept.push_back(traced);
  }
  return kept;
}

}  // namespace zero::run
