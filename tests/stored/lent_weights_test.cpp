// Ranks: 1

#include "zero/stored/lent_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/io/interop/safetensors.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::TempFolder;

class LentWeights : public ::testing::Test {
 protected:
  LentWeights() {
    testing_support::write_small_model(testing_support::small_options(path(), Dtype::f32));
    for (graph::Parameter& parameter : graph_.parameters)
      parameter.borrowed = graph_[parameter.tensor].name != "ln_f.bias";
  }
  std::string path() const { return place_.path() + "/model"; }
  ModelFolder open() const { return {testing_support::catalogue(), path()}; }

  std::string digest(int ranks) const {
    const ModelFolder model = open();
    std::vector<std::string> shares;
    for (int rank = 0; rank < ranks; ++rank)
      shares.push_back(lent_share(model, graph_, rank, ranks));
    return lent_digest(shares);
  }

  TempFolder place_{"lent-weights"};
  graph::Graph graph_ = stored_graph({testing_support::kSmallModel});
};

TEST_F(LentWeights, HaveOneDigestOnAnyNumberOfRanks) {
  const std::string one = digest(1);
  EXPECT_EQ(one.size(), 32u);
  for (const int ranks : {2, 3, 8, 100}) EXPECT_EQ(digest(ranks), one) << ranks;
}

TEST_F(LentWeights, HaveAnotherDigestIfOneBorrowedValueChanges) {
  const std::string before = digest(2);
  graph_.parameters.front().borrowed = false;
  const std::string fewer = digest(2);
  EXPECT_NE(fewer, before);
  // The table of tokens is the first tensor of the file.
  const TensorFile file = open_safetensors(path() + "/model.safetensors");
  const FileTensor* table = file.find("transformer.wte.weight");
  ASSERT_TRUE(table);
  testing_support::damage(path() + "/model.safetensors", int64_t(table->begin));
  EXPECT_EQ(digest(2), fewer) << "a weight that is not borrowed";
  graph_.parameters.front().borrowed = true;
  EXPECT_NE(digest(2), before);
}

TEST_F(LentWeights, ThatChangedAreRefusedWithBothDigests) {
  const ModelFolder model = open();
  require_lent(model, "aa", {{save::kLentFact, "aa"}}, "runs/x/step1");
  const auto refused = [&](const save::Facts& facts) {
    return testing_support::refusal_of(Exit::kInput,
                                       [&] { require_lent(model, "aa", facts, "runs/x/step1"); });
  };
  EXPECT_THAT(refused({{save::kLentFact, "bb"}}),
              AllOf(HasSubstr(path() + ": the digest of its weights is aa"),
                    HasSubstr("runs/x/step1 was trained on weights of the digest bb")));
  EXPECT_THAT(refused({}), HasSubstr("of the digest none"));
}

}  // namespace
}  // namespace zero::stored
