#include <algorithm>
#include <charconv>
#include <string_view>
#include <variant>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/config/toml.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::commands {
namespace {

/// The value behind an option's name: nothing (bool), a size (int64_t), any word, or one of these.
template <class Number>
using Rule = std::optional<Number> GenerationConfig::*;
using Ids = std::vector<int64_t>;
struct Count {
  std::variant<int64_t CommandLine::*, Rule<int64_t>> place;
  int64_t low, high;
  const char* what;  ///< "number of ranks"
};
struct Real {
  Rule<double> place;
  double low, high;
};
struct OneOfWords {
  std::string CommandLine::*place;
  std::vector<std::string_view> words;
};
struct Option {
  std::string_view name;
  std::variant<bool CommandLine::*, int64_t CommandLine::*, std::string CommandLine::*,
               std::optional<std::string> CommandLine::*, Count, Real, OneOfWords, Rule<BeamEnd>,
               Rule<Ids>>
      kind;
};

/// The unnamed words that a command takes beside its input.
enum class Second { settings, required, optional };

/// A command: its word, its input ("" = none), and its options.
struct Syntax {
  std::string_view word;
  Command command;
  std::string_view input;
  std::vector<Option> options;
  Second second = Second::settings;
  std::string_view second_name = "";
  std::vector<std::string> CommandLine::*trailing = nullptr;  ///< takes all words after "--"
};

std::vector<Syntax> commands_on_checkpoints() {
  return {
      {"ls",
       Command::ls,
       "DIR",
       {{"--quick", &CommandLine::quick}, {"--json", &CommandLine::json}}},
      {"fsck", Command::fsck, "DIR", {{"--json", &CommandLine::json}}},
      {"inspect", Command::inspect, "A", {{"--json", &CommandLine::json}}, Second::optional, "B"},
      {"export",
       Command::export_model,
       "DIR",
       {{"--format", OneOfWords{&CommandLine::format, {"safetensors", "hdf5"}}},
        {"--dtype", OneOfWords{&CommandLine::dtype, {"fp32", "bf16", "fp16"}}},
        {"--max-shard-size", &CommandLine::shard_bytes}},
       Second::required,
       "OUT"},
      {"import-weights", Command::import_weights, "MODEL_DIR", {}, Second::required, "OUT"},
      {"score",
       Command::score,
       "TEXTS",
       {{"--json", &CommandLine::json}},
       Second::required,
       "REFERENCES"},
  };
}

/// Returns the options of a search, by Hugging Face's names. A 0 cancels what the model's file asks
/// for.
std::vector<Option> search_options() {
  using Rules = GenerationConfig;
  const auto tokens = [](Rule<int64_t> place, int64_t low) {
    return Count{place, low, 1'000'000'000, "number of tokens"};
  };
  return {{"--tokens", tokens(&Rules::max_new_tokens, 1)},
          {"--max-length", tokens(&Rules::max_length, 1)},
          {"--min-length", tokens(&Rules::min_length, 0)},
          {"--min-new-tokens", tokens(&Rules::min_new_tokens, 0)},
          {"--temperature", Real{&Rules::temperature, 0, 100}},
          {"--top-k", tokens(&Rules::top_k, 0)},
          {"--top-p", Real{&Rules::top_p, 0, 1}},
          {"--num-beams", Count{&Rules::num_beams, 1, 1000, "number of beams"}},
          {"--length-penalty", Real{&Rules::length_penalty, -100, 100}},
          {"--early-stopping", &Rules::early_stopping},
          {"--repetition-penalty", Real{&Rules::repetition_penalty, 0.01, 100}},
          {"--no-repeat-ngram-size", tokens(&Rules::no_repeat_ngram_size, 0)},
          {"--encoder-no-repeat-ngram-size", tokens(&Rules::encoder_no_repeat_ngram_size, 0)},
          {"--forced-bos-token-id", Count{&Rules::forced_bos_token_id, 0, INT32_MAX, "id"}},
          {"--forced-eos-token-id", &Rules::forced_eos_token_id},
          {"--suppress-tokens", &Rules::suppress_tokens},
          {"--begin-suppress-tokens", &Rules::begin_suppress_tokens}};
}

std::vector<Option> generate_options() {
  std::vector<Option> all = search_options();
  const std::vector<Option> more = {
      {"--prompt", &CommandLine::prompt},
      {"--prompt-file", &CommandLine::prompt_file},
      {"--input", &CommandLine::lines},
      {"--output", &CommandLine::output},
      {"--chat", &CommandLine::chat},
      {"--persona", &CommandLine::persona},
      {"--batch", Count{&CommandLine::batch, 1, 100'000, "number of texts"}},
      {"--first-line", Count{&CommandLine::first_line, 1, INT64_MAX, "number of a line"}},
      {"--ids", &CommandLine::ids},
      {"--seed", Count{&CommandLine::seed, 1, INT64_MAX, "seed"}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Syntax> commands_on_runs() {
  return {
      {"", Command::train, "INPUT.toml", {{"--dry-run", &CommandLine::dry_run}}},
      {"plan",
       Command::plan,
       "INPUT.toml",
       {{"--ranks", Count{&CommandLine::ranks, 1, comm::kMostRanks, "number of ranks"}},
        {"--ranks-per-node",
         Count{&CommandLine::ranks_per_node, 1, comm::kMostRanks, "number of ranks"}},
        {"--threads", Count{&CommandLine::threads, 1, launch::kMostThreads, "number of threads"}},
        {"--machine", &CommandLine::machine},
        {"--max-batch", &CommandLine::max_batch},
        {"--json", &CommandLine::json}}},
      {"data",
       Command::data,
       "INPUT.toml",
       {{"--steps", &CommandLine::steps},
        {"--prepare", &CommandLine::prepare},
        {"--from", &CommandLine::from},
        {"--ranks", Count{&CommandLine::ranks, 1, comm::kMostRanks, "number of ranks"}},
        {"--decode", &CommandLine::decode},
        {"--json", &CommandLine::json}}},
      {"doctor",
       Command::doctor,
       "",
       {{"--scratch", &CommandLine::scratch},
        {"--card", &CommandLine::card},
        {"--slurm", &CommandLine::input},
        {"--nodes", Count{&CommandLine::nodes, 1, comm::kMostRanks, "number of nodes"}},
        {"--gpus", Count{&CommandLine::gpus, 1, comm::kMostRanks, "number of GPUs"}},
        {"--machine", &CommandLine::machine},
        {"--nvme", &CommandLine::nvme},
        {"--json", &CommandLine::json}}},
      {"calibrate",
       Command::calibrate,
       "",
       {{"--nvme", &CommandLine::nvme}, {"--out", &CommandLine::output}}},
      {"eval",
       Command::eval,
       "DIR",
       {{"--json", &CommandLine::json}, {"--scores", &CommandLine::scores}}},
      {"generate", Command::generate, "DIR", generate_options()},
      {"import-deepspeed",
       Command::import_deepspeed,
       "FILE",
       {{"-o", &CommandLine::output},
        {"--output", &CommandLine::output},
        {"--hf-defaults", &CommandLine::hf_defaults},
        {"--leave-out-unsupported", &CommandLine::leave_out_unsupported}},
       Second::settings,
       "",
       &CommandLine::launch_line},
      {"help", Command::help, "", {}},
  };
}

const std::vector<Syntax>& commands() {
  static const std::vector<Syntax> all = [] {
    std::vector<Syntax> joined = commands_on_runs();
    for (Syntax& syntax : commands_on_checkpoints()) joined.push_back(std::move(syntax));
    return joined;
  }();
  return all;
}

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
    if (!asks && !syntax_->input.empty() && line_.input.empty()) refuse_missing(syntax_->input);
    if (!asks && syntax_->second == Second::required && line_.second.empty()) {
      refuse_missing(syntax_->second_name);
    }
    return line_;
  }

 private:
  [[noreturn]] void refuse_missing(std::string_view what) const {
    const bool two = syntax_->second == Second::required;
    refuse(Exit::kUsage, "command line: no ", what, "; write zeroapp ", syntax_->word,
           syntax_->word.empty() ? "" : " ", syntax_->input, two ? " " : "",
           two ? syntax_->second_name : "", ", or zeroapp --help");
  }

  bool begins_trailing(const std::string& word) const { return syntax_->trailing && word == "--"; }

  void choose_command() {
    const std::string first = words_.empty() ? "" : words_[0];
    for (const Syntax& known : commands()) {
      if (first == known.word) syntax_ = &known;
    }
    line_.command = syntax_->command;
    if (!syntax_->word.empty()) {
      ++next_;
    } else if (is_meant_as_command(first)) {
      refuse_command(first);
    }
  }

  /// True if a word can only mean a command, because input files have an ending, or exist.
  static bool is_meant_as_command(const std::string& word) {
    const bool plain = !word.empty() && word[0] != '-' && word.find_first_of("./=") == word.npos;
    return plain && look_at(word).kind == PathKind::nothing;
  }

  [[noreturn]] static void refuse_command(const std::string& word) {
    std::string known;
    for (const Syntax& syntax : commands()) {
      if (!syntax.word.empty()) known += (known.empty() ? "" : ", ") + std::string(syntax.word);
    }
    refuse(Exit::kUsage, "command line: ", word, ": neither a command (", known,
           ") nor an input file; to train, write zeroapp INPUT.toml");
  }

  void read_word(const std::string& word) {
    if (word.starts_with("-")) return read_option(word);
    if (syntax_->input.empty()) {
      refuse(Exit::kUsage, "command line: ", word, ": zeroapp ", syntax_->word,
             " takes no input or setting");
    }
    if (line_.input.empty()) {
      line_.input = word;
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
      refuse(Exit::kUsage, "command line: ", word, ": zeroapp ", syntax_->word, " takes ",
             syntax_->input, " and ", syntax_->second_name, " and no more");
    }
    line_.second = word;
  }

  [[noreturn]] void refuse_option(const std::string& name) const {
    std::vector<std::string> known;
    std::string all;
    for (const Option& option : syntax_->options) {
      known.emplace_back(option.name);
      all += (all.empty() ? "" : ", ") + known.back();
    }
    const std::string near = nearest_key(name, known);
    refuse(Exit::kUsage, "command line: ", name, ": unknown option; ",
           near.empty() ? text("of zeroapp ", syntax_->word, syntax_->word.empty() ? "" : " ",
                               syntax_->input, " they are: ", all.empty() ? "none" : all)
                        : "did you mean " + near + "?");
  }

  void read_option(const std::string& name) {
    if (name == "--help" || name == "-h") {
      line_.command = Command::help;
    } else if (name == "--version") {
      line_.command = Command::version;
    } else {
      const auto option = std::find_if(syntax_->options.begin(), syntax_->options.end(),
                                       [&](const Option& known) { return known.name == name; });
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
  CommandLine line_;
};

}  // namespace

CommandLine read_command_line(std::span<const char* const> words) { return Reader(words).read(); }

}  // namespace zero::commands
