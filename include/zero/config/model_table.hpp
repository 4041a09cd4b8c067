#pragma once
/// What [model] may say, as a table: a row a family. The caller, which knows the families, hands it
/// to read_config(); this room knows none.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/run_config.hpp"

namespace zero {

struct DataKind;
namespace model {
struct Family;
}

/// Legal values of a number. `automatic` says that "auto" is one too, kept as 0.
struct Range {
  double low = 0;
  double high = 9e15;       ///< integers stay exact in a double
  bool above_low = false;   ///< low itself is refused
  bool below_high = false;  ///< high itself is refused
  bool automatic = false;
  bool maximum = false;        ///< "max" is legal too, kept as kMicroBatchMax
  std::string_view hint = {};  ///< added to every refusal
};

/// Settings that are legal one by one and cannot stand together, or of which one is missing.
struct Rule {
  std::vector<std::string> keys;                        ///< all that the rule looks at
  std::function<std::string(const RunConfig&)> broken;  ///< what is wrong; "" if nothing is
  /// Lines of an input file that break it, the one that is reported last. Tests run them.
  std::vector<std::string> example;
};

/// A key with a whole number that a model is built by. It is "auto" in a model with a name.
struct ModelCount {
  std::string_view name;
  Range range;
  /// What "auto" comes to in a model without a name; null: the key must be written.
  int64_t (*otherwise)(const RunConfig&) = nullptr;
  std::string_view source = {};  ///< the key that `otherwise` goes by, if it does
  /// What files write in place of the numbers from 1 on, where they say which of some parts a model
  /// is built of; empty: the number.
  std::vector<std::string_view> words = {};
};

/// A number of the key as a file has it: 12, or "relu" with its quotes.
std::string written_as(const ModelCount& count, int64_t number);

/// A key with a number that acts in training alone.
struct ModelRate {
  std::string_view name;
  Range range;
  double initial;  ///< its default
};

/// A count that every family has: the extent of a token between blocks.
inline constexpr std::string_view kWidth = "width";

struct ModelSize {
  std::string_view name;
  std::vector<int64_t> counts;  ///< in the order of the family's
};

struct ModelFamily {
  std::string_view name;           ///< of model.family
  std::string_view example_input;  ///< a file
  std::vector<ModelCount> counts;
  std::vector<ModelRate> rates;
  std::vector<ModelSize> sizes;              ///< smallest first
  std::vector<Rule> rules;                   ///< of numbers together, and with other keys
  std::vector<std::string_view> blocks;      ///< counts that add up to the blocks of recompute
  const model::Family* functions = nullptr;  ///< for who knows them; nothing here looks at it
  const DataKind* data = nullptr;            ///< likewise what it is trained on
  bool learns_pairs = false;                 ///< whether that is pairs of texts
};

/// The family that `model` means: that of its name, else that of model.family. The table must not
/// be empty.
const ModelFamily& family_of(const ModelConfig& model);

/// The size called `name` of any family; nullptr if there is none, or no table.
const ModelSize* find_model_size(const ModelTable* table, std::string_view name);

/// Its blocks, which recompute names from 0; 0 where they are not known.
int64_t block_count(const RunConfig& config);
int64_t block_count(const ModelFamily& family, const ModelNumbers& numbers);

/// The numbers of the model that a checked configuration asks for: those of its name, or its own
/// with what "auto" comes to. 0 of a count that is missing.
ModelNumbers model_numbers(const RunConfig& config);

}  // namespace zero
