#include "io/data/encoded_text.hpp"

#include <algorithm>

#include "zero/base/digests.hpp"

namespace zero {
namespace {

std::string whole_text(const DataFile& file) {
  std::string text(size_t(file.bytes()), '\0');
  const std::span bytes(reinterpret_cast<uint8_t*>(text.data()), text.size());
  file.read(0, bytes);
  TextCheck check(file);
  check.add(bytes);
  check.finish();
  return text;
}

}  // namespace

EncodedText::EncodedText(const DataFile& file, const Tokenizer& tokenizer,
                         const std::string& advice)
    : vocab_size_(tokenizer.vocab_size()) {
  if (file.bytes() > kMostBytes) {
    refuse(Exit::kInput, file.path(), ": a text of ", file.bytes(), " bytes, but at most ",
           kMostBytes, " are encoded at the start of a run; ", advice);
  }
  const std::string text = whole_text(file);
  ids_ = tokenizer.encode(text);
  const uint32_t crc = crc32(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  // Multiplying by an odd number keeps every bit of the tokenizer's.
  fingerprint_ =
      (tokenizer.fingerprint() * 0x9E3779B97F4A7C15u) ^ (uint64_t(text.size()) << 32 | crc);
}

void EncodedText::read(int64_t first, std::span<int32_t> out) const {
  const int64_t count = int64_t(out.size());
  ZERO_REQUIRE(first >= 0 && count <= tokens() && first <= tokens() - count, "tokens ", first,
               " to ", first + count, " of ", tokens());
  std::copy_n(ids_.begin() + first, count, out.begin());
}

}  // namespace zero
