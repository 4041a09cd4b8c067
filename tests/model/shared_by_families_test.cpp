// Ranks: 1

#include "src/model/shared_by_families.hpp"

#include <gtest/gtest.h>

namespace zero::model {
namespace {

ForwardOptions of_rows(int64_t samples, int64_t length, int64_t chunk_rows = 0) {
  return {.micro = {.samples = samples, .length = length},
          .compute = Dtype::f32,
          .training = true,
          .chunk_rows = chunk_rows};
}

TEST(ClassifierRows, AreFewerWhereClassesAreMany) {
  const ForwardOptions many = of_rows(8, 1024);
  EXPECT_EQ(classifier_rows(many, 50304), 1024) << "GPT-2's logits take 206 MB";
  EXPECT_EQ(classifier_rows(many, 65536), 1024);
  EXPECT_EQ(classifier_rows(many, 65600), 1024 - 64);
  EXPECT_EQ(classifier_rows(many, 128256), 512);
  EXPECT_EQ(classifier_rows(many, 151936), 384) << "233 MB";
  EXPECT_EQ(classifier_rows(many, int64_t(1) << 22), 64);
}

TEST(ClassifierRows, AreNeverMoreThanThereAre) {
  EXPECT_EQ(classifier_rows(of_rows(1, 40), 1 << 22), 40);
  EXPECT_EQ(classifier_rows(of_rows(2, 240), 151936), 384);
  EXPECT_EQ(classifier_rows(of_rows(1, 300), 151936), 300);
}

TEST(ClassifierRows, OfAGpuGrowWithItsChunk) {
  EXPECT_EQ(classifier_rows(of_rows(8, 1024, 4096), 50304), 4096);
  EXPECT_EQ(classifier_rows(of_rows(8, 1024, 4096), 151936), 1728);
}

}  // namespace
}  // namespace zero::model
