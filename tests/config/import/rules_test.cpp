// Ranks: 1

#include "src/config/import/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "tests/support/models.hpp"

namespace zero {
namespace {

using ::testing::Contains;

TEST(ImportRules, LeadToKeysOfAnInputFile) {
  RunConfig config = testing_support::unset_config();
  std::vector<std::string> keys;
  for (const Field& field : fields_of(config)) keys.push_back(field.key);
  for (const auto rules : {deepspeed_rules(), accelerate_rules(), fsdp_rules(), training_rules(),
                           script_rules(), own_rules()}) {
    for (const ImportRule& rule : rules) {
      if (rule.to.empty()) continue;
      for (const std::string& key : rule.keys()) EXPECT_THAT(keys, Contains(rule.target(key)));
    }
  }
}

}  // namespace
}  // namespace zero
