/// The program with objectives that live in tests alone: runs/another_objective.py and
/// runs/scored_objective.py take them through the commands.
#include "tests/objectives/moods.hpp"
#include "tests/objectives/tones.hpp"
#include "zero/commands/command_program.hpp"

int main(int argc, char** argv) {
  using namespace zero::model;
  std::vector<const Objective*> all = objectives();
  for (const Objective* one : {&mood_objective(), &tone_objective(), &grade_objective()})
    all.push_back(one);
  return zero::commands::run_program(argc, argv, Catalogue(catalogue().families, all));
}
