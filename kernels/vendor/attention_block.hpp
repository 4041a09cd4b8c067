#pragma once
/// Attention as one block of GPU threads computes it: templates over the block, which tells a
/// thread its number and lets threads meet, so the host can test them.
///
/// A block has kAttentionWarps warps of 32 threads. A warp owns kOwnRows rows of one side (queries
/// or keys) and walks over tiles of 32 rows of the other, one a lane. All sums are fp32 in a fixed
/// order; nothing is added atomically.

#include <cmath>
#include <cstdint>

#include "kernels/support/math.hpp"
#include "kernels/support/tanh.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels::vendor {

inline constexpr int kAttentionWarps = 8;
inline constexpr int kAttentionThreads = kAttentionWarps * kWarpLanes;
/// Rows that a warp owns. Each read of the other side serves all of them.
inline constexpr int kOwnRows = 4;
/// Rows that a block owns, and rows of a tile of the other side.
inline constexpr int kTileRows = kAttentionWarps * kOwnRows;
static_assert(kTileRows == kWarpLanes);
/// The widest head that the shared memory of a multiprocessor has room for.
inline constexpr int64_t kHeadWidthMost = 256;

/// Returns the fp32 elements of shared memory of a block: tiles of queries, keys and values
/// forwards, two tiles of each side backwards.
constexpr int64_t attention_shared_numel(int64_t head_width, bool backward) {
  const int64_t own = kTileRows * head_width, other = kTileRows * (head_width + 1);
  return backward ? 2 * own + 2 * other : own + other + kTileRows * head_width;
}

/// fp32 elements of a tile of scores, which the queries' gradient needs behind its tiles for a
/// bias.
inline constexpr int64_t kScoreTileNumel = kTileRows * (kTileRows + 1);

/// The rows that the blocks of a launch own.
enum class Own { queries, keys };

ZERO_HOST_DEVICE constexpr int64_t attention_tiles(const AttentionExtents& extents, Own own) {
  return ceil_div<int64_t>(own == Own::queries ? extents.length : extents.key_length(), kTileRows);
}

/// Returns the heads of a sample that have blocks of their own.
ZERO_HOST_DEVICE constexpr int64_t attention_heads(const AttentionExtents& extents, Own own) {
  return own == Own::queries ? extents.heads : extents.heads_of_keys();
}

/// Returns the number of blocks of one launch: tiles of all heads of all samples.
constexpr int64_t attention_blocks(const AttentionExtents& extents, Own own) {
  return extents.samples * attention_heads(extents, own) * attention_tiles(extents, own);
}

/// The arguments that all blocks of a launch share.
struct AttentionLaunch {
  AttentionExtents extents;
  DropoutSite site;
  const StepInputs* inputs;

  ZERO_DEVICE_ONLY int64_t width() const { return extents.inner_width(); }
  ZERO_DEVICE_ONLY float scale() const { return 1.0f / extents.divisor(); }
  ZERO_DEVICE_ONLY ScoreCap cap() const { return ScoreCap(extents.cap, extents.divisor()); }
  /// Returns the score of a product of a query and a key, before a bias.
  ZERO_DEVICE_ONLY float score(float product) const {
    return extents.cap > 0.0f ? cap()(product) : product * scale();
  }
};

/// The tile of one block: kTileRows rows of one head of one sample.
struct AttentionTile {
  int64_t sample;
  int64_t head;  ///< head of queries; of keys' own tiles, the one that is computed
  int64_t key_head, first_row;
  int64_t index;         ///< number of the tile among those of all heads
  int64_t keys;          ///< keys of the sample that are no padding
  int64_t window;        ///< 0: none
  const int32_t* first;  ///< first key of each query of the sample, or null
  bool causal;

  template <class T>
  ZERO_DEVICE_ONLY AttentionTile(const AttentionExtents& extents, const AttentionInputs<T>& in,
                                 Own own, int64_t block)
      : index(block),
        keys(extents.key_length()),
        window(extents.window),
        first(nullptr),
        causal(extents.causal) {
    const int64_t tiles = attention_tiles(extents, own), item = block / tiles;
    const int64_t heads = attention_heads(extents, own), group = extents.queries_of_key();
    sample = item / heads;
    key_head = own == Own::queries ? item % heads / group : item % heads;
    head = own == Own::queries ? item % heads : key_head * group;
    first_row = block % tiles * kTileRows;
    if (in.first) first = in.first + sample * extents.length;
    if (!in.key_counts) return;
    const int64_t count = in.key_counts[sample];
    keys = count < 0 ? 0 : count < keys ? count : keys;
  }
  /// Returns the first key that a query sees. REQUIRES: the query exists.
  ZERO_DEVICE_ONLY int64_t begin(int64_t query) const {
    const int64_t own = first ? first[query] : 0, near = window > 0 ? query - window + 1 : 0;
    return own < near ? near : own;
  }
  ZERO_DEVICE_ONLY bool sees(int64_t query, int64_t key) const {
    return key < keys && (!causal || (key <= query && key >= begin(query)));
  }
  /// Returns the first key of the tiles that queries of this tile see.
  ZERO_DEVICE_ONLY int64_t begin_of_keys() const {
    return begin(first_row) / kTileRows * kTileRows;
  }
  /// Returns the place behind the last key that a query of this tile sees.
  ZERO_DEVICE_ONLY int64_t end_of_keys() const {
    const int64_t end = first_row + kTileRows;
    return causal && end < keys ? end : keys;
  }
  /// Returns this head's first element in queries `stride` apart; of_keys(), in keys.
  ZERO_DEVICE_ONLY int64_t of_queries(const AttentionExtents& extents, int64_t stride) const {
    return sample * extents.length * stride + head * extents.head_width;
  }
  ZERO_DEVICE_ONLY int64_t of_keys(const AttentionExtents& extents, int64_t stride) const {
    return sample * extents.key_length() * stride + key_head * extents.head_width;
  }
  /// Returns row 0 of this head in [samples, heads, length].
  ZERO_DEVICE_ONLY int64_t first_of_head(const AttentionExtents& extents) const {
    return (sample * extents.heads + head) * extents.length;
  }
};

struct AttentionBias {
  const float* none;  ///< bias of a key in its query's place; null: there is none
  int64_t length;

  template <class T>
  ZERO_DEVICE_ONLY AttentionBias(const AttentionExtents& extents, const AttentionInputs<T>& in,
                                 const AttentionTile& tile)
      : none(in.bias ? in.bias + tile.head * extents.diagonals() + extents.length - 1 : nullptr),
        length(extents.length) {}
  ZERO_DEVICE_ONLY float operator()(int64_t query, int64_t key) const {
    return none && query < length ? none[key - query] : 0.0f;
  }
};

struct AttentionMask {
  uint64_t seed;
  int64_t sample, row0, columns;
  uint32_t site, threshold;
  float multiplier;  ///< factor of kept probabilities
  bool drops;

  ZERO_DEVICE_ONLY AttentionMask(const AttentionLaunch& launch, const AttentionTile& tile)
      : seed(0),
        sample(0),
        row0(tile.head * launch.extents.length),
        columns(round_up<int64_t>(launch.extents.key_length(), 4)),
        site(launch.site.site),
        threshold(dropout_threshold(launch.site.probability)),
        multiplier(1.0f / (1.0f - launch.site.probability)),
        drops(launch.site.probability > 0.0f) {
    if (!drops) return;
    seed = launch.inputs->seed;
    sample = launch.inputs->first_sample + launch.site.sample_offset + tile.sample;
  }
  ZERO_DEVICE_ONLY bool keeps(int64_t query, int64_t key) const {
    if (!drops) return true;
    const int64_t element = (row0 + query) * columns + key;
    return dropout_words(seed, site, sample, uint32_t(element / 4)).word[element % 4] >= threshold;
  }
};

/// A matrix of global memory, `ld` elements from row to row.
template <class T>
struct StridedRowsOf {
  T* first;
  int64_t ld;
  int64_t length;  ///< rows that exist
};

/// Copies kTileRows rows from `row` on to shared memory in fp32, with zeros for missing rows.
template <class T, class Block>
ZERO_DEVICE_ONLY void load_tile(const Block& block, const StridedRowsOf<const T>& rows, int64_t row,
                                int64_t width, int64_t pitch, float* tile) {
  for (int64_t i = block.thread(); i < kTileRows * width; i += kAttentionThreads) {
    const int64_t r = i / width, j = i % width;
    const bool exists = row + r < rows.length;
    tile[r * pitch + j] = exists ? float(rows.first[(row + r) * rows.ld + j]) : 0.0f;
  }
}

/// Writes dot[r] = row r of the warp's own rows times the lane's row of the other side.
template <class Block>
ZERO_DEVICE_ONLY void dot_products(const Block& block, int64_t width, const float* own,
                                   const float* other, float (&dot)[kOwnRows]) {
  const float* const mine = own + block.warp() * kOwnRows * width;
  const float* const lane = other + block.lane() * (width + 1);
  for (int r = 0; r < kOwnRows; ++r) dot[r] = 0.0f;
  for (int64_t j = 0; j < width; ++j) {
    const float value = lane[j];
    for (int r = 0; r < kOwnRows; ++r) dot[r] = std::fma(mine[r * width + j], value, dot[r]);
  }
}

/// The warp's own rows of a result, spread over its lanes: lane l has columns l, l + 32, ...
template <int kParts>
struct OwnSums {
  float value[kOwnRows][kParts];

  ZERO_DEVICE_ONLY OwnSums() {
    for (auto& row : value)
      for (float& part : row) part = 0.0f;
  }
  /// Adds factor[r] of each lane times that lane's row of the tile.
  template <class Block>
  ZERO_DEVICE_ONLY void add(const Block& block, const float (&factor)[kOwnRows], int64_t width,
                            const float* tile, int64_t pitch) {
    for (int l = 0; l < kWarpLanes; ++l) {
      float factors[kOwnRows];
      for (int r = 0; r < kOwnRows; ++r) factors[r] = block.shuffle(factor[r], l);
      add_row(block.lane(), factors, width, tile + l * pitch);
    }
  }
  ZERO_DEVICE_ONLY void add_row(int lane, const float (&factor)[kOwnRows], int64_t width,
                                const float* row) {
    for (int part = 0; part < kParts; ++part) {
      const int64_t j = lane + part * kWarpLanes;
      const float element = j < width ? row[j] : 0.0f;
      for (int r = 0; r < kOwnRows; ++r)
        value[r][part] = std::fma(factor[r], element, value[r][part]);
    }
  }
  /// Writes row r times `factor`, rounded once, to a row of global memory.
  template <class T>
  ZERO_DEVICE_ONLY void store(int lane, int r, float factor, int64_t width, T* row) const {
    for (int part = 0; part < kParts; ++part) {
      const int64_t j = lane + part * kWarpLanes;
      if (j < width) row[j] = T(factor * value[r][part]);
    }
  }
};

/// The forward pass: a warp owns queries and walks over keys and values with an online softmax.
template <class T, int kParts, class Block>
class AttentionForward {
 public:
  ZERO_DEVICE_ONLY AttentionForward(const Block& block, const AttentionLaunch& launch,
                                    const AttentionArrays<T>& arrays)
      : block_(block),
        launch_(launch),
        arrays_(arrays),
        tile_(launch.extents, arrays.in, Own::queries, block.index()),
        mask_(launch, tile_),
        bias_(launch.extents, arrays.in, tile_) {
    for (int r = 0; r < kOwnRows; ++r) {
      maximum_[r] = -INFINITY;
      sum_[r] = 0.0f;
    }
  }

  ZERO_DEVICE_ONLY void run() {
    const AttentionExtents& extents = launch_.extents;
    const AttentionInputs<T>& in = arrays_.in;
    const int64_t d = extents.head_width;
    float* const queries = block_.shared();
    float* const keys = queries + kTileRows * d;
    float* const values = keys + kTileRows * (d + 1);
    const int64_t first_key = tile_.of_keys(extents, in.kv_stride);
    const StridedRowsOf<const T> q{in.q + tile_.of_queries(extents, in.q_stride), in.q_stride,
                                   extents.length};
    const StridedRowsOf<const T> k{in.k + first_key, in.kv_stride, tile_.keys};
    const StridedRowsOf<const T> v{in.v + first_key, in.kv_stride, tile_.keys};
    load_tile(block_, q, tile_.first_row, d, d, queries);
    for (int64_t key = tile_.begin_of_keys(); key < tile_.end_of_keys(); key += kTileRows) {
      block_.sync();
      load_tile(block_, k, key, d, d + 1, keys);
      load_tile(block_, v, key, d, d, values);
      block_.sync();
      float probability[kOwnRows];
      dot_products(block_, d, queries, keys, probability);
      for (int r = 0; r < kOwnRows; ++r) probability[r] = soften(r, key, probability[r]);
      y_.add(block_, probability, d, values, d);
    }
    store();
  }

 private:
  ZERO_DEVICE_ONLY int64_t row(int r) const {
    return tile_.first_row + block_.warp() * kOwnRows + r;
  }

  /// Returns the probability of the lane's score in row r, not yet divided by the sum.
  ZERO_DEVICE_ONLY float soften(int r, int64_t first_key, float dot) {
    const int64_t query = row(r), key = first_key + block_.lane();
    const bool visible = query < launch_.extents.length && tile_.sees(query, key);
    const float score = visible ? launch_.score(dot) + bias_(query, key) : -INFINITY;
    const float most = warp_maximum(block_, score);
    const float maximum = most < maximum_[r] ? maximum_[r] : most;
    // A query with a first key of its own may have seen no key so far.
    const float rescale = maximum_[r] == -INFINITY ? 0.0f : exp_f32(maximum_[r] - maximum);
    const float probability = visible ? exp_f32(score - maximum) : 0.0f;
    sum_[r] = sum_[r] * rescale + warp_sum(block_, probability);
    maximum_[r] = maximum;
    for (float& part : y_.value[r]) part *= rescale;
    return visible && mask_.keeps(query, key) ? probability : 0.0f;
  }

  ZERO_DEVICE_ONLY void store() const {
    const int64_t width = launch_.width();
    for (int r = 0; r < kOwnRows; ++r) {
      if (row(r) >= launch_.extents.length) continue;
      T* const y = arrays_.y + tile_.of_queries(launch_.extents, width) + row(r) * width;
      const bool sees_any = sum_[r] > 0.0f;
      y_.store(block_.lane(), r, sees_any ? mask_.multiplier / sum_[r] : 0.0f,
               launch_.extents.head_width, y);
      if (block_.lane() == 0)
        arrays_.logsumexp[tile_.first_of_head(launch_.extents) + row(r)] =
            sees_any ? maximum_[r] + log_f32(sum_[r]) : 0.0f;
    }
  }

  const Block& block_;
  AttentionLaunch launch_;
  AttentionArrays<T> arrays_;
  AttentionTile tile_;
  AttentionMask mask_;
  AttentionBias bias_;
  OwnSums<kParts> y_;
  float maximum_[kOwnRows], sum_[kOwnRows];
};

}  // namespace zero::kernels::vendor
