#pragma once

#include "zero/model/family.hpp"

namespace zero::commands {

/// Does what the words behind the program's name ask for, with the models of `catalogue`. Returns
/// the exit status; throws Error, or train::Ended after a failure that one rank has printed for
/// all.
int run_program(int argc, char** argv, const model::Catalogue& catalogue);

}  // namespace zero::commands
