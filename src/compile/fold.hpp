#pragma once

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Two equal stretches of a body, one after the other: ops [first, second) and [second, end).
struct MiddlePair {
  int32_t first, second, end;
  int64_t rounds;         ///< that the second one is to be run
  int32_t micro_batches;  ///< of each stretch
};

/// Makes the second stretch a loop: both then use the same transient buffers, and what follows them
/// uses what the last round leaves. Needs ops whose transient buffers live once, and no body after
/// this one. Returns false if the stretches differ in more than buffers, numbers of micro-batches
/// and places of inputs, or if a buffer of one is still in use where that of the next begins. The
/// body is then to be written anew.
bool fold(Plan& plan, Body& body, const MiddlePair& pair);

}  // namespace zero::plan
