// Ranks: 1
#include "zero/train/checkpoint_survey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/train/model_import.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_support;

class Surveys : public ::testing::Test {
 protected:
  Surveys() {
    checkpoint::Store store({.root = place_.path(), .writes = true});
    for (const int64_t step : {3, 7, 9}) save_small(store, step);
  }
  std::string file(int64_t step, const std::string& name) const {
    return place_.path() + "/" + checkpoint::Store::folder_of(step) + "/" + name;
  }
  Survey survey(SurveyDepth depth = SurveyDepth::blocks, const std::string& folder = "") const {
    return survey_checkpoints(folder.empty() ? place_.path() : folder, depth,
                              [](const StepSurvey&) {});
  }
  TempFolder place_{"survey"};
};

TEST_F(Surveys, TellWhatIsThere) {
  std::vector<int64_t> seen;
  const Survey found =
      survey_checkpoints(place_.path(), SurveyDepth::blocks,
                         [&](const StepSurvey& step) { seen.push_back(step.step); });
  EXPECT_THAT(seen, ElementsAre(3, 7, 9));
  EXPECT_EQ(found.latest, 9);
  EXPECT_EQ(found.resume, 9);
  EXPECT_EQ(found.why, "it is the newest");
  const StepSurvey& step = found.steps[0];
  EXPECT_TRUE(step.verifies());
  EXPECT_EQ(step.ranks, 2);
  EXPECT_EQ(step.files, 3u);
  EXPECT_GT(step.bytes, 601 * 1003 * 4);
  EXPECT_EQ(step.written.size(), std::string("2000-01-01 00:00:00").size());
}

TEST_F(Surveys, NameEachDamagedFileAndPassItsStepOver) {
  const int64_t block = 1 << 20;
  damage(file(9, "rank00000.h5"), block + 5);
  damage(file(9, "rank00001.h5"), 100);
  const Survey found = survey();
  EXPECT_THAT(found.steps[2].problems, ElementsAre(HasSubstr("rank00000.h5: block 1 "),
                                                   HasSubstr("rank00001.h5: block 0 ")));
  EXPECT_EQ(found.resume, 7);
  EXPECT_EQ(found.why, "step 9 does not verify");
  EXPECT_TRUE(survey(SurveyDepth::manifests).steps[2].verifies()) << "no block was read";
}

TEST_F(Surveys, SeeMissingFilesWithoutReadingBlocks) {
  fs::remove(file(9, "checkpoint.h5"));
  EXPECT_THAT(survey(SurveyDepth::manifests).steps[2].problems,
              ElementsAre(HasSubstr("checkpoint.h5")));
}

TEST_F(Surveys, SayWhenNothingCanBeGoneOnFrom) {
  for (const int64_t step : {3, 7, 9}) damage(file(step, "MANIFEST.json"), 30);
  const Survey found = survey();
  EXPECT_FALSE(found.resume);
  EXPECT_THAT(found.why, HasSubstr("status 4"));
  EXPECT_THAT(found.steps[0].problems, ElementsAre(HasSubstr("MANIFEST.json")));
}

TEST_F(Surveys, LookAtOneStepAlone) {
  damage(file(9, "rank00000.h5"), 100);
  const Survey found = survey(SurveyDepth::blocks, place_.path() + "/step00000007");
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_TRUE(found.steps[0].verifies());
  EXPECT_EQ(found.resume, 7);
}

TEST_F(Surveys, KnowThatWeightsAloneAreNotGoneOnFrom) {
  const TempFolder place("survey-weights");
  write_small_model(small_options(place.path() + "/model", Dtype::f32));
  import_model(ModelFolder(place.path() + "/model"), place.path() + "/root", "a test");
  const Survey found = survey(SurveyDepth::blocks, place.path() + "/root");
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_TRUE(found.steps[0].weights_only);
  EXPECT_FALSE(found.resume);
  EXPECT_THAT(found.why, HasSubstr("model.init_from"));
}

TEST_F(Surveys, RefuseWhatIsNoFolder) {
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { survey(SurveyDepth::blocks, "absent"); }),
              HasSubstr("is not there"));
  EXPECT_THAT(refusal_of(Exit::kInput,
                         [&] { survey(SurveyDepth::blocks, place_.path() + "/step00000099"); }),
              HasSubstr("step00000099: is not there"));
  fs::create_directory(place_.path() + "/empty");
  const Survey none = survey(SurveyDepth::blocks, place_.path() + "/empty");
  EXPECT_THAT(none.why, HasSubstr("begin anew"));
}

}  // namespace
}  // namespace zero::train
