#include <algorithm>
#include <atomic>
#include <iterator>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/team.hpp"
#include "zero/base/text.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

constexpr int64_t kBlockNumel = 1 << 20;

/// A block of one state of a unit, in several shards or in one. The first shard's owner hashes it.
struct Block {
  const plan::Unit* unit;
  StateKind kind;
  UnitRange range;
  int owner;
  int64_t shard, last_shard;

  bool is_whole() const { return shard == last_shard; }
};

/// Returns block `number` of a state.
Block block_of(const Located& parameter, StateKind kind, UnitRange range, size_t number,
               int ranks) {
  const plan::Unit& unit = *parameter.unit;
  if (!unit.optimizer_sharded) {
    return {&unit, kind, range, int(number % size_t(ranks)), 0, 0};
  }
  const int64_t shard = range.begin / unit.shard_numel;
  return {&unit, kind,
          range, unit.groups().holder_of(shard),
          shard, (range.end - 1) / unit.shard_numel};
}

std::vector<Block> blocks_of(const StateView& view, int ranks) {
  std::vector<Block> blocks;
  for (const int32_t index : parameters_by_name(view.plan->graphs[0])) {
    const Located parameter = locate(*view.plan, index);
    const int64_t end = parameter.range.end;
    for (const StateKind kind : state_kinds(*view.plan, *parameter.unit)) {
      for (int64_t i = parameter.range.begin; i < end; i += kBlockNumel) {
        const UnitRange range{i, std::min(end, i + kBlockNumel)};
        blocks.push_back(block_of(parameter, kind, range, blocks.size(), ranks));
      }
    }
  }
  return blocks;
}

/// Returns the rank's own elements, in memory or read into `room`.
std::span<const float> loaded(const StateView& view, const Block& block, UnitRange range,
                              std::vector<float>& room) {
  const std::span<const float> there = state_in_memory(view, *block.unit, block.kind, range);
  if (!there.empty()) return there;
  room.resize(size_t(range.end - range.begin));
  read_state(view, *block.unit, block.kind, range, room);
  return room;
}

Xxh3Digest digest_of(std::span<const float> values) { return xxh3_of(std::as_bytes(values)); }

/// Returns, on the owner alone, the digest of a block in the shards of several ranks.
Xxh3Digest join_block(const StateView& view, const launch::Peers& peers, const Block& block) {
  std::vector<float> joined, room;
  for (int64_t shard = block.shard; shard <= block.last_shard; ++shard) {
    const int rank = block.unit->groups().holder_of(shard);
    const UnitRange held = held_range(*block.unit, true, rank);
    const UnitRange part{std::max(held.begin, block.range.begin),
                         std::min(held.end, block.range.end)};
    if (view.rank == rank) {
      const std::span<const float> own = loaded(view, block, part, room);
      if (rank != block.owner) peers.send(own, block.owner);
      joined.insert(joined.end(), own.begin(), own.end());
    } else if (view.rank == block.owner) {
      const size_t before = joined.size();
      joined.resize(before + size_t(part.end - part.begin));
      peers.receive(std::span(joined).subspan(before), rank);
    }
  }
  return digest_of(joined);
}

/// Returns the digests by number. Digests of other owners stay empty.
std::vector<Xxh3Digest> own_digests(const StateView& view, const launch::Peers& peers,
                                    const std::vector<Block>& blocks, int threads) {
  std::vector<Xxh3Digest> digests(blocks.size());
  std::atomic<size_t> next{0};
  in_team(threads, [&](int) {
    std::vector<float> room;
    for (size_t i = next++; i < blocks.size(); i = next++) {
      const Block& block = blocks[i];
      if (block.owner != view.rank || !block.is_whole()) continue;
      digests[i] = digest_of(loaded(view, block, block.range, room));
    }
  });
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].is_whole()) digests[i] = join_block(view, peers, blocks[i]);
  }
  return digests;
}

}  // namespace

std::string state_sha256(const StateView& view, const launch::Peers& peers) {
  Sha256 hash;
  for (int32_t parameter : parameters_by_name(view.plan->graphs[0])) {
    const plan::Unit& unit = *locate(*view.plan, parameter).unit;
    for (const StateKind kind : state_kinds(*view.plan, unit)) {
      join_state(view, peers, kind, parameter,
                 [&](std::span<const float> piece) { hash.add(std::as_bytes(piece)); });
    }
  }
  return view.rank == 0 ? hash.digest() : "";
}

std::string state_xxh3(const StateView& view, const launch::Peers& peers, int threads) {
  const std::vector<Block> blocks = blocks_of(view, peers.ranks());
  const std::vector<Xxh3Digest> digests = own_digests(view, peers, blocks, threads);
  std::string own;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].owner == view.rank) own.append(digests[i].begin(), digests[i].end());
  }
  const std::vector<std::string> ranks = peers.gather(own);
  if (view.rank != 0) return "";
  std::vector<size_t> read(ranks.size(), 0);
  std::string all;
  for (const Block& block : blocks) {
    size_t& at = read[size_t(block.owner)];
    all.append(ranks[size_t(block.owner)], at, sizeof(Xxh3Digest));
    at += sizeof(Xxh3Digest);
  }
  return hex_of(xxh3_of(std::as_bytes(std::span(all))));
}

}  // namespace zero::state
