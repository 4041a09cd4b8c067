#include "io/data/token_windows.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero {
namespace {

int64_t count_samples(const TokenSource& source, const TokenWindows::Options& options) {
  const int64_t window = options.sequence_length + 1;
  ZERO_REQUIRE(options.sequence_length >= 1 && options.first_token >= 0 &&
                   options.first_token + options.tokens <= source.tokens(),
               "a data set of ", options.tokens, " tokens from ", options.first_token, " of ",
               source.tokens(), " in windows of ", window);
  int64_t samples = options.tokens / window;
  if (options.keep_tail && options.tokens % window >= 2) ++samples;
  if (options.max_samples > 0) samples = std::min(samples, options.max_samples);
  ZERO_REQUIRE(samples >= 1, options.tokens, " tokens hold no window of ", window);
  return samples;
}

}  // namespace

TokenWindows::TokenWindows(const TokenSource& source, const Options& options)
    : Dataset(columns_of(options.sequence_length), count_samples(source, options),
              options.shuffle_seed),
      source_(&source),
      options_(options) {}

std::vector<DataColumn> TokenWindows::columns_of(int64_t sequence_length) {
  return {{.name = "tokens", .dtype = Dtype::i32, .numel = sequence_length},
          {.name = "targets", .dtype = Dtype::i32, .numel = sequence_length}};
}

std::string TokenWindows::form() const { return text(options_.sequence_length, " + 1 tokens"); }

std::vector<ShownIds> TokenWindows::shown(int64_t position) const {
  std::vector<ShownIds> columns = Dataset::shown(position);
  columns[0].ids.push_back(columns[1].ids.back());
  columns[0].is_text = true;
  columns.pop_back();
  return columns;
}

/// Tokens of a sample, at most sequence_length + 1; 0 of one after the end.
int64_t TokenWindows::length_of(int64_t sample) const {
  if (sample >= samples()) return 0;
  const int64_t window = options_.sequence_length + 1;
  return std::min(window, options_.tokens - sample * window);
}

void TokenWindows::read_sample(int64_t sample, ColumnSpans out) const {
  const auto tokens = values_in<int32_t>(out[0]), targets = values_in<int32_t>(out[1]);
  const int64_t length = length_of(sample);
  const size_t inputs = size_t(std::max<int64_t>(length - 1, 0));
  if (inputs > 0) {
    const int64_t first = options_.first_token + sample * (options_.sequence_length + 1);
    source_->read(first, tokens.first(inputs));
    std::copy_n(tokens.begin() + 1, inputs - 1, targets.begin());
    source_->read(first + length - 1, targets.subspan(inputs - 1, 1));
  }
  std::fill(tokens.begin() + ptrdiff_t(inputs), tokens.end(), 0);
  std::fill(targets.begin() + ptrdiff_t(inputs), targets.end(), kNotCounted);
}

int64_t TokenWindows::counted_in(int64_t sample) const {
  return std::max<int64_t>(length_of(sample) - 1, 0);
}

}  // namespace zero
