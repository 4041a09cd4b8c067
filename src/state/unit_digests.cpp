#include "zero/state/unit_digests.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "zero/base/digests.hpp"
#include "zero/base/team.hpp"

namespace zero::state {
namespace {

constexpr int64_t kBlock = 2048;
constexpr int64_t kPiece = 64 * kBlock;  ///< elements read at a time, so a disk's reads are long

/// Returns the end of the last parameter.
int64_t end_of(const plan::Unit& unit) {
  int64_t end = 0;
  for (const plan::UnitParameter& place : unit.parameters)
    end = std::max(end, place.begin + place.numel);
  return end;
}

uint64_t first_word(const Xxh3Digest& digest) {
  uint64_t word = 0;
  for (size_t i = 0; i < sizeof word; ++i) word = word << 8 | digest[i];
  return word;
}

/// Returns the number of a block, which tells equal blocks at two places apart.
uint64_t number_of(int64_t block, std::span<const float> values) {
  const Xxh3Digest digest = xxh3_of(std::as_bytes(values));
  std::array<std::byte, sizeof block + sizeof digest> placed;
  for (size_t i = 0; i < sizeof block; ++i) placed[i] = std::byte(uint64_t(block) >> (8 * i));
  std::memcpy(placed.data() + sizeof block, digest.data(), sizeof digest);
  return first_word(xxh3_of(placed));
}

/// True if the masters of a unit are bf16 weights with their low halves.
bool is_split(const plan::Plan& plan, const plan::Unit& unit) {
  return plan.request.compute == Dtype::bf16 && !unit.frozen;
}

}  // namespace

UnitRange own_range(const plan::Unit& unit, int rank, int ranks) {
  const int64_t end = end_of(unit);
  if (unit.optimizer_sharded) {
    const UnitRange held = held_range(unit, true, rank);
    return {std::min(held.begin, end), std::min(held.end, end)};
  }
  const int64_t blocks = (end + kBlock - 1) / kBlock;
  return {std::min(end, blocks * rank / ranks * kBlock),
          std::min(end, blocks * (rank + 1) / ranks * kBlock)};
}

std::string_view state_name(const plan::Plan& plan, StateKind kind) {
  return kind == StateKind::master
             ? "weights"
             : std::string_view(plan.request.optimizer.states[size_t(kind)].name);
}

UnitDigests::UnitDigests(const plan::Plan& plan, int threads)
    : plan_(plan), rooms_(size_t(std::max(1, threads))) {
  for (const plan::Unit& unit : plan.units) {
    for (const StateKind kind : state_kinds(plan, unit)) rows_.push_back({&unit, kind, 0});
  }
  sums_.resize(rows_.size());
  for (Room& room : rooms_) {
    room.values.resize(size_t(kPiece));
    room.weights.resize(size_t(kPiece) * sizeof(bf16));
    room.lows.resize(size_t(kPiece) * sizeof(int16_t));
  }
}

/// Returns elements in memory, or read into the room.
std::span<const float> UnitDigests::read(const StateView& view, const Row& row, UnitRange range,
                                         Room& room) const {
  const std::span<const float> there = state_in_memory(view, *row.unit, row.kind, range);
  if (!there.empty()) return there;
  const auto numel = size_t(range.end - range.begin);
  const std::span<float> out(room.values.data(), numel);
  if (row.kind != StateKind::master || !is_split(plan_, *row.unit)) {
    read_state(view, *row.unit, row.kind, range, out);
    return out;
  }
  read_weights(view, *row.unit, range, std::span(room.weights).first(numel * sizeof(bf16)));
  read_lows(view, *row.unit, range, std::span(room.lows).first(numel * sizeof(int16_t)));
  join_masters({reinterpret_cast<const bf16*>(room.weights.data()), numel},
               {reinterpret_cast<const int16_t*>(room.lows.data()), numel}, out);
  return out;
}

uint64_t UnitDigests::digest_of(const StateView& view, const Row& row, UnitRange own) {
  std::atomic<int64_t> next{own.begin};
  std::atomic<uint64_t> sum{0};
  in_team(int(rooms_.size()), [&](int member) {
    for (int64_t i = next.fetch_add(kPiece); i < own.end; i = next.fetch_add(kPiece)) {
      const UnitRange piece{i, std::min(own.end, i + kPiece)};
      std::span<const float> rest = read(view, row, piece, rooms_[size_t(member)]);
      for (int64_t block = i / kBlock; !rest.empty(); ++block) {
        const size_t numel = std::min(rest.size(), size_t(kBlock));
        sum += number_of(block, rest.first(numel));
        rest = rest.subspan(numel);
      }
    }
  });
  return sum;
}

void UnitDigests::add_own(const StateView& view, int ranks) {
  for (size_t i = 0; i < rows_.size(); ++i)
    sums_[i] = digest_of(view, rows_[i], own_range(*rows_[i].unit, view.rank, ranks));
}

void UnitDigests::join(const launch::Peers& peers) {
  peers.add_up(sums_);
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].digest = sums_[i];
}

void take_digests(launch::Session& session, Engine& engine, UnitDigests& digests) {
  const int64_t bytes = engine.plan().arena_bytes[size_t(plan::Tier::nvme)];
  const StateView view = engine.view();
  engine.on_every_rank_at_disk("the digests of the state", bytes,
                               [&] { digests.add_own(view, session.ranks()); });
  digests.join(session.peers());
}

}  // namespace zero::state
