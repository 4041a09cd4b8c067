// Ranks: 1

#include "zero/save/stored_checkpoints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/few_files.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::save {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing_support::damage;
using testing_support::FewFiles;
using testing_support::kVector;
using testing_support::refusal_of;
using testing_support::save_small;
using testing_support::small_options;
using testing_support::TempFolder;
using testing_support::write_small_files;
using testing_support::write_small_model;

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

TEST_F(Surveys, CompareStructuresWhereThisProgramHasWrittenThem) {
  checkpoint::Store store({.root = place_.path(), .writes = true});
  const auto save = [&](int64_t step, const std::function<void(checkpoint::Manifest&)>& change) {
    const std::string temporary = store.begin(step);
    const OpenFile folder(store.open_folder(temporary));
    checkpoint::Manifest manifest = write_small_files(folder.descriptor(), step);
    change(manifest);
    store.write_manifest(temporary, manifest);
    store.publish(temporary, step);
  };
  save(10, [](checkpoint::Manifest& manifest) { manifest.facts["hdf5"] = "1.8.0"; });
  save(11, [](checkpoint::Manifest& manifest) { manifest.facts["seed"] = "43"; });
  const Survey found = survey(SurveyDepth::structures);
  ASSERT_EQ(found.steps.size(), 5u);
  EXPECT_EQ(found.steps[2].not_compared, "");
  EXPECT_TRUE(found.steps[3].verifies());
  EXPECT_THAT(found.steps[3].not_compared, StartsWith("HDF5 1.8.0 has written it"));
  EXPECT_THAT(found.steps[4].other_structures, ElementsAre(HasSubstr("checkpoint.h5: byte ")));
  EXPECT_TRUE(found.steps[4].verifies()) << "a run goes on from it";
  EXPECT_EQ(found.resume, 11);
  const StepSurvey listed = survey(SurveyDepth::blocks).steps[4];
  EXPECT_THAT(listed.other_structures, IsEmpty());
  EXPECT_EQ(listed.not_compared, "only fsck does");
}

TEST_F(Surveys, TellWhereGradientsOfAttentionWereAddedInAnyOrder) {
  checkpoint::Store store({.root = place_.path(), .writes = true});
  const std::string temporary = store.begin(11);
  const OpenFile folder(store.open_folder(temporary));
  checkpoint::Manifest manifest = write_small_files(folder.descriptor(), 11);
  manifest.facts["arithmetic"] =
      "cuBLASLt 13.0, sm_90, cuDNN 9.19.0 with sums in any order, 2 "
      "threads a rank";
  store.write_manifest(temporary, manifest);
  store.publish(temporary, 11);
  const Survey found = survey();
  EXPECT_FALSE(found.steps[2].in_any_order);
  EXPECT_TRUE(found.steps[3].in_any_order);
}

TEST_F(Surveys, NameEachDamagedFileAndPassItsStepOver) {
  const int64_t block = checkpoint::kShortBlockBytes;
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

TEST_F(Surveys, TellWhatElseLiesThereAndWhatRemovesIt) {
  EXPECT_THAT(survey().leftovers, IsEmpty());
  const std::string id(32, 'a'), root = place_.path() + "/";
  for (const std::string& name :
       {".tmp-step00000010-" + id, ".del-step00000001-" + id, "damaged-step00000002-" + id,
        std::string("step00000008/mine"), std::string("thesis")}) {
    fs::create_directories(root + name);
  }
  fs::remove(root + "latest");
  fs::create_symlink("../elsewhere", root + "latest");
  std::ofstream(root + "LOCK") << "host of-another process 17\n";
  const auto told = [&] {
    std::string lines;
    for (const auto& [path, what, remedy] : survey().leftovers) {
      EXPECT_THAT(path, StartsWith(root));
      lines += path.substr(root.size(), 9) + "|" + what + "|" + remedy + "\n";
    }
    return lines;
  };
  const std::string others =
      "damaged-s|set aside, as it did not verify|remove it with rm -r when nobody needs it\n"
      "latest|points at no step that is here|the next save replaces it\n"
      "step00000|a step without a manifest, which no run goes on from|remove it with rm -r\n"
      "thesis|is not of a checkpoint|move it away if nobody needs it here\n";
  const std::string live = "host of-another process 17", leave = "|leave it to " + live + "\n";
  EXPECT_EQ(told(), ".del-step|a checkpoint that is being removed" + leave +
                        ".tmp-step|a save under way" + leave + "LOCK|held by " + live +
                        "|wait for it\n" + others);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string dead = std::string("host ") + host + " process 2147483647";
  std::ofstream(root + "LOCK") << dead << "\n";
  EXPECT_EQ(told(),
            ".del-step|a checkpoint that is being removed|the next launch that saves here "
            "removes it\n"
            ".tmp-step|a save that did not end|the next launch that saves here removes it\n"
            "LOCK|of " +
                dead + ", which is gone|the next launch that saves here takes it\n" + others);
  { const checkpoint::Store store({.root = place_.path(), .writes = true}); }
  fs::remove(root + "latest");
  EXPECT_EQ(told(), others.substr(0, others.find("latest")) + others.substr(others.find("step0")))
      << "as was said";
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
  stored::import_model(stored::ModelFolder(testing_support::catalogue(), place.path() + "/model"),
                       place.path() + "/root", "a test");
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
  fs::create_symlink("step00000003", place_.path() + "/empty/latest");
  EXPECT_THAT(survey(SurveyDepth::blocks, place_.path() + "/empty").why, HasSubstr("status 4"));
}

}  // namespace
}  // namespace zero::save
