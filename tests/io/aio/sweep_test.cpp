// Ranks: 1
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {
namespace {

constexpr int64_t kPart = 4096;

/// A nameless file of eight parts, part i full of the byte i.
class Parts {
 public:
  Parts() {
    char path[] = "aio_sweep_test_XXXXXX";
    file_ = {.descriptor = mkstemp(path), .name = "parts"};
    unlink(path);
    for (int i = 0; i < 8; ++i) {
      const std::string part(size_t{kPart}, char(i));
      EXPECT_EQ(write(file_.descriptor, part.data(), part.size()), kPart);
    }
  }
  ~Parts() { close(file_.descriptor); }
  const File& file() const { return file_; }
  /// The first byte of each part.
  std::vector<int> heads() const {
    std::vector<int> heads;
    for (int i = 0; i < 8; ++i) {
      char head = 0;
      EXPECT_EQ(pread(file_.descriptor, &head, 1, i * kPart), 1);
      heads.push_back(head);
    }
    return heads;
  }

 private:
  File file_;
};

struct Done {
  Swept swept;
  std::vector<std::byte> memory;
};

/// With room for three transfers.
Done run(const Parts& parts, Pattern pattern, int64_t bytes,
         double most_seconds = std::numeric_limits<double>::infinity()) {
  Done done{.swept = {}, .memory = std::vector<std::byte>(3 * kPart, std::byte{9})};
  Queue queue(make_thread_engine({.depth = 2, .threads = 1}), {.transfers = 3});
  done.swept = sweep(queue, {.pattern = pattern,
                             .file = &parts.file(),
                             .region_bytes = 8 * kPart,
                             .transfer_bytes = kPart,
                             .memory = done.memory,
                             .bytes = bytes,
                             .most_seconds = most_seconds});
  return done;
}

TEST(Sweep, ReadsOnePartBehindTheOtherAndBeginsAnew) {
  const Parts parts;
  const Done done = run(parts, Pattern::read, 11 * kPart);
  EXPECT_EQ(done.swept.bytes_read, 11 * kPart);
  EXPECT_EQ(done.swept.bytes_written, 0);
  EXPECT_GT(done.swept.seconds, 0);
  // The last was number 10, which is part 2 again.
  const std::vector heads = {done.memory[0], done.memory[kPart], done.memory[2 * kPart]};
  EXPECT_NE(std::find(heads.begin(), heads.end(), std::byte{2}), heads.end());
  EXPECT_EQ(std::find(heads.begin(), heads.end(), std::byte{9}), heads.end());
}

TEST(Sweep, WritesWhatTheMemoryHolds) {
  const Parts parts;
  EXPECT_EQ(run(parts, Pattern::write, 3 * kPart).swept.bytes_written, 3 * kPart);
  EXPECT_EQ(parts.heads(), (std::vector{9, 9, 9, 3, 4, 5, 6, 7}));
}

TEST(Sweep, MixesReadsWithWritesHalfTheRegionAway) {
  const Parts parts;
  const Done done = run(parts, Pattern::mixed, 4 * kPart);
  EXPECT_EQ(done.swept.bytes_read, 2 * kPart);
  EXPECT_EQ(done.swept.bytes_written, 2 * kPart);
  const std::vector<int> heads = parts.heads();
  EXPECT_EQ((std::vector{heads[0], heads[1], heads[2], heads[3]}), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(heads[4], 9);
  EXPECT_NE(heads[5], 5);
}

TEST(Sweep, StopsWhenItsTimeIsOver) {
  const Parts parts;
  const Done done = run(parts, Pattern::read, int64_t(1) << 50, 0.05);
  EXPECT_GE(done.swept.seconds, 0.05);
  EXPECT_LT(done.swept.bytes_read, int64_t(1) << 50);
}

TEST(Sweep, WantsRoomForOneTransfer) {
  const Parts parts;
  Queue queue(make_thread_engine({}), {});
  EXPECT_THROW(sweep(queue, {.file = &parts.file(), .region_bytes = 8 * kPart, .bytes = kPart}),
               Error);
}

}  // namespace
}  // namespace zero::aio
