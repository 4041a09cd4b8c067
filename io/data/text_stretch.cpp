#include "io/data/text_stretch.hpp"

#include <algorithm>
#include <utility>

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr int64_t kSide = 1 << 12;    // bytes on either side of a cut that are tried
constexpr int kMostTrials = 64;       // ends of lines that are tried
constexpr uint8_t kContinues = 0x80;  // the upper two bits of a byte inside a UTF-8 character

std::string read_text(const DataFile& file, int64_t begin, int64_t end) {
  std::string text(size_t(end - begin), '\0');
  file.read(begin, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  return text;
}

bool is_inside(char byte) { return (uint8_t(byte) & 0xC0) == kContinues; }

/// True if the ids of a text are those of its two sides.
bool parts(const Tokenizer& tokenizer, std::string_view text, size_t cut) {
  std::vector<int32_t> apart = tokenizer.encode(text.substr(0, cut));
  const std::vector<int32_t> right = tokenizer.encode(text.substr(cut));
  apart.insert(apart.end(), right.begin(), right.end());
  return tokenizer.encode(text) == apart;
}

}  // namespace

int64_t next_text_cut(const DataFile& file, const Tokenizer& tokenizer, int64_t from,
                      int64_t room) {
  const int64_t first = std::max<int64_t>(from - kSide, 0);
  const int64_t end = std::min(file.bytes(), from + room + kSide);
  if (from >= file.bytes()) return file.bytes();
  const std::string text = read_text(file, first, end);
  size_t line = text.find('\n', size_t(from - first));
  for (int i = 0; i < kMostTrials && line != text.npos; ++i, line = text.find('\n', line + 1)) {
    const size_t cut = line + 1;
    if (first + int64_t(cut) >= file.bytes()) return file.bytes();
    if (first + int64_t(cut) > from + room) break;
    size_t left = cut - std::min(cut, size_t(kSide));
    size_t right = std::min(text.size(), cut + size_t(kSide));
    while (left < cut && is_inside(text[left])) ++left;
    while (right > cut && right < text.size() && is_inside(text[right])) --right;
    const std::string_view around = std::string_view(text).substr(left, right - left);
    if (parts(tokenizer, around, cut - left)) return first + int64_t(cut);
  }
  if (from + room >= file.bytes()) return file.bytes();
  refuse(Exit::kInput, file.path(), ": offset ", from, ": no line that ends in the next ", room,
         " bytes parts the text without another id, so it cannot be encoded in parts; ",
         file.advice());
}

TextStretch::TextStretch(const DataFile& file, std::shared_ptr<const Tokenizer> tokenizer,
                         int64_t begin, int64_t end)
    : path_(file.path()),
      text_(read_text(file, begin, end)),
      first_byte_(begin),
      tokenizer_(std::move(tokenizer)) {
  TextCheck check(file, begin);
  check.add({reinterpret_cast<const uint8_t*>(text_.data()), text_.size()});
  check.finish();
}

int64_t TextStretch::add(int64_t, int64_t) {
  ids_ = tokenizer_->encode(text_);
  return 0;
}

void TextStretch::read(int64_t first, std::span<int32_t> out) const {
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= int64_t(ids_.size()), "tokens ", first,
               " to ", first + int64_t(out.size()), " of ", ids_.size());
  std::copy_n(ids_.begin() + first, out.size(), out.begin());
}

std::string TextStretch::place(int64_t) const { return text(path_, ": offset ", first_byte_); }

uint64_t TextStretch::fingerprint() const {
  const uint64_t content = number_of(xxh3_of(std::as_bytes(std::span(text_))));
  // Multiplying by an odd number keeps every bit of the tokenizer's.
  return (tokenizer_->fingerprint() * 0x9E3779B97F4A7C15u) ^ content;
}

}  // namespace zero
