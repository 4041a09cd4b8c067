#pragma once
/// An operation that no file of the program knows: counts of a classifier's choices, on a host.

#include <string>

#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph::testing {

/// Counts of each class, side by side in the output of MoodCounts.
enum MoodCount : int { kHits, kChosen, kActual, kMoodCounts };

struct MoodCounts {
  template <class S>
  struct In {
    S x, table, moods;
  };
  template <class S>
  struct Out {
    S counts;
  };

  /// Returns the class whose row of the table has the largest product with `x`; the first of equal
  /// ones.
  template <class T>
  static int64_t choice(const T* x, const T* table, int64_t classes, int64_t width) {
    int64_t best = 0;
    float most = 0;
    for (int64_t c = 0; c < classes; ++c) {
      float score = 0;
      for (int64_t i = 0; i < width; ++i) score += float(x[i]) * float(table[c * width + i]);
      if (c == 0 || score > most) best = c, most = score;
    }
    return best;
  }

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    stream.wait();
    const Graph& graph = *call.graph;
    const Shape& rows = graph[inputs<MoodCounts>(*call.op).x].shape;
    const int64_t numel = graph[outputs<MoodCounts>(*call.op).counts].shape.numel();
    const auto in = inputs<MoodCounts>(call);
    const T *const x = in.x, *const table = in.table;
    const int32_t* const moods = in.moods;
    int64_t* const counts = outputs<MoodCounts>(call).counts;
    std::fill_n(counts, numel, 0);
    for (int64_t row = 0; row < rows[0]; ++row) {
      if (moods[row] < 0) continue;
      const int64_t chosen = choice(x + row * rows[1], table, numel / kMoodCounts, rows[1]);
      counts[chosen * kMoodCounts + kHits] += chosen == moods[row];
      ++counts[chosen * kMoodCounts + kChosen];
      ++counts[moods[row] * kMoodCounts + kActual];
    }
  }
};

inline const Operation kCountMoods{.name = "mood_counts", .call = call_typed<MoodCounts>};

struct CountedMoods {
  TensorId x, table, moods;
  int64_t classes;
};
/// Puts out [classes, kMoodCounts] under `name`, of the rows with a mood that is not -1.
inline void count_moods(GraphBuilder& out, const CountedMoods& of, const std::string& name) {
  const TensorId counts = out.output(name, Dtype::i64, {of.classes, int64_t(kMoodCounts)});
  out.add(make_op<MoodCounts>(kCountMoods, {.x = of.x, .table = of.table, .moods = of.moods},
                              {.counts = counts}));
}

}  // namespace zero::graph::testing
