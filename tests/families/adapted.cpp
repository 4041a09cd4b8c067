/// The program with one more alteration, which lives in tests alone: support/adapters.hpp.
/// ADAPTER_RANK in the environment is the rank; 0 alters nothing. runs/adapters.py takes it through
/// the commands.
#include <cstdlib>

#include "tests/support/adapters.hpp"
#include "zero/commands/command_program.hpp"
#include "zero/model/objective.hpp"

namespace zero {
namespace {

std::optional<model::Alteration> asked(const RunConfig&) {
  const char* rank = std::getenv("ADAPTER_RANK");
  const int64_t said = rank == nullptr ? 4 : std::atoll(rank);
  if (said == 0) return {};
  return testing::adapting({.rank = said});
}

const model::AlterationKind kAdapters{asked};

/// An alteration that adds parameters comes before those that name them.
std::vector<const model::AlterationKind*> alterations() {
  std::vector<const model::AlterationKind*> all = {&kAdapters};
  for (const model::AlterationKind* kind : model::alteration_kinds()) all.push_back(kind);
  return all;
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  const zero::model::Catalogue plain = zero::model::catalogue();
  const zero::model::Catalogue altered(plain.families, zero::model::objectives(),
                                       zero::alterations());
  return zero::commands::run_program(argc, argv, altered);
}
