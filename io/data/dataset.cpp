#include "zero/io/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/data/buckets.hpp"
#include "io/data/sample_order.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

void require_few(const std::vector<DataColumn>& columns) {
  ZERO_REQUIRE(columns.size() <= Dataset::kMostColumns, "samples of ", columns.size(),
               " columns: at most ", Dataset::kMostColumns);
}

}  // namespace

Dataset::Dataset(std::vector<DataColumn> columns, int64_t samples,
                 std::optional<uint64_t> shuffle_seed)
    : columns_({std::move(columns)}), samples_(samples), seed_(shuffle_seed) {
  require_few(columns_.back());
  if (shuffle_seed) order_ = std::make_unique<SampleOrder>(*shuffle_seed, samples_);
}

Dataset::Dataset(std::vector<DataColumn> columns, int64_t samples,
                 std::function<int64_t(int64_t position)> order)
    : columns_({std::move(columns)}), samples_(samples), own_order_(std::move(order)) {
  require_few(columns_.back());
}

Dataset::~Dataset() = default;

void Dataset::group(const std::vector<LengthPair>& pairs, int64_t micro) {
  ZERO_REQUIRE(!pairs.empty() && pairs.size() < 256, pairs.size(), " pairs of lengths");
  std::vector<std::vector<DataColumn>> columns;
  for (const LengthPair& pair : pairs) columns.push_back(columns_for(pair));
  ZERO_REQUIRE(columns.back() == columns_.back(), "samples of pairs have ", columns_.back().size(),
               " columns: the last pair of lengths is another than theirs");
  columns_ = std::move(columns);
  pairs_ = pairs;
  std::vector<uint8_t> buckets;
  for (int64_t i = 0; i < samples_; ++i) buckets.push_back(uint8_t(pair_of(pairs_, lengths(i))));
  grouped_ = std::make_unique<BucketOrder>(buckets, micro, seed_);
}

/// A set without a shuffle ends.
int64_t Dataset::sample_at(int64_t position) const {
  if (own_order_) return own_order_(position);
  const bool is_there = seed_ || position < samples_;
  if (grouped_) return is_there ? grouped_->sample(position) : position;
  return order_ ? order_->sample(position) : position;
}

size_t Dataset::form_of(int64_t position, int64_t count) const {
  int64_t form = 0;
  for (int64_t i = 0; i < count && !pairs_.empty(); ++i) {
    const int64_t sample = sample_at(position + i);
    if (sample < samples_) form = std::max(form, pair_of(pairs_, lengths(sample)));
  }
  return size_t(form);
}

void Dataset::read(int64_t position, size_t form, ColumnSpans out) const {
  const std::vector<DataColumn>& columns = columns_of(form);
  ZERO_REQUIRE(out.size() == columns.size(), out.size(), " places for a sample of ", columns.size(),
               " columns");
  for (size_t i = 0; i < out.size(); ++i) {
    ZERO_REQUIRE(int64_t(out[i].size()) == columns[i].bytes(), out[i].size(), " bytes for the ",
                 columns[i].bytes(), " of column ", columns[i].name);
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
  for (const DataColumn& column : this->columns()) columns.emplace_back(size_t(column.bytes()));
  for (std::vector<std::byte>& column : columns) spans.emplace_back(column);
  read(position, spans);
  std::vector<ShownIds> shown;
  for (size_t i = 0; i < spans.size(); ++i) {
    const DataColumn& column = this->columns()[i];
    if (column.dtype != Dtype::i32) continue;
    const std::span<int32_t> ids = values_in<int32_t>(spans[i]);
    shown.push_back({.name = column.name, .ids = {ids.begin(), ids.end()}});
  }
  return shown;
}

double Dataset::label(int64_t) const { return std::nan(""); }

std::optional<std::string> Dataset::target_text(int64_t) const { return std::nullopt; }

std::vector<LengthPair> choose_form_lengths(const Dataset& data, const LengthPair& longest,
                                            int64_t most) {
  LengthHistogram histogram(longest, kLengthUnit);
  for (int64_t i = 0; i < data.samples(); ++i) histogram.add(data.lengths(i));
  return choose_form_lengths(histogram, most);
}

PaddingReport padding_of(const Dataset& data, int64_t micro) {
  const std::vector<LengthPair>& pairs = data.form_lengths();
  PaddingReport report{.shares = std::vector<double>(pairs.size())};
  double real = 0, padded = 0;
  for (int64_t first = 0; first < data.samples(); first += micro) {
    const int64_t count = std::min(micro, data.samples() - first);
    const size_t form = data.form_of(first, count);
    padded += double(count * pairs[form].tokens());
    report.shares[form] += double(count) / double(data.samples());
    for (int64_t i = first; i < first + count; ++i) {
      real += double(data.lengths(data.sample_at(i)).tokens());
    }
  }
  report.padding = 1 - real / padded;
  report.padding_of_longest = 1 - real / double(data.samples() * pairs.back().tokens());
  return report;
}

}  // namespace zero
