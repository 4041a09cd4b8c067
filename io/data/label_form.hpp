#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/io/data/dataset.hpp"

namespace zero {

/// The columns of a sample of one or two texts with a label:
///   "tokens" [length], i32    cls, the ids of the first text, sep; then those of the second, sep;
///                             then padding
///   "token_count" [1], i32    count of those that are no padding, 1 or more
///   "labels" [1]              i32 class or kNotCounted; of real labels fp32, or NaN
struct LabelForm {
  int64_t length = 0;
  int32_t pad = 0, cls = 0, sep = 0;
  bool is_real = false;

  std::vector<DataColumn> columns() const;
  /// Returns "at most 128 tokens and a label".
  std::string words() const;
  /// Returns the special ids of a sample.
  static int64_t special_ids(size_t texts) { return int64_t(texts) + 1; }
};

/// Returns the tokens that two texts of these lengths keep if both together have `most`. The longer
/// one is cut first, down to the shorter one, then both to halves of `most`. A tie gives the first
/// text the smaller half. This is the rule "longest_first" of the package `tokenizers`.
LengthPair longest_first(const LengthPair& lengths, int64_t most);

/// A set of labelled samples.
class LabelDataset : public Dataset {
 public:
  std::string form() const override { return form_.words(); }
  /// Returns the tokens without padding, and the label in words.
  std::vector<ShownIds> shown(int64_t position) const override;
  double label(int64_t position) const override;

 protected:
  /// `classes` are the names of classes, empty for real labels.
  LabelDataset(const LabelForm& form, std::vector<std::string> classes, int64_t samples,
               std::optional<uint64_t> shuffle_seed);

  const LabelForm form_;

 private:
  /// Copies the ids of a sample and returns their count.
  virtual int64_t copy_ids(int64_t sample, std::span<int32_t> out) const = 0;
  /// Returns the class or the real number of a sample.
  virtual double label_of(int64_t sample) const = 0;

  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override { return sample < samples() ? 1 : 0; }
  std::vector<DataColumn> columns_for(const LengthPair& lengths) const override;

  std::vector<std::string> classes_;
};

}  // namespace zero
