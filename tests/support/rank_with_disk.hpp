#pragma once
/// A rank whose states rest in memory and on a disk of its own, for tests of saves beside steps.

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "src/save/checkpoint_payload.hpp"
#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/state/disk.hpp"

namespace zero::testing {

/// The homes of states and weights.
struct Homes {
  Home states, parameters;
};
inline constexpr Homes kAll = {Home::nvme, Home::nvme}, kStates = {Home::nvme, Home::none},
                       kParameters = {Home::cpu, Home::nvme}, kNone = {Home::cpu, Home::none};

/// Returns a run at stage 3 that saves beside its steps.
inline RunConfig config_of(Homes homes, Dtype compute) {
  RunConfig config = tiny(3, compute);
  config.model.numbers.counts["vocab_size"] = 3000;  // pieces of many blocks
  config.zero.stage3_param_persistence_threshold = 0;
  config.offload_optimizer.device = homes.states;
  config.offload_param.device = homes.parameters;
  config.checkpoint.async = true;
  config.checkpoint.interval = 1;  // else synthetic data save nothing
  return config;
}

inline setup::Build build_of(Homes homes, Dtype compute) {
  return setup::build(config_of(homes, compute), {2, 1});
}

/// The state of one rank, in memory and on a disk of its own.
class RankWithDisk {
 public:
  explicit RankWithDisk(const plan::Plan& plan)
      : plan_(plan),
        held_(plan, 1),
        disk_(std::make_shared<state::Disk>(
            state::DiskHomes{.folders = {place_.path()}},
            plan.arena_bytes[size_t(plan::Tier::nvme)],
            setup::saved_on_disk(plan, setup::saved_parts(plan, false)))),
        window_(plan, disk_->lanes(), std::span(memory_.data(), size_t(memory_.bytes()))) {}

  const std::shared_ptr<state::Disk>& disk() const { return disk_; }
  state::StateView view() {
    state::StateView view = held_.view();
    view.read_far = [this](int32_t buffer, int64_t offset, std::span<std::byte> out) {
      window_.read(buffer, offset, out);
    };
    return view;
  }
  /// Writes finite numbers into every state, others for another salt.
  void fill(uint32_t salt) {
    std::vector<std::byte> bytes;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const plan::Buffer& buffer = plan_.buffers[b];
      if (!buffer.persistent) continue;
      bytes.resize(size_t(buffer.bytes));
      for (std::byte& byte : bytes) byte = std::byte(salt++ % 61);
      if (setup::is_on_disk(plan_, int32_t(b))) {
        window_.write(int32_t(b), 0, bytes);
      } else {
        std::ranges::copy(bytes, held_.view().bytes(int32_t(b)).begin());
      }
    }
  }

 private:
  const plan::Plan& plan_;
  Held held_;
  testing_support::TempFolder place_{"frozen"};
  std::shared_ptr<state::Disk> disk_;
  Arena memory_{int64_t(1) << 20};
  run::DiskWindow window_;
};

/// Returns the bytes of all pieces.
inline std::vector<std::vector<std::byte>> pieces_of(save::Payload& payload) {
  std::vector<std::vector<std::byte>> pieces;
  for (size_t i = 0; i < payload.pieces(); ++i) {
    const auto piece = payload.piece(i);
    pieces.emplace_back(piece.begin(), piece.end());
  }
  return pieces;
}

inline void rethrown(const std::exception_ptr& error) { std::rethrow_exception(error); }

}  // namespace zero::testing
