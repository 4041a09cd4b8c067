// Ranks: 1
#include "zero/save/stored_checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/few_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"

namespace zero::save {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace testing_support;

class StoredCheckpoints : public ::testing::Test {
 protected:
  StoredCheckpoints() {
    checkpoint::Store store({.root = place_.path(), .writes = true});
    for (const int64_t step : {3, 7}) save_small(store, step);
  }
  std::string step(int64_t number) const {
    return place_.path() + "/" + checkpoint::Store::folder_of(number);
  }
  TempFolder place_{"stored-checkpoint"};
};

TEST_F(StoredCheckpoints, OpenTheNewestOrTheOneThatIsNamed) {
  EXPECT_TRUE(holds_checkpoints(place_.path()));
  EXPECT_EQ(StoredCheckpoint(place_.path()).manifest().step, 7);
  EXPECT_EQ(StoredCheckpoint(place_.path()).folder(), step(7));
  const StoredCheckpoint named(step(3));
  EXPECT_EQ(named.manifest().step, 3);
  EXPECT_EQ(named.fact("seed"), "42");
  EXPECT_EQ(named.fact("sead"), "");
  float value = 0;
  named.tensors().read(kVector, 5, {&value, 1});
  EXPECT_EQ(value, 1.25f);
}

TEST_F(StoredCheckpoints, PassOverOneThatIsNotWhole) {
  fs::remove(step(7) + "/rank00001.h5");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(StoredCheckpoint(place_.path()).manifest().step, 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("warning: step 7 does not verify and is passed over: "),
                    HasSubstr("rank00001.h5: No such file")));
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { StoredCheckpoint open(step(7)); }),
              HasSubstr("rank00001.h5"));
  damage(step(3) + "/MANIFEST.json", 40);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { StoredCheckpoint open(place_.path()); }),
              HasSubstr("rank00001.h5"))
      << "what is wrong with the newest";
}

TEST_F(StoredCheckpoints, PassOverNoneThatTheyCouldNotLookAt) {
  constexpr int kEnough = 32;
  int more = 1;
  const auto step_with = [&] {
    const FewFiles few(more);
    return StoredCheckpoint(place_.path()).manifest().step;
  };
  for (; more < kEnough; ++more) {
    try {
      EXPECT_EQ(step_with(), 7);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kIo) << more << " files more: " << error.what();
    }
  }
  EXPECT_GT(more, 2) << "a manifest could not be opened";
  EXPECT_LT(more, kEnough);
}

TEST_F(StoredCheckpoints, AreNotSeenInOtherFolders) {
  fs::create_directory(place_.path() + "/empty");
  EXPECT_FALSE(holds_checkpoints(place_.path() + "/empty"));
  EXPECT_FALSE(holds_checkpoints(place_.path() + "/absent"));
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { StoredCheckpoint open(place_.path() + "/empty"); }),
              HasSubstr("name a run"));
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { StoredCheckpoint open(step(4)); }),
              AllOf(HasSubstr("is not there"), HasSubstr("step00000003, step00000007)")));
}

}  // namespace
}  // namespace zero::save
