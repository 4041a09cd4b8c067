#include "io/data/text_stretch.hpp"

#include <algorithm>
#include <optional>
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

constexpr std::string_view kLine = "a\n";

/// Returns the ids of a text behind a line; none if it joins that line.
std::optional<std::vector<int32_t>> ids_behind_line(const Tokenizer& tokenizer,
                                                    std::string_view text) {
  const std::vector<int32_t> line = tokenizer.encode(kLine);
  std::vector<int32_t> ids = tokenizer.encode(std::string(kLine).append(text));
  if (ids.size() < line.size() || !std::equal(line.begin(), line.end(), ids.begin())) return {};
  ids.erase(ids.begin(), ids.begin() + ptrdiff_t(line.size()));
  return ids;
}

/// Returns whether the right side stands behind a line, if the ids of a text are then those of its
/// two sides.
std::optional<bool> parted(const Tokenizer& tokenizer, std::string_view text, size_t cut) {
  const std::vector<int32_t> all = tokenizer.encode(text);
  const std::vector<int32_t> left = tokenizer.encode(text.substr(0, cut));
  const auto has_right = [&](const std::vector<int32_t>& right) {
    return all.size() == left.size() + right.size() &&
           std::equal(left.begin(), left.end(), all.begin()) &&
           std::equal(right.begin(), right.end(), all.begin() + ptrdiff_t(left.size()));
  };
  if (has_right(tokenizer.encode(text.substr(cut)))) return false;
  const auto behind = ids_behind_line(tokenizer, text.substr(cut));
  if (behind && has_right(*behind)) return true;
  return {};
}

}  // namespace

TextCut next_text_cut(const DataFile& file, const Tokenizer& tokenizer, int64_t from,
                      int64_t room) {
  const int64_t first = std::max<int64_t>(from - kSide, 0);
  const int64_t end = std::min(file.bytes(), from + room + kSide);
  if (from >= file.bytes()) return {.place = file.bytes()};
  const std::string text = read_text(file, first, end);
  size_t line = text.find('\n', size_t(from - first));
  for (int i = 0; i < kMostTrials && line != text.npos; ++i, line = text.find('\n', line + 1)) {
    const size_t cut = line + 1;
    if (first + int64_t(cut) >= file.bytes()) return {.place = file.bytes()};
    if (first + int64_t(cut) > from + room) break;
    size_t left = cut - std::min(cut, size_t(kSide));
    size_t right = std::min(text.size(), cut + size_t(kSide));
    while (left < cut && is_inside(text[left])) ++left;
    while (right > cut && right < text.size() && is_inside(text[right])) --right;
    const std::string_view around = std::string_view(text).substr(left, right - left);
    if (const auto is_behind_line = parted(tokenizer, around, cut - left))
      return {.place = first + int64_t(cut), .is_behind_line = *is_behind_line};
  }
  if (from + room >= file.bytes()) return {.place = file.bytes()};
  refuse(Exit::kInput, file.path(), ": offset ", from, ": no line that ends in the next ", room,
         " bytes parts the text without another id, so it cannot be encoded in parts; ",
         file.advice());
}

TextStretch::TextStretch(const DataFile& file, std::shared_ptr<const Tokenizer> tokenizer,
                         const TextCut& begin, int64_t end)
    : path_(file.path()),
      advice_(file.advice()),
      text_(read_text(file, begin.place, end)),
      begin_(begin),
      tokenizer_(std::move(tokenizer)) {
  TextCheck check(file, begin.place);
  check.add({reinterpret_cast<const uint8_t*>(text_.data()), text_.size()});
  check.finish();
}

int64_t TextStretch::add(int64_t, int64_t) {
  if (!begin_.is_behind_line) {
    ids_ = tokenizer_->encode(text_);
    return 0;
  }
  auto ids = ids_behind_line(*tokenizer_, text_);
  if (!ids) {
    refuse(Exit::kInput, path_, ": offset ", begin_.place, ": the text from here joins the line ",
           "before it, so it cannot be encoded in parts; ", advice_);
  }
  ids_ = std::move(*ids);
  return 0;
}

void TextStretch::read(int64_t first, std::span<int32_t> out) const {
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= int64_t(ids_.size()), "tokens ", first,
               " to ", first + int64_t(out.size()), " of ", ids_.size());
  std::copy_n(ids_.begin() + first, out.size(), out.begin());
}

std::string TextStretch::place(int64_t) const { return text(path_, ": offset ", begin_.place); }

uint64_t TextStretch::fingerprint() const {
  const uint64_t content = number_of(xxh3_of(std::as_bytes(std::span(text_))));
  // Multiplying by an odd number keeps every bit of the tokenizer's.
  return (tokenizer_->fingerprint() * 0x9E3779B97F4A7C15u) ^ content ^
         uint64_t(begin_.is_behind_line);
}

}  // namespace zero
