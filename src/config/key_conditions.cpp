#include "src/config/key_conditions.hpp"

#include <algorithm>
#include <set>

#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr const char* kModel = "a model.name or model.family ";
constexpr const char* kFraction = "data.validation_fraction";

bool dynamic_scale(const RunConfig& c) { return c.fp16.enabled && c.fp16.loss_scale == 0; }

bool validates(const RunConfig& c) {
  return !c.data.validation.empty() || c.data.validation_fraction > 0;
}

/// True if a home is or may become a disk. "auto" may only if a disk is named.
bool may_use_disk(Home home, const std::string& path) {
  return home == Home::nvme || (home == Home::automatic && !path.empty());
}

bool uses_disk(const RunConfig& c) {
  return may_use_disk(c.offload_optimizer.device, c.offload_optimizer.nvme_path) ||
         may_use_disk(c.offload_param.device, c.offload_param.nvme_path) ||
         c.offload_activations.home() == Home::nvme;
}

/// Returns: key = "A", "B" or "C".
std::string any_of(const std::string& key, const std::vector<TomlValue>& values) {
  std::string words = key + " = ";
  for (size_t i = 0; i < values.size(); ++i) {
    words += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + to_text(values[i]);
  }
  return words;
}

/// Returns the condition of keys that act if another key has one of `values`.
Condition acts_with(std::vector<std::string> keys, const std::string& because,
                    std::vector<TomlValue> values, const std::string& wanted = "") {
  return {.keys = std::move(keys),
          .because = {because},
          .wanted = wanted.empty() ? any_of(because, values) : wanted,
          .values = std::move(values)};
}

std::vector<Condition> schedule_conditions() {
  const std::string type = "scheduler.type";
  const auto cycles = [](const RunConfig& c) { return c.scheduler.type == ScheduleType::OneCycle; };
  return {
      acts_with({"scheduler.warmup_type", "scheduler.warmup_num_steps"}, type,
                {"WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "WSD"},
                "scheduler.type = \"WarmupLR\" and its sisters, or \"WSD\""),
      acts_with({"scheduler.warmup_min_lr", "scheduler.warmup_max_lr"}, type,
                {"WarmupLR", "WarmupDecayLR", "WSD"}),
      acts_with({"scheduler.total_num_steps"}, type, {"WarmupDecayLR", "WarmupCosineLR", "WSD"}),
      acts_with({"scheduler.warmup_min_ratio", "scheduler.cos_min_ratio"}, type,
                {"WarmupCosineLR"}),
      acts_with(
          {"scheduler.wsd_decay_steps", "scheduler.wsd_decay_type", "scheduler.wsd_min_ratio"},
          type, {"WSD"}),
      acts_with({"scheduler.cycle_min_lr", "scheduler.cycle_max_lr",
                 "scheduler.cycle_first_step_size", "scheduler.cycle_second_step_size",
                 "scheduler.cycle_first_stair_count", "scheduler.cycle_second_stair_count"},
                type, {"OneCycle"}),
      {.keys = {"scheduler.decay_step_size"},
       .because = {"scheduler.decay_lr_rate", type},
       .wanted = "scheduler.type = \"OneCycle\" and a scheduler.decay_lr_rate above 0",
       .holds = [=](const RunConfig& c) { return cycles(c) && c.scheduler.decay_lr_rate > 0; },
       .example = {"scheduler.type = \"OneCycle\""}},
      {.keys = {"scheduler.decay_lr_rate"},
       .because = {"scheduler.decay_step_size", type},
       .wanted = "scheduler.type = \"OneCycle\" and a scheduler.decay_step_size above 0",
       .holds = [=](const RunConfig& c) { return cycles(c) && c.scheduler.decay_step_size > 0; },
       .example = {"scheduler.type = \"OneCycle\""}},
      acts_with({"scheduler.lr_range_test_min_lr", "scheduler.lr_range_test_step_size",
                 "scheduler.lr_range_test_step_rate", "scheduler.lr_range_test_staircase"},
                type, {"LRRangeTest"}),
      acts_with({"optimizer.lr"}, type,
                {"constant", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle", "WSD"},
                "another scheduler.type than \"LRRangeTest\", whose rates begin with "
                "scheduler.lr_range_test_min_lr"),
  };
}

/// Returns the conditions of keys that only some optimizers have.
std::vector<Condition> optimizer_conditions() {
  const auto reads = [](const OptimizerRow& row, std::string_view key) {
    return std::ranges::find(row.keys, key) != row.keys.end();
  };
  std::vector<Condition> conditions;
  std::vector<std::string_view> seen;
  for (const OptimizerRow& row : optimizer_rows()) {
    for (const std::string_view key : row.keys) {
      if (std::ranges::find(seen, key) != seen.end()) continue;
      seen.push_back(key);
      std::vector<TomlValue> types;
      for (const OptimizerRow& other : optimizer_rows()) {
        if (reads(other, key)) types.push_back(other.name);
      }
      conditions.push_back(acts_with({text("optimizer.", key)}, "optimizer.type", types));
    }
  }
  return conditions;
}

std::vector<Condition> engine_conditions() {
  return {
      acts_with({"zero.allgather_bucket_size"}, "zero.stage", {1, 2, 3}),
      acts_with({"zero.stage3_prefetch_bucket_size", "zero.stage3_param_persistence_threshold",
                 "zero.stage3_max_live_parameters", "zero.stage3_max_reuse_distance"},
                "zero.stage", {3}),
      acts_with({"fp16.loss_scale", "fp16.initial_scale_power", "fp16.loss_scale_window",
                 "fp16.hysteresis", "fp16.consecutive_hysteresis", "fp16.min_loss_scale"},
                "fp16.enabled", {true}),
      {.keys = {"fp16.initial_scale_power", "fp16.loss_scale_window", "fp16.hysteresis",
                "fp16.consecutive_hysteresis", "fp16.min_loss_scale"},
       .because = {"fp16.loss_scale"},
       .wanted = "the dynamic fp16.loss_scale = 0",
       .holds = [](const RunConfig& c) { return !c.fp16.enabled || dynamic_scale(c); },
       .example = {"fp16.enabled = true", "fp16.loss_scale = 128.0"}},
      {.keys = {"numerics.max_bad_steps"},
       .because = {"fp16.enabled", "fp16.loss_scale", "numerics.spike_factor"},
       .wanted = "numerics.spike_factor, fp32, bf16 or a constant fp16.loss_scale; a dynamic one "
                 "ends at fp16.min_loss_scale",
       .holds = [](const RunConfig& c) { return !dynamic_scale(c) || c.numerics.spike_factor > 0; },
       .example = {"fp16.enabled = true"}},
      {.keys = {"checkpoint.keep_every"},
       .because = {"checkpoint.keep"},
       .wanted = "a checkpoint.keep that removes any",
       .holds = [](const RunConfig& c) { return c.checkpoint.keep > 0; },
       .example = {"checkpoint.keep = 0"}},
      acts_with({"evaluation.generate_samples"}, "evaluation.generate", {true}),
      acts_with({"tensorboard.output_path", "tensorboard.job_name", "tensorboard.deepspeed_tags"},
                "tensorboard.enabled", {true}),
      acts_with({"csv_monitor.output_path", "csv_monitor.job_name"}, "csv_monitor.enabled", {true}),
      {.keys = {"run.audit"},
       .because = {"run.audit_interval"},
       .wanted = "a run.audit_interval above 0",
       .holds = [](const RunConfig& c) { return c.run.audit_interval > 0; },
       .example = {"run.audit_interval = 0"}},
      {.keys = {"evaluation.prefix_token_id"},
       .because = {"evaluation.choices", "evaluation.documents"},
       .wanted = "evaluation.choices or evaluation.documents",
       .holds = [](const RunConfig& c) { return c.evaluation.scores_texts(); },
       .example = {"evaluation.documents = \"\""}},
  };
}

std::vector<Condition> data_conditions() {
  return {
      {.keys = {"data.tokenizer"},
       .because = {"data.train"},
       .wanted = "a file as data.train",
       .holds =
           [](const RunConfig& c) {
             return c.data.train != "synthetic" || c.evaluation.scores_texts();
           },
       .example = {"data.train = \"synthetic\""}},
      acts_with({"data.changed"}, "checkpoint.resume", {"auto", "require"}),
      {.keys = {"model.reinit"},
       .because = {"model.init_from"},
       .wanted = "a model.init_from, some of whose parameters it draws anew",
       .holds = [](const RunConfig& c) { return !c.model.init_from.empty(); },
       .example = {"model.init_from = \"\""}},
      {.keys = {"data.max_validation_samples", "evaluation.interval", "evaluation.show_samples",
                "checkpoint.best_metric"},
       .because = {"data.validation", kFraction},
       .wanted = text("data.validation or ", kFraction),
       .holds = validates,
       .example = {"data.validation_fraction = 0.0"}},
      {.keys = {"evaluation.micro_batch_size"},
       .because = {"data.validation", kFraction},
       .wanted = text("data.validation or ", kFraction),
       .holds = [](const RunConfig& c) { return validates(c) || c.evaluation.scores_texts(); },
       .example = {"data.validation_fraction = 0.0"}},
  };
}

/// Families with an objective that owns a key, described in the same words.
struct Owners {
  const ObjectiveSettings* first;  ///< objective that owns the key
  std::string families = {};       ///< names as a list in quotes
  bool is_shared = true;           ///< all objectives of these families own it

  void add(const ModelFamily& family, bool owns_all) {
    families += text(families.empty() ? "\"" : ", \"", family.name, '"');
    is_shared &= owns_all;
  }
};

/// Returns the owners of a key, in the order of the table.
std::vector<Owners> owners_of(const ModelTable& table, std::string_view key) {
  const auto owns = [&](const ObjectiveSettings& one) { return one.key(key) != nullptr; };
  std::vector<Owners> all;
  for (const ModelFamily& family : table) {
    const auto found = std::ranges::find_if(family.objectives, owns);
    if (found == family.objectives.end()) continue;
    auto same = std::ranges::find(all, found->families,
                                  [](const Owners& owners) { return owners.first->families; });
    if (same == all.end()) same = all.insert(all.end(), {.first = &*found});
    same->add(family, std::ranges::all_of(family.objectives, owns));
  }
  return all;
}

/// Returns the setting of a model that never acts by a key; none if a family always could.
std::vector<std::string> idle_model(const ModelTable& table, std::string_view key) {
  for (const ModelFamily& family : table) {
    const bool owns = std::ranges::any_of(
        family.objectives, [&](const ObjectiveSettings& one) { return one.key(key) != nullptr; });
    if (!owns && !family.sizes.empty())
      return {text("model.name = \"", family.sizes.front().name, '"')};
  }
  return {};
}

/// Returns: "A", "A, and B" or "A, B, and C".
std::string all_of(const std::vector<std::string>& wanted) {
  std::string words;
  for (size_t i = 0; i < wanted.size(); ++i) {
    words += (i == 0 ? "" : i + 1 == wanted.size() ? ", and " : ", ") + wanted[i];
  }
  return words;
}

/// Returns the condition of a key that acts only under objectives that own it.
Condition acts_under(const ModelTable& table, const std::string& key) {
  const std::vector<Owners> all = owners_of(table, key);
  const bool validated = all.front().first->key(key)->validates;
  Condition condition{.keys = {key}, .because = {"model.family", "model.name"}, .wanted = {}};
  std::vector<std::string> wanted;
  for (const Owners& owners : all) {
    std::string& words = all.size() == 1 || wanted.empty() ? wanted.emplace_back() : wanted.back();
    words += text(words.empty() ? "" : ", or of one ", words.empty() ? kModel : "",
                  owners.first->families, " (", owners.families, ")");
    if (owners.is_shared) continue;
    condition.because.emplace_back(owners.first->setting_key);
    const std::string setting(owners.first->setting);
    if (all.size() == 1)
      wanted.push_back(setting);
    else
      words += " and " + setting;
  }
  if (validated) {
    condition.because.insert(condition.because.end(), {"data.validation", kFraction});
    wanted.push_back(text("data.validation or ", kFraction));
  }
  condition.example = idle_model(table, key);
  condition.wanted = all_of(wanted);
  condition.holds = [=](const RunConfig& c) {
    const ObjectiveSettings* objective = objective_of(c);
    return !objective || (objective->key(key) && (!validated || validates(c)));
  };
  return condition;
}

/// Returns the conditions that depend on the objectives of the table.
std::vector<Condition> objective_conditions(const ModelTable* table) {
  std::vector<TomlValue> metrics;
  for (const std::string_view name : metric_names(table)) metrics.emplace_back(std::string(name));
  std::vector<Condition> conditions = {acts_with(
      {"checkpoint.load_best_at_end", "checkpoint.patience"}, "checkpoint.best_metric", metrics)};
  std::set<std::string> seen;
  for (size_t i = 0; table && i < table->size(); ++i) {
    for (const ObjectiveSettings& objective : (*table)[i].objectives) {
      for (const OwnKey& key : objective.keys) {
        const std::string name(key.name);
        if (seen.insert(name).second) conditions.push_back(acts_under(*table, name));
      }
    }
  }
  return conditions;
}

std::vector<Condition> tier_conditions() {
  const std::string optimizer = "zero.offload_optimizer.", param = "zero.offload_param.",
                    activations = "activation_checkpointing.";
  const std::vector<TomlValue> away = {"cpu", "nvme", "auto"}, disk = {"nvme", "auto"};
  return {
      acts_with({optimizer + "buffer_count", optimizer + "ratio", optimizer + "pin_memory"},
                optimizer + "device", away),
      acts_with({optimizer + "speculate"}, optimizer + "device", {"cpu", "auto"}),
      acts_with({param + "pin_memory"}, param + "device", away),
      acts_with({optimizer + "nvme_path"}, optimizer + "device", disk),
      acts_with({param + "nvme_path"}, param + "device", disk),
      {.keys = {"aio.block_size", "aio.queue_depth", "aio.intra_op_parallelism",
                "aio.single_submit", "aio.overlap_events", "aio.require_uring"},
       .because = {param + "device", activations + "offload", optimizer + "device"},
       .wanted = "a device = \"nvme\", or \"auto\" with nvme_path, of zero.offload_optimizer or "
                 "zero.offload_param, or activation_checkpointing.offload = \"nvme\"",
       .holds = uses_disk,
       .example = {"zero.offload_optimizer.device = \"none\""}},
      {.keys = {"aio.intra_op_parallelism"},
       .because = {"aio.require_uring"},
       .wanted = "aio.require_uring = false, where threads may take the place of io_uring",
       .holds = [](const RunConfig& c) { return !c.aio.require_uring || !uses_disk(c); },
       .example = {"zero.stage = 1", "zero.offload_optimizer.device = \"nvme\"",
                   "zero.offload_optimizer.nvme_path = \"disk\"", "aio.require_uring = true"}},
      acts_with({activations + "nvme_path"}, activations + "offload", {"nvme"}),
      {.keys = {activations + "buffer_count"},
       .because = {activations + "cpu_checkpointing", activations + "offload"},
       .wanted = "activation_checkpointing.offload = \"cpu\" or \"nvme\"",
       .holds = [](const RunConfig& c) { return c.offload_activations.home() != Home::none; },
       .example = {"activation_checkpointing.offload = \"none\""}},
  };
}

}  // namespace

std::vector<Condition> conditions(const ModelTable* table) {
  std::vector<Condition> all;
  for (const auto& some :
       {schedule_conditions(), optimizer_conditions(), engine_conditions(), data_conditions(),
        objective_conditions(table), generation_conditions(), tier_conditions()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace zero
