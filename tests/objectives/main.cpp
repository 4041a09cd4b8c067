/// The program with an objective that lives in tests alone: runs/another_objective.py takes it
/// through the commands.
#include "tests/objectives/labels.hpp"
#include "zero/commands/program.hpp"

int main(int argc, char** argv) {
  using namespace zero::model;
  std::vector<const Objective*> all = objectives();
  all.push_back(&label_objective());
  return zero::commands::run_program(argc, argv, Catalogue(catalogue().families, all));
}
