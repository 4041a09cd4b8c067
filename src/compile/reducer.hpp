#pragma once

#include <vector>

#include "src/compile/body_writer.hpp"

namespace zero::plan {

/// What happens to a unit's gradients between the backward pass and the optimizer: buckets, local
/// sums, reduce-scatters, the binary counter of reproducible mode, the norm, the way to the host.
class Reducer {
 public:
  /// `loops`: the body becomes one with a loop, where a counter's ops say the number of their
  /// micro-batch and every pair has a carry; else each has the buffers that it needs.
  Reducer(BodyWriter& writer, bool loops);

  /// A bucket for the coming micro-batch's gradients of unit u, its gaps zeroed; returns the buffer
  /// that backward writes to.
  int32_t begin(int32_t u, int32_t micro);
  /// Where the gradients of unit u end up over micro-batches.
  int32_t sum(int32_t u) const { return sum_[size_t(u)]; }
  /// All gradients of unit u of this micro-batch are written.
  void finish(int32_t u, int32_t micro);
  /// After the body's last op: gives every reduction time until the next unit's bucket is full.
  void spread();

 private:
  int32_t make_sum(int32_t u);
  void clear_gaps(int32_t u);
  struct Range {
    int64_t begin, end;
  };
  std::vector<Range> ranges_to_sum(int32_t u);
  void sum_locally(int32_t u, int32_t micro);
  void reduce(int32_t u, int32_t from, const Operand& to, Dtype out, bool add);
  Operand group_sums(int32_t u, int64_t piece_numel);
  void leaf(int32_t u, int32_t to, bool add);
  void merge(int32_t u, int32_t from, int32_t to);
  void round_for_the_way(int32_t u);
  void gather_sum(int32_t u);
  void count(int32_t u, int32_t micro);
  void count_in_slots(int32_t u, int32_t micro);
  void make_slots(int32_t u);
  int32_t merge_leftovers(int32_t u);
  void finish_step(int32_t u);
  void send_to_host(int32_t u);
  int32_t counter_slot(int32_t u, bool takes_all, int32_t number);
  Lane lane() const;

  BodyWriter& writer_;
  const bool loops_;
  std::vector<int32_t> bucket_;                ///< [units]
  std::vector<int32_t> sum_;                   ///< [units] where the step's gradients end up
  std::vector<std::vector<int32_t>> counter_;  ///< [units][level] fp32 shard, -1: empty
  std::vector<bool> in_products_;              ///< [parameters] products add its gradient
  Slack slack_{0};                             ///< of each unit's reductions
};

}  // namespace zero::plan
