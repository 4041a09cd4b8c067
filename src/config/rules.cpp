#include "src/config/rules.hpp"

#include <cmath>

#include "src/config/fields.hpp"
#include "src/config/nearest.hpp"
#include "zero/base/error.hpp"
#include "zero/config/model_sizes.hpp"

namespace zero {
namespace {

void check_required(const RunConfig& c, Report& report) {
  if (c.data.train.empty()) {
    report.clash({"data.train"}, "missing; write a text file, or \"synthetic\" to measure speed");
  }
  if (c.run.steps == 0) report.clash({"run.steps"}, "missing; write how many steps to train");
}

void check_named_model(const ModelConfig& m, Report& report) {
  if (!find_model_size(m.name)) {
    std::vector<std::string> names;
    for (const ModelSize& size : model_sizes()) names.emplace_back(size.name);
    const std::string near = nearest_key(m.name, names);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    report.clash({"model.name"},
                 text("\"", m.name, "\" is no model; ",
                      near.empty() ? "write one of " + all : "did you mean \"" + near + "\"?"));
    return;
  }
  if (m.layers || m.width || m.heads || m.vocab_size || m.max_positions) {
    report.clash({"model.name", "model.layers", "model.width", "model.heads", "model.vocab_size",
                  "model.max_positions"},
                 text("model.name = \"", m.name,
                      "\" already says the numbers of the model; remove "
                      "the name or layers, width, heads, vocab_size, max_positions"));
  }
}

void check_model(const RunConfig& c, Report& report) {
  const ModelConfig& m = c.model;
  if (!m.name.empty()) {
    check_named_model(m, report);
  } else if (!m.layers || !m.width || !m.heads) {
    report.clash({"model.name", "model.layers", "model.width", "model.heads"},
                 "the model has no size; write model.name = \"gpt2\", or layers, width and heads");
  }
  if (m.heads && m.width % m.heads != 0) {
    report.clash({"model.heads", "model.width"},
                 text("a width of ", m.width, " does not divide into ", m.heads,
                      " heads; write a width that is a multiple of heads"));
  }
}

void check_data(const RunConfig& c, Report& report) {
  const DataConfig& d = c.data;
  const bool held_out = d.validation_fraction > 0;
  if (d.tokenizer != "bytes") {
    report.clash({"data.tokenizer"},
                 text("\"", d.tokenizer,
                      "\" is no tokenizer yet; write \"bytes\" for text (a token "
                      "file made by tools/data/tokens.py brings its own vocabulary)"));
  }
  if (held_out && !d.validation.empty()) {
    report.clash({"data.validation", "data.validation_fraction"},
                 "validation data comes from one place; remove validation or validation_fraction");
  }
  if (d.train == "synthetic" && (held_out || !d.validation.empty())) {
    report.clash({"data.train", "data.validation", "data.validation_fraction"},
                 "synthetic data is for measurement and has no validation; remove the validation");
  }
}

/// What depends on the model's resolved numbers.
void check_lengths(const RunConfig& c, Report& report) {
  if (!c.model.name.empty() && !find_model_size(c.model.name)) return;
  const ModelSize size = model_size(c);
  if (c.data.sequence_length > size.max_positions) {
    report.clash(
        {"data.sequence_length", "model.max_positions", "model.name"},
        text("a sequence of ", c.data.sequence_length, " tokens in a model of ", size.max_positions,
             " positions; write sequence_length = ", size.max_positions, " or less"));
  }
  const std::vector<int64_t>& layers = c.recompute.layers;
  if (size.layers > 0 && !layers.empty() && layers.back() >= size.layers) {
    report.clash({"activation_checkpointing.recompute", "model.layers", "model.name"},
                 text("recompute names block ", layers.back(), " of a model of ", size.layers,
                      " blocks, counted from 0; write at most ", size.layers - 1));
  }
}

void check_precision(const RunConfig& c, Report& report) {
  if (c.fp16.enabled && c.bf16.enabled) {
    report.clash({"fp16.enabled", "bf16.enabled"},
                 "fp16 and bf16 exclude each other; set one of them to false");
  }
  const double first_scale = std::ldexp(1.0, int(c.fp16.initial_scale_power));
  const bool dynamic = c.fp16.enabled && c.fp16.loss_scale == 0;
  if (dynamic && c.fp16.min_loss_scale > first_scale) {
    report.clash({"fp16.min_loss_scale", "fp16.initial_scale_power"},
                 text("the least loss scale, ", c.fp16.min_loss_scale, ", is above the first, ",
                      first_scale, "; write min_loss_scale = ", first_scale, " or less"));
  }
}

void check_run(const RunConfig& c, Report& report) {
  if (c.run.steps && c.run.stop_at > c.run.steps) {
    report.clash({"run.stop_at", "run.steps"},
                 text("the run stops at step ", c.run.stop_at, " of ", c.run.steps,
                      "; write at most ", c.run.steps, ", or 0"));
  }
  if (c.optimizer.min_coeff > c.optimizer.max_coeff) {
    report.clash({"optimizer.min_coeff", "optimizer.max_coeff"},
                 "min_coeff is above max_coeff; swap them");
  }
}

void check_scheduler(const RunConfig& c, Report& report) {
  const ScheduleConfig& s = c.scheduler;
  const bool cosine = s.type == ScheduleType::WarmupCosineLR;
  const bool decays = cosine || s.type == ScheduleType::WarmupDecayLR;
  const double highest = s.warmup_max_lr > 0 ? s.warmup_max_lr : c.optimizer.lr;
  if (!cosine && s.type != ScheduleType::constant && s.warmup_min_lr > highest) {
    report.clash({"scheduler.warmup_min_lr", "scheduler.warmup_max_lr", "optimizer.lr"},
                 text("the warm-up begins at ", s.warmup_min_lr, " and ends at ", highest,
                      "; write warmup_min_lr below that"));
  }
  if (decays && s.total_num_steps > 0 && s.total_num_steps < c.run.steps) {
    report.clash({"scheduler.total_num_steps", "run.steps"},
                 text("the schedule ends at step ", s.total_num_steps, " of ", c.run.steps,
                      "; write \"auto\" or at least ", c.run.steps));
  }
  const int64_t total = s.total_num_steps ? s.total_num_steps : c.run.steps;
  if (s.type != ScheduleType::constant && total > 0 && s.warmup_num_steps >= total) {
    report.warning("scheduler.warmup_num_steps",
                   text("the warm-up of ", s.warmup_num_steps, " steps outlasts the ", total,
                        " steps of the schedule: the learning rate never reaches its maximum"));
  }
}

/// Keys that act only under a setting of another key.
struct Condition {
  bool holds;
  std::string because;
  std::string_view wanted;
  std::vector<std::string> keys;
};

std::vector<Condition> scheduler_conditions(const RunConfig& c) {
  const ScheduleType type = c.scheduler.type;
  const bool cosine = type == ScheduleType::WarmupCosineLR;
  const bool decay = type == ScheduleType::WarmupDecayLR;
  const std::string because = "scheduler.type";
  return {
      {type != ScheduleType::constant,
       because,
       "scheduler.type = \"WarmupLR\" and its sisters",
       {"scheduler.warmup_type", "scheduler.warmup_num_steps"}},
      {decay || type == ScheduleType::WarmupLR,
       because,
       "scheduler.type = \"WarmupLR\" or \"WarmupDecayLR\"",
       {"scheduler.warmup_min_lr", "scheduler.warmup_max_lr"}},
      {decay || cosine,
       because,
       "scheduler.type = \"WarmupDecayLR\" or \"WarmupCosineLR\"",
       {"scheduler.total_num_steps"}},
      {cosine,
       because,
       "scheduler.type = \"WarmupCosineLR\"",
       {"scheduler.warmup_min_ratio", "scheduler.cos_min_ratio"}},
  };
}

std::vector<Condition> other_conditions(const RunConfig& c) {
  const bool validates = !c.data.validation.empty() || c.data.validation_fraction > 0;
  return {
      {c.optimizer.type == OptimizerType::LAMB,
       "optimizer.type",
       "optimizer.type = \"LAMB\"",
       {"optimizer.max_coeff", "optimizer.min_coeff"}},
      {c.optimizer.type == OptimizerType::Adam,
       "optimizer.type",
       "optimizer.type = \"Adam\"",
       {"optimizer.adam_w_mode"}},
      {c.zero.stage >= 1, "zero.stage", "zero.stage = 1, 2 or 3", {"zero.allgather_bucket_size"}},
      {c.zero.stage == 3,
       "zero.stage",
       "zero.stage = 3",
       {"zero.stage3_prefetch_bucket_size", "zero.stage3_param_persistence_threshold",
        "zero.stage3_max_live_parameters", "zero.stage3_max_reuse_distance"}},
      {c.fp16.enabled, "fp16.enabled", "fp16.enabled = true", {"fp16.loss_scale"}},
      {c.fp16.enabled && c.fp16.loss_scale == 0,
       c.fp16.enabled ? "fp16.loss_scale" : "fp16.enabled",
       "fp16.enabled = true and the dynamic fp16.loss_scale = 0",
       {"fp16.initial_scale_power", "fp16.loss_scale_window", "fp16.hysteresis",
        "fp16.consecutive_hysteresis", "fp16.min_loss_scale"}},
      {!c.fp16.enabled || c.fp16.loss_scale != 0,
       "fp16.enabled",
       "fp32, bf16 or a constant fp16.loss_scale; a dynamic one ends at fp16.min_loss_scale",
       {"numerics.max_bad_steps"}},
      {validates,
       "data.validation_fraction",
       "data.validation or data.validation_fraction",
       {"data.max_validation_samples", "evaluation.interval", "evaluation.micro_batch_size",
        "evaluation.show_samples"}},
  };
}

const Field& field_named(const std::vector<Field>& fields, const std::string& key) {
  for (const Field& field : fields) {
    if (field.key == key) return field;
  }
  ZERO_REQUIRE(false, "no field ", key);
}

void check_conditions(RunConfig& config, const std::vector<Condition>& conditions, Report& report) {
  RunConfig defaults;
  const std::vector<Field> fields = fields_of(config), unset = fields_of(defaults);
  for (const Condition& condition : conditions) {
    for (const std::string& key : condition.keys) {
      const TomlValue value = value_of(field_named(fields, key));
      if (condition.holds || value == value_of(field_named(unset, key))) continue;
      report.idle(key, condition.because,
                  text(to_text(value), " has no effect: it acts only with ", condition.wanted,
                       "; remove it or write that"));
    }
  }
}

}  // namespace

void check_rules(RunConfig& config, Report& report) {
  check_required(config, report);
  check_model(config, report);
  check_data(config, report);
  check_lengths(config, report);
  check_precision(config, report);
  check_run(config, report);
  check_scheduler(config, report);
  check_conditions(config, scheduler_conditions(config), report);
  check_conditions(config, other_conditions(config), report);
}

}  // namespace zero
