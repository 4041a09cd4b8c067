#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/data/token_source.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// A set of samples from a range of a source: disjoint windows of sequence_length + 1 tokens, each
/// predicting its last sequence_length tokens. Columns: "tokens" [T] and "targets" [T], of i32. A
/// missing token is 0 with target kNotCounted. Views the source, which must outlive it.
class TokenWindows : public Dataset {
 public:
  struct Options {
    int64_t first_token = 0;
    int64_t tokens = 0;           ///< tokens of the range
    int64_t sequence_length = 0;  ///< T
    int64_t max_samples = 0;      ///< first n samples; 0 = all
    bool keep_tail = false;       ///< also take a shorter last window of 2 tokens or more
    std::optional<uint64_t> shuffle_seed = {};  ///< none: in the order of the source, once
  };
  TokenWindows(const TokenSource& source, const Options& options);

  static std::vector<DataColumn> columns_of(int64_t sequence_length);

  std::string form() const override;
  /// Returns all T + 1 tokens of the window.
  std::vector<ShownIds> shown(int64_t position) const override;

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;
  int64_t length_of(int64_t sample) const;

  const TokenSource* source_;
  Options options_;
};

}  // namespace zero
