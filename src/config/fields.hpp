#pragma once
/// The catalogue of keys: every key of the input file with its member. Other files read it.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/model_keys.hpp"
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

/// A number of ranks above 1; "all" is stored as 0, "node" as kGroupOfNode.
struct GroupSize {
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

/// A path, or a list of paths and of tables {path, weight}. The path then shows the list.
struct DataPaths {
  std::string* path;
  std::vector<DataPart>* parts;
};

using Binding = std::variant<bool*, Integer, Real, Size, Duration, GroupSize, std::string*,
                             std::vector<std::string>*, std::array<double, 2>*, Recompute*, OneOf,
                             Fixed, Hint, Open, DataPaths>;

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

/// Returns the section of a key, "" at the top level: "zero.offload_param" for
/// "zero.offload_param.device".
std::string_view section_of(std::string_view key);

inline constexpr std::string_view kNumberCheckpoints =
    "activation_checkpointing.number_checkpoints";

}  // namespace zero
