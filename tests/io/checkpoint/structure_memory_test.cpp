// Ranks: 1
#include "io/checkpoint/structure_memory.hpp"

#include <gtest/gtest.h>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

std::vector<std::byte> bytes_to(int last) {
  std::vector<std::byte> bytes;
  for (int i = 0; i <= last; ++i) bytes.push_back(std::byte(i));
  return bytes;
}

TEST(StructureMemories, GiveBackWhatWasWritten) {
  const StructureMemory memory("a.h5");
  memory.write(bytes_to(9));
  EXPECT_EQ(memory.bytes(), 10);
  EXPECT_EQ(memory.read(0, 10), bytes_to(9));
  EXPECT_THROW(memory.read(5, 6), Error);
}

TEST(FileStructures, AreWhatLiesAroundThePayloads) {
  const StructureMemory memory("a.h5");
  memory.write(bytes_to(9));
  const FileStructure structure(memory, {{2, 3}, {5, 1}, {7, 2}});
  EXPECT_EQ(structure.file_bytes(), 10);
  const std::vector<std::vector<int>> expected = {{0, 1}, {}, {6}, {9}};
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<int> found;
    for (const std::byte byte : structure.before(i)) found.push_back(int(byte));
    EXPECT_EQ(found, expected[i]) << i;
  }
}

TEST(FileStructures, HavePayloadsInTheirOrderAndInside) {
  const StructureMemory memory("a.h5");
  memory.write(bytes_to(9));
  EXPECT_THROW(FileStructure(memory, {{5, 2}, {2, 3}}), Error);
  EXPECT_THROW(FileStructure(memory, {{5, 6}}), Error);
}

}  // namespace
}  // namespace zero::checkpoint
