#include <charconv>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/batch.hpp"

namespace zero {
namespace {

const char* const kKey = "data.length_buckets";

[[noreturn]] void refuse_word(const std::string& word, const LengthPair& longest) {
  const LengthPair half{.source = std::max<int64_t>(1, longest.source / 2),
                        .target = std::max<int64_t>(1, longest.target / 2)};
  refuse_settings({kKey}, "\"", word, "\" is no list of pairs of lengths; write \"none\", ",
                  "\"auto\", or sources by targets, as \"", to_text({half, longest}), "\"");
}

bool read_number(std::string_view& rest, int64_t& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 1) return false;
  rest.remove_prefix(size_t(end - rest.data()));
  return true;
}

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

bool read_pair(std::string_view& rest, LengthPair& pair) {
  return read_number(rest, pair.source) && take(rest, "x") && read_number(rest, pair.target);
}

std::vector<LengthPair> pairs_in(const std::string& word, const LengthPair& longest) {
  std::vector<LengthPair> pairs;
  for (std::string_view rest = word;;) {
    LengthPair pair;
    if (!read_pair(rest, pair)) refuse_word(word, longest);
    pairs.push_back(pair);
    if (rest.empty()) return pairs;
    if (!take(rest, ", ") && !take(rest, ",")) refuse_word(word, longest);
  }
}

void require_rising(const std::vector<LengthPair>& pairs, const LengthPair& longest) {
  for (size_t i = 1; i < pairs.size(); ++i) {
    if (pairs[i].covers(pairs[i - 1]) && !(pairs[i] == pairs[i - 1])) continue;
    const bool is_beyond = i + 1 == pairs.size();
    refuse_settings({kKey, "data.source_length", "data.sequence_length"}, to_text({pairs[i - 1]}),
                    is_beyond ? " is beyond the most that samples have, "
                              : " is not covered by the pair behind it, ",
                    to_text({pairs[i]}), "; write pairs that grow up to ", to_text({longest}));
  }
}

}  // namespace

LengthPair longest_pair(const DataConfig& data) {
  return {.source = data.source_length > 0 ? data.source_length : data.sequence_length,
          .target = data.sequence_length};
}

std::vector<LengthPair> length_pairs(const DataConfig& data) {
  if (data.length_buckets == "none" || chooses_lengths(data)) return {};
  const LengthPair longest = longest_pair(data);
  std::vector<LengthPair> pairs = pairs_in(data.length_buckets, longest);
  if (!(pairs.back() == longest)) pairs.push_back(longest);
  require_rising(pairs, longest);
  if (pairs.size() > kMostLengthPairs) {
    refuse_settings({kKey}, "these are ", pairs.size(), " pairs of lengths, with ",
                    to_text({longest}), ", and the most are ", kMostLengthPairs, "; write fewer");
  }
  return pairs;
}

std::string to_text(const std::vector<LengthPair>& pairs) {
  std::string words;
  for (const LengthPair& pair : pairs) {
    words += text(words.empty() ? "" : ", ", pair.source, "x", pair.target);
  }
  return words;
}

}  // namespace zero
