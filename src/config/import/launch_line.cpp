#include <algorithm>
#include <cmath>

#include "src/config/import/source.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kMostWords = 1000;

bool is_flag(const std::string& word) { return word.starts_with("--") && word.size() > 2; }

/// Python's words for booleans are as good as TOML's; what is no value of TOML is a word.
TomlValue value_of(const std::string& word) {
  if (word == "True" || word == "true") return true;
  if (word == "False" || word == "false") return false;
  TomlValue value;
  std::string ignored;
  const bool number = !word.empty() && word.find_first_not_of("0123456789+-.eE") == word.npos;
  if (number && parse_toml_value(word, value, ignored)) return value;
  return word;
}

std::string name_of(const std::string& flag) {
  std::string name = flag.substr(0, flag.find('='));
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

std::optional<double> number_of(const TomlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

SourceEntry* find(Source& source, std::string_view key) {
  const auto found = std::find_if(source.begin(), source.end(),
                                  [&](const SourceEntry& entry) { return entry.key == key; });
  return found == source.end() ? nullptr : &*found;
}

void remove(Source& source, std::string_view key) {
  std::erase_if(source, [&](const SourceEntry& entry) { return entry.key == key; });
}

/// Two flags there, one pair here; what one of them leaves open has its default.
void join_betas(Source& source) {
  TomlArray betas = {0.9, 0.999};
  const char* names[] = {"--adam_beta1", "--adam_beta2"};
  bool given = false;
  for (size_t i = 0; i < 2; ++i) {
    const SourceEntry* entry = find(source, names[i]);
    const auto number = entry ? number_of(*entry->value) : std::nullopt;
    if (entry && !number) return;  // refused as it stands
    if (number) betas[i] = *number;
    given = given || number;
  }
  if (!given) return;
  remove(source, names[1]);
  SourceEntry* first = find(source, names[0]);
  if (!first) source.push_back({names[0], std::nullopt, kLaunchLine});
  (first ? *first : source.back()).value = betas;
}

/// Transformers rounds up, and takes a number of warm-up steps before a share of all steps.
void resolve_ratio(Source& source) {
  SourceEntry* ratio = find(source, "--warmup_ratio");
  const SourceEntry* steps = find(source, "--max_steps");
  const SourceEntry* warmup = find(source, "--warmup_steps");
  if (warmup && number_of(*warmup->value).value_or(0) > 0) return remove(source, "--warmup_ratio");
  const double share = ratio ? number_of(*ratio->value).value_or(-1) : -1;
  const double count = steps ? number_of(*steps->value).value_or(0) : 0;
  if (share < 0 || share > 1 || count <= 0) return;
  ratio->value = int64_t(std::ceil(share * count));
}

}  // namespace

Source read_launch_line(std::span<const std::string> words) {
  if (words.size() > kMostWords) {
    refuse(Exit::kUsage, kLaunchLine, ": more than ", kMostWords, " words");
  }
  Source source;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!is_flag(word)) {
      source.push_back({word, std::nullopt, kLaunchLine});
      continue;
    }
    const std::string name = name_of(word);
    if (find(source, name)) {
      refuse(Exit::kUsage, kLaunchLine, ": ", name, ": stands twice; keep one");
    }
    const size_t equals = word.find('=');
    const bool behind = equals == word.npos && i + 1 < words.size() && !is_flag(words[i + 1]);
    TomlValue value = true;
    if (equals != word.npos) value = value_of(word.substr(equals + 1));
    if (behind) value = value_of(words[++i]);
    source.push_back({name, value, kLaunchLine});
  }
  join_betas(source);
  resolve_ratio(source);
  return source;
}

}  // namespace zero
