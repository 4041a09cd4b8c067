#include "src/config/import/rules.hpp"

#include <algorithm>
#include <cctype>

#include "src/config/key_assignment.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

/// Maps an optimizer's name, ignoring case as DeepSpeed does.
std::optional<Target> optimizer_type(const TomlValue& value, std::string_view) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  for (const OptimizerRow& row : optimizer_rows()) {
    if (in_lower_case(*word) == in_lower_case(row.name)) return Target{"optimizer.type", row.name};
  }
  return Target{"optimizer.type", value};  // refused, with the list of optimizers
}

/// Maps a size of DeepSpeed's groups, of which `off` means none.
template <int64_t off>
std::optional<Target> group_size(const TomlValue& value, std::string_view to) {
  if (same_value(value, TomlValue(off))) return Target{};
  return Target{std::string(to), value};
}

constexpr std::string_view kZero = "zero_optimization.";

constexpr ImportRule kDeepSpeed[] = {
    {.from = "optimizer.type",
     .why = "1-bit and other optimizers are not built: write AdamW, Adam, LAMB, Lion or SGD",
     .convert = optimizer_type},
    {.from = "optimizer.params.max_grad_norm",
     .why = "write gradient_clipping at the top level",
     .only = "0"},
    {.from = "optimizer.params.adamw_mode", .to = "optimizer.adam_w_mode"},
    {.from = "scheduler.type", .to = "scheduler.type", .why = "WarmupCosineLR comes nearest"},
    {.from = "scheduler.params.last_batch_iteration",
     .why = "the count of updates begins at the first step; write -1",
     .only = "-1"},
    // The oldest form, a boolean, is stage 1.
    {.from = "zero_optimization",
     .to = "zero.stage",
     .why = "write a section with its stage",
     .values = "true=1|false=0"},
    {.from = "allgather_size", .to = "zero.allgather_bucket_size"},
    // In DeepSpeed a bucket of 0 elements sends each gradient alone. The size that Transformers
    // derives is as long as a gradient.
    {.in = kZero,
     .from = "reduce_bucket_size",
     .to = "zero.reduce_bucket_size",
     .values = "0=auto|0.0=auto|*"},
    {.in = kZero,
     .from = "prefetch_bucket_size param_persistence_threshold model_persistence_threshold "
             "max_live_parameters max_reuse_distance gather_16bit_weights_on_model_save "
             "module_granularity_threshold use_all_reduce_for_fetch_params allgather_sequential",
     .to = "zero.stage3_*"},
    {.in = kZero,
     .from = "cpu_offload",
     .to = "zero.offload_optimizer.device",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
    {.in = kZero,
     .from = "cpu_offload_param cpu_offload_params",
     .to = "zero.offload_param.device",
     .why = "write true or false",
     .values = "true=cpu|false=none"},
    {.in = kZero, .from = "mics_shard_size", .to = "zero.shard_group", .convert = group_size<-1>},
    {.in = kZero,
     .from = "zero_hpz_partition_size",
     .to = "zero.shard_group",
     .convert = group_size<1>},
    {.in = kZero, .from = "cpu_offload_use_pin_memory", .to = "zero.offload_optimizer.pin_memory"},
    {.in = kZero,
     .from = "stage3_gather_fp16_weights_on_model_save",
     .to = "zero.stage3_gather_16bit_weights_on_model_save"},
    {.from = "communication_data_type",
     .to = "communication_data_type",
     .values = "bfp16=bf16|bfloat16=bf16|*"},
};

/// Returns the value that ImportRule::values maps `value` to; nothing if refused.
std::optional<TomlValue> mapped(std::string_view values, const TomlValue& value) {
  const std::string there = plain_text(value);
  while (!values.empty()) {
    const std::string_view pair = values.substr(0, values.find('|'));
    values.remove_prefix(std::min(pair.size() + 1, values.size()));
    const size_t equals = pair.find('=');
    if (pair == "*") return value;
    if (pair.substr(0, equals) != there) continue;
    TomlValue here;
    std::string ignored;
    parse_toml_word(pair.substr(equals + 1), here, ignored);
    return here;
  }
  return std::nullopt;
}

struct Section {
  std::string_view deepspeed, ours;
};
constexpr Section kSections[] = {
    {"zero_optimization", "zero"},
    {"optimizer.params", "optimizer"},
    {"scheduler.params", "scheduler"},
    {"fp16", "fp16"},
    {"bf16", "bf16"},
    {"bfloat16", "bf16"},
    {"activation_checkpointing", "activation_checkpointing"},
    {"aio", "aio"},
    {"tensorboard", "tensorboard"},
    {"csv_monitor", "csv_monitor"},
};

/// Returns `key` with its section in `from` replaced by that in `to`; nothing if no section
/// matches.
std::optional<std::string> moved(std::string_view key, std::string_view Section::*from,
                                 std::string_view Section::*to) {
  for (const Section& section : kSections) {
    const std::string_view name = section.*from;
    if (lies_in(key, name)) return text(section.*to, key.substr(name.size()));
  }
  return std::nullopt;
}

}  // namespace

std::string plain_text(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word ? *word : to_text(value);
}

std::string in_lower_case(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

std::string_view next_word(std::string_view& words) {
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

std::vector<std::string> words_of(std::string_view names) {
  std::vector<std::string> words;
  for (auto word = next_word(names); !word.empty(); word = next_word(names)) {
    words.emplace_back(word);
  }
  return words;
}

bool has_word(std::string_view words, std::string_view wanted) {
  for (auto word = next_word(words); !word.empty(); word = next_word(words)) {
    if (word == wanted) return true;
  }
  return false;
}

std::vector<std::string> ImportRule::keys() const {
  std::vector<std::string> keys = words_of(from);
  for (std::string& key : keys) key.insert(0, in);
  return keys;
}

std::string ImportRule::target(std::string_view key) const {
  if (!to.ends_with('*')) return std::string(to);
  return std::string(to.substr(0, to.size() - 1)) + std::string(key.substr(in.size()));
}

std::span<const ImportRule> deepspeed_rules() { return kDeepSpeed; }

const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key) {
  for (const ImportRule& rule : rules) {
    if (!key.starts_with(rule.in)) continue;
    const std::string_view name = key.substr(rule.in.size());
    std::string_view names = rule.from;
    for (auto word = next_word(names); !word.empty(); word = next_word(names)) {
      const bool section = word.ends_with(".*");
      if (section ? name.starts_with(word.substr(0, word.size() - 1)) : name == word) return &rule;
    }
  }
  return nullptr;
}

std::optional<Target> follow_rule(const ImportRule& rule, std::string_view key,
                                  const TomlValue& value) {
  const std::string to = rule.target(key);
  if (rule.convert) return rule.convert(value, to);
  if (rule.values.empty()) return Target{to, value};
  const std::optional<TomlValue> here = mapped(rule.values, value);
  return here ? std::optional(Target{to, *here}) : std::nullopt;
}

bool lies_in(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

std::string key_here(std::string_view key) {
  return moved(key, &Section::deepspeed, &Section::ours).value_or(std::string(key));
}

std::string same_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  return moved(key, &Section::deepspeed, &Section::ours).value_or("");
}

std::string deepspeed_key(std::string_view key) {
  if (key.find('.') == key.npos) return std::string(key);
  return moved(key, &Section::ours, &Section::deepspeed).value_or("");
}

}  // namespace zero
