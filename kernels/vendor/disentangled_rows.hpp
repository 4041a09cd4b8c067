#pragma once
/// Disentangled attention on a GPU, one sample after the other. Functors over rows of a team
/// (kernels/support/rows.hpp), so the host can test them. They multiply element by element: correct
/// for any extents, and no faster than memory allows.

#include <cmath>

#include "kernels/support/math.hpp"
#include "kernels/support/row_chunks.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/disentangled.hpp"

namespace zero::kernels::vendor {

/// The places of the pieces in the scratch of a call, as numel from its beginning.
struct DisentangledPlaces {
  int64_t diagonals;       ///< int32 [2 length - 1]: row of distance i - (length - 1)
  int64_t probabilities;   ///< [heads, length, length] of one sample
  int64_t score_gradient;  ///< as probabilities
  int64_t sums;            ///< [2, rows, inner width]: unscaled gradients of positions
  int64_t numel;

  explicit DisentangledPlaces(const DisentangledExtents& extents) {
    const int64_t scores = extents.heads * extents.length * extents.length;
    diagonals = 0;
    probabilities = round_up<int64_t>(2 * extents.length - 1, 4);
    score_gradient = probabilities + scores;
    sums = score_gradient + scores;
    numel = sums + 2 * extents.rows() * extents.inner_width();
  }
};

/// A sample of a call, in either direction.
template <class T>
struct TextSample {
  int64_t sample, length, heads, head_width, rows;
  float scale;
  AttentionInputs<T> in;
  PositionRows<const T> positions;
  const int32_t* diagonals;  ///< element 0: distance 0
  float *probabilities, *score_gradient, *sums;
  DropoutSite site;
  const StepInputs* inputs;

  TextSample(const DisentangledExtents& extents, const DropoutSite& dropout,
             const StepInputs* step_inputs, const AttentionInputs<T>& arrays,
             const PositionRows<const T>& table, void* scratch)
      : sample(0),
        length(extents.length),
        heads(extents.heads),
        head_width(extents.head_width),
        rows(extents.rows()),
        scale(1.0f / extents.plain().divisor()),
        in(arrays),
        positions(table),
        site(dropout),
        inputs(step_inputs) {
    const DisentangledPlaces places(extents);
    auto* const first = static_cast<float*>(scratch);
    diagonals = static_cast<const int32_t*>(scratch) + places.diagonals + length - 1;
    probabilities = first + places.probabilities;
    score_gradient = first + places.score_gradient;
    sums = first + places.sums;
  }

  ZERO_HOST_DEVICE int64_t width() const { return heads * head_width; }
  /// Returns the tokens of the sample.
  ZERO_HOST_DEVICE int64_t tokens() const {
    if (in.key_counts == nullptr) return length;
    const int64_t count = in.key_counts[sample];
    return count < 0 ? 0 : least(count, length);
  }
  /// Returns a head's elements of token i, in rows `stride` apart.
  ZERO_HOST_DEVICE int64_t at(int64_t head, int64_t i, int64_t stride) const {
    return (sample * length + i) * stride + head * head_width;
  }
  ZERO_HOST_DEVICE int64_t position_at(int64_t head, int64_t row) const {
    return row * width() + head * head_width;
  }
  ZERO_HOST_DEVICE int64_t score_at(int64_t head, int64_t i, int64_t j) const {
    return (head * length + i) * length + j;
  }
  ZERO_HOST_DEVICE float score(int64_t head, int64_t i, int64_t j) const {
    const T* const q = in.q + at(head, i, in.q_stride);
    const T* const k = in.k + at(head, j, in.kv_stride);
    const int64_t row = position_at(head, diagonals[i - j]);
    const T* const keys = positions.keys + row;
    const T* const queries = positions.queries + row;
    float content = 0.0f, place = 0.0f;
    for (int64_t c = 0; c < head_width; ++c) {
      content = std::fma(float(q[c]), float(k[c]), content);
      place = std::fma(float(q[c]), float(keys[c]), place);
      place = std::fma(float(k[c]), float(queries[c]), place);
    }
    return (content + place) * scale;
  }
  /// Returns the factor of a probability: 0, or 1 / (1 - p).
  ZERO_HOST_DEVICE float kept(int64_t head, int64_t i, int64_t j) const {
    if (site.probability == 0.0f) return 1.0f;
    const int64_t columns = round_up<int64_t>(length, 4);
    const int64_t element = (head * length + i) * columns + j;
    const int64_t global = inputs->first_sample + site.sample_offset + sample;
    const uint32_t word =
        dropout_words(inputs->seed, site.site, global, uint32_t(element / 4)).word[element % 4];
    return word >= dropout_threshold(site.probability) ? 1.0f / (1.0f - site.probability) : 0.0f;
  }
};

/// Adds up the rows by distance, in one row of a launch. A device's logarithm may differ from the
/// host's, so launches get the distances where buckets begin, some at a time, because a launch
/// takes few bytes.
struct FillDiagonals {
  static constexpr int64_t kStarts = 64;
  int64_t length, side, exact, first;
  int32_t* diagonals;
  bool begins, ends;  ///< the first launch of a call, and the last one
  int32_t count = 0;
  int32_t start[kStarts] = {};  ///< least distances of so many buckets

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t) const {
    int32_t* const to = diagonals;
    row.for_each(2 * length - 1, [&](int64_t i) {
      const int64_t distance = i - (length - 1), size = distance < 0 ? -distance : distance;
      int64_t bucket = begins ? least(size, exact) : to[i];
      for (int32_t s = 0; s < count && start[s] <= size; ++s) ++bucket;
      to[i] = int32_t(ends ? row_of(distance < 0 ? -bucket : bucket) : bucket);
    });
  }

 private:
  ZERO_HOST_DEVICE int64_t row_of(int64_t bucket) const {
    const int64_t row = side + bucket;
    return (row < 0 ? 0 : least(row, 2 * side - 1)) - first;
  }
};

/// The forward pass of query r % length of head r / length.
template <class T>
struct AttendText {
  TextSample<T> text;
  T* y;
  float* logsumexp;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t r) const {
    const TextSample<T>& of = text;
    const int64_t head = r / of.length, i = r % of.length, tokens = of.tokens();
    T* const to = y + of.at(head, i, of.width());
    float* const own_sum = logsumexp + (of.sample * of.heads) * of.length + r;
    if (i >= tokens) {
      row.for_each(of.head_width, [=](int64_t c) { to[c] = T(0.0f); });
      row.once([=] { *own_sum = 0.0f; });
      return;
    }
    float* const scores = of.probabilities + of.score_at(head, i, 0);
    row.for_each(tokens, [&](int64_t j) { scores[j] = of.score(head, i, j); });
    row.barrier();
    const float most = row.maximum(tokens, [=](int64_t j) { return scores[j]; });
    const float sum = row.template sum<float>(tokens, [&](int64_t j) {
      const float exponential = exp_f32(scores[j] - most);
      scores[j] = exponential * of.kept(head, i, j);
      return exponential;
    });
    row.barrier();
    row.for_each(of.head_width, [&](int64_t c) {
      float total = 0.0f;
      for (int64_t j = 0; j < tokens; ++j)
        total = std::fma(scores[j], float(of.in.v[of.at(head, j, of.in.kv_stride) + c]), total);
      to[c] = T(total / sum);
    });
    row.once([=] { *own_sum = most + log_f32(sum); });
  }
};

/// The probabilities and the gradient of scores of one query, and its own gradient.
template <class T>
struct QueryGradient {
  TextSample<T> text;
  DisentangledGradArrays<T> arrays;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t r) const {
    const TextSample<T>& of = text;
    const int64_t head = r / of.length, i = r % of.length, tokens = of.tokens();
    T* const dq = arrays.dq + of.at(head, i, of.in.q_stride);
    if (i >= tokens) {
      row.for_each(of.head_width, [=](int64_t c) { dq[c] = T(0.0f); });
      return;
    }
    const T* const dy = arrays.dy + of.at(head, i, of.width());
    const T* const y = arrays.y + of.at(head, i, of.width());
    const float mean = row.template sum<float>(
        of.head_width, [=](int64_t c) { return float(y[c]) * float(dy[c]); });
    const float logsumexp = arrays.logsumexp[of.sample * of.heads * of.length + r];
    float* const probabilities = of.probabilities + of.score_at(head, i, 0);
    float* const gradient = of.score_gradient + of.score_at(head, i, 0);
    row.for_each(tokens, [&](int64_t j) {
      const float p = exp_f32(of.score(head, i, j) - logsumexp), kept = of.kept(head, i, j);
      const T* const v = of.in.v + of.at(head, j, of.in.kv_stride);
      float dp = 0.0f;
      for (int64_t c = 0; c < of.head_width; ++c) dp = std::fma(float(dy[c]), float(v[c]), dp);
      probabilities[j] = p * kept;
      gradient[j] = p * (dp * kept - mean);
    });
    row.barrier();
    row.for_each(of.head_width, [&](int64_t c) {
      float sum = 0.0f;
      for (int64_t j = 0; j < tokens; ++j) {
        const float k = float(of.in.k[of.at(head, j, of.in.kv_stride) + c]);
        const float place = float(of.positions.keys[of.position_at(head, of.diagonals[i - j]) + c]);
        sum = std::fma(gradient[j], k + place, sum);
      }
      dq[c] = T(sum * of.scale);
    });
  }
};

/// The gradients of one key and value. REQUIRES: QueryGradient has run for the sample.
template <class T>
struct KeyGradient {
  TextSample<T> text;
  DisentangledGradArrays<T> arrays;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t r) const {
    const TextSample<T>& of = text;
    const int64_t head = r / of.length, j = r % of.length, tokens = of.tokens();
    T* const dk = arrays.dk + of.at(head, j, of.in.kv_stride);
    T* const dv = arrays.dv + of.at(head, j, of.in.kv_stride);
    const int64_t queries = j < tokens ? tokens : 0;
    row.for_each(of.head_width, [&](int64_t c) {
      float key = 0.0f, value = 0.0f;
      for (int64_t i = 0; i < queries; ++i) {
        const int64_t at = of.score_at(head, i, j);
        const float q = float(of.in.q[of.at(head, i, of.in.q_stride) + c]);
        const float place =
            float(of.positions.queries[of.position_at(head, of.diagonals[i - j]) + c]);
        key = std::fma(of.score_gradient[at], q + place, key);
        value =
            std::fma(of.probabilities[at], float(arrays.dy[of.at(head, i, of.width()) + c]), value);
      }
      dk[c] = T(key * of.scale);
      dv[c] = T(value);
    });
  }
};

/// Adds the sample's gradients of row r % rows of the table, for head r / rows. Its distances are
/// consecutive. The last sample rounds the sums.
template <class T>
struct PositionGradient {
  TextSample<T> text;
  PositionRows<T> dpositions;  ///< null before the last sample

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t r) const {
    const TextSample<T>& of = text;
    const int64_t head = r / of.rows, table_row = r % of.rows, tokens = of.tokens();
    const int64_t begin = first_distance(table_row), end = first_distance(table_row + 1);
    const int64_t at = of.position_at(head, table_row), numel = of.rows * of.width();
    row.for_each(of.head_width, [&](int64_t c) {
      float keys = of.sample == 0 ? 0.0f : of.sums[at + c];
      float queries = of.sample == 0 ? 0.0f : of.sums[numel + at + c];
      for (int64_t token = 0; token < tokens; ++token) {
        float by_query = 0.0f, by_key = 0.0f;
        for (int64_t distance = begin; distance < end; ++distance) {
          const int64_t key = token - distance, query = token + distance;
          if (key >= 0 && key < tokens)
            by_query += of.score_gradient[of.score_at(head, token, key)];
          if (query >= 0 && query < tokens)
            by_key += of.score_gradient[of.score_at(head, query, token)];
        }
        keys = std::fma(by_query, float(of.in.q[of.at(head, token, of.in.q_stride) + c]), keys);
        queries =
            std::fma(by_key, float(of.in.k[of.at(head, token, of.in.kv_stride) + c]), queries);
      }
      of.sums[at + c] = keys;
      of.sums[numel + at + c] = queries;
      if (dpositions.keys == nullptr) return;
      dpositions.keys[at + c] = T(keys * of.scale);
      dpositions.queries[at + c] = T(queries * of.scale);
    });
  }

 private:
  /// Returns the least distance that reads this or a later row.
  ZERO_HOST_DEVICE int64_t first_distance(int64_t table_row) const {
    int64_t low = 1 - text.length, high = text.length;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (text.diagonals[middle] >= table_row)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

/// Queues the rows by distance.
template <class T, class Launch>
void fill_diagonals(const DisentangledExtents& extents, const TextSample<T>& text,
                    const Launch& launch) {
  const DistanceTable& table = extents.table;
  const bool has_buckets = table.buckets > 0;
  FillDiagonals fill{.length = extents.length,
                     .side = table.side(),
                     .exact = has_buckets ? table.buckets / 2 : extents.length,
                     .first = distance_rows(table, extents.length).first,
                     .diagonals = const_cast<int32_t*>(text.diagonals) - (extents.length - 1),
                     .begins = true,
                     .ends = false};
  int64_t distance = fill.exact + 1;
  while (!fill.ends) {
    fill.count = 0;
    for (; distance < extents.length; ++distance) {
      const int64_t more = distance_bucket(table, distance) - distance_bucket(table, distance - 1);
      ZERO_REQUIRE(more <= FillDiagonals::kStarts, "a table of distances that skips ", more,
                   " rows: at most ", FillDiagonals::kStarts);
      if (fill.count + more > FillDiagonals::kStarts) break;
      for (int64_t s = 0; s < more; ++s) fill.start[fill.count++] = int32_t(distance);
    }
    fill.ends = distance >= extents.length;
    launch(1, fill);
    fill.begins = false;
  }
}

/// Queues the forward pass by launch(rows, functor).
template <class T, class Launch>
void attend_texts(const DisentangledExtents& extents, TextSample<T> text,
                  const DisentangledArrays<T>& arrays, const Launch& launch) {
  fill_diagonals(extents, text, launch);
  for (text.sample = 0; text.sample < extents.samples; ++text.sample)
    launch(extents.heads * extents.length, AttendText<T>{text, arrays.y, arrays.logsumexp});
}

/// Queues the gradient by launch(rows, functor).
template <class T, class Launch>
void attend_texts_backward(const DisentangledExtents& extents, TextSample<T> text,
                           const DisentangledGradArrays<T>& arrays, const Launch& launch) {
  fill_diagonals(extents, text, launch);
  for (text.sample = 0; text.sample < extents.samples; ++text.sample) {
    const bool is_last = text.sample + 1 == extents.samples;
    launch(extents.heads * extents.length, QueryGradient<T>{text, arrays});
    launch(extents.heads * extents.length, KeyGradient<T>{text, arrays});
    launch(extents.heads * extents.rows(),
           PositionGradient<T>{text, is_last ? arrays.dpositions : PositionRows<T>{}});
  }
}

}  // namespace zero::kernels::vendor
