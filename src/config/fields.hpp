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

/// A choice between names. Enumerators count from 0 in their order.
struct OneOf {
  std::vector<std::string_view> names;
  std::function<int()> get;
  std::function<void(int)> set;
  std::string_view hint;  ///< text added to every refusal
};

/// A key without a member, for behaviour that is fixed: its accepted values, the default first,
/// with the reason and the advice of a refusal.
struct Fixed {
  std::vector<TomlValue> accepted;
  std::string reason;
  bool warns = false;  ///< accepted values other than the default do nothing, with a warning
};

struct Integer {
  int64_t* value;
  Range range;
};
struct Real {
  double* value;
  Range range;
};
/// A number of bytes, or text such as "24GiB"; "auto" is stored as 0.
struct Size {
  int64_t* value;
};

/// A number of seconds, or "HH:MM:SS"; 0 = no limit.
struct Duration {
  int64_t* value;
};

/// A key without a member that accepts every legal value. The plan decides, and a line reports its
/// decision. The type is that of the default.
struct Hint {
  TomlValue fallback;
  Range range;  ///< legal values of a number
  std::string_view reason;
};

/// A setting whose "auto", stored as none, lets another file decide.
struct Open {
  std::variant<std::optional<bool>*, std::optional<int64_t>*, std::optional<double>*,
               std::optional<BeamEnd>*, std::optional<std::vector<int64_t>>*>
      value;
  Range range = {.automatic = true};  ///< legal values of a number, or of each in a list
};

using Binding =
    std::variant<bool*, Integer, Real, Size, Duration, std::string*, std::vector<std::string>*,
                 std::array<double, 2>*, Recompute*, OneOf, Fixed, Hint, Open>;

/// The relation of a key to DeepSpeed's key of the same name.
enum class Standing {
  ours,     ///< DeepSpeed has no such key
  same,     ///< acts as in DeepSpeed
  cap,      ///< an upper limit: the plan may use less
  always,   ///< always on, or without effect: legal values ask for nothing else
  refused,  ///< other values are refused
  hint,     ///< every legal value is accepted, and a line reports the plan's decision
};

struct Field {
  std::string key;
  Binding binding;
  Standing standing;
  std::string alias_of = {};   ///< key with the same member; "" if none
  std::string_view note = {};  ///< addition to inputs/keys.md
};

/// Returns every key of the input file once, bound to its member of `config`. Gives numbers of
/// model.table's families their defaults if `config` lacks them.
std::vector<Field> fields_of(RunConfig& config);

/// Stores `value`. Returns "" on success, otherwise the error text.
std::string assign(const Field& field, const TomlValue& value);

/// True if the values are equal. Integers and reals of equal size are: 1e9, 1000000000.
bool same_value(const TomlValue& a, const TomlValue& b);

/// True if `value` could be meant for a key without a member, supported or not. It has the type of
/// the accepted values, or is a number where "auto" is accepted. All numbers are of one type.
bool could_be_of(const Fixed& fixed, const TomlValue& value);

/// Returns the member as a file writes it; for a Fixed key, the default.
TomlValue value_of(const Field& field);

/// Returns the legal values in words, for error texts and the table of keys: "0 to 3", "true or
/// false".
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

/// Returns the section of a key, "" at the top level: "zero.offload_param" for
/// "zero.offload_param.device".
std::string_view section_of(std::string_view key);

/// Returns the lines of an input file under their section headers. `line` returns a field's line;
/// "" omits the field.
std::string by_section(
    std::span<const Field> fields,
    const std::function<std::string(const Field& field, std::string_view name)>& line);

/// Returns `words` as a comment behind a value. Replaces bytes that a comment cannot hold.
std::string comment(std::string words);

inline constexpr std::string_view kNumberCheckpoints =
    "activation_checkpointing.number_checkpoints";

/// Returns the activations that recompute keeps between the passes: "recompute = \"full\" keeps the
/// inputs of 12 blocks". Omits the counts if the number of blocks is unknown.
std::string kept_activations(const RunConfig& config);

}  // namespace zero
