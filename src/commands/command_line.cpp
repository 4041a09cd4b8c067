#include "zero/commands/command_line.hpp"

#include <charconv>

#include "zero/base/error.hpp"

namespace zero::commands {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const char* const> words) : words_(words.begin(), words.end()) {}

  CommandLine read() {
    for (; next_ < words_.size(); ++next_) read_word(words_[next_]);
    const bool needs_input = line_.command == Command::train || line_.command == Command::plan;
    if (needs_input && line_.input.empty()) {
      refuse(Exit::kUsage, "command line: no input file; write zeroapp ",
             line_.command == Command::plan ? "plan " : "", "INPUT.toml, or zeroapp --help");
    }
    return line_;
  }

 private:
  void read_word(const std::string& word) {
    if (word.starts_with("-")) return read_option(word);
    if (next_ == 0 && word == "plan") {
      line_.command = Command::plan;
    } else if (line_.input.empty()) {
      line_.input = word;
    } else if (word.find('=') != std::string::npos) {
      line_.overrides.push_back(word);
    } else {
      refuse(Exit::kUsage, "command line: ", word, ": is no setting; write key=value");
    }
  }

  void read_option(const std::string& option) {
    const bool plans = line_.command == Command::plan;
    if (option == "--help" || option == "-h") {
      line_.command = Command::help;
    } else if (option == "--version") {
      line_.command = Command::version;
    } else if (option == "--dry-run" && !plans) {
      line_.dry_run = true;
    } else if (!plans || !read_plan_option(option)) {
      refuse(Exit::kUsage, "command line: ", option, ": unknown option; see zeroapp --help");
    }
  }

  bool read_plan_option(const std::string& option) {
    if (option == "--ranks") {
      line_.ranks = count(option);
    } else if (option == "--ranks-per-node") {
      line_.ranks_per_node = count(option);
    } else if (option == "--machine") {
      line_.machine = value(option);
    } else if (option == "--max-batch") {
      line_.max_batch = true;
    } else if (option == "--json") {
      line_.json = true;
    } else {
      return false;
    }
    return true;
  }

  const std::string& value(const std::string& option) {
    if (++next_ >= words_.size()) {
      refuse(Exit::kUsage, "command line: ", option, ": wants a value behind it");
    }
    return words_[next_];
  }

  int64_t count(const std::string& option) {
    const std::string& word = value(option);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > 65536) {
      refuse(Exit::kUsage, "command line: ", option, ": \"", word,
             "\" is no number of ranks; write 1 to 65536");
    }
    return number;
  }

  std::vector<std::string> words_;
  size_t next_ = 0;
  CommandLine line_;
};

}  // namespace

CommandLine read_command_line(std::span<const char* const> words) { return Reader(words).read(); }

std::string help_text() {
  return R"(zeroapp trains a GPT-2 on MPI ranks with ZeRO stages 0 to 3: a compiled, verified plan.

  mpirun -n 2 zeroapp INPUT.toml [key=value ...]      train
  zeroapp INPUT.toml [key=value ...] --dry-run        compile the plan and print it
  zeroapp plan INPUT.toml [key=value ...]             memory, traffic, time: needs no peers or data
      --ranks N            ranks to plan for (1)
      --ranks-per-node M   of them on one node (all)
      --machine NAME       host (default), titan_rtx_24g, rtx_3090_24g, v100_32g, h100_80g,
                           h200_141g
      --max-batch          the largest train_micro_batch_size_per_gpu that fits
      --json               as one JSON object
  zeroapp --help | --version

inputs/reference.toml explains every key; inputs/gpt2_nano.toml is a run of three minutes.
Exit status: 0 finished, 2 usage or configuration, 3 input data, 5 I/O, 6 does not fit in memory,
7 numerics, 8 ranks disagree, 9 in use, 10 hang, 11 internal.
)";
}

}  // namespace zero::commands
