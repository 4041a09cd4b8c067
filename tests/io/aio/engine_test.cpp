// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "tests/support/refusal.hpp"
#include "tests/support/uring_calls.hpp"
#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {
namespace {

using testing_support::submit_plan;
using testing_support::SubmitPlan;

constexpr size_t kBlock = 4096, kBlocks = 10;

/// Ten blocks to be written by a ring of four, while io_uring_submit() does as it is told.
class UringEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!make_uring_engine({.depth = 4}, why)) GTEST_SKIP() << why;
    char path[] = "aio_engine_test_XXXXXX";
    file_ = {.descriptor = mkstemp(path), .name = "scratch"};
    unlink(path);
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = std::byte(uint8_t(1 + i / kBlock));
  }
  void TearDown() override {
    submit_plan = {};
    if (file_.descriptor >= 0) close(file_.descriptor);
  }

  static std::unique_ptr<Queue> queue(bool single_submit = false) {
    std::string why;
    return std::make_unique<Queue>(
        make_uring_engine({.depth = 4}, why),
        QueueOptions{.block_bytes = int64_t{kBlock}, .single_submit = single_submit});
  }
  Transfer all() { return {.direction = Direction::write, .file = &file_, .memory = bytes_}; }
  std::string refusal_of(Queue& queue) {
    return testing_support::refusal_of(Exit::kIo, [&] { queue.wait(queue.submit(all())); });
  }
  void expect_written() {
    std::vector<std::byte> back(bytes_.size());
    EXPECT_EQ(pread(file_.descriptor, back.data(), back.size(), 0), ssize_t(back.size()));
    EXPECT_EQ(back, bytes_);
  }

  File file_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBlocks * kBlock);
};

TEST_F(UringEngine, SendsTheRestWhereTheKernelTakesOneBlockAtATime) {
  submit_plan = {.most = 1};
  const auto made = queue();
  made->wait(made->submit(all()));
  EXPECT_GE(submit_plan.calls, int(kBlocks));
  expect_written();
}

TEST_F(UringEngine, AsksAgainWhileTheKernelIsBusy) {
  for (const int error : {EAGAIN, EBUSY, EINTR, 0}) {
    for (const int before : {0, 2}) {
      submit_plan = {.most = 1, .before = before, .refusals = 5, .error = error};
      const auto made = queue();
      made->wait(made->submit(all()));
      EXPECT_EQ(submit_plan.refusals, 0);
      expect_written();
      EXPECT_EQ(ftruncate(file_.descriptor, 0), 0);
    }
  }
}

TEST_F(UringEngine, EndsATransferThatTheKernelRefuses) {
  for (const int before : {0, 1, 2}) {
    submit_plan = {
        .most = 1, .before = before, .refusals = SubmitPlan::kAll, .error = ENOMEM, .calls = 0};
    const auto made = queue();
    EXPECT_EQ(refusal_of(*made), text("scratch: writing 4096 bytes at offset ", before * 4096,
                                      ": Cannot allocate memory (errno 12)"));
    EXPECT_EQ(submit_plan.calls, before + 1);
  }
}

TEST_F(UringEngine, EndsATransferForWhichTheKernelIsBusyForASecond) {
  for (const bool single : {false, true}) {
    submit_plan = {.refusals = SubmitPlan::kAll, .error = EAGAIN};
    const auto made = queue(single);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(refusal_of(*made),
              "scratch: writing 4096 bytes at offset 0: no byte moved in 16 attempts: "
              "Resource temporarily unavailable (errno 11)");
    const auto spent = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(spent, std::chrono::milliseconds(900));
    EXPECT_LE(spent, std::chrono::seconds(30));
  }
}

TEST_F(UringEngine, WaitsForNoBlockThatTheKernelNeverGot) {
  submit_plan = {.most = 1, .before = 1, .refusals = SubmitPlan::kAll, .error = EBUSY};
  const auto made = queue();
  made->submit(all());
}

TEST_F(UringEngine, MovesTheNextTransferAfterOneThatTheKernelRefused) {
  submit_plan = {.most = 1, .before = 2, .refusals = 1, .error = ENOMEM};
  const auto made = queue();
  EXPECT_NE(refusal_of(*made), "");
  for (int round = 0; round < 3; ++round) {
    made->wait(made->submit(all()));
    expect_written();
    EXPECT_EQ(ftruncate(file_.descriptor, 0), 0);
  }
  EXPECT_LE(made->traffic().bytes_written, int64_t(kBlock * (2 + 3 * kBlocks)))
      << "no block that was refused is sent";
}

}  // namespace
}  // namespace zero::aio
