#include "zero/train/start_model.hpp"

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/save/stored_checkpoints.hpp"

namespace zero::train {
namespace {

StartNumbers start_of(const stored::ModelDescription& description, const std::string& place) {
  const auto& [family, numbers] = description.model;
  StartNumbers start{.place = place,
                     .family = family->settings.name,
                     .numbers = {.counts = numbers.counts, .lists = numbers.lists},
                     .classes = description.classes,
                     .mixed_rates = description.mixed_dropout};
  constexpr const char* kDropout = "dropout";
  if (!family->dropouts.empty()) start.numbers.rates = {{kDropout, numbers.rate(kDropout)}};
  for (const auto& [name, usual] : family->constants)
    start.numbers.rates[name] = numbers.rate(name);
  for (const ModelRate& rate : family->settings.rates) {
    if (rate.network) start.numbers.rates[std::string(rate.name)] = numbers.rate(rate.name);
  }
  return start;
}

/// Returns the newest checkpoint to go on from. Returns "" if none names its model; the start then
/// reports the fault.
std::string own_checkpoint(const RunConfig& config) {
  const bool is_somewhere = !config.run.output.empty() || !config.checkpoint.dir.empty();
  if (config.checkpoint.resume == Resume::never || !is_somewhere) return "";
  try {
    const std::string root = save::checkpoint_root(config);
    if (!save::holds_checkpoints(root)) return "";
    const save::StoredCheckpoint own(root);
    return own.fact(save::kDescriptionFact).empty() ? "" : own.folder();
  } catch (const Error&) {
    return "";
  }
}

void find(const model::Catalogue& catalogue, const RunConfig& config, StartModel& start) {
  const std::string& from = config.model.init_from;
  start.own = own_checkpoint(config);
  if (start.own.empty() && is_there(from)) start.other = stored::find_model(catalogue, from);
}

StartNumbers own_numbers(const model::Catalogue& catalogue, const std::string& folder) {
  const save::StoredCheckpoint own(folder);
  StartNumbers start =
      start_of(stored::parse_description(catalogue, own.fact(save::kDescriptionFact),
                                         folder + ": its model"),
               folder);
  start.must_agree = false;
  return start;
}

}  // namespace

std::optional<StartNumbers> start_numbers(const model::Catalogue& catalogue,
                                          const RunConfig& config, StartModel& start) {
  if (config.model.init_from.empty()) return {};
  if (!start.is_found) find(catalogue, config, start);
  if (!start.own.empty()) return own_numbers(catalogue, start.own);
  if (start.other.empty()) return {};
  start.opened = stored::open_model(catalogue, start.other, &config);
  return start_of(start.opened->description(), start.other);
}

StartReader start_reader(const model::Catalogue& catalogue, StartModel& start) {
  return [&](const RunConfig& config) { return start_numbers(catalogue, config, start); };
}

}  // namespace zero::train
