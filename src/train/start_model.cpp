#include "zero/train/start_model.hpp"

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/save/stored_checkpoints.hpp"

namespace zero::train {
namespace {

StartNumbers start_of(const models::ModelDescription& description, const std::string& place) {
  const auto& [family, numbers] = description.model;
  StartNumbers start{.place = place,
                     .family = family->settings.name,
                     .numbers = {.counts = numbers.counts},
                     .mixed_rates = description.mixed_dropout};
  constexpr const char* kDropout = "dropout";
  if (!family->dropouts.empty()) start.numbers.rates = {{kDropout, numbers.rate(kDropout)}};
  return start;
}

/// Returns what the newest checkpoint says that a run would go on from; none where it has none that
/// is readable, of which the start says what is wrong.
std::optional<StartNumbers> own_numbers(const model::Catalogue& catalogue,
                                        const RunConfig& config) {
  const bool is_somewhere = !config.run.output.empty() || !config.checkpoint.dir.empty();
  if (config.checkpoint.resume == Resume::never || !is_somewhere) return {};
  try {
    const std::string root = save::checkpoint_root(config);
    if (!save::holds_checkpoints(root)) return {};
    const save::StoredCheckpoint own(root);
    StartNumbers start =
        start_of(models::parse_description(catalogue, own.fact(save::kDescriptionFact),
                                           own.folder() + ": its model"),
                 own.folder());
    start.must_agree = false;
    return start;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::optional<StartNumbers> start_numbers(const model::Catalogue& catalogue,
                                          const RunConfig& config,
                                          std::unique_ptr<models::StoredModel>& opened) {
  const std::string& from = config.model.init_from;
  if (from.empty()) return {};
  if (auto own = own_numbers(catalogue, config)) return own;
  if (!is_there(from)) return {};
  opened = models::open_model(catalogue, models::find_model(catalogue, from));
  return start_of(opened->description(), opened->path());
}

}  // namespace zero::train
