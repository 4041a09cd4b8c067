#pragma once
/// The keys of [model] as a table with a row for each family. The caller passes the table to
/// read_config(), because this room knows no family.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/objective_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

namespace model {
struct AlterationKind;
struct Family;
}  // namespace model

/// The legal values of a number. `automatic` allows "auto", which is stored as 0.
struct Range {
  double low = 0;
  double high = 9e15;       ///< integers up to here are exact in a double
  bool above_low = false;   ///< refuses `low` itself
  bool below_high = false;  ///< refuses `high` itself
  bool automatic = false;
  bool maximum = false;  ///< allows "max" and "best", stored as kMicroBatchMax and kMicroBatchBest
  std::string_view hint = {};  ///< text added to every refusal
};

/// A rule about settings that are legal one by one but contradict each other, or of which one is
/// missing.
struct Rule {
  std::vector<std::string> keys;                        ///< keys that the rule reads
  std::function<std::string(const RunConfig&)> broken;  ///< error text; "" if the rule holds
  /// Lines of an input file that break the rule. The error is reported at the last one. Tests run
  /// them.
  std::vector<std::string> example;
};

/// An integer key that defines the model. The key is "auto" in a named model.
struct ModelCount {
  std::string_view name;
  Range range;
  /// Returns the value of "auto" in a model without a name, from the other settings of a run.
  /// nullptr: the key is required.
  int64_t (*otherwise)(const RunConfig&) = nullptr;
  std::string_view source = {};  ///< key that `otherwise` derives from; "" if none
  /// Words that files write instead of the numbers 1, 2, ..., for a choice between parts. Empty:
  /// files write the number.
  std::vector<std::string_view> words = {};
  /// Set for a count of the task and not of the network: no size has it, and it may differ from a
  /// stored model's. Returns the value of "auto" that other keys say; 0 if they say none.
  int64_t (*by_task)(const RunConfig&) = nullptr;
};

/// Returns the number that `config` gives a count by_task, by its key or by others; 0 if none.
int64_t said_by_task(const RunConfig& config, const ModelCount& count);

/// Returns `number` as files write it for the key `count`: 12, or "relu" with its quotes.
std::string written_as(const ModelCount& count, int64_t number);

/// A real-valued key. A rate that is part of the network must agree with a stored model, as counts
/// must. Other rates, such as dropout, affect training only.
struct ModelRate {
  std::string_view name;
  Range range;
  double initial;        ///< default value, of a family that is not the table's first
  bool network = false;  ///< part of the network
  double usual = 0;      ///< meaning of "auto" in a model without a name
};

/// The count that every family has: the width of a token between blocks.
inline constexpr std::string_view kWidth = "width";
/// The count of families that label texts: scores of a sample. 1: the score is a number.
inline constexpr std::string_view kLabelCount = "labels";

struct ModelSize {
  std::string_view name;
  std::vector<int64_t> counts;  ///< in the order of ModelFamily::counts, those by_task left out
  /// Rates of the network that differ from the family's, by name: "auto" means them. Rates without
  /// a key are model::Family::constants.
  std::map<std::string, double, std::less<>> rates = {};
};

struct ModelFamily {
  std::string_view name;           ///< value of model.family
  std::string_view example_input;  ///< path of an example file
  std::vector<ModelCount> counts;  ///< those by_task come last
  std::vector<ModelRate> rates;
  std::vector<ModelSize> sizes;                    ///< smallest first
  std::vector<Rule> rules;                         ///< on its numbers, alone or with other keys
  std::vector<std::string_view> blocks;            ///< counts whose sum is the number of blocks
  const model::Family* functions = nullptr;        ///< for rooms that know families; unused here
  std::vector<ObjectiveSettings> objectives = {};  ///< that it can be trained on
  std::vector<const model::AlterationKind*> alterations = {};  ///< unused here

  /// Returns the family's objective of that name, or null.
  const ObjectiveSettings* objective(std::string_view objective_name) const;
};

/// Returns the row of model.table that has the size model.name, otherwise the row called
/// model.family, otherwise the first. REQUIRES: the table is not empty.
const ModelFamily& family_of(const ModelConfig& model);

/// Returns the size called `name` in any family of the table; nullptr if there is no such size or
/// no table.
const ModelSize* find_model_size(const ModelTable* table, std::string_view name);

/// Returns the number of blocks of the configured model; 0 if unknown. Recompute numbers them from
/// 0.
int64_t block_count(const RunConfig& config);
/// Returns the number of blocks of a family's model with these numbers.
int64_t block_count(const ModelFamily& family, const ModelNumbers& numbers);

/// Returns the numbers of the configured model: those of the named size, or the written ones with
/// "auto" derived. A missing count is 0. REQUIRES: the configuration is checked.
ModelNumbers model_numbers(const RunConfig& config);

}  // namespace zero
