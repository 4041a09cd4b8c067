// Ranks: 1
#include "io/checkpoint/structure_heap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += char(value >> (8 * i));
  return text;
}

/// Padded to eight bytes.
std::string object(uint64_t index, const std::string& content, uint64_t bytes) {
  const size_t padding = (8 - content.size() % 8) % 8;
  return number(index, 2) + number(1, 2) + number(0, 4) + number(bytes, 8) + content +
         std::string(padding, '\0');
}

std::string object(uint64_t index, const std::string& content) {
  return object(index, content, content.size());
}

std::string collection(const std::string& objects, uint64_t bytes) {
  return "GCOL" + number(1, 4) + number(bytes, 8) + objects;
}

std::string collection(const std::string& objects) {
  return collection(objects, 16 + objects.size());
}

class Heaps : public ::testing::Test {
 protected:
  /// What a heap that lies in a file so finds there.
  void put(const std::string& content) {
    const std::string path = temp_.path() + "/heap";
    std::ofstream(path, std::ios::binary) << content;
    file_.emplace(path);
    reader_.emplace(*file_);
    heap_.emplace(*reader_);
  }
  std::string found(uint64_t at, uint64_t index) {
    const std::vector<std::byte> bytes = heap_->find(at, index, "/a");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string refusal(uint64_t at, uint64_t index) {
    return refusal_of(Exit::kInput, [&] { found(at, index); });
  }

  testing_support::TempFolder temp_{"heap"};
  std::optional<InputFile> file_;
  std::optional<StructureReader> reader_;
  std::optional<GlobalHeap> heap_;
};

TEST_F(Heaps, FindObjectsByCollectionAndNumber) {
  const std::string first = collection(object(7, "seven") + object(2, "two") + object(7, "later") +
                                       object(0, "") + object(9, "behind free room"));
  put("ahead..." + first + collection(object(2, "another")));
  const uint64_t second = 8 + first.size();
  EXPECT_EQ(found(8, 2), "two");
  EXPECT_EQ(found(second, 2), "another");
  EXPECT_EQ(found(8, 7), "seven") << "the first of a number";
  EXPECT_THAT(refusal(8, 9), HasSubstr("HDF5 object /a: its heap has no object 9"));
  EXPECT_THAT(refusal(second, 7), HasSubstr("its heap has no object 7"));
}

TEST_F(Heaps, ThatReachBeyondTheirRoomAreRefused) {
  put(collection(object(1, "one"), 4096));
  EXPECT_THAT(refusal(0, 1), HasSubstr("its heap has 4096 bytes"));
  put(collection("", 15));
  EXPECT_THAT(refusal(0, 1), HasSubstr("its heap has 15 bytes"));
  put(collection(object(1, "one") + object(2, "two", uint64_t(-8))));
  EXPECT_THAT(refusal(0, 2), HasSubstr("its heap has no object 2"));
  EXPECT_THAT(refusal(1, 1), HasSubstr("does not begin with GCOL"));
  EXPECT_THAT(refusal(uint64_t(-1), 1), HasSubstr("are not all in the file's"));
}

TEST_F(Heaps, OfMoreObjectsThanAnIndexHasAreRefused) {
  std::string many;
  for (int i = 0; i <= 262144; ++i) many += object(1 + uint64_t(i) % 60000, "");
  put(collection(many));
  EXPECT_THAT(refusal(0, 1), HasSubstr("more than 262144 objects"));
}

/// Datasets without number that all look for one large object would cost hours.
TEST_F(Heaps, GiveNoMoreThanTheFileHas) {
  put(collection(object(1, std::string(1000, 'x'))));
  EXPECT_EQ(found(0, 1).size(), 1000u);
  EXPECT_THAT(refusal(0, 1), HasSubstr("read more than once"));
}

}  // namespace
}  // namespace zero::checkpoint
