#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/train/start_model.hpp"

namespace zero::commands {
namespace {

/// Quotes a word if a shell would read more than a word.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:+-";
  if (word.find_first_not_of(kPlain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// Prints the open keys, and the command that would fill them.
void print_needs(const CommandLine& line, const DeepSpeedImport& result) {
  if (result.needs.empty()) return;
  const bool to_file = !line.output.empty();
  std::string again = to_file ? "rm " + shell_word(line.output) + " && " : "";
  again += shell_word(line.program) + " import-deepspeed " + shell_word(line.input);
  if (line.leave_out_unsupported) again += " --leave-out-unsupported";
  if (line.hf_defaults) again += " --hf-defaults";
  for (const std::string& given : line.overrides) again += " " + shell_word(given);
  for (const std::string& key : result.needs) {
    std::fprintf(stderr, "needs %s\n", key.c_str());
    again += " " + key;
  }
  if (to_file) again += " -o " + shell_word(line.output);
  if (!result.launch_line.empty()) again += " --";
  for (const std::string& word : result.launch_line) again += " " + shell_word(word);
  std::fprintf(stderr, "write them into the input file, or: %s\n", again.c_str());
}

void require_none_refused(const DeepSpeedImport& result) {
  std::string all;
  bool unsupported = false;
  for (const std::string& words : result.refused) {
    all += (all.empty() ? "" : "\n") + words;
    unsupported = unsupported || words.find(": unsupported: ") != words.npos;
  }
  if (unsupported) all += "\nremove what is unsupported, or add --leave-out-unsupported";
  if (!all.empty()) refuse(Exit::kUsage, all);
}

void write(std::FILE* file, const std::string& name, const std::string& toml) {
  const bool written = std::fputs(toml.c_str(), file) >= 0 && std::fflush(file) == 0;
  if (!written) refuse(Exit::kIo, name, ": cannot be written: ", std::strerror(errno));
}

void write_new_file(const std::string& path, const std::string& toml) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wx"),
                                                       &std::fclose);
  if (!file && errno == EEXIST) {
    refuse(Exit::kUsage, path, ": exists and is not overwritten; choose another name");
  }
  if (!file) refuse(Exit::kIo, path, ": cannot be written: ", std::strerror(errno));
  write(file.get(), path, toml);
  if (std::fclose(file.release()) != 0)
    refuse(Exit::kIo, path, ": cannot be written: ", std::strerror(errno));
}

}  // namespace

int import_deepspeed(const CommandLine& line) {
  train::StartModel start;
  const DeepSpeedImport result = zero::import_deepspeed(
      line.catalogue->models, line.input,
      {.overrides = line.overrides,
       .launch_line = line.launch_line,
       .hf_defaults = line.hf_defaults,
       .unsupported = line.leave_out_unsupported ? Unsupported::leave_out : Unsupported::refuse,
       .name = line.output.empty() ? "INPUT.toml" : line.output,
       .start = train::start_reader(*line.catalogue, start)});
  for (const std::string& words : result.report) std::fprintf(stderr, "%s\n", words.c_str());
  require_none_refused(result);
  if (line.output.empty()) {
    write(stdout, "standard output", result.toml);
  } else {
    write_new_file(line.output, result.toml);
  }
  print_needs(line, result);
  if (!line.output.empty() && result.needs.empty()) {
    std::fprintf(stderr, "%s is written; what it takes: %s plan %s --ranks 2\n",
                 line.output.c_str(), line.program.c_str(), line.output.c_str());
  }
  return 0;
}

}  // namespace zero::commands
