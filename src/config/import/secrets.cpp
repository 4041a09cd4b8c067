#include "src/config/import/secrets.hpp"

#include <algorithm>
#include <utility>

#include "src/config/import/rules.hpp"

namespace zero {
namespace {

/// Takes the last part of a name off, which "_" parts from the others.
std::string take_last(std::string& name) {
  const size_t mark = name.rfind('_');
  const std::string last = mark == name.npos ? name : name.substr(mark + 1);
  name.resize(mark == name.npos ? 0 : mark);
  return last;
}

/// Returns an address without the user and the password in it.
std::string without_user(const std::string& word) {
  const size_t begin = word.find("://");
  if (begin == word.npos) return word;
  const size_t end = word.find_first_of("/?#", begin + 3);
  const size_t mark = word.substr(0, end).rfind('@');
  if (mark == word.npos || mark < begin) return word;
  return word.substr(0, begin + 3) + kHidden + word.substr(mark);
}

std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts(1);
  for (const char c : word) {
    c == ' ' || c == '\t' || c == '\n' ? void(parts.emplace_back()) : parts.back().push_back(c);
  }
  return parts;
}

/// True of a flag that is, or may be short for, one whose value is a secret.
bool takes_secret(const std::string& word) {
  if (names_secret(word)) return true;
  std::string flag = word;
  if (!flag.starts_with("--") || flag.size() == 2) return false;
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  if (find_flag(flag)) return false;
  for (const auto rules : {training_rules(), launcher_rules()}) {
    for (const ImportRule& rule : rules) {
      for (const std::string& key : rule.keys()) {
        if (key.starts_with(flag) && names_secret(key)) return true;
      }
    }
  }
  return false;
}

/// Returns the word of the shell without its secrets; one that has blanks may be a whole command.
std::string hidden_in(const std::string& word) {
  const std::vector<std::string> parts = parts_of(word);
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals != word.npos && parts_of(name).size() == 1 && takes_secret(name)) {
    return name + "=" + kHidden;
  }
  if (parts.size() == 1) return without_user(word);
  const std::vector<std::string> hidden = hide_secrets(parts);
  if (hidden == parts) return word;
  std::string joined;
  for (const std::string& part : hidden) joined += (joined.empty() ? "" : " ") + part;
  return joined;
}

}  // namespace

bool names_secret(std::string_view name) {
  constexpr std::string_view kAlways[] = {"secret",     "password",   "passwd",
                                          "passphrase", "credential", "apikey",
                                          "api_key",    "access_key", "private_key"};
  constexpr std::string_view kTokensOfTexts =
      "pad eos bos unk sep cls mask start end stop image audio video special additional prefix "
      "suffix eot first last per prompt response";
  constexpr std::string_view kSecretKeys =
      "api auth secret hub hf wandb comet neptune openai anthropic encryption signing account ssh";
  std::string plain = in_lower_case(std::string(name.substr(name.rfind('.') + 1)));
  std::ranges::replace(plain, '-', '_');
  plain.erase(0, plain.find_first_not_of("_\"'"));
  plain.resize(plain.find_last_not_of("_\"':") + 1);
  const auto stands = [&](std::string_view part) { return plain.find(part) != plain.npos; };
  if (std::ranges::any_of(kAlways, stands)) return true;
  const std::string last = take_last(plain), kind = take_last(plain);
  if (last == "token") return !has_word(kTokensOfTexts, kind);
  if (last == "key") return has_word(kSecretKeys, kind);
  return last == "pwd" || last == "pass";
}

std::vector<std::string> hide_secrets(std::span<const std::string> words) {
  std::vector<std::string> hidden;
  bool follows = false;  // a value that is a secret
  for (const std::string& word : words) {
    const bool flag = word.starts_with('-') && word.size() > 1 && word.find('=') == word.npos;
    const bool value = std::exchange(follows, flag && takes_secret(word)) &&
                       !word.starts_with("--") && !word.empty();
    if (value) follows = false;
    hidden.push_back(value ? kHidden : hidden_in(word));
  }
  return hidden;
}

void hide_secrets(Source& source) {
  for (SourceEntry& entry : source) {
    auto* word = entry.value ? std::get_if<std::string>(&*entry.value) : nullptr;
    if (word) *word = without_user(*word);
    const bool plain = entry.value && !std::holds_alternative<bool>(*entry.value);
    if (plain && names_secret(entry.key)) entry.value = kHidden;
  }
}

}  // namespace zero
