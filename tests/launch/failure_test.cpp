// Ranks: 1
#include "zero/launch/failure.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <system_error>

namespace zero::launch {
namespace {

TEST(Failure, LineNamesStatusPlaceAndStep) {
  EXPECT_EQ(error_line(
                {.exit = Exit::kNumerics, .what = "broken", .rank = 3, .host = "n2", .step = 1200}),
            "zeroapp: error E0700 [rank 3 host n2 step 1200] broken\n");
  EXPECT_EQ(error_line({.exit = Exit::kUsage, .what = "typo", .host = {}}),
            "zeroapp: error E0200 [rank 0] typo\n");
}

TEST(Failure, KeepsTheStatusOfAnErrorAndGivesOthersOne) {
  const auto exit_of = [](const auto& thrown) {
    return failure_of(std::make_exception_ptr(thrown)).exit;
  };
  EXPECT_EQ(exit_of(Error(Exit::kIo, "x")), Exit::kIo);
  EXPECT_EQ(exit_of(std::bad_alloc()), Exit::kDoesNotFit);
  EXPECT_EQ(exit_of(std::length_error("x")), Exit::kDoesNotFit);
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_EQ(exit_of(std::system_error(again)), Exit::kDoesNotFit);
  EXPECT_EQ(exit_of(std::system_error(std::make_error_code(std::errc::invalid_argument))),
            Exit::kInternal);
  EXPECT_EQ(exit_of(std::filesystem::filesystem_error("x", again)), Exit::kIo);
  EXPECT_EQ(exit_of(std::runtime_error("x")), Exit::kInternal);
  EXPECT_EQ(exit_of(7), Exit::kInternal);
}

TEST(Failure, KeepsTheNodeAtFault) {
  const Failure failure =
      failure_of(std::make_exception_ptr(NodeError(Exit::kHang, "it hangs", "n3")));
  EXPECT_EQ(failure.exit, Exit::kHang);
  EXPECT_EQ(failure.what, "it hangs");
  EXPECT_EQ(failure.blamed, "n3");
}

TEST(Failure, LeavesOutTheNameThatALibraryGivesAnException) {
  const auto words_of = [](const char* words) {
    return failure_of(std::make_exception_ptr(std::runtime_error(words))).what;
  };
  EXPECT_EQ(words_of("[json.exception.type_error.302] type must be number"), "type must be number");
  EXPECT_EQ(words_of("[unfinished"), "[unfinished");
  EXPECT_EQ(words_of("a [tag] within"), "a [tag] within");
}

TEST(Failure, SaysWhatToChangeWhereTheSystemRefuses) {
  const auto words_of = [](const auto& thrown) {
    return failure_of(std::make_exception_ptr(thrown)).what;
  };
  EXPECT_NE(words_of(std::bad_alloc()).find("ulimit -v"), std::string::npos);
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_NE(words_of(std::system_error(again)).find("ulimit -u"), std::string::npos);
  const std::filesystem::filesystem_error error("status", "loop", again);
  EXPECT_NE(words_of(error).find("loop"), std::string::npos);
  EXPECT_NE(words_of(error).find("name another path"), std::string::npos);
}

TEST(Failure, OnlyTheFirstOneInAFolderIsPrinted) {
  const std::string folder = ::testing::TempDir() + "zeroapp-failure";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const Failure failure{
      .exit = Exit::kIo, .what = "a \"quoted\" reason", .rank = 1, .host = "h", .blamed = "n2"};
  EXPECT_TRUE(claim_error_record(folder, failure));
  EXPECT_FALSE(claim_error_record(folder, failure));
  std::ifstream file(folder + "/error.json");
  const std::string record{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(record.find("\"a \\\"quoted\\\" reason\""), std::string::npos) << record;
  EXPECT_NE(record.find("\"blames\": \"n2\""), std::string::npos) << record;
}

TEST(Failure, ARecordThatCannotBeWrittenIsAWarning) {
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(claim_error_record("/no/such/folder", {.what = "x", .host = {}}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "zeroapp: warning: /no/such/folder/error.json: could not be written: No such file or "
            "directory\n");
}

TEST(Failure, WithoutAFolderEveryOneIsPrinted) {
  EXPECT_TRUE(claim_error_record("", {.what = "x", .host = {}}));
}

}  // namespace
}  // namespace zero::launch
