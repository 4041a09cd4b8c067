#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/io/data/sample_order.hpp"

namespace zero {

/// A part of every sample: what the input of this name takes of it.
struct DataColumn {
  std::string name;
  Dtype dtype = Dtype::i32;
  int64_t numel = 0;  ///< of a sample

  int64_t bytes() const { return numel * int64_t(bytes_of(dtype)); }
  bool operator==(const DataColumn&) const = default;
};

/// Where a sample's columns go on the host: bytes() of each, in their order.
using ColumnSpans = std::span<const std::span<std::byte>>;

template <class T>
std::span<T> values_in(std::span<std::byte> column) {
  return {reinterpret_cast<T*>(column.data()), column.size() / sizeof(T)};
}

/// Ids of a sample as people want to see them.
struct ShownIds {
  std::string name;
  std::vector<int32_t> ids;
  bool is_text = false;  ///< a tokenizer says what they are
};

/// Samples of one form, each a few columns. A kind of data says what a sample holds; which one
/// stands where is the same for all.
class Dataset {
 public:
  static constexpr int32_t kNotCounted = -1;  ///< a target that the loss leaves out
  static constexpr size_t kMostColumns = 16;

  virtual ~Dataset() = default;

  const std::vector<DataColumn>& columns() const { return columns_; }
  int64_t samples() const { return samples_; }

  /// The sample that stands at a position, counted in the order of the source.
  int64_t sample_at(int64_t position) const { return order_ ? order_->sample(position) : position; }

  /// The sample at a position, which is the count of samples consumed before it by all ranks.
  /// Shuffled sets repeat for ever, one permutation an epoch; others have nothing that counts after
  /// their end, so that ranks may read equally many. Allocates nothing; throws as its source.
  void read(int64_t position, ColumnSpans out) const;

  /// How many targets count in `count` samples from `position` on: the divisor of a step's loss,
  /// which every rank computes for all ranks without reading data.
  int64_t counted(int64_t position, int64_t count) const;

  /// What a sample has, for people: "32 + 1 tokens".
  virtual std::string form() const = 0;
  /// Ids of the sample at a position; by default all columns of them.
  virtual std::vector<ShownIds> shown(int64_t position) const;

 protected:
  /// `shuffle_seed`: none: in the order of the source, once.
  Dataset(std::vector<DataColumn> columns, int64_t samples, std::optional<uint64_t> shuffle_seed);

 private:
  /// Fills the columns of a sample; with nothing that counts where there is none, from samples()
  /// on.
  virtual void read_sample(int64_t sample, ColumnSpans out) const = 0;
  virtual int64_t counted_in(int64_t sample) const = 0;

  std::vector<DataColumn> columns_;
  int64_t samples_;
  std::optional<SampleOrder> order_;
};

}  // namespace zero
