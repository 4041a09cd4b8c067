#pragma once

#include "zero/model/family.hpp"

namespace zero::commands {

/// Runs the program, with the models and objectives of `catalogue`. Does what the words
/// after its name ask for and returns the exit status. Prints an error that only this process knows
/// of.
int run_program(int argc, char** argv, const model::Catalogue& catalogue);

}  // namespace zero::commands
