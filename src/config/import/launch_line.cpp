#include "src/config/import/launch_line.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/config/import/import_secrets.hpp"
#include "src/config/import/rules.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kMostWords = 1000;

bool is_flag(std::string_view word) { return word.starts_with("--") && word.size() > 2; }

bool has_blank(std::string_view word) {
  return word.find_first_of(" \t\n\r") != word.npos || word.find("\u00A0") != word.npos;
}

/// True for a NAME=value in front of a command.
bool is_assignment(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const bool upper = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos;
  return upper && !name.empty() && name.size() < word.size();
}

[[noreturn]] void refuse_word(const std::string& word, const std::string& fault) {
  refuse(Exit::kUsage, kLaunchLine, ": ", to_text(TomlValue(word)), ": ", fault);
}

bool begins_with_one_of(std::string_view word, std::initializer_list<std::string_view> marks) {
  return std::ranges::any_of(marks, [&](std::string_view mark) { return word.starts_with(mark); });
}

/// Refuses the typographic dashes that word processors insert.
void refuse_dash(const std::string& word) {
  const size_t first = std::min(word.find_first_not_of('-'), word.size());
  if (begins_with_one_of(std::string_view(word).substr(first),
                         {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212",
                          "\uFE58", "\uFE63", "\uFF0D"})) {
    refuse_word(word, "begins with a typographic dash; write --");
  }
}

/// Refuses a second command, because its flags are not the training's.
void refuse_second_command(const std::string& word) {
  for (const std::string_view mark : {"&&", "||", ";", "|"}) {
    if (word == mark) refuse_word(word, "begins another command; write the training's alone");
  }
}

void refuse_quote(const std::string& word) {
  if (begins_with_one_of(word, {"\u2018", "\u2019", "\u201C", "\u201D"})) {
    refuse_word(word, "begins with a typographic quote; write '");
  }
}

/// Returns the value of a word. Transformers accepts more words for a boolean than Python. Source:
/// Transformers, string_to_bool().
TomlValue value_of(const std::string& word, bool boolean) {
  const std::string lower = in_lower_case(word);
  if (boolean && has_word("yes true t y 1", lower)) return true;
  if (boolean && has_word("no false f n 0", lower)) return false;
  if (has_word("True true", word)) return true;
  if (has_word("False false", word)) return false;
  return python_number(word).value_or(word);
}

std::string name_of(const std::string& flag) {
  std::string name = flag.substr(0, flag.find('='));
  std::replace(name.begin() + 2, name.end(), '-', '_');
  if (!is_toml_key(name.substr(2))) {
    refuse_word(flag,
                "is no flag; the words of a command stand behind -- without quotes around it");
  }
  return name;
}

void remove(Source& source, std::string_view key) {
  std::erase_if(source, [&](const SourceEntry& entry) { return entry.key == key; });
}

/// Joins two flags into one pair of betas. A missing flag has its default.
void join_betas(Source& source) {
  TomlArray betas = {0.9, 0.999};
  const char* names[] = {"--adam_beta1", "--adam_beta2"};
  bool given = false;
  for (size_t i = 0; i < 2; ++i) {
    const SourceEntry* entry = find_entry(source, names[i]);
    const auto number = entry ? number_of(*entry->value) : std::nullopt;
    if (entry && !number) return;  // refused later
    if (number) betas[i] = *number;
    given = given || number;
  }
  if (!given) return;
  SourceEntry *first = find_entry(source, names[0]), *second = find_entry(source, names[1]);
  SourceEntry& pair = first ? *first : *second;
  pair.called = first && second ? said(*first) + " and " + said(*second) : said(pair);
  pair.key = names[0];
  pair.value = betas;
  remove(source, names[1]);
}

/// Renames a warm-up below 1 step to --warmup_ratio, because Transformers 5 takes it for a share of
/// all steps.
void rename_share(Source& source) {
  SourceEntry* warmup = find_entry(source, "--warmup_steps");
  const double steps = warmup ? number_of(*warmup->value).value_or(0) : 0;
  if (steps <= 0 || steps >= 1) return;
  warmup->called = said(*warmup);
  warmup->key = "--warmup_ratio";
}

/// Splits the words of a strategy. Words that wrap modules have no meaning here. offload becomes a
/// setting of its own, for parameters too if these are sharded.
void part_strategy(Source& source, const char* flag) {
  SourceEntry* entry = find_entry(source, flag);
  const auto* words = entry ? std::get_if<std::string>(&*entry->value) : nullptr;
  std::string strategy;
  bool offloads = false;
  for (const std::string& word : words ? words_of(*words) : std::vector<std::string>()) {
    offloads = offloads || word == "offload";
    if (word != "offload" && word != "auto_wrap") strategy += (strategy.empty() ? "" : " ") + word;
  }
  if (strategy.empty()) return;
  entry->value = strategy;
  if (!offloads) return;
  const std::string called = said(*entry) + " offload";
  source.push_back({"--fsdp:optimizer", true, kLaunchLine, called});
  if (strategy != "full_shard" && strategy != "zero_dp_3") return;
  source.push_back({"--fsdp:parameters", true, kLaunchLine, called});
}

/// Returns the long name of a launcher's flag.
std::string long_name(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"-m", "--module"},  {"-q", "--quiet"},     {"-H", "--hostfile"}, {"-i", "--include"},
      {"-e", "--exclude"}, {"-r", "--redirects"}, {"-t", "--tee"}};
  for (const auto& [brief, name] : kNames) {
    if (word == brief) return std::string(name);
  }
  return word;
}

/// Appends every flag that begins with `beginning`.
void add_flags(std::span<const ImportRule> rules, const std::string& beginning,
               std::vector<std::string>& out) {
  for (const ImportRule& rule : rules) {
    for (const std::string& key : rule.keys()) {
      if (key.starts_with(beginning)) out.push_back(key);
    }
  }
}

/// Returns the flags that argparse of a launcher or script may complete from `name`.
std::vector<std::string> flags_of(std::span<const ImportRule> rules, const std::string& name) {
  std::vector<std::string> flags;
  add_flags(rules, name, flags);
  return flags;
}

std::string listed(const std::vector<std::string>& flags) {
  constexpr size_t kMostShown = 8;
  std::string all;
  for (size_t i = 0; i < std::min(flags.size(), kMostShown); ++i) {
    all += (i == 0 ? "" : ", ") + flags[i];
  }
  return flags.size() > kMostShown ? text(all, " and ", flags.size() - kMostShown, " more") : all;
}

/// Returns the flags of the training script that a name may mean. Other scripts may know the flags
/// of the other tables, so a match there makes the name ambiguous.
std::vector<std::string> training_flags(const std::string& name) {
  if (find_flag(name)) return {name};
  std::vector<std::string> flags = flags_of(training_rules(), name);
  add_flags(script_rules(), name, flags);
  const bool of_script = flags.size() == 1 && find_rule(script_rules(), flags[0]);
  return of_script ? std::vector<std::string>() : flags;
}

/// False for a flag that may be repeated because it sets nothing.
bool sets_something(const std::string& flag) {
  const ImportRule* rule = find_flag(flag);
  return rule && !(rule->to.empty() && rule->only.empty() && !rule->convert);
}

class Reader {
 public:
  explicit Reader(std::span<const std::string> words) : words_(words) {}

  LaunchLine read() {
    for (; at_ < words_.size(); ++at_) {
      const std::string word = in_launcher() ? long_name(words_[at_]) : words_[at_];
      refuse_dash(word);
      refuse_quote(word);
      refuse_second_command(word);
      is_flag(word) ? read_flag(word) : read_word(word);
    }
    return std::move(line_);
  }

 private:
  static constexpr std::string_view kLauncherNames =
      "deepspeed deepspeed.launcher.runner torchrun torch.distributed.run torch.distributed.launch";

  /// Names of the program with a command `launch`.
  static constexpr std::string_view kAccelerateNames =
      "accelerate accelerate.commands.accelerate_cli";

  /// The program that owns the flags at this position.
  enum class Program { unknown, accelerate, launcher, script };

  bool in_launcher() const {
    return program_ == Program::accelerate || program_ == Program::launcher;
  }

  void read_word(const std::string& word) {
    if (word.empty() || word == "\\" || word.find_first_not_of(" \t\r\n\\") == word.npos) {
      refuse_word(word, "is no word of a command; remove it, or the blank behind a \\");
    }
    const bool listed = behind_value_ && !in_launcher() && word.find(" -") == word.npos;
    if (has_blank(word) && !listed && !is_assignment(word)) {
      refuse_word(word, "is one word for the shell; write the command without quotes around it");
    }
    const bool config =
        word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml");
    if (config && program_ == Program::script && !behind_flag_) {
      line_.settings += (line_.settings.empty() ? "" : " ") + word;
    } else {
      line_.flags.push_back({word, std::nullopt, kLaunchLine});
    }
    enter(word);
  }

  /// Follows the words that name programs: launchers, then the script.
  void enter(const std::string& word) {
    const std::string name = word.substr(word.rfind('/') + 1);
    if (program_ == Program::script) return;
    if (word.starts_with('-')) {
      names_module_ = word == "-m" && before_.starts_with("python");
      return;
    }
    const bool module = std::exchange(names_module_, false);
    if (in_launcher() || name.ends_with(".py")) {
      begin_script();
    } else if (has_word("accelerate-launch accelerate.commands.launch", name) ||
               (name == "launch" && has_word(kAccelerateNames, before_))) {
      program_ = Program::accelerate;
      line_.by_accelerate = true;
    } else if (has_word(kLauncherNames, name)) {
      program_ = Program::launcher;
    } else if (module && !has_word(kAccelerateNames, name)) {
      begin_script();
    }
    before_ = name;
  }

  void begin_script() {
    program_ = Program::script;
    behind_flag_ = false;
    script_first_ = line_.flags.size();
  }

  void read_flag(const std::string& word) {
    const std::string written = name_of(word);
    const std::vector<std::string> flags = candidates(written);
    const std::string name = flags.size() == 1 ? flags[0] : written;
    SourceEntry entry = {name, TomlValue(true), kLaunchLine};
    if (flags.size() > 1) entry.may_be = listed(flags);
    if (name != written) entry.called = written + ", short for " + name;
    const size_t equals = word.find('=');
    behind_flag_ = true;
    behind_value_ = equals == word.npos && has_value(name);
    const bool boolean = !in_launcher() && takes_boolean(name);
    if (equals != word.npos) entry.value = value_of(word.substr(equals + 1), boolean);
    if (behind_value_) {
      if (!has_blank(words_[++at_])) refuse_dash(words_[at_]);
      entry.value = value_of(words_[at_], boolean);
    }
    add(std::move(entry));
  }

  /// Returns the flags of the current program that `name`, possibly a prefix, can mean.
  std::vector<std::string> candidates(const std::string& name) const {
    if (program_ == Program::accelerate) return {name};
    if (program_ != Program::launcher) return training_flags(name);
    if (find_rule(launcher_rules(), name)) return {name};
    std::vector<std::string> flags = flags_of(launcher_rules(), name);
    return flags.empty() ? training_flags(name) : flags;
  }

  bool has_value(const std::string& name) const {
    if (at_ + 1 >= words_.size() || is_flag(words_[at_ + 1])) return false;
    return !in_launcher() || !is_switch(name);
  }

  /// True if accelerate owns the flag. A line without a launcher's name may have its flags too,
  /// unless the script knows them.
  bool is_accelerates(const std::string& name) const {
    if (accelerate_key(name).empty()) return false;
    return program_ == Program::accelerate || (program_ == Program::unknown && !find_flag(name));
  }

  void add(SourceEntry entry) {
    const bool accelerates = is_accelerates(entry.key);
    if (accelerates) {
      const std::string flag = std::exchange(entry.key, accelerate_key(entry.key));
      if (entry.called.empty()) entry.called = flag;
      name_type(flag, entry);
    }
    Source& source = accelerates ? line_.accelerate : line_.flags;
    const size_t first = accelerates ? 0 : script_first_;
    const auto same = [&](const SourceEntry& other) { return other.key == entry.key; };
    const bool once = accelerates || sets_something(entry.key);
    if (once && std::any_of(source.begin() + ptrdiff_t(first), source.end(), same)) {
      refuse(Exit::kUsage, kLaunchLine, ": ", said(entry), ": stands twice; keep one");
    }
    source.push_back(std::move(entry));
  }

  /// Gives flags without a value the type of configuration that they select.
  static void name_type(const std::string& flag, SourceEntry& entry) {
    constexpr std::pair<std::string_view, const char*> kTypes[] = {
        {"--use_deepspeed", "DEEPSPEED"},
        {"--use_fsdp", "FSDP"},
        {"--multi_gpu", "MULTI_GPU"},
        {"--use_megatron_lm", "MEGATRON_LM"},
        {"--tpu", "XLA"}};
    for (const auto& [name, type] : kTypes) {
      if (flag == name) entry.value = type;
    }
  }

  std::span<const std::string> words_;
  size_t at_ = 0;
  LaunchLine line_;
  Program program_ = Program::unknown;
  std::string before_;         // last word that named a program
  size_t script_first_ = 0;    // index in line_.flags; a launcher may have a flag of equal name
  bool names_module_ = false;  // true: python -m names the module next
  bool behind_flag_ = false;   // true: a flag of the script precedes
  bool behind_value_ = false;  // true: more words of a list may follow
};

}  // namespace

LaunchLine read_launch_line(std::span<const std::string> words) {
  if (words.size() > kMostWords) {
    refuse(Exit::kUsage, kLaunchLine, ": more than ", kMostWords, " words");
  }
  const std::vector<std::string> shown = hide_secrets(words);
  LaunchLine line = Reader(shown).read();
  join_betas(line.flags);
  rename_share(line.flags);
  for (const char* flag : {"--fsdp", "--sharded_ddp"}) part_strategy(line.flags, flag);
  return line;
}

void resolve_shares(Source& flags, int64_t steps) {
  for (SourceEntry& entry : flags) {
    const auto share = entry.key == "--warmup_ratio" ? number_of(*entry.value) : std::nullopt;
    if (!share) continue;
    const bool known = steps > 0 && *share >= 0 && *share <= 1;
    entry.value = known ? TomlValue(int64_t(std::ceil(*share * double(steps)))) : TomlValue(*share);
  }
}

}  // namespace zero
