#include "zero/state/state_view.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "zero/device/device.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {
namespace {

void require_held(const plan::Unit& unit, UnitRange held, UnitRange range) {
  ZERO_REQUIRE(held.begin <= range.begin && range.end <= held.end, "unit ", unit.name,
               ": elements [", range.begin, ", ", range.end, ") are not among those held, [",
               held.begin, ", ", held.end, ")");
}

/// Reads elements of a buffer from `first` on.
template <class T>
void load(const StateView& view, int32_t buffer, int64_t first, std::span<T> out) {
  if (view.is_far(buffer)) {
    return view.read_far(buffer, first * int64_t(sizeof(T)), std::as_writable_bytes(out));
  }
  const std::span<const T> from = view.values<T>(buffer).subspan(size_t(first), out.size());
  std::copy(from.begin(), from.end(), out.begin());
}

/// Calls fill(elements) with `numel` elements of a buffer, from `first` on. It must write all.
template <class T, class Fill>
void store(const StateView& view, int32_t buffer, int64_t first, size_t numel, const Fill& fill) {
  if (!view.is_far(buffer)) {
    return fill(view.values<T>(buffer).subspan(size_t(first), numel));
  }
  std::vector<T> room(numel);
  fill(std::span(room));
  view.write_far(buffer, first * int64_t(sizeof(T)), std::as_bytes(std::span(room)));
}

/// Returns the buffer of an optimizer state.
int32_t buffer_of(const StateView& view, const plan::Unit& unit, StateKind kind) {
  const OptimizerState& state = view.plan->request.optimizer.states[size_t(kind)];
  ZERO_REQUIRE(state.dtype == Dtype::f32, state.name, " rests in ", name_of(state.dtype),
               ": states are read and written in fp32");
  return unit.states.at(size_t(kind));
}

void load_floats(const StateView& view, const plan::Unit& unit, int32_t buffer, UnitRange range,
                 std::span<float> out) {
  const bool is_weight = buffer == unit.weight;
  const UnitRange held = is_weight ? weight_range(unit, view.rank)
                                   : held_range(unit, unit.optimizer_sharded, view.rank);
  require_held(unit, held, range);
  load(view, buffer, range.begin - held.begin, out);
}

/// Returns elements of a buffer from `first` on, in memory or read into `room`.
template <class T>
std::span<const T> loaded(const StateView& view, int32_t buffer, int64_t first, size_t numel,
                          std::vector<T>& room) {
  if (!view.is_far(buffer)) return view.values<T>(buffer).subspan(size_t(first), numel);
  room.resize(numel);
  load(view, buffer, first, std::span(room));
  return room;
}

void join_bf16(const StateView& view, const plan::Unit& unit, UnitRange range,
               std::span<float> out) {
  const UnitRange weights = weight_range(unit, view.rank);
  const UnitRange lows = held_range(unit, unit.optimizer_sharded, view.rank);
  require_held(unit, weights, range);
  require_held(unit, lows, range);
  std::vector<bf16> weight_room;
  std::vector<int16_t> low_room;
  const std::span<const bf16> weight =
      loaded(view, unit.weight, range.begin - weights.begin, out.size(), weight_room);
  const std::span<const int16_t> low =
      loaded(view, unit.low, range.begin - lows.begin, out.size(), low_room);
  join_masters(weight, low, out);
}

/// The place of a unit's elements in one of its buffers.
struct Lying {
  int32_t buffer;
  UnitRange held;
  size_t element_bytes;
};
Lying weights_of(const StateView& view, const plan::Unit& unit) {
  return {unit.weight, weight_range(unit, view.rank), bytes_of(view.plan->request.compute)};
}
Lying states_of(const StateView& view, const plan::Unit& unit, int32_t buffer, size_t element) {
  return {buffer, held_range(unit, unit.optimizer_sharded, view.rank), element};
}
Lying lows_of(const StateView& view, const plan::Unit& unit) {
  return states_of(view, unit, unit.low, sizeof(int16_t));
}

/// Returns the byte at which a range begins in the part that the rank holds.
int64_t byte_of(const plan::Unit& unit, const Lying& lying, UnitRange range) {
  require_held(unit, lying.held, range);
  return (range.begin - lying.held.begin) * int64_t(lying.element_bytes);
}

std::span<std::byte> lying_in_memory(const StateView& view, const plan::Unit& unit,
                                     const Lying& lying, UnitRange range) {
  if (view.is_far(lying.buffer)) return {};
  return view.bytes(lying.buffer)
      .subspan(size_t(byte_of(unit, lying, range)),
               size_t(range.end - range.begin) * lying.element_bytes);
}

/// Reads the masters of a frozen unit, which are its weights of 16 bits.
template <class T>
void widen_weight(const StateView& view, const plan::Unit& unit, UnitRange range,
                  std::span<float> out) {
  const UnitRange held = weight_range(unit, view.rank);
  require_held(unit, held, range);
  std::vector<T> room;
  const std::span<const T> weight =
      loaded(view, unit.weight, range.begin - held.begin, out.size(), room);
  std::transform(weight.begin(), weight.end(), out.begin(), [](T w) { return float(w); });
}

void read_master(const StateView& view, const plan::Unit& unit, UnitRange range,
                 std::span<float> out) {
  const Dtype compute = view.plan->request.compute;
  if (compute == Dtype::f32) return load_floats(view, unit, unit.weight, range, out);
  const bool is_bf16 = compute == Dtype::bf16;
  if (unit.frozen) {
    return is_bf16 ? widen_weight<bf16>(view, unit, range, out)
                   : widen_weight<f16>(view, unit, range, out);
  }
  if (is_bf16) return join_bf16(view, unit, range, out);
  load_floats(view, unit, unit.low, range, out);
}

/// The part of [begin, begin + master.size()) in `held`: first element of master, elements, place.
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
void store_weight(std::span<T> weight, std::span<const float> master) {
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = T(master[i]);
}

template <>
void store_weight(std::span<bf16> weight, std::span<const float> master) {
  int16_t low;
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = kernels::split_master(master[i], low);
}

void store_low(std::span<float> low, std::span<const float> master) {
  std::copy(master.begin(), master.end(), low.begin());
}

void store_low(std::span<int16_t> low, std::span<const float> master) {
  for (size_t i = 0; i < low.size(); ++i) kernels::split_master(master[i], low[i]);
}

template <class T>
void store_master(const StateView& view, const plan::Unit& unit, int64_t begin,
                  std::span<const float> master) {
  using Low = typename kernels::MasterLow<T>::type;
  const Part weights = part_in(weight_range(unit, view.rank), begin, master.size());
  store<T>(view, unit.weight, int64_t(weights.place), weights.numel, [&](std::span<T> to) {
    store_weight(to, master.subspan(weights.first, weights.numel));
  });
  if (unit.low < 0) return;
  const Part lows =
      part_in(held_range(unit, unit.optimizer_sharded, view.rank), begin, master.size());
  store<Low>(view, unit.low, int64_t(lows.place), lows.numel,
             [&](std::span<Low> to) { store_low(to, master.subspan(lows.first, lows.numel)); });
}

constexpr int64_t kPieceNumel = 1 << 20;

/// Elements sent from rank to rank at a time.
constexpr size_t kHandedOn = 1 << 20;

/// Sends values from rank 0 to the other holders, each of which sends them to the next.
void hand_on(const launch::Peers& peers, int holders, std::span<float> values) {
  if (peers.rank() >= holders) return;
  for (size_t begin = 0; begin < values.size(); begin += kHandedOn) {
    const auto piece = values.subspan(begin, std::min(kHandedOn, values.size() - begin));
    if (peers.rank() > 0) peers.receive(piece, peers.rank() - 1);
    if (peers.rank() + 1 < holders) peers.send(piece, peers.rank() + 1);
  }
}

}  // namespace

std::vector<StateKind> state_kinds(const plan::Plan& plan, const plan::Unit& unit) {
  std::vector<StateKind> kinds = {StateKind::master};
  if (unit.frozen) return kinds;
  for (size_t i = 0; i < plan.request.optimizer.states.size(); ++i) kinds.push_back(StateKind(i));
  return kinds;
}

StateView view_of(const plan::Plan& plan, int rank, run::Buffers& buffers) {
  return {.plan = &plan,
          .rank = rank,
          .bytes = [&buffers](int32_t buffer) { return buffers.bytes(buffer); },
          .device_apart = drives_devices(),
          .read_far = [&buffers](int32_t buffer, int64_t offset,
                                 std::span<std::byte> out) { buffers.read(buffer, offset, out); },
          .write_far = [&buffers](
                           int32_t buffer, int64_t offset,
                           std::span<const std::byte> in) { buffers.write(buffer, offset, in); }};
}

UnitRange held_range(const plan::Unit& unit, bool sharded, int rank) {
  if (!sharded) return {0, unit.numel};
  const int64_t shard = unit.groups().shard_of(rank);
  return {shard * unit.shard_numel, (shard + 1) * unit.shard_numel};
}

UnitRange weight_range(const plan::Unit& unit, int rank) {
  if (!unit.weight_sharded) return {0, unit.numel};
  const int64_t shard = unit.groups().place(plan::Team::group, rank);
  return {shard * unit.weight_shard_numel(), (shard + 1) * unit.weight_shard_numel()};
}

UnitRange filled_range(const plan::Unit& unit, int rank) {
  return unit.frozen ? weight_range(unit, rank) : held_range(unit, unit.optimizer_sharded, rank);
}

void read_state(const StateView& view, const plan::Unit& unit, StateKind kind, UnitRange range,
                std::span<float> out) {
  if (kind == StateKind::master) return read_master(view, unit, range, out);
  load_floats(view, unit, buffer_of(view, unit, kind), range, out);
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

void read_weights(const StateView& view, const plan::Unit& unit, UnitRange range,
                  std::span<std::byte> out) {
  const Lying lying = weights_of(view, unit);
  load(view, lying.buffer, byte_of(unit, lying, range), out);
}

void read_lows(const StateView& view, const plan::Unit& unit, UnitRange range,
               std::span<std::byte> out) {
  const Lying lying = lows_of(view, unit);
  load(view, lying.buffer, byte_of(unit, lying, range), out);
}

void join_masters(std::span<const bf16> weight, std::span<const int16_t> low,
                  std::span<float> master) {
  for (size_t i = 0; i < master.size(); ++i) master[i] = kernels::join_master(weight[i], low[i]);
}

std::span<float> state_in_memory(const StateView& view, const plan::Unit& unit, StateKind kind,
                                 UnitRange range) {
  const bool is_master = kind == StateKind::master;
  if (is_master && view.plan->request.compute != Dtype::f32) return {};
  const Lying lying = is_master ? weights_of(view, unit)
                                : states_of(view, unit, buffer_of(view, unit, kind), sizeof(float));
  const std::span<std::byte> raw = lying_in_memory(view, unit, lying, range);
  return {reinterpret_cast<float*>(raw.data()), raw.size() / sizeof(float)};
}

std::span<const std::byte> weights_in_memory(const StateView& view, const plan::Unit& unit,
                                             UnitRange range) {
  return lying_in_memory(view, unit, weights_of(view, unit), range);
}

std::span<const std::byte> lows_in_memory(const StateView& view, const plan::Unit& unit,
                                          UnitRange range) {
  return lying_in_memory(view, unit, lows_of(view, unit), range);
}

void write_state(const StateView& view, const plan::Unit& unit, StateKind kind, int64_t begin,
                 std::span<const float> values) {
  if (kind == StateKind::master) return write_master(view, unit, begin, values);
  const int32_t buffer = buffer_of(view, unit, kind);
  const UnitRange held = held_range(unit, unit.optimizer_sharded, view.rank);
  require_held(unit, held, {begin, begin + int64_t(values.size())});
  store<float>(view, buffer, begin - held.begin, values.size(),
               [&](std::span<float> to) { std::copy(values.begin(), values.end(), to.begin()); });
}

Located locate(const plan::Plan& plan, int32_t parameter) {
  for (const plan::Unit& unit : plan.units) {
    for (const plan::UnitParameter& place : unit.parameters) {
      if (place.parameter != parameter) continue;
      const int64_t numel = plan.graphs[0].parameters[size_t(parameter)].real_numel;
      return {&unit, {place.begin, place.begin + numel}};
    }
  }
  ZERO_REQUIRE(false, "parameter ", parameter, " lies in no unit");
}

std::vector<int32_t> parameters_by_name(const graph::Graph& graph) {
  std::vector<int32_t> order(graph.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  const auto name = [&](int32_t i) -> const std::string& {
    return graph[graph.parameters[size_t(i)].tensor].name;
  };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return name(a) < name(b); });
  return order;
}

void join_state(const StateView& view, const launch::Peers& peers, StateKind kind,
                int32_t parameter, const std::function<void(std::span<const float>)>& visit) {
  const auto [unit, range] = locate(*view.plan, parameter);
  const auto [begin, end] = range;
  std::vector<float> piece;
  for (int64_t first = begin, last; first < end; first = last) {
    const int64_t shard = unit->optimizer_sharded ? first / unit->shard_numel : 0;
    const int64_t border = unit->optimizer_sharded ? (shard + 1) * unit->shard_numel : end;
    last = std::min({end, border, first + kPieceNumel});
    piece.resize(size_t(last - first));
    const int owner = unit->groups().holder_of(shard);
    if (view.rank == owner) read_state(view, *unit, kind, {first, last}, piece);
    if (owner != 0 && view.rank == owner) peers.send(piece, 0);
    if (owner != 0 && view.rank == 0) peers.receive(piece, owner);
    if (view.rank == 0) visit(piece);
  }
}

void join_weights(const StateView& view, const launch::Peers& peers, int holders,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set) {
  const std::vector<graph::Parameter>& parameters = view.plan->graphs[0].parameters;
  std::vector<float> whole;
  for (size_t p = 0; p < parameters.size() && holders > 1; ++p)
    whole.reserve(size_t(parameters[p].real_numel));
  for (size_t p = 0; p < parameters.size(); ++p) {
    whole.clear();
    int64_t first = 0;
    const auto take = [&](std::span<const float> piece) {
      if (holders > 1) return void(whole.insert(whole.end(), piece.begin(), piece.end()));
      set(int32_t(p), first, piece);
      first += int64_t(piece.size());
    };
    join_state(view, peers, StateKind::master, int32_t(p), take);
    if (holders == 1 || peers.rank() >= holders) continue;
    whole.resize(size_t(parameters[p].real_numel));
    hand_on(peers, holders, whole);
    set(int32_t(p), 0, whole);
  }
}

}  // namespace zero::state
