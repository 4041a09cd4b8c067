#pragma once
/// The keys of an input file as a user asks for them: texts, values and names in other programs.

#include <string>
#include <string_view>
#include <vector>

#include "zero/config/model_keys.hpp"

namespace zero {

/// A key in words. Its text is that of inputs/reference.toml.
struct KeyHelp {
  std::string key = {};      ///< "zero.stage"
  std::string section = {};  ///< "zero"; "" at the top level
  std::string text = {};
  std::string group = {};  ///< what the reference says above a group of keys, at the first of them
  std::string fallback = {};   ///< default, as a file writes it
  std::string legal = {};      ///< legal values in words
  std::string remark = {};     ///< reason of a fixed value, or addition to the legal values
  std::string acts_with = {};  ///< settings of other keys under which it acts; "" = always
  std::vector<std::string> values = {};        ///< legal words, as a command line has them
  std::vector<std::string> deepspeed = {};     ///< DeepSpeed's names: "zero_optimization.stage"
  std::vector<std::string> transformers = {};  ///< flags of Transformers: "--learning_rate"
};

/// Returns the help on every key of an input file, with the [model] keys of `models`, in the order
/// of the catalogue.
std::vector<KeyHelp> key_help(const ModelTable& models);

/// Returns those of `keys` that `name` may mean. `name` is a key or its last part, a section, also
/// in brackets, or another program's name of the key.
std::vector<KeyHelp> keys_called(const std::vector<KeyHelp>& keys, std::string_view name);

}  // namespace zero
