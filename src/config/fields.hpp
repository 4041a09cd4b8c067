#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "zero/config/model_table.hpp"
#include "zero/config/run_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {

/// One of some names; the enumerators count from 0 in the same order.
struct OneOf {
  std::vector<std::string_view> names;
  std::function<int()> get;
  std::function<void(int)> set;
  std::string_view hint;  ///< added to every refusal
};

/// A key without a member: the values that ask for what this program does by construction, the
/// default first, and why it does nothing else and what to write.
struct Fixed {
  std::vector<TomlValue> accepted;
  std::string reason;
  bool warns = false;  ///< an accepted value other than the default does nothing and says so
};

struct Integer {
  int64_t* value;
  Range range;
};
struct Real {
  double* value;
  Range range;
};
/// Bytes: an integer, or text such as "24GiB"; "auto" is kept as 0.
struct Size {
  int64_t* value;
};

/// Seconds, or "HH:MM:SS"; 0 = none.
struct Duration {
  int64_t* value;
};

/// A key without a member of which every legal value is taken: the plan decides instead, and a line
/// says how. The default's type is the key's.
struct Hint {
  TomlValue fallback;
  Range range;  ///< of a number
  std::string_view reason;
};

/// A setting that others may say where nobody writes it: "auto", which is kept as none.
struct Open {
  std::variant<std::optional<bool>*, std::optional<int64_t>*, std::optional<double>*,
               std::optional<BeamEnd>*, std::optional<std::vector<int64_t>>*>
      value;
  Range range = {.automatic = true};  ///< of a number, or of each in a list
};

using Binding =
    std::variant<bool*, Integer, Real, Size, Duration, std::string*, std::vector<std::string>*,
                 std::array<double, 2>*, Recompute*, OneOf, Fixed, Hint, Open>;

/// What somebody who knows the key from DeepSpeed may expect of it.
enum class Standing {
  ours,     ///< DeepSpeed has no such key
  same,     ///< acts as there
  cap,      ///< an upper limit: the plan may do with less
  always,   ///< always done, or without an effect to choose: its legal values ask for the same
  refused,  ///< another value is refused for good
  hint,     ///< every legal value is taken, and a line says what the plan does instead
};

struct Field {
  std::string key;
  Binding binding;
  Standing standing;
  std::string alias_of = {};   ///< the key whose member this one sets as well
  std::string_view note = {};  ///< what inputs/keys.md adds
};

/// Every key of the input file, once, with the place in `config` that it fills. Gives the numbers
/// of model.table's families that `config` has not yet their defaults.
std::vector<Field> fields_of(RunConfig& config);

/// Stores `value`; returns "" or what is wrong with it and what would work.
std::string assign(const Field& field, const TomlValue& value);

/// Whether the values are the same, numbers of one type being those of the other: 1e9, 1000000000.
bool same_value(const TomlValue& a, const TomlValue& b);

/// Whether a key without a member could mean something by `value`, done or not: it is of the type
/// of the accepted one, where numbers are of one type, or a number where "auto" is accepted.
bool could_be_of(const Fixed& fixed, const TomlValue& value);

/// The member as it would stand in a file; of a Fixed key its default.
TomlValue value_of(const Field& field);

/// "0 to 3", "true or false": what a refusal and the table of keys say.
std::string legal_values(const Field& field);
std::string to_text(const Range& range);
std::string to_text(const OneOf& choice);
inline constexpr std::string_view kSizes =
    "bytes, or text such as \"24GiB\" or \"512MiB\", or \"auto\"";
inline constexpr std::string_view kWords = "strings in [\"brackets\"]";
inline constexpr std::string_view kTimes = "\"HH:MM:SS\" or seconds, and 0 for none";
inline constexpr std::string_view kBeamEnds = "false, true, \"never\" or \"auto\"";
inline constexpr std::string_view kIdLists = "a list of token ids, [1, 2], or one, or \"auto\"";
inline constexpr std::string_view kRecomputes =
    "\"none\", \"selective\", \"full\" or a list of blocks, [0, 2, 5]";

/// The section of a key, "" at the top: "zero.offload_param" of "zero.offload_param.device".
std::string_view section_of(std::string_view key);

/// An input file's lines, those of `line(field, name in its section)` below the names of their
/// sections; "" leaves a field out.
std::string by_section(
    std::span<const Field> fields,
    const std::function<std::string(const Field& field, std::string_view name)>& line);

/// `words` after a value; a file's name may hold what no comment can.
std::string comment(std::string words);

inline constexpr std::string_view kNumberCheckpoints =
    "activation_checkpointing.number_checkpoints";

/// What activation_checkpointing.recompute keeps between the passes, in words with its counts:
/// "recompute = \"full\" keeps the inputs of 12 blocks". Without counts where the model's layers
/// are not known.
std::string kept_activations(const RunConfig& config);

}  // namespace zero
