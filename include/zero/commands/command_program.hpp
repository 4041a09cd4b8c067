#pragma once

#include "zero/model/family.hpp"

namespace zero::commands {

/// Runs the program on main()'s arguments `argc` and `argv`, with the models and objectives of
/// `catalogue`. Does what the words after the program's name ask for. Returns the exit status.
/// Prints an error that only this process knows of.
int run_program(int argc, char** argv, const model::Catalogue& catalogue);

}  // namespace zero::commands
