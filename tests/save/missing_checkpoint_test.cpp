// Ranks: 1
#include "zero/save/missing_checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace zero::save {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string path_of(const char* name) { return ::testing::TempDir() + "zeroapp-" + name; }

TEST(NoFolderText, NamesWhatStandsBesideAFolderThatIsNotThere) {
  const std::filesystem::path place = path_of("no-folder");
  for (const char* name : {"b", "a", ".hidden"}) std::filesystem::create_directories(place / name);
  const std::string absent = (place / "c").string();
  EXPECT_THAT(no_folder_text(absent), StartsWith(absent + ": is not there; name the folder of"));
  EXPECT_THAT(no_folder_text(absent + "/"), EndsWith(" (" + place.string() + " holds a, b)"));
  std::ofstream(place / "file") << "x";
  EXPECT_THAT(no_folder_text((place / "file").string()),
              HasSubstr("is a file; name the folder of"));
  EXPECT_THAT(no_folder_text("absent"), EndsWith("or a model's"));
  for (int i = 0; i < 6; ++i) std::filesystem::create_directory(place / std::to_string(i));
  EXPECT_THAT(no_folder_text(absent), EndsWith("holds 0, 1, 2, 3, 4 and 3 more)"));
  std::filesystem::remove_all(place);
}

TEST(NoFolderText, FindsTheRunOfThatNameInRuns) {
  const std::filesystem::path before = std::filesystem::current_path(), place = path_of("in-runs");
  std::filesystem::create_directories(place / "runs/mine");
  std::filesystem::current_path(place);
  EXPECT_EQ(no_folder_text("mine"), "mine: is not there; did you mean runs/mine?");
  std::filesystem::current_path(before);
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace zero::save
