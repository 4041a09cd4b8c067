#include "src/save/fact_rules.hpp"

#include <algorithm>
#include <optional>

#include "src/save/fact_numbers.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

using checkpoint::Manifest;

constexpr const char* kImportedFact = "imported_from";

class FactRules {
 public:
  FactRules(const Manifest& manifest, const std::string& path) : manifest_(manifest), path_(path) {}

  void require_all() const {
    require_files();
    for (const char* name :
         {"state.skipped_in_row", "state.report.skipped_in_row", "best.step", "patience.step"}) {
      const auto number = this->number<int64_t>(name);
      if (number && *number > manifest_.step) fail(name, text(*number, of_step()));
    }
    const auto reported = number<int64_t>("state.report.step");
    if (reported && *reported != manifest_.step) {
      fail("state.report.step", text(*reported, of_step()));
    }
    if (const auto updates = number<int64_t>("state.updates")) require_updates(*updates);
  }

 private:
  /// Requires one file of each rank.
  void require_files() const {
    const auto files = std::ranges::count_if(manifest_.files, [](const checkpoint::File& file) {
      return file.name != checkpoint::kIndexName;
    });
    if (files == manifest_.ranks) return;
    refuse(Exit::kInput, path_, ": ranks: ", manifest_.ranks, ", but there are files of ", files);
  }

  void require_updates(int64_t updates) const {
    if (updates > manifest_.step) {
      fail("state.updates", text(updates, " updates in ", counted(manifest_.step, "step")));
    }
    const int64_t skipped = number<int64_t>("state.skipped_in_row").value_or(0);
    if (skipped > manifest_.step - updates) {
      fail("state.skipped_in_row", text(skipped, " in a row beside ", counted(updates, "update"),
                                        " in ", counted(manifest_.step, "step")));
    }
    require_power("state.beta1_power", updates);
    require_power("state.beta2_power", updates);
  }

  /// Checks a power of beta. A launch may change beta, and a power that has become 0 stays 0.
  void require_power(const char* name, int64_t updates) const {
    const auto power = number<double>(name);
    if (!power) return;
    const bool fits = updates == 0 ? *power == 1 : *power >= 0 && *power < 1;
    if (!fits) fail(name, text(*power, " after ", counted(updates, "update")));
  }

  /// Returns a fact as a number; none if the fact is absent.
  template <class Number>
  std::optional<Number> number(const char* name) const {
    const auto found = manifest_.facts.find(name);
    if (found == manifest_.facts.end()) return std::nullopt;
    Number number{};
    if (!read_number(found->second, number))
      fail(name, text('"', found->second, "\" is no number"));
    return number;
  }

  std::string of_step() const { return text(" in a checkpoint of step ", manifest_.step); }

  [[noreturn]] void fail(const char* name, const std::string& fault) const {
    refuse(Exit::kInput, path_, ": fact \"", name, "\": ", fault);
  }

  const Manifest& manifest_;
  const std::string& path_;
};

}  // namespace

void require_facts_fit(const Manifest& manifest, const std::string& path) {
  FactRules(manifest, path).require_all();
}

Manifest read_fit_manifest(const checkpoint::Store& store, int folder, int64_t step) {
  Manifest manifest = store.read_manifest(folder, step);
  require_facts_fit(manifest, manifest_path(store, step));
  return manifest;
}

std::string manifest_path(const checkpoint::Store& store, int64_t step) {
  return store.root() + "/" + checkpoint::Store::folder_of(step) + "/" + checkpoint::kManifestName;
}

void require_model_fits(const Facts& facts, const model::Recipe& described,
                        const std::string& place) {
  const auto saved = facts.find(kArchitectureFact);
  if (saved == facts.end()) return;
  const std::string words = model::fact(described);
  // Facts of imports may lack constants.
  const bool is_older = facts.contains(kImportedFact) && words.starts_with(saved->second + ", ");
  if (words == saved->second || is_older) return;
  refuse(Exit::kInput, place, ": fact \"", kDescriptionFact, "\": describes ", words,
         ", but fact \"", kArchitectureFact, "\" is ", saved->second);
}

void require_model_fits(const Facts& facts, const RunConfig& config, const std::string& place) {
  const auto words = facts.find(kDescriptionFact);
  if (words == facts.end() || words->second.empty()) return;
  model::Recipe recipe = model::recipe_of(config);
  const model::Family* family = recipe.model.family;
  model::HubConfig settings(words->second, place + ": its model");
  settings.compare_with(family->hub_class);
  const std::string usual(family->hub_type);
  if (settings.word_or("model_type", usual) != usual) {
    settings.fail("model_type", text("only \"", usual, "\""));
  }
  recipe.model.numbers = family->from_hub(settings);
  require_model_fits(facts, recipe, place);
}

}  // namespace zero::save
