#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "src/config/import/launch_line.hpp"
#include "src/config/import/rules.hpp"
#include "src/config/import/source.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {

struct Derived {
  TomlValue value;
  std::string how;  ///< "width^2"
};

/// What Transformers makes of "auto" at a key of an input file. Nothing where its training script
/// decides, or where the width of the model must be known and is not.
std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config);

inline constexpr const char* kHfDefault = "Transformers' default";

/// What TrainingArguments of Transformers has where nobody says anything; nothing for a key that is
/// not theirs.
std::optional<TomlValue> hf_default(std::string_view key);

/// Whether derive_auto() needs the width of the model for `key`.
bool depends_on_width(std::string_view key);

/// One line of the input file to be.
struct Setting {
  TomlValue value;
  std::string origin;  ///< follows it as a comment
  bool open = false;   ///< somebody has to give its value
  bool given = false;  ///< on the command line, so that it wins
};

/// The input file that grows out of a source, key by key, with a line of report for each.
class Translation {
 public:
  Translation(const ModelTable& models, const ImportOptions& options)
      : unsupported_(options.unsupported), hf_defaults_(options.hf_defaults) {
    config_.model.table = &models;
    fields_ = fields_of(config_);
  }

  /// Settings that win over the source. Before everything else.
  void give(std::span<const std::string> overrides);

  /// Derives by the numbers of the model that the training begins with.
  void begin_with(const StartReader& start);

  /// The script's and its launchers' flags; before the sources, which they fill where those say
  /// "auto" and must not contradict.
  void follow_launch_line(LaunchLine line);

  /// Follows the rules; with `same_names` also DeepSpeed's names that an input file has too.
  void translate(const Source& source, std::span<const ImportRule> rules, bool same_names);

  /// Takes the entries whose keys stand in `section`, or are it, out of the source. A line of each
  /// says why.
  void pass_over(Source& source, std::string_view section, const std::string& why);

  /// What a source is for: defaults of other programs are other ones.
  enum class Framework { deepspeed, fsdp, plain };

  /// Writes out the engine's defaults that differ from ours, drops what has no effect, and names
  /// what is missing.
  void complete(Framework framework);

  void say(const std::string& line) { lines_.push_back({"", "", line}); }
  void warn(const SourceEntry& entry, const std::string& what);
  void refuse(const SourceEntry& entry, const std::string& what);

  /// The settings in the order and the sections of the reference; moves the rest out.
  DeepSpeedImport take();

 private:
  struct Line {
    std::string key;      ///< of the setting that it tells of; "" for none
    std::string subject;  ///< key and value of the source, with their place; "" for none
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
  std::set<std::string> off_;                // sections of the sources with enabled = false
  std::set<std::string> asked_;              // keys that flags of the script alone may mean
  std::vector<Line> lines_;
  std::vector<std::string> refused_;
  std::vector<std::string> known_keys_;  // made by known_keys()
};

}  // namespace zero
