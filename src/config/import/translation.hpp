#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "src/config/import/launch_line.hpp"
#include "src/config/import/nested_file.hpp"
#include "src/config/import/rules.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {

struct Derived {
  TomlValue value;
  std::string how;  ///< formula: "width^2"
};

/// Returns the value that Transformers derives for an "auto" key. Nothing if its training script
/// decides, or if the width of the model is needed and unknown.
std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config);

inline constexpr const char* kHfDefault = "Transformers' default";

/// Returns the default in Transformers' TrainingArguments; nothing for a key that it lacks.
std::optional<TomlValue> hf_default(std::string_view key);

/// True if derive_auto() needs the width of the model for `key`.
bool depends_on_width(std::string_view key);

/// A line of the input file in progress.
struct Setting {
  TomlValue value;
  std::string origin;  ///< comment behind the value
  bool open = false;   ///< true: the user must give the value
  bool given = false;  ///< true: the command line gives the value, which wins
};

/// A translator that builds an input file from a source, key by key, and reports each key.
class Translation {
 public:
  Translation(const ModelTable& models, const ImportOptions& options)
      : unsupported_(options.unsupported), hf_defaults_(options.hf_defaults) {
    config_.model.table = &models;
    fields_ = fields_of(config_);
  }

  /// Adds settings that win over the sources. REQUIRES: called first.
  void give(std::span<const std::string> overrides);

  /// Uses the numbers of the model that the training begins from for derived values.
  void begin_with(const StartReader& start);

  /// Follows the flags of script and launchers. They fill "auto" of the sources and must not
  /// contradict them. REQUIRES: called before translate().
  void follow_launch_line(LaunchLine line);

  /// Applies the rules to a source; with `same_names` also to keys that DeepSpeed and an input file
  /// share.
  void translate(const Source& source, std::span<const ImportRule> rules, bool same_names);

  /// Removes the entries whose keys are `section` or lie below it, and reports each with `why`.
  void pass_over(Source& source, std::string_view section, const std::string& why);

  /// The framework of a source. Each has its own defaults.
  enum class Framework { deepspeed, fsdp, plain };

  /// Writes the framework's defaults that differ from ours, drops settings without effect, and
  /// lists missing ones.
  void complete(Framework framework);

  void say(const std::string& line) { lines_.push_back({"", "", line}); }
  void warn(const SourceEntry& entry, const std::string& what);
  void refuse(const SourceEntry& entry, const std::string& what);

  /// Returns the settings in the order and sections of the reference. Call it once, because it
  /// moves the rest out.
  DeepSpeedImport take();

 private:
  struct Line {
    std::string key;      ///< setting that the line reports on; "" for none
    std::string subject;  ///< key, value and place in the source; "" for none
    std::string fate;
  };

  void translate_entry(const SourceEntry& entry, const ImportRule* rule, bool same_names);
  void follow(const SourceEntry& entry, const ImportRule& rule);
  void leave_out_what_yields(Source& flags);
  void follow_flag(const SourceEntry& entry);
  void ask(const SourceEntry& entry, const ImportRule& rule);
  bool takes(const std::string& key, const TomlValue& value) const;
  int64_t steps_of(const Source& flags) const;
  void follow_fixed(const SourceEntry& entry, std::string_view only, std::string_view why);
  void set(const SourceEntry& entry, const Target& target, std::string_view instead);
  void assign_value(const SourceEntry& entry, const Field& field, const TomlValue& value,
                    std::string_view instead);
  void derive(const SourceEntry& entry, const Field& field);
  bool is_overridden(const SourceEntry& entry) const;
  bool is_off(const std::string& key) const;
  void default_to(const std::string& key, const TomlValue& value, const std::string& why);
  std::string input_file() const;
  void settle_precision();
  void settle_schedule();
  void settle_betas();
  void settle_pinning();
  void write_deepspeed_defaults();
  void write_fsdp_defaults();
  void write_hf_defaults();
  void count_checkpoints();
  void refuse_moving_momentum();
  void drop_idle();
  void need(const std::string& key, const std::string& why);
  void need_what_is_asked();
  void need_what_is_missing();
  void need_micro_batch();
  void keep(const Field& field, const TomlValue& value, const std::string& origin);

  const Field* find(std::string_view key) const;
  bool has(const std::string& key) const { return settings_.count(key) != 0; }
  const std::vector<std::string>& known_keys();
  std::string unknown(const std::string& key);
  void tell(const SourceEntry& entry, const std::string& key, const std::string& what);
  void retell(const std::string& key, const std::string& what);
  void unsupported(const SourceEntry& entry, const std::string& what);

  Unsupported unsupported_;
  bool hf_defaults_;
  RunConfig config_;
  std::vector<Field> fields_;
  std::map<std::string, Setting> settings_;  // by key
  std::set<std::string> seen_;               // keys of the sources
  std::set<std::string> off_;                // sections with enabled = false in the sources
  std::set<std::string> asked_;              // keys that flags of the script may mean
  std::vector<Line> lines_;
  std::vector<std::string> refused_;
  std::vector<std::string> known_keys_;  // cache of known_keys()
};

}  // namespace zero
