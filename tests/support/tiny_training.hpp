#pragma once
/// Trains a tiny plan for a few steps on one kind of machine or another, and says what came out in
/// a form that does not depend on stage, ranks or order.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/random_order.hpp"
#include "tests/support/rank_disk.hpp"
#include "tests/support/thread_group.hpp"
#include "zero/run/executor.hpp"

namespace zero::testing {

/// All ranks of a plan in one process.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual void run(plan::BodyId body, const kernels::StepInputs& inputs) = 0;
  /// The bytes of a buffer in memory.
  virtual std::span<std::byte> bytes(int rank, int32_t buffer) = 0;
  /// All bytes of a buffer on any tier.
  virtual void read(int rank, int32_t buffer, std::span<std::byte> out) {
    const std::span<std::byte> from = bytes(rank, buffer);
    std::copy(from.begin(), from.end(), out.begin());
  }
  virtual void write(int rank, int32_t buffer, std::span<const std::byte> in) {
    std::copy(in.begin(), in.end(), bytes(rank, buffer).begin());
  }

  template <class T>
  T* view(int rank, int32_t buffer) {
    return reinterpret_cast<T*>(bytes(rank, buffer).data());
  }
};

/// An Executor a rank, each on its own thread.
class ThreadRanks final : public Machine {
 public:
  ThreadRanks(const plan::Plan& plan, const run::Rules& rules);
  void run(plan::BodyId body, const kernels::StepInputs& inputs) override;
  std::span<std::byte> bytes(int rank, int32_t buffer) override {
    return executors_[size_t(rank)]->buffers().bytes(buffer);
  }
  void read(int rank, int32_t buffer, std::span<std::byte> out) override {
    executors_[size_t(rank)]->buffers().read(buffer, 0, out);
  }
  void write(int rank, int32_t buffer, std::span<const std::byte> in) override {
    executors_[size_t(rank)]->buffers().write(buffer, 0, in);
  }
  run::Executor& executor(int rank) { return *executors_[size_t(rank)]; }

 private:
  /// [teams][parts]
  std::array<std::vector<std::unique_ptr<comm::ThreadGroup>>, plan::kTeams> teams_;
  std::vector<std::unique_ptr<comm::Communicator>> comms_;
  std::vector<std::unique_ptr<RankDisk>> disks_;
  std::vector<std::unique_ptr<run::Executor>> executors_;
};

class RandomRanks final : public Machine {
 public:
  RandomRanks(const plan::Plan& plan, const run::Rules& rules,
              const run::RandomOrderExecutor::Options& options)
      : executor_(plan, rules, options) {}
  void run(plan::BodyId body, const kernels::StepInputs& inputs) override {
    executor_.run(body, inputs);
  }
  std::span<std::byte> bytes(int rank, int32_t buffer) override {
    return executor_.bytes(rank, buffer);
  }

 private:
  run::RandomOrderExecutor executor_;
};

/// Warm-up, clipping, and in fp16 a scale that overflows at first.
run::Rules tiny_rules(Dtype compute);

/// A micro-batch's part of an input of a rank.
int32_t* inputs_of(Machine& machine, int rank, const plan::InputBuffer& input, int micro);

kernels::StepInputs tiny_inputs(const plan::Plan& plan, int64_t step);

/// Weights and step state as before the first step; batches from sample `first_sample` on.
void fill_states(Machine& machine, const plan::Plan& plan, const run::Rules& rules);
void fill_batch(Machine& machine, const plan::Plan& plan, int64_t first_sample);

/// Fills what one micro-batch of `samples` has of an input of this name, tokens or targets of which
/// one in five does not count. `first` is its first sample's number over all ranks.
void fill_samples(const std::string& input, int64_t samples, int64_t first, std::span<int32_t> out);

/// What a run left behind: the same bytes wherever the design promises the same numbers.
struct Outcome {
  std::vector<std::byte> sums;     ///< StepSums of every step
  std::vector<std::byte> decided;  ///< StepState of every step
  std::vector<std::byte> state;    ///< weight, low, momentum, variance of every parameter
  double evaluation = 0;           ///< sum of the losses of the first eight micro-batches
};

/// The digests of the units in the first micro-batch of a rank: its own, and those of the rank
/// before it.
struct AuditSums {
  std::vector<int64_t> own, other;
};
AuditSums audit_sums(Machine& machine, const plan::Plan& plan, int rank);

/// `steps` attempts, each audited if the plan audits, which must find nothing; then the last one's
/// update, then an evaluation where the plan has one.
Outcome train(Machine& machine, const plan::Plan& plan, int steps);

/// No element between or behind the tensors of a unit's weights and states has become other than 0.
bool padding_is_zero(Machine& machine, const plan::Plan& plan);

}  // namespace zero::testing
