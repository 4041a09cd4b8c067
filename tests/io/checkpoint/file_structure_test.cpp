// Ranks: 1
#include "io/checkpoint/file_structure.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

class FileStructures : public ::testing::Test {
 protected:
  FileStructure structure(std::vector<FileStructure::Extent> extents) const {
    return {InputFile(file_.path()), std::move(extents)};
  }
  testing_support::TempFile file_{"structure", "0123456789"};
};

TEST_F(FileStructures, AreWhatLiesAroundThePayloads) {
  const FileStructure found = structure({{2, 3}, {5, 1}, {7, 2}});
  EXPECT_EQ(found.file_bytes(), 10);
  const std::vector<std::string> expected = {"01", "", "6", "9"};
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto* first = reinterpret_cast<const char*>(found.before(i).data());
    EXPECT_EQ(std::string(first, found.before(i).size()), expected[i]) << i;
  }
}

TEST_F(FileStructures, WithoutPayloadsAreTheWholeFile) {
  EXPECT_EQ(structure({}).before(0).size(), 10u);
}

TEST_F(FileStructures, HavePayloadsInTheirOrderAndInside) {
  EXPECT_THROW(structure({{5, 2}, {2, 3}}), Error);
  EXPECT_THROW(structure({{5, 6}}), Error);
}

}  // namespace
}  // namespace zero::checkpoint
