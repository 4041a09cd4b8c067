#include "io/data/synthetic.hpp"

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero {
namespace {

constexpr uint64_t kStream =
    0x53594E5448455449;  // keeps these numbers apart from other uses of seed

}  // namespace

SyntheticTokens::SyntheticTokens(uint64_t seed, int64_t tokens, int64_t vocab_size)
    : seed_(seed), tokens_(tokens), vocab_size_(vocab_size) {
  ZERO_REQUIRE(tokens >= 1 && vocab_size >= 1, tokens, " tokens of a vocabulary of ", vocab_size);
}

void SyntheticTokens::read(int64_t first, std::span<int32_t> out) const {
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= tokens_, "tokens ", first, " to ",
               first + int64_t(out.size()), " of ", tokens_);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t position = uint64_t(first) + i, block = position / 4;
    const PhiloxBlock random =
        philox({{uint32_t(block), uint32_t(block >> 32), 0, 0}}, seed_ ^ kStream);
    // The high half of the product maps 32 random bits to 0 .. vocab_size - 1.
    out[i] = int32_t((uint64_t(random.word[position % 4]) * uint64_t(vocab_size_)) >> 32);
  }
}

uint64_t SyntheticTokens::fingerprint() const {
  const PhiloxBlock mixed =
      philox({{uint32_t(tokens_), uint32_t(uint64_t(tokens_) >> 32), uint32_t(vocab_size_), 1}},
             seed_ ^ kStream);
  return uint64_t(mixed.word[0]) << 32 | mixed.word[1];
}

}  // namespace zero
