#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/shape.hpp"

namespace zero {

/// A part of every sample, which fills the model's input of this name.
struct DataColumn {
  std::string name;
  Dtype dtype = Dtype::i32;
  int64_t numel = 0;  ///< elements in a sample

  int64_t bytes() const { return numel * int64_t(bytes_of(dtype)); }
  bool operator==(const DataColumn&) const = default;
};

/// The host memory for a sample: bytes() for each column, in their order.
using ColumnSpans = std::span<const std::span<std::byte>>;

/// Returns a view of the bytes of a sample's column as elements of type T.
template <class T>
std::span<T> values_in(std::span<std::byte> column) {
  return {reinterpret_cast<T*>(column.data()), column.size() / sizeof(T)};
}

/// The ids of a sample to show to people.
struct ShownIds {
  std::string name;
  std::vector<int32_t> ids;
  bool is_text = false;    ///< true if a tokenizer can decode them
  std::string words = {};  ///< shown in place of ids
};

class BucketOrder;
class SampleOrder;

/// A set of samples, each of a few columns. A derived class defines their content, this class their
/// order.
class Dataset {
 public:
  static constexpr int32_t kNotCounted = -1;  ///< a target that the loss leaves out
  static constexpr size_t kMostColumns = 16;

  virtual ~Dataset();

  /// Returns the columns of the longest form, the only one until group() adds others.
  const std::vector<DataColumn>& columns() const { return columns_.back(); }
  int64_t samples() const { return samples_; }

  /// Sets the forms of micro-batches: samples padded to a pair of lengths, or to one. Orders the
  /// samples so that most micro-batches, `micro` samples from a multiple of `micro` on, have one
  /// form (buckets.hpp). REQUIRES: each pair covers the one before it, and the last is as long as
  /// samples may be. Throws Error(kInternal) if all samples are equally long.
  void group(const std::vector<LengthPair>& pairs, int64_t micro);
  /// Returns the pairs given to group().
  const std::vector<LengthPair>& form_lengths() const { return pairs_; }
  /// Returns the index in form_lengths() of the form for `count` samples from a position on: the
  /// first whose lengths cover them all. Returns 0 for ungrouped samples.
  size_t form_of(int64_t position, int64_t count) const;
  /// Returns the columns of samples in a form, by its index in form_lengths().
  const std::vector<DataColumn>& columns_of(size_t form) const { return columns_[form]; }
  /// Returns the token counts of a sample's texts without padding, or zeros if all samples are as
  /// long. The argument is the sample's index in the source.
  virtual LengthPair lengths(int64_t) const { return {}; }

  /// Returns the sample at a position as its index in the source.
  int64_t sample_at(int64_t position) const;

  /// Reads the columns of the sample at a position into `out`. A position is the count of samples
  /// that all ranks consumed before it. Shuffled sets repeat for ever, one permutation an epoch.
  /// After the end of other sets nothing counts, so that ranks may read equally many. Allocates
  /// nothing; throws as its source.
  void read(int64_t position, ColumnSpans out) const { read(position, columns_.size() - 1, out); }
  /// Reads the sample as above, padded to `form`, the index of a form that covers it.
  void read(int64_t position, size_t form, ColumnSpans out) const;

  /// Returns the number of counted targets in `count` samples from `position` on. It divides a
  /// step's loss; every rank computes it for all ranks without reading data.
  int64_t counted(int64_t position, int64_t count) const;

  /// Returns the label of the sample at a position: a class or a real number. NaN without one.
  virtual double label(int64_t position) const;

  /// Returns a description of a sample for people: "32 + 1 tokens".
  virtual std::string form() const = 0;
  /// Returns the ids of the sample at a position; by default all i32 columns.
  virtual std::vector<ShownIds> shown(int64_t position) const;
  /// Returns the target text at a position as its file has it, including what was cut from its
  /// tokens. Returns none if samples are not pairs of texts. Reads the file; throws as
  /// DataSource::fingerprint.
  virtual std::optional<std::string> target_text(int64_t position) const;

 protected:
  /// Takes a count of samples of these columns. Without `shuffle_seed`, they come once, in the
  /// order of the source.
  Dataset(std::vector<DataColumn> columns, int64_t samples, std::optional<uint64_t> shuffle_seed);
  /// Takes a count of samples of these columns. The sample at any position has the index
  /// order(position), for ever.
  Dataset(std::vector<DataColumn> columns, int64_t samples,
          std::function<int64_t(int64_t position)> order);

 private:
  /// Fills the columns `out` with the sample of index `sample`. From samples() on, fills them with
  /// nothing that counts.
  virtual void read_sample(int64_t sample, ColumnSpans out) const = 0;
  virtual int64_t counted_in(int64_t sample) const = 0;
  /// Returns the columns of samples padded to these lengths; none if all are equally long.
  virtual std::vector<DataColumn> columns_for(const LengthPair&) const { return {}; }

  std::vector<std::vector<DataColumn>> columns_;  ///< [forms]
  int64_t samples_;
  std::optional<uint64_t> seed_;
  std::unique_ptr<const SampleOrder> order_;
  std::function<int64_t(int64_t position)> own_order_ = nullptr;
  std::vector<LengthPair> pairs_;
  std::unique_ptr<const BucketOrder> grouped_;
};

/// Returns at most `most` pairs of lengths that pad the samples of `data` to the fewest tokens. The
/// last is `longest`, which covers all. See buckets.hpp.
std::vector<LengthPair> choose_form_lengths(const Dataset& data, const LengthPair& longest,
                                            int64_t most);

/// The padding of a grouped set by its pairs of lengths, over the micro-batches of its first epoch.
struct PaddingReport {
  std::vector<double> shares = {};  ///< [pairs] share of the samples
  double padding = 0;               ///< share of the processed tokens
  double padding_of_longest = 0;    ///< share if all samples were padded to the last pair
};
/// Returns the padding of `data`, a grouped set, in micro-batches of `micro` samples.
PaddingReport padding_of(const Dataset& data, int64_t micro);

}  // namespace zero
