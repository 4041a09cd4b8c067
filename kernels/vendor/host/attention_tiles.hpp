#pragma once
/// The tiles of queries and keys that attention on the host computes, and which keys each query
/// sees.

#include <algorithm>
#include <cstdint>

#include "kernels/support/row_chunks.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels::vendor {

/// Queries of a tile. The keys of a tile are a multiple of this. So a tile that shows any key to a
/// query shows its first key to all queries, unless queries have a first key of their own.
inline constexpr int64_t kQueries = 128;

struct Tile {
  int64_t query, queries, key, keys;
  int64_t first_key;  ///< that of the first tile of the same queries

  bool is_first() const { return key == first_key; }
};

/// Keys of a sample with padding are rounded up to a multiple of this, and the first key of tiles
/// is rounded down. Fewer shapes of tiles need fewer kernels of products.
inline constexpr int64_t kKeyUnit = 64;

/// The scores of one head that tiles cover.
struct ScoreRows {
  int64_t queries, keys;
  bool causal;
};

/// The first query of tiles, and the first key that they cover, a multiple of kKeyUnit.
struct TileRow {
  int64_t query, first_key;
};

/// Calls visit(tile) for the tiles of a row, of `keys` keys each.
template <class Visit>
void for_key_tiles(const ScoreRows& rows, const TileRow& row, int64_t keys, const Visit& visit) {
  const int64_t queries = std::min(kQueries, rows.queries - row.query);
  const int64_t end = rows.causal ? std::min(rows.keys, row.query + queries) : rows.keys;
  for (int64_t key = row.first_key; key < end; key += keys)
    visit(Tile{row.query, queries, key, std::min(keys, end - key), row.first_key});
}

/// Calls visit(tile) for all tiles of queries that see the first key.
template <class Visit>
void for_tiles(const ScoreRows& rows, int64_t keys, const Visit& visit) {
  for (int64_t query = 0; query < rows.queries; query += kQueries)
    for_key_tiles(rows, {query, 0}, keys, visit);
}

/// True if queries may have a first key of their own.
inline bool has_first_keys(const AttentionExtents& extents) {
  return extents.ranged || (extents.window > 0 && extents.window < extents.length);
}

/// Calls visit(tile) for tiles of every shape of which queries with first keys of their own have
/// some.
template <class Visit>
void for_later_tiles(const ScoreRows& rows, int64_t keys, const Visit& visit) {
  for (int64_t query = 0; query < rows.queries; query += kQueries) {
    // Earlier first keys only repeat the shapes.
    const int64_t first = std::max(kKeyUnit, query - 3 * keys);
    for (int64_t key = first; key <= query; key += kKeyUnit)
      for_key_tiles(rows, {query, key}, keys, visit);
  }
}

/// Calls visit(rows) for all scores that heads may cover, whatever their counts.
template <class Visit>
void for_score_rows(const AttentionExtents& extents, const Visit& visit) {
  const int64_t keys = extents.key_length();
  for (int64_t part = kKeyUnit; extents.counted && part < keys; part += kKeyUnit)
    visit(ScoreRows{extents.length, part, extents.causal});
  visit(ScoreRows{extents.length, keys, extents.causal});
}

/// Calls visit(tile) for tiles, of `keys` keys, of every shape that a call may have.
template <class Visit>
void for_tile_shapes(const AttentionExtents& extents, int64_t keys, const Visit& visit) {
  for_score_rows(extents, [&](const ScoreRows& rows) {
    for_tiles(rows, keys, visit);
    if (has_first_keys(extents)) for_later_tiles(rows, keys, visit);
  });
}

struct Head {
  AttentionExtents extents;
  int64_t sample, head;
  int64_t key_head;       ///< the head of its keys and values
  int64_t queries, keys;  ///< those that are no padding
  const int32_t* first;   ///< AttentionInputs::first of its sample, or null
  ScoreRows rows;

  Head(const AttentionExtents& of, const int32_t* key_counts, int64_t item,
       const int32_t* first_keys = nullptr)
      : extents(of),
        sample(item / of.heads),
        head(item % of.heads),
        key_head(head / of.queries_of_key()),
        queries(of.length),
        keys(of.key_length()),
        first(first_keys ? first_keys + sample * of.length : nullptr) {
    if (key_counts) keys = std::clamp<int64_t>(key_counts[sample], 0, keys);
    rows = {of.length, std::min(round_up(keys, kKeyUnit), of.key_length()), of.causal};
  }
  /// Returns this head's first element in queries `stride` apart; of_keys(), in keys.
  int64_t of_queries(int64_t stride) const {
    return sample * extents.length * stride + head * extents.head_width;
  }
  int64_t of_keys(int64_t stride) const {
    return sample * extents.key_length() * stride + key_head * extents.head_width;
  }
  /// Returns this head's first row in [samples, heads, length].
  int64_t first_row() const { return (sample * extents.heads + head) * extents.length; }
  /// Returns the place behind the last key that a query sees.
  int64_t visible(int64_t query) const { return extents.causal ? std::min(keys, query + 1) : keys; }
  /// Returns the first key that a query sees.
  int64_t begin(int64_t query) const {
    const int64_t own = first ? first[query] : 0;
    return extents.window > 0 ? std::max(own, query - extents.window + 1) : own;
  }
  /// Returns the tiles of the queries from `query` on.
  TileRow tile_row(int64_t query) const { return {query, begin(query) / kKeyUnit * kKeyUnit}; }
  /// Returns the keys of a tile that its query i sees, counted in the tile; maybe none.
  Interval seen_keys(const Tile& tile, int64_t i) const {
    const int64_t end = std::clamp<int64_t>(visible(tile.query + i) - tile.key, 0, tile.keys);
    return {std::clamp<int64_t>(begin(tile.query + i) - tile.key, 0, end), end};
  }
  /// Returns the queries of a tile that see a key, counted in the tile; maybe none.
  Interval seeing_queries(const Tile& tile, int64_t key) const {
    if (key >= keys) return {tile.queries, tile.queries};
    const int64_t before =
        extents.causal ? std::clamp<int64_t>(key - tile.query, 0, tile.queries) : 0;
    if (!first && extents.window == 0) return {before, tile.queries};
    int64_t least = before, most = tile.queries;  // the first query that begins behind the key
    while (least < most) {
      const int64_t middle = (least + most) / 2;
      if (begin(tile.query + middle) > key)
        most = middle;
      else
        least = middle + 1;
    }
    return {before, least};
  }
  /// Returns this head's part of [heads, diagonals]; null stays null.
  const float* diagonals(const float* all) const {
    return all ? all + head * extents.diagonals() : nullptr;
  }
};

}  // namespace zero::kernels::vendor
