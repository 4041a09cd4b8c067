#include "zero/commands/command_program.hpp"
#include "zero/model/family.hpp"

int main(int argc, char** argv) {
  return zero::commands::run_program(argc, argv, zero::model::catalogue());
}
