#include "src/explain/levers.hpp"

#include <algorithm>
#include <string_view>

#include "zero/base/text.hpp"
#include "zero/config/recompute_words.hpp"

namespace zero::explain {
namespace {

using Values = std::vector<Settings>;
using Mode = Recompute::Mode;

/// Returns `key` with each value but the present one.
template <class Value>
Values others(std::string_view key, Value now, std::initializer_list<Value> values) {
  Values out;
  for (const Value& value : values)
    if (value != now) out.push_back({text(key, "=", value)});
  return out;
}

Values switched(std::string_view key, bool now) {
  return {{text(key, "=", now ? "false" : "true")}};
}

int64_t micro_batches(const Present& p) { return p.batch.micro * p.batch.accumulation; }

/// Returns larger micro-batches of the same step: twice as large, and the largest.
Values larger_micro(const Present& p) {
  const int64_t all = micro_batches(p);
  Values out;
  if (p.batch.accumulation % 2 == 0)
    out.push_back(batch_settings(p, 2 * p.batch.micro, p.batch.accumulation / 2));
  int64_t most = std::min(all, p.most_micro_samples);
  while (most > 0 && all % most != 0) --most;
  if (most > 2 * p.batch.micro) out.push_back(batch_settings(p, most, all / most));
  return out;
}

/// Returns larger micro-batches with as many of them in a step.
Values grown_micro(const Present& p) {
  Values out = {batch_settings(p, 2 * p.batch.micro, p.batch.accumulation)};
  if (p.most_micro_samples > 2 * p.batch.micro)
    out.push_back(batch_settings(p, p.most_micro_samples, p.batch.accumulation));
  return out;
}

Values more_accumulation(const Present& p) {
  return {batch_settings(p, p.batch.micro, 2 * p.batch.accumulation)};
}

Values recomputes(const Present& p) {
  Values out;
  for (const Mode mode : {Mode::none, Mode::selective, Mode::full}) {
    if (mode == p.config.recompute.mode) continue;
    Settings settings = {
        text("activation_checkpointing.recompute=", kRecomputeWords[size_t(mode)])};
    const bool moves = p.config.offload_activations.home() != Home::none;
    if (mode == Mode::none && moves) settings.push_back("activation_checkpointing.offload=none");
    out.push_back(settings);
  }
  return out;
}

Values stages(const Present& p) {
  if (p.ranks == 1) return {};
  return others<int64_t>("zero.stage", p.config.zero.stage, {0, 1, 2, 3});
}

/// Returns pieces of the largest unit, and one that holds any unit.
Values buckets(const Present& p, std::string_view key, int64_t now) {
  if (p.ranks == 1) return {};
  const int64_t unit = p.largest_unit, present = std::min(now, unit);
  Values out;
  for (const int64_t size : {unit / 4, unit / 2, unit})
    if (size > 0 && size != present) out.push_back({text(key, "=", size)});
  return out;
}
Values reduce_buckets(const Present& p) {
  return buckets(p, "zero.reduce_bucket_size", p.config.zero.reduce_bucket_size);
}
Values gather_buckets(const Present& p) {
  return buckets(p, "zero.allgather_bucket_size", p.config.zero.allgather_bucket_size);
}

/// True if units are gathered at each use.
bool gathers(const Present& p) { return p.config.zero.stage == 3 && p.ranks > 1; }

Values prefetches(const Present& p) {
  if (!gathers(p)) return {};
  return others<int64_t>("zero.stage3_prefetch_bucket_size",
                         p.config.zero.stage3_prefetch_bucket_size,
                         {0, p.largest_unit, 4 * p.largest_unit});
}
Values kept_units(const Present& p) {
  if (!gathers(p)) return {};
  return others<int64_t>("zero.stage3_param_persistence_threshold",
                         p.config.zero.stage3_param_persistence_threshold, {0, p.largest_unit});
}
Values reuses(const Present& p) {
  if (!gathers(p)) return {};
  return others<int64_t>("zero.stage3_max_reuse_distance", p.config.zero.stage3_max_reuse_distance,
                         {0, 1'000'000'000});
}

Values overlaps(const Present& p) {
  return p.ranks == 1 ? Values{} : switched("zero.overlap_comm", p.config.zero.overlap_comm);
}

constexpr const char* kHomes[] = {"none", "cpu", "nvme"};

/// Returns the homes but the present one. A disk needs a folder.
Values homes(std::string_view key, Home now, const std::string& folder) {
  Values out;
  for (const Home home : {Home::none, Home::cpu, Home::nvme}) {
    if (home == now || (home == Home::nvme && folder.empty())) continue;
    out.push_back({text(key, "=", kHomes[size_t(home)])});
  }
  return out;
}
Values optimizer_homes(const Present& p) {
  const OffloadOptimizerConfig& now = p.config.offload_optimizer;
  return homes("zero.offload_optimizer.device", now.device, now.nvme_path);
}
Values parameter_homes(const Present& p) {
  const OffloadParamConfig& now = p.config.offload_param;
  if (p.config.zero.stage < 3) return {};
  return homes("zero.offload_param.device", now.device, now.nvme_path);
}
Values activation_homes(const Present& p) {
  const OffloadActivationsConfig& now = p.config.offload_activations;
  const bool is_open = p.config.recompute.mode != Mode::none && !now.cpu_checkpointing;
  return is_open ? homes("activation_checkpointing.offload", now.home(), now.nvme_path) : Values{};
}

bool moves_states(const Present& p) { return p.config.offload_optimizer.device != Home::none; }

Values ratios(const Present& p) {
  if (!moves_states(p)) return {};
  return others<double>("zero.offload_optimizer.ratio", p.config.offload_optimizer.ratio,
                        {0.25, 0.5, 0.75, 1.0});
}
Values buffer_counts(const Present& p) {
  if (!moves_states(p) && p.config.offload_param.device == Home::none) return {};
  return others<int64_t>("zero.offload_optimizer.buffer_count",
                         p.config.offload_optimizer.buffer_count, {1, 2, 4, 8});
}

Values gradient_types(const Present& p) {
  const bool is_fp32 = p.config.numerics.gradient_dtype == GradientDtype::fp32;
  const bool halves = p.config.bf16.enabled || p.config.fp16.enabled;
  if (!halves) return {};
  return {{text("numerics.gradient_dtype=", is_fp32 ? "compute" : "fp32")}};
}
Values sent_types(const Present& p) {
  const bool is_bf16 = p.config.communication_data_type == CommunicationDtype::bf16;
  if (p.ranks == 1 || !p.config.bf16.enabled) return {};
  return {{text("communication_data_type=", is_bf16 ? "auto" : "bf16")}};
}

Values thread_counts(const Present& p) {
  if (p.gpus) return {};
  Values out;
  const int64_t most = p.cores / p.node_ranks;
  for (const int64_t threads : {2 * p.threads, most})
    if (threads > p.threads && threads <= most) out.push_back({text("run.threads=", threads)});
  if (out.size() == 2 && out[0] == out[1]) out.pop_back();
  return out;
}

constexpr Lever kLevers[] = {
    {"larger micro-batches", larger_micro},
    {"micro-batch", grown_micro},
    {"accumulation", more_accumulation},
    {"recompute", recomputes},
    {"stage", stages},
    {"reduce bucket", reduce_buckets},
    {"gather bucket", gather_buckets},
    {"prefetch", prefetches},
    {"kept units", kept_units},
    {"reuse", reuses},
    {"overlap", overlaps},
    {"optimizer home", optimizer_homes},
    {"parameter home", parameter_homes},
    {"activation home", activation_homes},
    {"ratio", ratios},
    {"buffers", buffer_counts},
    {"gradients' type", gradient_types},
    {"type between ranks", sent_types},
    {"threads", thread_counts},
};

}  // namespace

std::span<const Lever> levers() { return kLevers; }

Settings batch_settings(const Present& present, int64_t micro, int64_t accumulation) {
  const RunConfig& config = present.config;
  Settings settings;
  const int64_t train = micro * accumulation * present.ranks;
  if (config.train_batch_size > 0 && train != config.train_batch_size)
    settings.push_back(text("train_batch_size=", train));
  if (micro != config.train_micro_batch_size_per_gpu)
    settings.push_back(text("train_micro_batch_size_per_gpu=", micro));
  const bool is_derived = config.train_batch_size > 0 && config.gradient_accumulation_steps == 0;
  const int64_t now = std::max<int64_t>(1, config.gradient_accumulation_steps);
  if (!is_derived && accumulation != now)
    settings.push_back(text("gradient_accumulation_steps=", accumulation));
  return settings;
}

}  // namespace zero::explain
