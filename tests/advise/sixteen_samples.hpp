#pragma once
/// A tiny training whose micro-batch tests of advice make smaller.

#include "tests/support/models.hpp"
#include "zero/config/run_config.hpp"

namespace zero::advise {

/// Returns a training of two layers with 16 samples a step, all in one micro-batch on one rank.
inline RunConfig sixteen_samples() {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 2}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 32;
  config.run.steps = 1;
  config.train_batch_size = 16;
  return config;
}

}  // namespace zero::advise
