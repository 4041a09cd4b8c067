#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/io/data/dataset.hpp"

namespace zero {

/// The columns of a sample of two texts, all of i32:
///   "source" [source_length]     ids of the source, then padding
///   "source_count" [1]           count of those that are no padding, 1 or more
///   "previous" [target_length]   the decoder's input before each target: the start id, then the
///                                targets but the last; then padding
///   "next" [target_length]       the targets, then kNotCounted
struct PairForm {
  int64_t source_length = 0, target_length = 0;
  int32_t pad = 0;    ///< id that fills up a source and the decoder's input
  int32_t end = 0;    ///< id that ends each source and target
  int32_t start = 0;  ///< id that a decoder reads first

  std::vector<DataColumn> columns() const;
  /// Returns the form with other lengths.
  PairForm of_lengths(const LengthPair& lengths) const;
  /// Returns "at most 128 + 64 tokens".
  std::string words() const;
};

/// A view of a sample's columns while they are filled.
class PairColumns {
 public:
  PairColumns(const PairForm& form, ColumnSpans columns)
      : form_(form),
        source_(values_in<int32_t>(columns[0])),
        count_(values_in<int32_t>(columns[1])[0]),
        previous_(values_in<int32_t>(columns[2])),
        next_(values_in<int32_t>(columns[3])) {}

  /// Returns the room for ids of the source, or of the targets, from the first on.
  std::span<int32_t> source() const { return source_; }
  std::span<int32_t> targets() const { return next_; }

  /// Fills the places after `sources` and `targets` ids, and the other two columns. A missing
  /// sample (0, 0) keeps one padded source token, so that attention has a key.
  void finish(int64_t sources, int64_t targets) const;

 private:
  const PairForm& form_;
  std::span<int32_t> source_;
  int32_t& count_;
  std::span<int32_t> previous_, next_;
};

/// A set of samples of two texts.
class PairDataset : public Dataset {
 public:
  std::string form() const override { return form_.words(); }
  /// Returns the ids without padding and without repeated ones.
  std::vector<ShownIds> shown(int64_t position) const override;

 protected:
  PairDataset(const PairForm& form, int64_t samples, std::optional<uint64_t> shuffle_seed)
      : Dataset(form.columns(), samples, shuffle_seed), form_(form) {}

  const PairForm form_;

 private:
  std::vector<DataColumn> columns_for(const LengthPair& lengths) const override {
    return form_.of_lengths(lengths).columns();
  }
};

}  // namespace zero
