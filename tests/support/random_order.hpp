#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "zero/kernels/step_state.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

/// Runs all ranks of a plan, in one process and one thread where no communicators are given, in one
/// random global order that lanes and waits allow (a collective runs when it heads its lane on
/// every rank), with every transient buffer filled with 0xFF at birth and after its last use. The
/// bits must not depend on `seed`: the test of the verifier's promise.
class RandomOrderExecutor {
 public:
  struct Options {
    uint64_t seed = 0;
    /// Each op runs on heap copies of exactly its operands' bytes, copied back afterwards, so that
    /// an address sanitizer sees any access that the plan did not declare.
    bool exact_copies = false;
    /// This process's communicators. Given them, a process runs the ops of its own rank alone, and
    /// all processes draw one order. A body ends with the memory of all ranks in each of them.
    LaneComms comms = {};
  };
  RandomOrderExecutor(const plan::Plan& plan, const Rules& rules, const Options& options);
  ~RandomOrderExecutor();

  /// `inputs` is the same on every rank.
  void run(plan::BodyId body, const kernels::StepInputs& inputs);
  void run_chunk(plan::BodyId body, const kernels::DecodeInputs& inputs);
  std::span<std::byte> bytes(int rank, int32_t buffer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zero::run
