#include "zero/config/optimizer_keys.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "src/config/optimizer_rows.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr OptimizerState kMoments[] = {{.name = "momentum"}, {.name = "variance"}};
constexpr OptimizerState kMomentum[] = {{.name = "momentum"}};

constexpr OptimizerState kMomentumBuffer[] = {{.name = "momentum_buffer"}};

constexpr const char* kAdamWKeys[] = {"betas", "eps"};
constexpr const char* kAdamKeys[] = {"betas", "eps", "adam_w_mode"};
constexpr const char* kLambKeys[] = {"betas", "eps", "max_coeff", "min_coeff"};
constexpr const char* kLionKeys[] = {"betas"};
constexpr const char* kSgdKeys[] = {"momentum", "dampening", "nesterov"};

std::span<const OptimizerState> moments(const OptimizerConfig&) { return kMoments; }
std::span<const OptimizerState> momentum(const OptimizerConfig&) { return kMomentum; }
std::span<const OptimizerState> momentum_buffer(const OptimizerConfig& config) {
  return std::span(kMomentumBuffer).first(config.momentum > 0 ? 1 : 0);
}

constexpr OptimizerRow kRows[] = {
    {.name = "AdamW", .ops = {"adam"}, .keys = kAdamWKeys, .states = moments},
    {.name = "Adam", .ops = {"adam"}, .keys = kAdamKeys, .states = moments},
    {.name = "LAMB", .ops = {"lamb_norms", "lamb_apply"}, .keys = kLambKeys, .states = moments},
    {.name = "Lion",
     .ops = {"lion"},
     .keys = kLionKeys,
     .states = momentum,
     .betas = {0.9, 0.99},
     .transformers = "lion_32bit"},
    {.name = "SGD",
     .ops = {"sgd"},
     .keys = kSgdKeys,
     .states = momentum_buffer,
     .transformers = "sgd"},
};

}  // namespace

std::span<const OptimizerRow> optimizer_rows() { return kRows; }

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> names;
  for (const OptimizerRow& row : kRows) names.push_back(row.name);
  return names;
}

OptimizerForm form_of(const OptimizerConfig& config) {
  const OptimizerRow& row = row_of(config.type);
  return {.name = row.name, .states = row.states(config), .ops = row.ops};
}

bool update_alike(std::string_view one, std::string_view other) {
  const auto ops_of = [](std::string_view name) {
    const auto row = std::ranges::find(kRows, name, &OptimizerRow::name);
    return row == std::end(kRows) ? OptimizerRow().ops : row->ops;
  };
  const auto ops = ops_of(one);
  return one == other || (ops[0] != nullptr && ops == ops_of(other));
}

}  // namespace zero
