#include "io/data/span_corruption.hpp"

#include <algorithm>
#include <cmath>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr uint64_t kStream = 0x5350414E4E4F4953;  // keeps these numbers apart from other uses

int64_t count_samples(const CorruptedSpans::Options& options) {
  const int64_t window = longest_window(options.form, options.noise);
  ZERO_REQUIRE(window >= 2, "no window of 2 tokens fits ", options.form.words());
  int64_t samples = options.tokens / window;
  if (options.keep_tail && options.tokens % window >= 2) ++samples;
  if (options.max_samples > 0) samples = std::min(samples, options.max_samples);
  ZERO_REQUIRE(samples >= 1, options.tokens, " tokens hold no window of ", window);
  return samples;
}

}  // namespace

SpanCounts span_counts(int64_t tokens, const SpanNoise& noise) {
  ZERO_REQUIRE(tokens >= 2, "spans of ", tokens, " tokens");
  const double wanted = std::nearbyint(double(tokens) * noise.density);
  SpanCounts counts;
  counts.noise = std::clamp<int64_t>(int64_t(wanted), 1, tokens - 1);
  counts.kept = tokens - counts.noise;
  const double spans = std::nearbyint(double(counts.noise) / noise.mean_span);
  counts.spans = std::clamp<int64_t>(int64_t(spans), 1, std::min(counts.noise, counts.kept));
  return counts;
}

int64_t longest_window(const PairForm& form, const SpanNoise& noise) {
  for (int64_t tokens = form.source_length + form.target_length; tokens >= 2; --tokens) {
    const SpanCounts counts = span_counts(tokens, noise);
    if (counts.source() <= form.source_length && counts.targets() <= form.target_length) {
      return tokens;
    }
  }
  return 0;
}

uint32_t RandomRuns::draw() {
  const PhiloxBlock block =
      philox({{uint32_t(place_), uint32_t(place_ >> 32), draws_ / 4, stream_}}, seed_ ^ kStream);
  return block.word[draws_++ % 4];
}

/// Returns the length of the next run. Each border in turn is a cut with probability cuts_ /
/// borders_, so choices are equally likely (Knuth, The Art of Computer Programming 2, 3.4.2, S).
int64_t RandomRuns::next() {
  int64_t length = 1;
  while (borders_ > 0) {
    const bool is_cut = int64_t(uint64_t(draw()) * uint64_t(borders_) >> 32) < cuts_;
    --borders_;
    if (is_cut) {
      --cuts_;
      return length;
    }
    ++length;
  }
  return length;
}

CorruptedSpans::CorruptedSpans(const TokenSource& source, const Options& options)
    : PairDataset(options.form, count_samples(options), options.shuffle_seed),
      source_(source),
      options_(options),
      window_(longest_window(options.form, options.noise)) {
  ZERO_REQUIRE(options.first_token >= 0 && options.first_token + options.tokens <= source.tokens(),
               "a data set of ", options.tokens, " tokens from ", options.first_token, " of ",
               source.tokens());
}

std::string CorruptedSpans::form() const {
  const SpanCounts counts = span_counts(window_, options_.noise);
  return text(window_, " tokens of text, ", counts.noise, " of them in ",
              zero::counted(counts.spans, "span"), " to be found again");
}

/// Returns the count of text tokens in a sample; 0 after the end.
int64_t CorruptedSpans::length_of(int64_t sample) const {
  if (sample >= samples()) return 0;
  return std::min(window_, options_.tokens - sample * window_);
}

void CorruptedSpans::read_sample(int64_t sample, ColumnSpans out) const {
  const PairColumns columns(options_.form, out);
  const int64_t tokens = length_of(sample);
  if (tokens == 0) return columns.finish(0, 0);
  const SpanCounts counts = span_counts(tokens, options_.noise);
  int64_t at = options_.first_token + sample * window_;
  RandomRuns kept(counts.kept, counts.spans, options_.noise.seed, at, 0);
  RandomRuns noise(counts.noise, counts.spans, options_.noise.seed, at, 1);
  size_t sources = 0, targets = 0;
  const auto take = [&](std::span<int32_t> ids, size_t& place, int64_t count) {
    source_.read(at, ids.subspan(place, size_t(count)));
    at += count;
    place += size_t(count);
  };
  int32_t sentinel = options_.noise.first_sentinel;
  for (int64_t span = 0; span < counts.spans; ++span, --sentinel) {
    take(columns.source(), sources, kept.next());
    columns.source()[sources++] = columns.targets()[targets++] = sentinel;
    take(columns.targets(), targets, noise.next());
  }
  columns.targets()[targets++] = sentinel;
  columns.source()[sources++] = columns.targets()[targets++] = options_.form.end;
  columns.finish(int64_t(sources), int64_t(targets));
}

LengthPair CorruptedSpans::lengths(int64_t sample) const {
  const SpanCounts counts = span_counts(length_of(sample), options_.noise);
  return {counts.source(), counts.targets()};
}

int64_t CorruptedSpans::counted_in(int64_t sample) const {
  const int64_t tokens = length_of(sample);
  return tokens == 0 ? 0 : span_counts(tokens, options_.noise).targets();
}

}  // namespace zero
