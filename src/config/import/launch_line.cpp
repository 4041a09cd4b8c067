#include <algorithm>
#include <cmath>
#include <string>

#include "src/config/import/rules.hpp"
#include "src/config/import/source.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kMostWords = 1000;

bool is_flag(const std::string& word) { return word.starts_with("--") && word.size() > 2; }

/// Python's words for booleans are as good as TOML's; what is no value of TOML is a word.
TomlValue value_of(const std::string& word) {
  if (word == "True" || word == "true") return true;
  if (word == "False" || word == "false") return false;
  TomlValue value;
  std::string ignored;
  const bool number = !word.empty() && word.find_first_not_of("0123456789+-.eE") == word.npos;
  if (number && parse_toml_value(word, value, ignored)) return value;
  return word;
}

std::string name_of(const std::string& flag) {
  std::string name = flag.substr(0, flag.find('='));
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

std::optional<double> number_of(const TomlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

SourceEntry* find(Source& source, std::string_view key) {
  const auto found = std::find_if(source.begin(), source.end(),
                                  [&](const SourceEntry& entry) { return entry.key == key; });
  return found == source.end() ? nullptr : &*found;
}

void remove(Source& source, std::string_view key) {
  std::erase_if(source, [&](const SourceEntry& entry) { return entry.key == key; });
}

/// Two flags there, one pair here; what one of them leaves open has its default.
void join_betas(Source& source) {
  TomlArray betas = {0.9, 0.999};
  const char* names[] = {"--adam_beta1", "--adam_beta2"};
  bool given = false;
  for (size_t i = 0; i < 2; ++i) {
    const SourceEntry* entry = find(source, names[i]);
    const auto number = entry ? number_of(*entry->value) : std::nullopt;
    if (entry && !number) return;  // refused as it stands
    if (number) betas[i] = *number;
    given = given || number;
  }
  if (!given) return;
  remove(source, names[1]);
  SourceEntry* first = find(source, names[0]);
  if (!first) source.push_back({names[0], std::nullopt, kLaunchLine});
  (first ? *first : source.back()).value = betas;
}

/// Transformers rounds up, and takes a number of warm-up steps before a share of all steps.
void resolve_ratio(Source& source) {
  SourceEntry* ratio = find(source, "--warmup_ratio");
  const SourceEntry* steps = find(source, "--max_steps");
  const SourceEntry* warmup = find(source, "--warmup_steps");
  if (warmup && number_of(*warmup->value).value_or(0) > 0) return remove(source, "--warmup_ratio");
  const double share = ratio ? number_of(*ratio->value).value_or(-1) : -1;
  const double count = steps ? number_of(*steps->value).value_or(0) : 0;
  if (share < 0 || share > 1 || count <= 0) return;
  ratio->value = int64_t(std::ceil(share * count));
}

bool begins(const TomlValue& value, std::string_view wanted) {
  const auto* word = std::get_if<std::string>(&value);
  return word && word->starts_with(wanted);
}

double number_or_zero(const TomlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return 0;
}

/// A number at or below zero is Transformers' way to say nothing.
std::optional<Target> positive(const TomlValue& value, std::string_view to) {
  const bool number =
      std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
  if (number && number_or_zero(value) <= 0) return Target{};
  return Target{std::string(to), value};
}

/// Shares of all steps, which stand below 1 there, have no twin.
std::optional<Target> interval(const TomlValue& value, std::string_view to) {
  const double number = number_or_zero(value);
  if (number > 0 && number < 1) return std::nullopt;
  return positive(value, to);
}

/// read_launch_line() has made a number of updates of a share whose whole is known.
std::optional<Target> warmup_share(const TomlValue& value, std::string_view to) {
  if (number_or_zero(value) == 0) return Target{};
  const bool counted = std::holds_alternative<int64_t>(value);
  return Target{std::string(to), counted ? value : TomlValue("auto")};
}

/// adamw_torch, adamw_torch_fused, adamw_hf ... are one formula.
std::optional<Target> optimizer(const TomlValue& value, std::string_view to) {
  const bool other = begins(value, "adamw_bnb") || begins(value, "adamw_8bit") ||
                     begins(value, "adamw_torch_4bit") || begins(value, "adamw_torch_8bit") ||
                     begins(value, "adamw_anyprecision");
  if (begins(value, "adamw_") && !other) return Target{std::string(to), "AdamW"};
  for (const OptimizerRow& row : optimizer_rows()) {
    const bool is_named =
        !row.transformers.empty() && value == TomlValue(std::string(row.transformers));
    if (is_named) return Target{std::string(to), row.name};
  }
  return std::nullopt;
}

constexpr std::string_view kSteps = "write a number of steps";
constexpr std::string_view kStage = "write zero.stage=...";

constexpr ImportRule kLaunch[] = {
    {.from = "--per_device_train_batch_size --per_gpu_train_batch_size",
     .to = "train_micro_batch_size_per_gpu"},
    {.from = "--per_device_eval_batch_size", .to = "evaluation.micro_batch_size"},
    {.in = "--", .from = "gradient_accumulation_steps", .to = "*"},
    {.from = "--learning_rate", .to = "optimizer.lr"},
    {.in = "--", .from = "weight_decay", .to = "optimizer.*"},
    {.from = "--adam_beta1 --adam_beta2", .to = "optimizer.betas"},
    {.from = "--adam_epsilon", .to = "optimizer.eps"},
    {.from = "--optim", .to = "optimizer.type", .why = "write adamw_torch", .convert = optimizer},
    {.from = "--max_grad_norm", .to = "gradient_clipping"},
    {.from = "--num_train_epochs", .to = "run.epochs", .convert = positive},
    {.from = "--max_steps", .to = "run.steps", .convert = positive},
    {.from = "--warmup_steps", .to = "scheduler.warmup_num_steps"},
    {.from = "--warmup_ratio", .to = "scheduler.warmup_num_steps", .convert = warmup_share},
    {.from = "--lr_scheduler_type",
     .to = "scheduler.type",
     .why = "write linear, cosine, constant or constant_with_warmup",
     .values = "linear=WarmupDecayLR|cosine=WarmupCosineLR|constant=constant|"
               "constant_with_warmup=WarmupLR"},
    {.in = "--", .from = "seed", .to = "run.*"},
    {.from = "--logging_steps", .to = "run.log_interval", .why = kSteps, .convert = interval},
    {.from = "--eval_steps", .to = "evaluation.interval", .why = kSteps, .convert = interval},
    {.from = "--save_steps", .to = "checkpoint.interval", .why = kSteps, .convert = interval},
    {.from = "--save_total_limit", .to = "checkpoint.keep"},
    {.from = "--save_only_model", .to = "checkpoint.weights_only"},
    {.from = "--load_best_model_at_end", .to = "checkpoint.load_best_at_end"},
    {.from = "--fp16", .to = "fp16.enabled"},
    {.from = "--bf16", .to = "bf16.enabled"},
    {.from = "--gradient_checkpointing",
     .to = "activation_checkpointing.recompute",
     .why = "write true or false",
     .values = "true=full|false=none"},
    // "simple", "zero_dp_2": FairScale's words in older releases.
    {.from = "--sharded_ddp",
     .to = "zero.stage",
     .why = kStage,
     .values = "simple=2|zero_dp_2=2|zero_dp_3=3"},
    // What wraps modules has no meaning here.
    {.from = "--fsdp",
     .to = "zero.stage",
     .why = kStage,
     .values = "full_shard=3|full_shard auto_wrap=3|shard_grad_op=2|shard_grad_op auto_wrap=2|"
               "no_shard=0"},
    {.from = "--label_smoothing --label_smoothing_factor", .to = "model.label_smoothing"},
    {.from = "--max_source_length", .to = "data.source_length"},
    {.from = "--max_target_length", .to = "data.target_length"},
    {.in = "--", .from = "source_prefix", .to = "data.*"},
    {.from = "--output_dir", .to = "run.output"},
    {.from = "--train_file", .to = "data.train"},
    {.from = "--validation_file", .to = "data.validation"},
    {.in = "--", .from = "max_train_samples", .to = "data.*"},
    {.from = "--max_eval_samples --max_val_samples", .to = "data.max_validation_samples"},
    {.from = "--block_size --max_seq_length", .to = "data.sequence_length"},
    {.from = "--config_name",
     .to = "model.name",
     .why = "write model.name=... or its numbers",
     .names_size = true},
    {.from = "--model_name_or_path",
     .why = "its weights: model.init_from=FOLDER; a new model: model.name=NAME"},
    {.from = "--model_type", .why = "model.name or its numbers say it"},
    {.from = "--tokenizer_name",
     .why = "data.tokenizer=FOLDER names its vocab.json and merges.txt"},
    {.from = "--deepspeed --deepspeed_config --config_file", .why = "is the file that is imported"},
    {.from = "--resume_from_checkpoint",
     .why = "a second start in the same folder goes on by itself"},
    // What would change the training, and is not done.
    {.from = "--freeze_embeds",
     .why = "write model.freeze=[...] with the names of the tables, as key=value",
     .only = "false"},
    {.from = "--group_by_length", .why = "samples are of one length; write false", .only = "false"},
    {.from = "--adafactor", .why = "write --optim adamw_torch", .only = "false"},
    {.from = "--optim_args", .why = "optimizer.* has every setting; remove it", .only = kNoValue},
    {.from = "--lr_scheduler_kwargs",
     .why = "scheduler.* has every setting; remove it",
     .only = kNoValue},
    {.from = "--neftune_noise_alpha", .why = "no noise is added; remove it", .only = kNoValue},
    {.from = "--dropout", .why = "write model.dropout=... as key=value", .only = kNoValue},
    // What needs no setting.
    {.from = "--do_train --do_eval --do_predict",
     .why = "the program trains, and evaluates where validation is given"},
    {.from = "--eval_strategy --evaluation_strategy", .why = "evaluation.interval says how often"},
    {.from = "--save_strategy", .why = "checkpoint.interval says how often"},
    {.from = "--logging_strategy --logging_dir --report_to",
     .why = "metrics.jsonl holds every step of a run"},
    {.from = "--overwrite_output_dir", .why = "an earlier run's files move to old-<n>/"},
    {.from = "--dataloader_num_workers", .why = "samples are read ahead"},
    {.from = "--dataloader_drop_last", .why = "every step has a whole batch"},
    {.from = "--ddp_timeout", .why = "run.watchdog says it"},
    {.from = "--ddp_find_unused_parameters", .why = "the plan knows every parameter's use"},
    {.from = "--torch_compile", .why = "every step is compiled before it runs"},
    {.from = "--tf32", .why = "fp32 is fp32; bf16.enabled = true is the fast way"},
    {.from = "--auto_find_batch_size", .why = "zeroapp plan INPUT --max-batch finds it"},
    {.from = "--gradient_checkpointing_kwargs", .why = "recompute is planned"},
    {.from = "--remove_unused_columns", .why = "data are tokens alone"},
    {.from = "--local_rank --num_gpus --num_nodes --hostfile --include --exclude --master_addr "
             "--master_port --launcher --nproc_per_node --nnodes --node_rank --num_processes "
             "--num_machines --use_deepspeed",
     .why = "the MPI launcher places and connects the ranks"},
};

}  // namespace

Source read_launch_line(std::span<const std::string> words) {
  if (words.size() > kMostWords) {
    refuse(Exit::kUsage, kLaunchLine, ": more than ", kMostWords, " words");
  }
  Source source;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!is_flag(word)) {
      source.push_back({word, std::nullopt, kLaunchLine});
      continue;
    }
    const std::string name = name_of(word);
    if (find(source, name)) {
      refuse(Exit::kUsage, kLaunchLine, ": ", name, ": stands twice; keep one");
    }
    const size_t equals = word.find('=');
    const bool behind = equals == word.npos && i + 1 < words.size() && !is_flag(words[i + 1]);
    TomlValue value = true;
    if (equals != word.npos) value = value_of(word.substr(equals + 1));
    if (behind) value = value_of(words[++i]);
    source.push_back({name, value, kLaunchLine});
  }
  join_betas(source);
  resolve_ratio(source);
  return source;
}

std::span<const ImportRule> launch_rules() { return kLaunch; }

}  // namespace zero
