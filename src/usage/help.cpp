#include "zero/usage/help.hpp"

#include <cstdio>

#include "src/usage/help_text.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::usage {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

[[noreturn]] void refuse_topic(const std::string& topic, const std::vector<KeyHelp>& keys) {
  std::vector<std::string> known;
  for (const Syntax& command : commands()) known.emplace_back(command.word);
  for (const KeyHelp& key : keys) {
    known.push_back(key.key);
    if (known.back() != key.section && !key.section.empty()) known.push_back(key.section);
  }
  const std::string near = nearest_key(topic, known);
  refuse(Exit::kUsage, "command line: ", topic, ": neither a command nor a key; ",
         near.empty() ? "write zeroapp help --search WORDS, or zeroapp --help"
                      : text("did you mean zeroapp help ", near, "?"));
}

std::string found_by(const CommandLine& line, const std::vector<KeyHelp>& keys) {
  if (line.topics.empty()) {
    refuse(Exit::kUsage, "command line: --search: wants words behind it");
  }
  const std::string found = search_text(keys, line.topics);
  if (found.empty()) {
    refuse(Exit::kUsage, "command line: --search: no text has all of: ", joined(line.topics),
           "; write fewer words, or the beginning of one");
  }
  return found;
}

std::string asked_text(const CommandLine& line) {
  if (!line.search && line.topics.empty()) return program_help(*line.catalogue);
  if (!line.search && line.topics.size() == 1) {
    if (const Syntax* command = find_command(line.topics[0])) return command_help(*command);
  }
  const std::vector<KeyHelp> keys = key_help(line.catalogue->models);
  if (line.search) return found_by(line, keys);
  std::string out;
  for (const std::string& topic : line.topics) {
    const std::vector<KeyHelp> found = keys_called(keys, topic);
    if (found.empty()) refuse_topic(topic, keys);
    out +=
        text(out.empty() ? "" : "\n", found.size() == 1 ? key_text(found[0]) : list_of_keys(found));
  }
  return out;
}

}  // namespace

int help(const CommandLine& line) {
  const std::string out = asked_text(line);
  return std::fputs(out.c_str(), stdout) < 0 ? int(Exit::kIo) : 0;
}

std::string version() { return ZERO_VERSION; }

}  // namespace zero::usage
