#include "zero/io/data/token_windows.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero {

TokenWindows::TokenWindows(const TokenSource& source, const Options& options)
    : source_(&source), options_(options) {
  const int64_t window = options.sequence_length + 1, tail = options.tokens % window;
  ZERO_REQUIRE(options.sequence_length >= 1 && options.first_token >= 0 &&
                   options.first_token + options.tokens <= source.tokens(),
               "a data set of ", options.tokens, " tokens from ", options.first_token, " of ",
               source.tokens(), " in windows of ", window);
  samples_ = options.tokens / window + (options.keep_tail && tail >= 2);
  if (options.max_samples > 0) samples_ = std::min(samples_, options.max_samples);
  ZERO_REQUIRE(samples_ >= 1, options.tokens, " tokens hold no window of ", window);
  if (options.shuffle_seed) order_.emplace(*options.shuffle_seed, samples_);
}

int64_t TokenWindows::sample_at(int64_t position) const {
  return order_ ? order_->sample(position) : position;
}

/// Tokens of a sample, at most sequence_length + 1; 0 of one after the end.
int64_t TokenWindows::length_of(int64_t sample) const {
  if (sample >= samples_) return 0;
  const int64_t window = options_.sequence_length + 1;
  return std::min(window, options_.tokens - sample * window);
}

void TokenWindows::read(int64_t position, std::span<int32_t> tokens,
                        std::span<int32_t> targets) const {
  const size_t width = size_t(options_.sequence_length);
  ZERO_REQUIRE(tokens.size() == width && targets.size() == width, tokens.size(), " tokens and ",
               targets.size(), " targets for a sequence of ", width);
  const int64_t sample = sample_at(position), length = length_of(sample);
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

int64_t TokenWindows::counted(int64_t position, int64_t count) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::max<int64_t>(length_of(sample_at(position + i)) - 1, 0);
  }
  return sum;
}

}  // namespace zero
