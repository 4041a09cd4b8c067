/// The counter of a Reducer: sums of 2^l micro-batches, which continue the tree over ranks.

#include <bit>
#include <span>

#include "src/compile/body_builder.hpp"

namespace zero::plan {

void Reducer::merge(int32_t u, int32_t from, int32_t to) {
  writer_.emit({.kind = Kind::accumulate,
                .lane = lane(),
                .unit = u,
                .in = Dtype::f32,
                .add = true,
                .operands = {writer_.whole(from, Mode::read), writer_.whole(to, Mode::update)}});
}

/// Returns a slot of the counter. A slot that takes in all others is the final sum itself, if that
/// is an fp32 shard.
int32_t Reducer::counter_slot(int32_t u, bool takes_all, int32_t number) {
  const Unit& unit = writer_.unit(u);
  const bool of_group = writer_.layout().crosses_once;
  const int64_t bytes = (of_group ? unit.weight_shard_numel() : unit.shard_numel) * 4;
  const int32_t sum = sum_[size_t(u)];
  const bool is_shard =
      writer_.plan().buffers[size_t(sum)].bytes == bytes && writer_.layout().element == Dtype::f32;
  if (takes_all && is_shard) return sum;
  return writer_.transient(unit.name + ".partial." + std::to_string(number), Use::partial_sums,
                           bytes);
}

// Counts a micro-batch in binary. A leaf is the sum of one micro-batch of every rank, and level l
// holds the sum of 2^l adjacent leaves. Micro-batch j of rank r is number j N + r of the step's, so
// the levels continue the tree over N ranks. A carry adds full levels up. The older slot receives,
// so slots never move.
void Reducer::count(int32_t u, int32_t micro) {
  const bool alone = micro == writer_.request().micro_batches - 1 && micro % 2 == 0;
  if (loops_ && !alone) return count_in_slots(u, micro);
  std::vector<int32_t>& level = counter_[size_t(u)];
  const size_t carries = size_t(std::countr_one(unsigned(micro)));
  if (level.size() <= carries) level.resize(carries + 1, -1);
  if (carries == 0) {
    level[0] = counter_slot(u, micro == 0, micro);
    leaf(u, level[0], false);
    return;
  }
  leaf(u, level[0], true);
  for (size_t l = 1; l < carries; ++l) {
    merge(u, level[l - 1], level[l]);
    level[l - 1] = -1;
  }
  level[carries] = level[carries - 1];
  level[carries - 1] = -1;
}

/// Makes a slot for each level above the leaves. Slots that are full at the end are the leftovers.
void Reducer::make_slots(int32_t u) {
  std::vector<std::vector<int32_t>>& counters = writer_.plan().counters;
  counters.resize(writer_.plan().units.size());
  const unsigned count = unsigned(writer_.request().micro_batches);
  const int top = std::bit_width(count) - 1;
  std::vector<int32_t>& level = counter_[size_t(u)];
  level.assign(size_t(top) + 1, -1);
  for (int l = 1; l <= top; ++l) {
    const int32_t slot = counter_slot(u, l == top, l);
    counters[size_t(u)].push_back(slot);
    if (count >> l & 1) level[size_t(l)] = slot;
  }
}

// Computes the same sums as count(), with slots chosen per round (SlotSchedule in
// src/plan/verify_parts.hpp). A pair of leaves is summed in the slot of the group that it
// completes. Then the older slots are added.
void Reducer::count_in_slots(int32_t u, int32_t micro) {
  if (micro == 0) make_slots(u);
  const std::vector<int32_t>& slots = writer_.plan().counters[size_t(u)];
  const size_t begin = size_t(writer_.size());
  leaf(u, slots[0], micro % 2 == 1);
  if (micro % 2 == 1) {
    PlanOp carry{.kind = Kind::carry, .lane = lane(), .unit = u, .add = true};
    for (const int32_t slot : slots) carry.operands.push_back(writer_.whole(slot, Mode::update));
    writer_.emit(std::move(carry));
  }
  for (PlanOp& op : std::span(writer_.body().ops).subspan(begin)) {
    // The sum of a group that crosses at once is no slot.
    if (op.kind == Kind::reduce_scatter && op.operands[kTarget].buffer != slots[0]) continue;
    op.counts = true;
    op.micro = micro / 2 * 2;
  }
}

int32_t Reducer::merge_leftovers(int32_t u) {
  int32_t sum = -1;
  for (int32_t& slot : counter_[size_t(u)]) {
    if (slot < 0) continue;
    if (sum >= 0) merge(u, sum, slot);
    sum = slot;
    slot = -1;
  }
  return sum;
}

}  // namespace zero::plan
