#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "zero/device/arena.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/request.hpp"
#include "zero/run/executor.hpp"

namespace zero::writing {

/// A part of an arena on the device, from `begin` on, that is free meanwhile, such as what a
/// training's plan leaves free between bodies. A plan that needs more bytes takes its own.
struct LentMemory {
  const Arena* arena = nullptr;
  int64_t begin = 0;
};

/// The ranks that hold a model's weights together, as at stage 3. They run every body of plans that
/// write texts together, each with rows of its own, or none.
struct DecodingRanks {
  /// A training's ranks, buckets and home of weights at stage 3.
  plan::Request request;
  int rank = 0;
  run::LaneComms comms = {};
  plan::Borders borders = {};  ///< of `comms`
  /// Receives the planned collectives of the bodies that run; may be null.
  plan::CollectiveForecasts* planned = nullptr;
  /// Returns the largest value of all ranks. Collective.
  std::function<int64_t(int64_t)> largest = {};
  /// Returns a watchdog over a plan's executor in which ranks wait for each other; may be empty.
  std::function<std::unique_ptr<launch::Watchdog>(const plan::Plan&, run::Executor&)> watch = {};
};
/// Returns the settings of a training's request for plans that write texts. Returns none unless
/// stage 3 shards weights over ranks or keeps them off the device.
std::optional<DecodingRanks> decoding_ranks(const plan::Request& training);
/// Returns a training's settings for plans that write texts, with all that ranks need to run them.
/// A failed rank ends all, and a hang is found. REQUIRES: `session` and communicators outlive the
/// result.
std::optional<DecodingRanks> decoding_ranks(launch::Session& session, const plan::Request& training,
                                            const run::LaneComms& comms);

}  // namespace zero::writing
