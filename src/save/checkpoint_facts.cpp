#include "zero/save/checkpoint_facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/save/fact_numbers.hpp"
#include "zero/base/text.hpp"
#include "zero/config/batch_keys.hpp"
#include "zero/config/key_differences.hpp"
#include "zero/config/schedule.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"

namespace zero::save {
namespace {

/// Maximum samples, far from the end of 64 bits whatever is drawn later.
constexpr int64_t kMostSamples = int64_t(1) << 53;
constexpr const char *kDataFact = "data", *kArithmeticFact = "arithmetic",
                     *kOrderFact = "sample_order", *kNormsFact = "norms";
constexpr const char *kBestStep = "best.step", *kBestLoss = "best.eval_loss",
                     *kBestTexts = "best.texts";
constexpr const char *kPatienceMetric = "patience.metric", *kPatienceMerit = "patience.merit",
                     *kPatienceEvaluations = "patience.evaluations",
                     *kPatienceStep = "patience.step";

/// Returns the names of facts on the best checkpoint's evaluation.
std::string counted_fact(const char* unit) { return text("best.eval_", unit, "s"); }
std::string metric_fact(const Metric& metric) { return text("best.", metric.name); }

bool is_count(int64_t number) { return 0 <= number && number <= kMostRunSteps; }

/// True for keys on which no trained number depends, or only its last bits in training that is not
/// reproducible.
bool is_free(const std::string& key) {
  constexpr std::string_view kSections[] = {"zero.",       "activation_checkpointing.",
                                            "aio.",        "memory.",
                                            "evaluation.", "checkpoint.",
                                            "profile.",    "export.",
                                            "generation.", "tensorboard.",
                                            "csv_monitor."};
  constexpr std::string_view kKeys[] = {
      "run.output",         "run.threads",    "run.stop_at",     "run.walltime",
      "run.log_interval",   "run.watchdog",   "steps_per_print", "wall_clock_breakdown",
      "model.init_from",    "model.reinit",   "data.changed",    "run.share_device",
      "run.record",         "run.state_hash", "run.machine",     "run.digest_interval",
      "run.audit_interval", "run.audit",      "run.prometheus"};
  const auto begins = [&](std::string_view section) { return key.starts_with(section); };
  return std::any_of(std::begin(kSections), std::end(kSections), begins) ||
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

/// True for keys that decide if steps after a streak are finite again.
bool may_end_streak(const std::string& key) {
  return key == "optimizer.lr" || key == "gradient_clipping" || key.starts_with("scheduler.");
}

const std::string& fact(const Facts& facts, const std::string& name) {
  static const std::string kNone = "unknown";
  const auto found = facts.find(name);
  return found == facts.end() ? kNone : found->second;
}

/// Returns the grouping of samples, which decides their order.
std::string order_of_samples(const Facts& facts) {
  const auto found = facts.find(kOrderFact);
  return found == facts.end() ? "by no length" : found->second;
}

/// Returns a note on norms that an optimizer takes now and not in the checkpoint, for two trainings
/// of one optimizer; "" if nothing changed.
std::string other_norms(const Facts& saved, const Facts& now) {
  const bool others = now.contains(kNormsFact) && !saved.contains(kNormsFact) &&
                      fact(saved, "optimizer") == fact(now, "optimizer");
  if (!others) return "";
  return text("norms of ", fact(now, "optimizer"),
              ": one a parameter, now one a tensor of Hugging ",
              "Face's files, as q, k and v are; updates differ from here on");
}

/// Returns the batch of a configuration, which the present rules may not allow.
int64_t batch_of(const std::string& configuration, int ranks) {
  constexpr int64_t kMost = int64_t(1) << 20;  // any three may be multiplied
  RunConfig config;
  const std::pair<const char*, int64_t*> keys[] = {
      {"train_batch_size", &config.train_batch_size},
      {"train_micro_batch_size_per_gpu", &config.train_micro_batch_size_per_gpu},
      {"gradient_accumulation_steps", &config.gradient_accumulation_steps}};
  for (const TomlEntry& entry : parse_toml(configuration).entries) {
    for (const auto& [key, place] : keys) {
      const int64_t* number = std::get_if<int64_t>(&entry.value);
      if (entry.key == key && number && *number >= 0 && *number <= kMost) *place = *number;
    }
  }
  return resolve_batch(config, ranks).train;
}

/// Returns the samples of a checkpoint's steps, of equal batches; none if too many to count.
std::optional<int64_t> samples_by_batch(const checkpoint::Manifest& manifest) {
  int64_t samples = 0;
  const int64_t batch = batch_of(fact(manifest.facts, kConfigurationFact), manifest.ranks);
  if (__builtin_mul_overflow(manifest.step, batch, &samples)) return {};
  return samples;
}

std::optional<int64_t> samples_in(const checkpoint::Manifest& manifest) {
  const auto told = manifest.facts.find(kSamplesFact);
  if (told == manifest.facts.end()) return manifest.step ? samples_by_batch(manifest) : 0;
  int64_t samples = 0;
  if (!read_number(told->second, samples)) return {};
  return samples;
}

}  // namespace

DataCursor cursor_of(const checkpoint::Manifest& manifest, const std::string& folder) {
  std::string problem;
  try {
    const int64_t samples = samples_in(manifest).value_or(-1);
    if (samples >= manifest.step && samples <= kMostSamples) return {manifest.step, samples};
    problem = text("fact \"", kSamplesFact, "\" is no number of samples of ",
                   counted(manifest.step, "step"));
  } catch (const Error& error) {
    problem = text("no fact \"", kSamplesFact, "\", and of its batch: ", error.what());
  }
  refuse(Exit::kInput, folder, ": ", problem);
}

bool adds_in_any_order(const Facts& facts) {
  return fact(facts, kArithmeticFact).find(kAnyOrder) != std::string::npos;
}

std::string any_order_note(const Facts& saved, const Facts& now) {
  if (!adds_in_any_order(saved) && !adds_in_any_order(now)) return "";
  return "numerics.attention = \"fast\": the bytes are not those of a run that never stopped, nor "
         "of any other";
}

bool is_weights_only(const Facts& facts) { return fact(facts, kWeightsOnlyFact) == "true"; }

int64_t skipped_in_row(const Facts& facts) {
  int64_t skipped = 0;
  return read_number(fact(facts, "state.skipped_in_row"), skipped) ? std::max<int64_t>(0, skipped)
                                                                   : 0;
}

double merit_of(const state::Evaluation& evaluation, std::string_view metric) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const state::Evaluation::Measured* measured = evaluation.measured(metric);
  // A metric of the loss grows with it, and may be too large for a double.
  const bool is_loss =
      metric == kLossMetric || (measured && measured->metric->source == MetricSource::loss);
  if (is_loss) return std::isfinite(evaluation.loss) ? -evaluation.loss : kNone;
  if (!measured) return kNone;
  return measured->metric->higher_is_better ? measured->value : -measured->value;
}

void add_best(const state::Evaluation& best, Facts& facts) {
  facts[kBestStep] = number_text(best.step);
  facts[kBestLoss] = number_text(best.loss);
  facts[counted_fact(best.counted_by)] = number_text(best.counted);
  for (const auto& [metric, value] : best.metrics) {
    if (metric->source != MetricSource::loss) facts[metric_fact(*metric)] = number_text(value);
  }
  if (best.texts > 0) facts[kBestTexts] = number_text(best.texts);
}

std::optional<state::Evaluation> best_in(const Facts& facts, const model::Objective& objective) {
  state::Evaluation best{.counted_by = objective.counted_by};
  const bool known = read_number(fact(facts, kBestStep), best.step) &&
                     read_number(fact(facts, kBestLoss), best.loss) &&
                     read_number(fact(facts, counted_fact(best.counted_by)), best.counted) &&
                     is_count(best.step) && best.counted >= 0;
  if (!known) return {};
  best.measure(objective.settings.metrics, MetricSource::loss);
  for (const Metric& metric : objective.settings.metrics) {
    double value = 0;
    if (metric.source != MetricSource::loss &&
        read_number(fact(facts, metric_fact(metric)), value)) {
      best.metrics.push_back({&metric, value});
    }
  }
  if (!read_number(fact(facts, kBestTexts), best.texts)) best.texts = 0;
  return best;
}

void Patience::hear(int64_t of_step, double other) {
  if (of_step <= step) return;
  step = of_step;
  const bool is_better = evaluations < 0 ? !std::isnan(other) : other > merit;
  if (is_better) merit = other;
  if (is_better || evaluations >= 0) evaluations = is_better ? 0 : evaluations + 1;
}

void add_patience(const Patience& patience, const std::string& metric, Facts& facts) {
  if (patience.evaluations < 0) return;
  facts[kPatienceMetric] = metric;
  facts[kPatienceMerit] = number_text(patience.merit);
  facts[kPatienceEvaluations] = number_text(patience.evaluations);
  facts[kPatienceStep] = number_text(patience.step);
}

Patience patience_in(const Facts& facts, const std::string& metric) {
  Patience patience;
  const bool known = fact(facts, kPatienceMetric) == metric &&
                     read_number(fact(facts, kPatienceMerit), patience.merit) &&
                     read_number(fact(facts, kPatienceEvaluations), patience.evaluations) &&
                     read_number(fact(facts, kPatienceStep), patience.step) &&
                     is_count(patience.evaluations) && is_count(patience.step);
  return known ? patience : Patience();
}

bool is_out_of_patience(const Facts& facts, const CheckpointConfig& config) {
  return config.patience > 0 &&
         patience_in(facts, config.best_metric).evaluations >= config.patience;
}

std::string attention_text(const std::string& library, const RunConfig& config) {
  if (library.empty()) return "";
  const bool fast = config.numerics.attention == AttentionOrder::fast;
  return text(library, fast ? text(" ", kAnyOrder) : "", ", ");
}

std::string order_text(int order_of_sums) {
  return order_of_sums > 1 ? text("order of sums ", order_of_sums, ", ") : "";
}

bool has_stored_norms(const plan::Plan& plan) {
  const std::vector<graph::Parameter>& parameters = plan.graphs[0].parameters;
  return plan.request.optimizer.needs_norms() &&
         std::ranges::any_of(parameters,
                             [](const auto& one) { return one.stored.names.size() > 1; });
}

/// Returns the record of arithmetic. Names a library of attention, an arbitrary order of its
/// gradients' sums, and fused products, if there are any.
std::string arithmetic_text(const FactParts& parts) {
  const std::string attention = kernels::attention_library();
  const bool fuses = setup::fuses_products(parts.config, kernels::fuses_products());
  return text(kernels::product_library(), ", ", kernels::product_isa(), ", ",
              fuses ? "fused, " : "", attention_text(attention, parts.config),
              order_text(kernels::order_of_sums()), parts.threads, " threads a rank");
}

Facts launch_facts(const FactParts& parts) {
  Facts facts = {{"seed", std::to_string(parts.config.run.seed)},
                 {"stage", std::to_string(parts.config.zero.stage)},
                 {"architecture", model::fact(parts.build.recipe)},
                 {"compute", std::string(zero::name_of(parts.build.plan.request.compute))},
                 {"optimizer", parts.build.plan.request.optimizer.name},
                 {kTokenizerFact, parts.config.data.tokenizer},
                 {kDescriptionFact, parts.description},
                 {kWeightsOnlyFact, parts.config.checkpoint.weights_only ? "true" : "false"},
                 {kDataFact, parts.data},
                 {kArithmeticFact, arithmetic_text(parts)},
                 {kConfigurationFact, parts.configuration},
                 {checkpoint::kHdf5Fact, checkpoint::hdf5_version()},
                 {"build", parts.program}};
  const std::string& forms = parts.config.data.length_buckets;
  if (forms != "none") {
    facts[kOrderFact] =
        text("by lengths of ", forms, ", in micro-batches of ", parts.build.batch.micro);
  }
  if (has_stored_norms(parts.build.plan)) facts[kNormsFact] = "of stored tensors";
  if (!parts.generation.empty()) facts[kGenerationFact] = parts.generation;
  if (!parts.lent.empty()) facts[kLentFact] = parts.lent;
  if (!parts.classes.empty())
    facts[kClassesFact] = to_text(TomlArray(parts.classes.begin(), parts.classes.end()));
  return facts;
}

std::string fingerprint_text(const std::string& fact) {
  uint64_t number = 0;
  const char* last = fact.data() + fact.size();
  const auto [end, error] = std::from_chars(fact.data(), last, number);
  if (fact.empty() || error != std::errc() || end != last) return fact;
  return format("%016llx", (unsigned long long)number);
}

namespace {

/// Returns the data of a training: "a.txt, b.txt, fingerprint 0123456789abcdef".
std::string data_text(const Facts& facts) {
  std::string words;
  for (const TomlEntry& entry : parse_toml(fact(facts, kConfigurationFact)).entries) {
    const std::string* path = std::get_if<std::string>(&entry.value);
    const bool is_data = entry.key == "data.train" || entry.key == "data.validation";
    if (is_data && path != nullptr && !path->empty()) words += *path + ", ";
  }
  return text(words, "fingerprint ", fingerprint_text(fact(facts, kDataFact)));
}

}  // namespace

FactChanges changes_since(const Facts& saved, const Facts& now, bool other_data) {
  FactChanges changes;
  for (const char* name : {"architecture", kTokenizerFact, kClassesFact, kDataFact}) {
    const std::string was = fact(saved, name), is = fact(now, name);
    if (was == is) continue;
    if (name == kDataFact && other_data) {
      changes.listed.push_back(text("data: ", data_text(saved), ", now ", data_text(now)));
      changes.may_end_streak = true;
      continue;
    }
    changes.refused =
        name == kDataFact ? text("data is ", data_text(saved), " there and ", data_text(now),
                                 " now, which data.changed = true "
                                 "allows")
        : name == kClassesFact
            ? text("classes are ", was, " there and ", is, " now; write data.labels = ", was)
            : text(name, " is ", was, " there and ", is, " now");
    return changes;
  }
  for (const auto& [key, was, is] :
       differences(fact(saved, kConfigurationFact), fact(now, kConfigurationFact))) {
    if (!is_free(key)) changes.listed.push_back(text(key, " = ", was, ", now ", is));
    changes.may_end_streak |= may_end_streak(key);
  }
  const std::string order = order_of_samples(saved), order_now = order_of_samples(now);
  if (order != order_now) {
    changes.listed.push_back(text("order of samples: ", order, ", now ", order_now,
                                  "; some of this epoch come twice, as many not at all"));
  }
  const std::string norms = other_norms(saved, now);
  if (!norms.empty()) changes.listed.push_back(norms);
  const std::string was = fact(saved, kArithmeticFact), is = fact(now, kArithmeticFact);
  if (was != is) changes.listed.push_back(text("arithmetic: ", was, ", now ", is));
  changes.other_precision = fact(saved, "compute") != fact(now, "compute");
  return changes;
}

}  // namespace zero::save
