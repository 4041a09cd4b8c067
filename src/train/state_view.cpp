#include "zero/train/state_view.hpp"

#include <algorithm>
#include <cstring>

#include "zero/kernels/optimizer.hpp"

namespace zero::train {
namespace {

void require_held(const plan::Unit& unit, UnitRange held, UnitRange range) {
  ZERO_REQUIRE(held.begin <= range.begin && range.end <= held.end, "unit ", unit.name,
               ": elements [", range.begin, ", ", range.end, ") are not among those held, [",
               held.begin, ", ", held.end, ")");
}

std::span<float> held_floats(const StateView& view, const plan::Unit& unit, int32_t buffer,
                             UnitRange range, bool sharded) {
  const UnitRange held = held_range(unit, sharded, view.rank);
  require_held(unit, held, range);
  return view.values<float>(buffer).subspan(size_t(range.begin - held.begin),
                                            size_t(range.end - range.begin));
}

void join_bf16(const StateView& view, const plan::Unit& unit, UnitRange range,
               std::span<float> out) {
  const UnitRange weights = held_range(unit, unit.weight_sharded, view.rank);
  const UnitRange rests = held_range(unit, unit.optimizer_sharded, view.rank);
  require_held(unit, weights, range);
  require_held(unit, rests, range);
  const bf16* weight = view.values<bf16>(unit.weight).data() + (range.begin - weights.begin);
  const int16_t* rest = view.values<int16_t>(unit.rest).data() + (range.begin - rests.begin);
  for (size_t i = 0; i < out.size(); ++i) out[i] = kernels::join_master(weight[i], rest[i]);
}

void read_master(const StateView& view, const plan::Unit& unit, UnitRange range,
                 std::span<float> out) {
  const Dtype compute = view.plan->request.compute;
  if (compute == Dtype::bf16) return join_bf16(view, unit, range, out);
  const bool whole = compute == Dtype::f32;
  const std::span<const float> from =
      held_floats(view, unit, whole ? unit.weight : unit.rest, range,
                  whole ? unit.weight_sharded : unit.optimizer_sharded);
  std::copy(from.begin(), from.end(), out.begin());
}

/// The part of [begin, begin + master.size()) in `held`, as (first element of master, elements).
struct Part {
  size_t first, numel, place;
};
Part part_in(UnitRange held, int64_t begin, size_t numel) {
  const int64_t low = std::max(held.begin, begin);
  const int64_t high = std::min(held.end, begin + int64_t(numel));
  if (high <= low) return {};
  return {size_t(low - begin), size_t(high - low), size_t(low - held.begin)};
}

template <class T>
void store_weight(std::span<T> weight, const Part& part, std::span<const float> master) {
  for (size_t i = 0; i < part.numel; ++i) weight[part.place + i] = T(master[part.first + i]);
}

template <>
void store_weight(std::span<bf16> weight, const Part& part, std::span<const float> master) {
  int16_t rest;
  for (size_t i = 0; i < part.numel; ++i) {
    weight[part.place + i] = kernels::split_master(master[part.first + i], rest);
  }
}

void store_rest(std::span<float> rest, const Part& part, std::span<const float> master) {
  std::copy_n(master.begin() + ptrdiff_t(part.first), part.numel,
              rest.begin() + ptrdiff_t(part.place));
}

void store_rest(std::span<int16_t> rest, const Part& part, std::span<const float> master) {
  for (size_t i = 0; i < part.numel; ++i) {
    kernels::split_master(master[part.first + i], rest[part.place + i]);
  }
}

template <class T>
void store_master(const StateView& view, const plan::Unit& unit, int64_t begin,
                  std::span<const float> master) {
  using Rest = typename kernels::MasterRest<T>::type;
  const UnitRange weights = held_range(unit, unit.weight_sharded, view.rank);
  store_weight(view.values<T>(unit.weight), part_in(weights, begin, master.size()), master);
  if (unit.rest < 0) return;
  const UnitRange rests = held_range(unit, unit.optimizer_sharded, view.rank);
  store_rest(view.values<Rest>(unit.rest), part_in(rests, begin, master.size()), master);
}

}  // namespace

UnitRange held_range(const plan::Unit& unit, bool sharded, int rank) {
  if (!sharded) return {0, unit.numel};
  return {rank * unit.shard_numel, (rank + 1) * unit.shard_numel};
}

void read_state(const StateView& view, const plan::Unit& unit, StateKind kind, UnitRange range,
                std::span<float> out) {
  if (kind == StateKind::master) return read_master(view, unit, range, out);
  const int32_t buffer = kind == StateKind::momentum ? unit.momentum : unit.variance;
  const std::span<const float> from =
      held_floats(view, unit, buffer, range, unit.optimizer_sharded);
  std::copy(from.begin(), from.end(), out.begin());
}

void write_master(const StateView& view, const plan::Unit& unit, int64_t begin,
                  std::span<const float> master) {
  switch (view.plan->request.compute) {
    case Dtype::bf16:
      return store_master<bf16>(view, unit, begin, master);
    case Dtype::f16:
      return store_master<f16>(view, unit, begin, master);
    default:
      return store_master<float>(view, unit, begin, master);
  }
}

std::span<const std::byte> weight_bytes(const StateView& view, const plan::Unit& unit,
                                        UnitRange range) {
  const UnitRange held = held_range(unit, unit.weight_sharded, view.rank);
  require_held(unit, held, range);
  const auto size = int64_t(bytes_of(view.plan->request.compute));
  return view.bytes(unit.weight)
      .subspan(size_t((range.begin - held.begin) * size), size_t((range.end - range.begin) * size));
}

void write_state(const StateView& view, const plan::Unit& unit, StateKind kind, int64_t begin,
                 std::span<const float> values) {
  if (kind == StateKind::master) return write_master(view, unit, begin, values);
  const int32_t buffer = kind == StateKind::momentum ? unit.momentum : unit.variance;
  const std::span<float> to = held_floats(
      view, unit, buffer, {begin, begin + int64_t(values.size())}, unit.optimizer_sharded);
  std::copy(values.begin(), values.end(), to.begin());
}

}  // namespace zero::train
