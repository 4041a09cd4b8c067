#include "zero/usage/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <variant>

#include "src/usage/command_table.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"

namespace zero::usage {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const char* const> words) : words_(words.begin(), words.end()) {}

  CommandLine read() {
    choose_command();
    for (; next_ < words_.size() && !begins_trailing(words_[next_]); ++next_)
      read_word(words_[next_]);
    if (next_ < words_.size()) {
      line_.*syntax_->trailing = {words_.begin() + ptrdiff_t(next_) + 1, words_.end()};
    }
    const bool asks = line_.command == Command::help || line_.command == Command::version;
    if (!asks && syntax_->needs_input() && line_.input.empty()) refuse_missing(syntax_->input);
    if (!asks && syntax_->second == Second::required && line_.second.empty()) {
      refuse_missing(syntax_->second_name);
    }
    return line_;
  }

 private:
  [[noreturn]] void refuse_missing(std::string_view what) const {
    const bool two = syntax_->second == Second::required;
    refuse(Exit::kUsage, "command line: no ", what, "; write ", called(*syntax_), " ",
           syntax_->input, two ? " " : "", two ? syntax_->second_name : "", ", or ",
           is_named_ ? called(*syntax_) : "zeroapp", " --help");
  }

  bool begins_trailing(const std::string& word) const { return syntax_->trailing && word == "--"; }

  void choose_command() {
    const std::string first = words_.empty() ? "" : words_[0];
    if (const Syntax* known = find_command(first)) {
      syntax_ = known;
      is_named_ = true;
      ++next_;
    } else if (is_meant_as_command(first)) {
      refuse_command(first);
    }
    line_.command = syntax_->command;
  }

  /// True if a word can only mean a command, because input files have an ending, or exist.
  static bool is_meant_as_command(const std::string& word) {
    const bool plain = !word.empty() && word[0] != '-' && word.find_first_of("./=") == word.npos;
    return plain && look_at(word).kind == PathKind::nothing;
  }

  [[noreturn]] static void refuse_command(const std::string& word) {
    std::vector<std::string> known;
    std::string all;
    for (const Syntax& syntax : commands()) {
      known.emplace_back(syntax.word);
      all += (all.empty() ? "" : ", ") + known.back();
    }
    const std::string near = nearest_key(word, known);
    refuse(Exit::kUsage, "command line: ", word, ": neither a command (", all,
           ") nor an input file; ", near.empty() ? "" : "did you mean " + near + "? ",
           "to train, write zeroapp INPUT.toml");
  }

  void read_word(const std::string& word) {
    if (word.starts_with("-")) return read_option(word);
    if (syntax_->command == Command::help) {
      line_.topics.push_back(word);
      return;
    }
    if (syntax_->input.empty()) {
      refuse(Exit::kUsage, "command line: ", word, ": ", called(*syntax_),
             " takes no input or setting");
    }
    if (line_.input.empty()) {
      line_.input = word;
    } else if (syntax_->second == Second::none) {
      refuse(Exit::kUsage, "command line: ", word, ": ", called(*syntax_), " takes ",
             syntax_->input, " and no more");
    } else if (syntax_->second == Second::more) {
      line_.more.push_back(word);
    } else if (syntax_->second != Second::settings) {
      take_second(word);
    } else if (word.find('=') != std::string::npos) {
      line_.overrides.push_back(word);
    } else {
      const bool prompt = syntax_->command == Command::generate;
      refuse(Exit::kUsage, "command line: ", word, ": is no setting; write ",
             prompt ? "--prompt and the text in quotes" : "key=value");
    }
  }

  void take_second(const std::string& word) {
    if (!line_.second.empty()) {
      refuse(Exit::kUsage, "command line: ", word, ": ", called(*syntax_), " takes ",
             syntax_->input, " and ", syntax_->second_name, " and no more");
    }
    line_.second = word;
  }

  [[noreturn]] void refuse_option(const std::string& name) const {
    std::vector<std::string> known;
    std::string all;
    for (const Option& option : syntax_->options) {
      for (const std::string_view each : {option.short_name, option.name}) {
        if (each.empty()) continue;
        known.emplace_back(each);
        all += (all.empty() ? "" : ", ") + known.back();
      }
    }
    const std::string near = nearest_key(name, known);
    refuse(Exit::kUsage, "command line: ", name, ": unknown option; ",
           near.empty() ? text("of ", called(*syntax_), syntax_->input.empty() ? "" : " ",
                               syntax_->input, " they are: ", all.empty() ? "none" : all)
                        : "did you mean " + near + "?");
  }

  void read_option(const std::string& name) {
    if (name == "--help" || name == "-h") {
      line_.command = Command::help;
      if (is_named_ || !line_.input.empty()) line_.topics = {std::string(syntax_->word)};
    } else if (name == "--version") {
      line_.command = Command::version;
    } else {
      const auto option = std::ranges::find_if(syntax_->options, [&](const Option& known) {
        return known.name == name || (!name.empty() && known.short_name == name);
      });
      if (option == syntax_->options.end()) refuse_option(name);
      std::visit([&](const auto& kind) { take(name, kind); }, option->kind);
    }
  }

  void take(const std::string&, bool CommandLine::*place) { line_.*place = true; }
  template <class Text>
  void take(const std::string& name, Text CommandLine::*place) {
    line_.*place = value(name);
  }
  void take(const std::string& name, int64_t CommandLine::*place) {
    const std::string& word = value(name);
    if (as_bytes(word, line_.*place) || as_decimal_bytes(word, line_.*place)) return;
    refuse_value(name, "is no size; write one as 5GB (10^9) or 5GiB (2^30)");
  }
  void take(const std::string& name, const Count& count) {
    int64_t number = 0;
    if (!reads(value(name), count.low, count.high, number))
      refuse_value(name, text("is no ", count.what, "; write ", count.low, " to ", count.high));
    std::visit([&](auto place) { at(place) = number; }, count.place);
  }
  void take(const std::string& name, const Real& real) {
    double number = 0;
    if (!reads(value(name), real.low, real.high, number))
      refuse_value(name, text("is no number from ", real.low, " to ", real.high));
    at(real.place) = number;
  }
  void take(const std::string& name, const OneOfWords& choice) {
    line_.*choice.place = choice.words[one_of(name, choice.words)];
  }
  void take(const std::string& name, Rule<BeamEnd> place) {
    at(place) = BeamEnd(one_of(name, {"no", "yes", "never"}));
  }
  /// Takes ids between commas, or an empty list.
  void take(const std::string& name, Rule<Ids> place) {
    std::string_view word = value(name);
    Ids ids;
    while (!word.empty()) {
      const size_t end = std::min(word.find(','), word.size());
      const bool is_id =
          reads(word.substr(0, end), int64_t(0), int64_t(INT32_MAX), ids.emplace_back());
      if (!is_id || end + 1 == word.size())
        refuse_value(name, "is no list of ids; write them as 3,17");
      word.remove_prefix(std::min(end + 1, word.size()));
    }
    at(place) = ids;
  }

  int64_t& at(int64_t CommandLine::*place) { return line_.*place; }
  template <class Value>
  std::optional<Value>& at(Rule<Value> place) {
    return line_.generation.*place;
  }

  /// Returns the index of the word behind the option.
  size_t one_of(const std::string& name, const std::vector<std::string_view>& words) {
    const std::string& word = value(name);
    std::string known;
    for (const std::string_view& each : words) {
      if (each == word) return size_t(&each - words.data());
      known += text(known.empty() ? "" : ", ", each);
    }
    refuse_value(name, "is not known; write one of " + known);
  }

  /// True if the whole word is a number from `low` to `high`; reads it.
  template <class Number>
  static bool reads(std::string_view word, Number low, Number high, Number& number) {
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, number);
    return error == std::errc() && end == last && number >= low && number <= high;
  }

  [[noreturn]] void refuse_value(const std::string& name, const std::string& why) const {
    refuse(Exit::kUsage, "command line: ", name, ": \"", words_[next_], "\" ", why);
  }

  const std::string& value(const std::string& option) {
    if (++next_ >= words_.size()) {
      refuse(Exit::kUsage, "command line: ", option, ": wants a value behind it");
    }
    return words_[next_];
  }

  std::vector<std::string> words_;
  size_t next_ = 0;
  const Syntax* syntax_ = &commands().front();
  bool is_named_ = false;  // the command's word was typed
  CommandLine line_;
};

}  // namespace

CommandLine read_command_line(std::span<const char* const> words) { return Reader(words).read(); }

}  // namespace zero::usage
