// Ranks: 1
#include "zero/io/checkpoint/tensor_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::kHalf;
using testing_support::kMatrix;
using testing_support::kVector;

class TensorReaders : public ::testing::Test {
 protected:
  TensorReaders() : folder_("tensor-reader"), store_({.root = folder_.path(), .writes = true}) {
    testing_support::save_small(store_, 3);
    manifest_ = store_.verify(3, false);
  }

  std::vector<float> read(const Tensor& tensor, int64_t begin, size_t count) const {
    std::vector<float> out(count);
    TensorReader(store_, manifest_).read(tensor, begin, out);
    return out;
  }
  std::string refusal(const Tensor& tensor, int64_t begin, size_t count) const {
    return testing_support::refusal_of(Exit::kInput, [&] { read(tensor, begin, count); });
  }

  testing_support::TempFolder folder_;
  Store store_;
  Manifest manifest_;
};

TEST_F(TensorReaders, JoinWhatRanksWroteToWholeTensors) {
  EXPECT_THAT(read(kVector, 1, 5), ElementsAre(0.25f, 0.5f, 0.75f, 1, 1.25f));
  EXPECT_THAT(read(kHalf, 15, 4), ElementsAre(3.75f, 4, 4.25f, 4.5f)) << "cut at element 17";
  const std::vector<float> all = read(kMatrix, 0, 601 * 1003);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], float(i) / 4) << i;
}

TEST_F(TensorReaders, FindTensorsByTheirNames) {
  const TensorReader reader(store_, manifest_);
  ASSERT_NE(reader.find("model/ln.weight"), nullptr);
  EXPECT_EQ(*reader.find("model/ln.weight"), kVector);
  EXPECT_EQ(reader.find("model/ln.wight"), nullptr);
}

TEST_F(TensorReaders, RefuseWhatTheCheckpointDoesNotHold) {
  Tensor other = kVector;
  other.shape = {10};
  EXPECT_THAT(refusal(other, 0, 1), HasSubstr("model/ln.weight has other extents"));
  other.name = "model/ln.bias";
  EXPECT_THAT(refusal(other, 0, 1), HasSubstr("holds no model/ln.bias"));
}

TEST_F(TensorReaders, RefuseADamagedBlockAndReadTheOthers) {
  const std::string path = folder_.path() + "/step00000003/rank00000.h5";
  const Slice& slice = manifest_.slices[1];
  ASSERT_EQ(manifest_.tensors[size_t(slice.tensor)], kMatrix);
  const int64_t at = slice.offset + kShortBlockBytes;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put('!');
  file.close();
  EXPECT_THAT(refusal(kMatrix, kShortBlockBytes / 4, 1),
              HasSubstr(text("block ", at / kShortBlockBytes, " ")));
  EXPECT_THAT(read(kVector, 4, 1), ElementsAre(1)) << "in the other rank's file";
}

}  // namespace
}  // namespace zero::checkpoint
