#include "zero/explain/explain.hpp"

#include <cstdio>

#include "src/commands/commands.hpp"

namespace zero::commands {

int explain(const CommandLine& line) {
  const explain::Explanation found = explain::explain(*line.catalogue, line.input);
  const std::string words = line.json ? explain::json_of(found) : explain::text_of(found, line.all);
  std::fputs(words.c_str(), stdout);
  std::fflush(stdout);
  return 0;
}

}  // namespace zero::commands
