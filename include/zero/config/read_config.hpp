#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/config/run_config.hpp"

namespace zero {

/// The place of a key in the input.
struct Written {
  std::string place;          ///< "runs/train.toml:14" or "command line", for error texts
  std::pair<int, int> order;  ///< position among all keys; the command line comes last
};

struct ConfigInput {
  RunConfig config;
  std::vector<std::string> warnings;  ///< settings of file and command line that cancel out
  /// Origin of every key's value: "default", "train.toml:14", "command line", "derived from ...",
  /// or "always" if the value cannot be chosen.
  std::map<std::string, std::string> origins;
  std::string file;
  std::map<std::string, Written> written;  ///< by key, for written keys only

  /// Runs `work`, which knows more than the input: ranks, memory, data. Turns its SettingsError
  /// into Error(kUsage), "file:line: key: what, and what would work". The place is that of the key
  /// written last, or the first key if none is written.
  void locate(const std::function<void()>& work) const;
};

/// The numbers of [model] that a run takes from the model it starts or continues from.
struct StartNumbers {
  std::string place;        ///< place of the model, for error texts
  std::string_view family;  ///< value of model.family
  ModelNumbers numbers;     ///< all counts of the family, and the rates that the model states
  std::vector<std::string> classes = {};  ///< names of its labels, if it has names
  std::string mixed_rates;  ///< the reason that model.dropout must be written; "" if none
  bool must_agree = true;   ///< false: the caller refuses differing numbers with its own error text
};
/// Finds the numbers for a configuration whose [model] may lack them. Returns nothing if the run
/// starts from no other model or the model does not exist.
using StartReader = std::function<std::optional<StartNumbers>(const RunConfig&)>;

/// The author of an input file. A run writes every setting, even without effect, with the defaults
/// of its own version.
enum class Writer : uint8_t { user, run };

/// Reads an input file and then the overrides "section.key=value". A value is parsed as TOML,
/// otherwise taken as a string. Nothing is ignored: a key that is unknown, duplicate, mistyped, out
/// of range or without effect is an error. A pair of keys that contradict each other is one too.
/// Throws one Error(kUsage) with a line for each fault, in the order of the file. A line is
/// "file:line: key: what, and what would work" or "command line: key: ...", and the first stands
/// alone. If the command line makes a key of the file ineffective, or the reverse, the key keeps
/// its default with a warning. In a file whose `writer` is a run there is no warning. `file` is for
/// error texts; its stem is the default of run.output. `models` is the table of [model] and
/// outlives the configuration. `start` supplies the numbers that [model] omits. Throws
/// Error(kInput), which lists them as keys, if written numbers differ from those of `start`.
ConfigInput read_config(const ModelTable& models, std::string_view text, const std::string& file,
                        std::span<const std::string> overrides = {}, Writer writer = Writer::user,
                        const StartReader& start = {});

/// Returns the text of the input file at `path`. A longer file is cut to a byte more than
/// read_config() accepts. Throws Error(kUsage) with the name of a file that may be meant, such as
/// an example of `models`.
std::string read_input_text(const ModelTable& models, const std::string& path);

/// Reads the input file at `path`, of at most 64 KiB, and the overrides as read_config() does.
/// Throws Error(kUsage) if it cannot be read.
ConfigInput read_config_file(const ModelTable& models, const std::string& path,
                             std::span<const std::string> overrides = {},
                             Writer writer = Writer::user, const StartReader& start = {});

/// Returns the text of an input file with every key of `input`. A comment gives each key's origin
/// and the derived value of an "auto". read_config() reads the same RunConfig from it. Steps found
/// by resolve_steps() are written as run.epochs.
std::string effective_toml(const ConfigInput& input);

/// Returns the keys that the input set, with their values, in the order of effective_toml().
std::vector<std::pair<std::string, TomlValue>> written_settings(const ConfigInput& input);

}  // namespace zero
