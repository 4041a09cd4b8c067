#include "zero/config/read_config.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "src/config/config_errors.hpp"
#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "src/config/foreign_keys.hpp"
#include "src/config/import/rules.hpp"
#include "src/config/key_assignment.hpp"
#include "src/config/key_rules.hpp"
#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"
#include "zero/config/model_keys.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

class Reader {
 public:
  Reader(RunConfig& config, Report& report) : fields_(fields_of(config)), report_(report) {
    for (const Field& field : fields_) {
      by_key_.emplace(field.key, &field);
      if (field.key.find('.') != field.key.npos) sections_.emplace(section_of(field.key));
    }
  }

  void read_text(std::string_view text) {
    const TomlDocument document = parse_toml(text);
    for (const TomlProblem& problem : document.problems) {
      report_.error({Location::Origin::file, problem.line}, problem.key, problem.what);
    }
    for (const TomlSection& section : document.sections) check_section(section);
    for (const TomlEntry& entry : document.entries) {
      const bool lost = strange_sections_.count(entry.section) != 0;
      if (!lost) set({Location::Origin::file, entry.line}, entry.key, entry.value);
    }
  }

  /// Reads an override, which replaces the value of the file. A key overridden twice is an error.
  void read_override(const std::string& argument, int position) {
    const Location location{Location::Origin::command, position};
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    if (equals == argument.npos || !is_toml_key(key)) {
      report_.error(location, "", "\"" + argument + "\" is not section.key=value");
    } else if (!overrides_.emplace(key, argument).second) {
      report_.error(location, key,
                    "stands twice, as " + overrides_[key] + " and " + argument + "; keep one");
    } else {
      read_value(location, key, argument.substr(equals + 1));
    }
  }

  /// Sets the optimizer's own default betas if the input has none.
  void take_betas(OptimizerConfig& optimizer) {
    const std::array<double, 2> own = row_of(optimizer.type).betas;
    const bool written = report_.location_of("optimizer.betas").origin != Location::Origin::nowhere;
    if (written || optimizer.betas == own) return;
    optimizer.betas = own;
    report_.derived("optimizer.betas", "optimizer.type");
  }

  /// Sets the family's own default of each rate that the input does not have.
  void take_initial_rates(ModelConfig& model) {
    for (const ModelRate& rate : family_of(model).rates) {
      double& number = model.numbers.rates.find(rate.name)->second;
      if (is_written(rate.name) || number == rate.initial) continue;
      number = rate.initial;
      report_.derived(text("model.", rate.name), "model.family");
    }
  }

  /// Fills the keys that [model] omits with the numbers of the model that the run begins from.
  void take_start(RunConfig& config, const StartNumbers& start) {
    ModelConfig& model = config.model;
    const bool named = !model.name.empty();
    model.start.labels = start.classes;
    const ModelFamily* family = &family_of(model);
    std::string differing;
    const auto differ = [&](std::string_view name, const std::string& wanted,
                            const std::string& written) {
      differing += text("\n  ", name, " = ", wanted, "  (", report_.where(location(name)), ": ",
                        written, ")");
    };
    if (family->name != start.family) {
      if (named || !model.family.empty()) {
        if (!start.must_agree) return;
        differ("family", to_text(TomlValue(std::string(start.family))),
               to_text(TomlValue(std::string(family->name))));
        return refuse_start(start, differing);
      }
      assign(*find("model.family"), TomlValue(std::string(start.family)));
      report_.derived("model.family", kStart);
      family = &family_of(model);
      take_initial_rates(model);
    }
    const ModelSize* size = find_model_size(model.table, model.name);
    for (size_t i = 0; i < family->counts.size(); ++i) {
      const ModelCount& count = family->counts[i];
      int64_t& number = model.numbers.counts.find(count.name)->second;
      const int64_t wanted = start.numbers.count(count.name),
                    asked = count.by_task ? said_by_task(config, count)
                            : size        ? size->counts[i]
                                          : number;
      if (asked == 0) {
        number = wanted;
        report_.derived(text("model.", count.name), kStart);
      } else if (asked != wanted) {
        differ(count.name, written_as(count, wanted), written_as(count, asked));
      }
    }
    for (const ModelRate& rate : family->rates) {
      if (!rate.network || !is_written(rate.name) || is_automatic(rate, model)) continue;
      const double wanted = start.numbers.rate(rate.name), asked = model.numbers.rate(rate.name);
      if (float(asked) != float(wanted)) differ(rate.name, text(wanted), text(asked));
    }
    for (const auto& [name, asked] :
         size ? size->rates : std::map<std::string, double, std::less<>>()) {
      const double wanted = start.numbers.rate(name);
      if (float(asked) != float(wanted)) differ(name, text(wanted), text(asked));
    }
    if (start.must_agree && !differing.empty()) refuse_start(start, differing);
    model.numbers.lists = start.numbers.lists;
    take_rates(model, start);
  }

  void check_all(const RunConfig& config) {
    check_rules(config, fields_, report_);
    for (const auto& [key, what] : vain_) {
      const bool counts = key == kNumberCheckpoints;
      report_.warning(key, counts ? text(what, "; ", kept_activations(config)) : what);
    }
  }

  std::map<std::string, std::string> origins() const {
    std::map<std::string, std::string> origins;
    for (const Field& field : fields_) {
      const bool fixed = std::holds_alternative<Fixed>(field.binding);
      const bool hint = std::holds_alternative<Hint>(field.binding);
      origins[field.key] = fixed ? "always" : hint ? "hint" : report_.origin_of(field.key);
    }
    return origins;
  }

  std::map<std::string, Written> written() const {
    std::map<std::string, Written> written;
    for (const Field& field : fields_) {
      const Location location = report_.location_of(field.key);
      if (location.origin == Location::Origin::nowhere) continue;
      written[field.key] = {report_.where(location), {int(location.origin), location.line}};
    }
    return written;
  }

 private:
  static constexpr const char* kStart = "model.init_from";

  static bool is_part_of_network(const ModelFamily& family, std::string_view rate) {
    return std::ranges::any_of(
        family.rates, [&](const ModelRate& one) { return one.network && one.name == rate; });
  }

  static bool is_automatic(const ModelRate& rate, const ModelConfig& model) {
    return rate.range.automatic && model.numbers.rate(rate.name) == 0;
  }

  bool is_written(std::string_view name) const {
    return report_.location_of(text("model.", name)).origin != Location::Origin::nowhere;
  }

  /// Returns the place of a key of [model], or of model.name if the key is not written.
  Location location(std::string_view name) const {
    const Location own = report_.location_of(text("model.", name));
    return own.origin == Location::Origin::nowhere ? report_.location_of("model.name") : own;
  }

  [[noreturn]] void refuse_start(const StartNumbers& start, const std::string& differing) const {
    refuse(Exit::kInput, "model.init_from: ", start.place, ": holds another model than [model] ",
           "says; remove these keys, or write", differing);
  }

  void take_rates(ModelConfig& model, const StartNumbers& start) {
    for (const auto& of_start : start.numbers.rates) {
      const std::string& name = of_start.first;
      const double rate = of_start.second;
      const std::string key = text("model.", name);
      if (!find(key)) {
        // A constant of a family has no key.
        model.numbers.rates[name] = rate;
        continue;
      }
      const bool is_auto = std::ranges::any_of(family_of(model).rates, [&](const ModelRate& own) {
        return own.name == name && is_automatic(own, model);
      });
      if (is_written(name) && !is_auto) continue;
      if (!start.mixed_rates.empty() && !is_part_of_network(family_of(model), name)) {
        refuse(Exit::kInput, "model.init_from: ", start.place, ": says ", start.mixed_rates,
               ", and one rate acts here; write ", key, " = the rate to train with");
      }
      model.numbers.rates[name] = rate;
      report_.derived(key, kStart);
    }
  }

  void read_value(Location location, const std::string& key, const std::string& word) {
    TomlValue value;
    std::string what;
    if (parse_toml_word(word, value, what)) {
      set(location, key, value);
    } else {
      report_.error(location, key, what);
    }
  }

  /// Reports an unknown section once, instead of each key below it.
  void check_section(const TomlSection& section) {
    if (sections_.count(section.name)) return;
    strange_sections_.insert(section.name);
    if (note_hint_section({Location::Origin::file, section.line}, section.name)) return;
    report_.error({Location::Origin::file, section.line}, section.name,
                  unknown_section(section.name));
  }

  void set(Location location, const std::string& key, const TomlValue& value) {
    const Field* field = find(key);
    if (!field && note_hint_section(location, key)) return;
    if (!field) return report_.error(location, key, unknown_key(key));
    const Field* twin = twin_of(*field);
    const TomlValue before = value_of(*field);
    report_.written(key, location);
    const std::string wrong = assign(*field, value);
    if (!wrong.empty()) return report_.error(location, key, wrong);
    note_vain(*field, value);
    if (!twin) return;
    const Location other = report_.location_of(twin->key);
    if (other.origin == location.origin && value_of(*field) != before) {
      report_.error(location, key,
                    text(to_text(value), " contradicts ", twin->key, " = ", to_text(before),
                         ", which is the same setting; keep one"));
    }
    report_.written(twin->key, location);
  }

  /// Notes a legal value of a key without a member if the value is not the program's behaviour.
  void note_vain(const Field& field, const TomlValue& value) {
    if (const auto* hint = std::get_if<Hint>(&field.binding)) {
      vain_.erase(field.key);
      if (same_value(value, hint->fallback)) return;
      vain_[field.key] = text(to_text(value), " is a hint: ", hint->reason);
    }
    const auto* fixed = std::get_if<Fixed>(&field.binding);
    if (!fixed || !fixed->warns) return;
    vain_.erase(field.key);
    if (value == fixed->accepted[0]) return;
    vain_[field.key] = text(to_text(value), " changes nothing: ", fixed->reason);
  }

  /// Notes a section that is a hint as a whole. True if `key` lies in one.
  bool note_hint_section(Location location, const std::string& key) {
    const std::string section(hint_section(key));
    if (section.empty()) return false;
    if (vain_.count(section)) return true;
    report_.written(section, location);
    vain_[section] = text("is a hint: ", why_of(*find_deepspeed_key(section)));
    return true;
  }

  const Field* find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

  /// Returns the other key of the same member; nullptr if none.
  const Field* twin_of(const Field& field) const {
    if (!field.alias_of.empty()) return find(field.alias_of);
    for (const Field& other : fields_) {
      if (other.alias_of == field.key) return &other;
    }
    return nullptr;
  }

  /// Returns the names of all keys. They are made on demand, for misspelt keys.
  const std::vector<std::string>& names() {
    if (!names_.empty()) return names_;
    for (const Field& field : fields_) names_.push_back(field.key);
    return names_;
  }

  std::string unknown_key(const std::string& key) {
    if (sections_.count(key)) {
      return "is a section; write [" + key + "] and its keys below, or " + key + ".KEY = value";
    }
    return unknown("no such key", key, names(),
                   shared_file("inputs/reference.toml") + " lists every key");
  }

  std::string unknown_section(const std::string& name) {
    if (find(name)) return "is a key, not a section; write " + name + " = value";
    const std::vector<std::string> names(sections_.begin(), sections_.end());
    return unknown("no such section", name, names,
                   shared_file("inputs/reference.toml") + " lists every section");
  }

  std::string unknown(const std::string& what, const std::string& key,
                      const std::vector<std::string>& names, const std::string& otherwise) {
    constexpr int kMostSearches = 50;  // keeps a file of misspelt keys fast
    if (++searches_ > kMostSearches) return what;
    const std::string deepspeeds = deepspeed_advice(key);
    if (!deepspeeds.empty()) return deepspeeds;
    const std::string advice = habit_advice(key);
    if (!advice.empty()) return text(what, "; ", advice);
    const std::string here = key_here(key), near = nearest_key(here, names);
    const std::string first = here == key ? what : "DeepSpeed's name";
    return near.empty() ? first + "; " + otherwise : first + "; did you mean " + near + "?";
  }

  std::vector<Field> fields_;
  std::unordered_map<std::string_view, const Field*> by_key_;
  std::vector<std::string> names_;
  std::set<std::string> sections_;
  std::set<std::string> strange_sections_;
  std::map<std::string, std::string> overrides_;  // as typed
  std::map<std::string, std::string> vain_;       // by key: the reason that its value has no effect
  Report& report_;
  int searches_ = 0;
};

/// Derives the folder of a run without run.output.
void derive_output(const std::string& file, RunConfig& config, Report& report) {
  std::string& output = config.run.output;
  if (!output.empty()) return;
  output = "runs/" + std::filesystem::path(file).stem().string();
  report.derived("run.output", "the name of the input file");
  if (!is_line_of_text(output)) {
    report.clash({"run.output"},
                 "cannot be named after the input file, whose name is no text; write a folder");
  }
}

}  // namespace

ConfigInput read_config(const ModelTable& models, std::string_view text, const std::string& file,
                        std::span<const std::string> overrides, Writer writer,
                        const StartReader& start) {
  ConfigInput input;
  input.config.model.table = &models;
  Report report(file, writer);
  Reader reader(input.config, report);
  reader.read_text(text);
  int position = 0;
  for (const std::string& argument : overrides) reader.read_override(argument, ++position);
  reader.take_betas(input.config.optimizer);
  reader.take_initial_rates(input.config.model);
  derive_output(file, input.config, report);
  if (const auto numbers = start && !report.any_failed() ? start(input.config) : std::nullopt)
    reader.take_start(input.config, *numbers);
  reader.check_all(input.config);
  report.finish();
  input.warnings = report.take_warnings();
  input.origins = reader.origins();
  input.file = file;
  input.written = reader.written();
  return input;
}

void ConfigInput::locate(const std::function<void()>& work) const {
  try {
    work();
  } catch (const SettingsError& error) {
    std::string key = error.keys().front();
    Written last{file, {0, 0}};
    for (const std::string& name : error.keys()) {
      const auto found = written.find(name);
      if (found == written.end() || found->second.order < last.order) continue;
      key = name;
      last = found->second;
    }
    refuse(Exit::kUsage, last.place, ": ", key, ": ", error.problem());
  }
}

}  // namespace zero
