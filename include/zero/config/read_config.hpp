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

/// Where a key was written.
struct Written {
  std::string place;          ///< "runs/train.toml:14" or "command line", as an error names it
  std::pair<int, int> order;  ///< among the others; the command line comes last
};

struct ConfigInput {
  RunConfig config;
  std::vector<std::string> warnings;  ///< settings of file and command line that cancel each other
  /// Where the value of every key comes from: "default", "train.toml:14", "command line", "derived
  /// from ..." or, where it cannot be chosen, "always".
  std::map<std::string, std::string> origins;
  std::string file;
  std::map<std::string, Written> written;  ///< by key; none of a key that stands nowhere

  /// Runs `work`, which knows more than the input alone: ranks, memory, data. A SettingsError of it
  /// becomes Error(kUsage), "file:line: key: what, and what would work", at that of its keys which
  /// was written last, or the first one's where none was.
  void locate(const std::function<void()>& work) const;
};

/// The numbers that a run takes over for [model] from the model that it begins with or goes on
/// with.
struct StartNumbers {
  std::string place;        ///< of the model, for messages
  std::string_view family;  ///< of model.family
  ModelNumbers numbers;     ///< all counts of the family; of rates those that the model says
  std::string mixed_rates;  ///< why model.dropout must be written; "" where it need not
  bool must_agree = true;   ///< numbers that are written; else other words refuse those that differ
};
/// Finds them for a configuration whose [model] may still lack its numbers. None where it begins
/// with no other model, or with one that is not there.
using StartReader = std::function<std::optional<StartNumbers>(const RunConfig&)>;

/// The author of the text. A run writes every setting, including those without effect, with the
/// defaults of its own version.
enum class Writer : uint8_t { user, run };

/// Reads the text of an input file and then "section.key=value" overrides, whose value is parsed as
/// TOML and else taken as a string. Nothing is accepted and ignored: an unknown, duplicate,
/// mistyped or ineffective key, a value out of range and a pair that cannot work are errors. Throws
/// one Error(kUsage) with a line for each of them, "file:line: key: what, and what would work" or
/// "command line: key: ...", in the order of the file; the first line stands alone. A key of the
/// file that the command line makes ineffective, or the reverse, is a warning and keeps its
/// default; one that a run has written does so without a word. `file` is for messages and, without
/// folder and extension, for the default of run.output.
/// `models` is what [model] may say, and outlives the configuration. `start` completes [model] by
/// what the run begins with: a number that is not written is that model's. Throws Error(kInput)
/// that lists as keys the numbers that are written and differ.
ConfigInput read_config(const ModelTable& models, std::string_view text, const std::string& file,
                        std::span<const std::string> overrides = {}, Writer writer = Writer::user,
                        const StartReader& start = {});

/// Returns the text of an input file, a byte more than read_config() accepts of a longer one.
/// Throws Error(kUsage) that names the file which may be meant.
std::string read_input_text(const ModelTable& models, const std::string& path);

/// As above from a file of at most 64 KiB; Error(kUsage) if it cannot be read.
ConfigInput read_config_file(const ModelTable& models, const std::string& path,
                             std::span<const std::string> overrides = {},
                             Writer writer = Writer::user, const StartReader& start = {});

/// The text of an input file with every key, each with its origin in a comment and, where the value
/// is "auto" and follows from other keys, with what it comes to. read_config() reads it as
/// the same RunConfig; run.steps that resolve_steps() found is written as what was asked for,
/// run.epochs.
std::string effective_toml(const ConfigInput& input);

}  // namespace zero
