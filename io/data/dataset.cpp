#include "zero/io/data/dataset.hpp"

#include <utility>

#include "zero/base/error.hpp"

namespace zero {

Dataset::Dataset(std::vector<DataColumn> columns, int64_t samples,
                 std::optional<uint64_t> shuffle_seed)
    : columns_(std::move(columns)), samples_(samples) {
  ZERO_REQUIRE(columns_.size() <= kMostColumns, "samples of ", columns_.size(),
               " columns: at most ", kMostColumns);
  if (shuffle_seed) order_.emplace(*shuffle_seed, samples_);
}

void Dataset::read(int64_t position, ColumnSpans out) const {
  ZERO_REQUIRE(out.size() == columns_.size(), out.size(), " places for a sample of ",
               columns_.size(), " columns");
  for (size_t i = 0; i < out.size(); ++i) {
    ZERO_REQUIRE(int64_t(out[i].size()) == columns_[i].bytes(), out[i].size(), " bytes for the ",
                 columns_[i].bytes(), " of column ", columns_[i].name);
  }
  read_sample(sample_at(position), out);
}

int64_t Dataset::counted(int64_t position, int64_t count) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += counted_in(sample_at(position + i));
  return sum;
}

std::vector<ShownIds> Dataset::shown(int64_t position) const {
  std::vector<std::vector<std::byte>> columns;
  std::vector<std::span<std::byte>> spans;
  for (const DataColumn& column : columns_) columns.emplace_back(size_t(column.bytes()));
  for (std::vector<std::byte>& column : columns) spans.emplace_back(column);
  read(position, spans);
  std::vector<ShownIds> shown;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (columns_[i].dtype != Dtype::i32) continue;
    const std::span<int32_t> ids = values_in<int32_t>(spans[i]);
    shown.push_back({.name = columns_[i].name, .ids = {ids.begin(), ids.end()}});
  }
  return shown;
}

}  // namespace zero
