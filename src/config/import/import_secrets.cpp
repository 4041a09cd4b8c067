#include "src/config/import/import_secrets.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "src/config/import/rules.hpp"

namespace zero {
namespace {

/// Removes and returns the last part of a name; "_" separates parts.
std::string take_last(std::string& name) {
  const size_t mark = name.rfind('_');
  const std::string last = mark == name.npos ? name : name.substr(mark + 1);
  name.resize(mark == name.npos ? 0 : mark);
  return last;
}

/// Returns a name in snake_case. "--hubToken" becomes "hub_token".
std::string in_snake_case(std::string_view name) {
  const auto is = [&](int (*kind)(int), size_t i) {
    return i < name.size() && kind(uint8_t(name[i])) != 0;
  };
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool ends_word = i > 0 && (is(std::islower, i - 1) || is(std::isdigit, i - 1));
    const bool ends_capitals = i > 0 && is(std::isupper, i - 1) && is(std::islower, i + 1);
    if (is(std::isupper, i) && (ends_word || ends_capitals)) snake += '_';
    snake += is(std::isalnum, i) ? name[i] : '_';
  }
  snake.erase(0, snake.find_first_not_of('_'));
  snake.resize(snake.find_last_not_of('_') + 1);
  return in_lower_case(snake);
}

/// True if a token of this kind belongs to a text, as an end or a count does.
bool is_of_texts(std::string_view kind) {
  constexpr std::string_view kKinds =
      "pad eos bos unk sep cls mask start end stop image audio video special additional prefix "
      "suffix eot first last per prompt response max min new num next padding unknown";
  return has_word(kKinds, kind);
}

/// True if one part of a dotted name has a secret value.
bool part_names_secret(std::string_view part) {
  constexpr std::string_view kAlways[] = {"secret",     "password", "passwd",    "passphrase",
                                          "credential", "apikey",   "accesskey", "privatekey"};
  constexpr std::string_view kSecretKinds =
      "api auth access secret hub hf wandb comet neptune openai anthropic encryption signing "
      "account ssh";
  std::string plain = in_snake_case(part), joined = plain;
  std::erase(joined, '_');
  const auto stands = [&](std::string_view word) { return joined.find(word) != joined.npos; };
  if (std::ranges::any_of(kAlways, stands)) return true;
  const std::string last = take_last(plain), kind = take_last(plain);
  if (last.ends_with("token")) {
    const std::string inside = last.substr(0, last.size() - 5);
    return !is_of_texts(inside.empty() ? kind : inside);
  }
  if (has_word("key keys tokens", last)) return has_word(kSecretKinds, kind);
  return last == "pwd" || last == "pass" || (last.ends_with("pat") && !last.ends_with("compat"));
}

/// Returns a text with the user and password of each address hidden.
std::string without_user(std::string word) {
  for (size_t at = word.find("://"); at != word.npos; at = word.find("://", at + 3)) {
    const size_t begin = at + 3, end = word.find_first_of("/?# \t\n\r\"'", begin);
    const size_t mark = word.substr(begin, end - begin).rfind('@');
    if (mark != word.npos) word.replace(begin, mark, kHidden);
  }
  return word;
}

/// Returns the index in a flag of the word that makes it secret.
size_t secret_begin(const std::string& flag) {
  size_t begin = 2, end = flag.find('_', begin);
  for (; end != flag.npos && !names_secret(flag.substr(0, end)); end = flag.find('_', begin)) {
    begin = end + 1;
  }
  return begin;
}

/// True if a flag has a secret value. It may be the beginning of flags if it reaches into the
/// secret word of one or all of them are secret.
bool takes_secret(const std::string& word) {
  if (names_secret(word)) return true;
  std::string flag = word;
  if (!flag.starts_with("--") || flag.size() == 2) return false;
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  if (find_flag(flag)) return false;
  size_t secrets = 0, others = 0;  // flags that begin with it
  for (const auto rules : {training_rules(), script_rules(), own_rules(), launcher_rules()}) {
    for (const ImportRule& rule : rules) {
      for (const std::string& key : rule.keys()) {
        if (!key.starts_with(flag)) continue;
        const bool secret = names_secret(key);
        if (secret && flag.size() > secret_begin(key)) return true;
        ++(secret ? secrets : others);
      }
    }
  }
  return secrets > 0 && others == 0;
}

constexpr std::string_view kBlanks = " \t\n\r";
constexpr size_t kMostScanned = 4096;  // bytes of a word of which more than one secret is hidden

bool has(std::string_view marks, char c) { return marks.find(c) != marks.npos; }

/// Returns the index of the quote that ends a text, or the end of the word.
size_t end_of_quote(std::string_view word, size_t at, char quote) {
  while (at < word.size() && word[at] != quote) at += word[at] == '\\' ? 2 : 1;
  return std::min(at, word.size());
}

/// Returns the end of a flag's values in a command: a blank outside quotes. For a list it stands in
/// front of the next flag.
size_t end_of_values(std::string_view word, size_t at, bool list) {
  for (; at < word.size(); ++at) {
    if (has("\"'", word[at])) at = end_of_quote(word, at + 1, word[at]);
    const bool flag = at + 1 < word.size() && word[at + 1] == '-';
    if (at < word.size() && has(kBlanks, word[at]) && (flag || !list)) return at;
  }
  return word.size();
}

/// Returns the end of a value that begins at `at` and has no quotes of its own. The value ends with
/// the quotes around it and its name.
size_t end_of_plain(std::string_view word, size_t at) {
  const std::string_view before = word.substr(0, at);
  for (const char quote : {'"', '\''}) {
    if (std::ranges::count(before, quote) % 2 == 1) return end_of_quote(word, at, quote);
  }
  return std::min(word.find_first_of(",}]&\"' \t\n\r", at), word.size());
}

/// A secret in a word: the bytes from begin up to end; equal if there is none.
struct Range {
  size_t begin, end;
};

/// Returns the secret that follows its name, which lies in `name`.
Range secret_behind(std::string_view word, Range name) {
  const size_t at = std::min(word.find_first_not_of(":=\"'\\ \t\n\r", name.end), word.size());
  const std::string_view gap = word.substr(name.end, at - name.end);
  if (gap.empty() || at == word.size() || has(",}&?", word[at])) return {at, at};
  const bool blank = has(kBlanks, gap[0]);
  if (blank && word.substr(at).starts_with("--")) return {at, at};
  if (name.begin == 0 && has("=:", gap[0])) return {name.end + 1, word.size()};
  if (has("[{", word[at]) || word.size() > kMostScanned) return {at, word.size()};
  if (word[name.begin] == '-' && has(" =\t\n\r", gap[0])) {
    const size_t first = std::min(word.find_first_not_of("= \t\n\r", name.end), at);
    return {first, end_of_values(word, first, blank)};
  }
  const bool opened = gap.size() > 1 && has("\"'", gap.back());
  return {at, opened ? end_of_quote(word, at, gap.back()) : end_of_plain(word, at)};
}

/// Returns a text with its secrets hidden: a word of the shell, or a whole command in quotes.
std::string hidden_in(const std::string& word) {
  std::string out;
  size_t copied = 0;
  for (size_t at = 0; at < word.size();) {
    const size_t end = std::min(word.find_first_of("{},:?&=\"'\\ \t\n\r", at), word.size());
    Range secret = {end, end};
    if (takes_secret(word.substr(at, end - at))) secret = secret_behind(word, {at, end});
    at = std::max(secret.end, end + 1);
    if (secret.begin == secret.end) continue;
    out += word.substr(copied, secret.begin - copied) + kHidden;
    copied = at = secret.end;
  }
  return without_user(out + word.substr(std::min(copied, word.size())));
}

/// Hides the secrets in a text, or in each text of a list.
void hide_words(TomlValue& value) {
  if (auto* word = std::get_if<std::string>(&value)) *word = hidden_in(*word);
  auto* list = std::get_if<TomlArray>(&value);
  for (size_t i = 0; list && i < list->size(); ++i) {
    if (auto* word = std::get_if<std::string>(&(*list)[i])) *word = hidden_in(*word);
  }
  auto* tables = std::get_if<TomlTables>(&value);
  for (size_t i = 0; tables && i < tables->size(); ++i) {
    for (auto& [key, item] : (*tables)[i].entries)
      if (auto* word = std::get_if<std::string>(&item)) *word = hidden_in(*word);
  }
}

/// True for a word that ends the values of a flag: another flag, the mark of a second command, or
/// the script.
bool ends_list(std::string_view word) {
  const auto is_plain = [](char c) { return std::isalnum(uint8_t(c)) != 0; };
  const bool marks = std::ranges::none_of(word, is_plain);
  return marks || word[0] == '-' || uint8_t(word[0]) >= 128 || word.ends_with(".py");
}

}  // namespace

bool names_secret(std::string_view name) {
  for (size_t end = 0; end != name.npos; name.remove_prefix(end == name.npos ? 0 : end + 1)) {
    end = name.find('.');
    if (part_names_secret(name.substr(0, end))) return true;
  }
  return false;
}

std::vector<std::string> hide_secrets(std::span<const std::string> words) {
  std::vector<std::string> hidden;
  bool follows = false;  // true: the next word is a secret
  bool first = false;    // true: that word is the flag's first value
  for (const std::string& word : words) {
    const bool ends = word.empty() || (first ? word.starts_with("--") : ends_list(word));
    const bool value = follows && !ends;
    const bool flag = word.starts_with('-') && word.size() > 1 && word.find('=') == word.npos;
    if (!value) follows = flag && takes_secret(word);
    first = follows && !value;
    hidden.push_back(value ? kHidden : hidden_in(word));
  }
  return hidden;
}

void hide_secrets(Source& source) {
  for (SourceEntry& entry : source) {
    if (entry.value) hide_words(*entry.value);
    const bool plain = entry.value && !std::holds_alternative<bool>(*entry.value);
    if (plain && names_secret(entry.key)) entry.value = kHidden;
  }
}

}  // namespace zero
