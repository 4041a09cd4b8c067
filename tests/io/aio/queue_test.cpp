// Ranks: 1
#include "zero/io/aio/queue.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/support/faulty_engine.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::aio {
namespace {

using testing::Fault;
using testing::FaultyEngine;
using ::testing::HasSubstr;

/// A file without a name that is gone with the test.
class ScratchFile {
 public:
  ScratchFile() {
    char path[] = "aio_queue_test_XXXXXX";
    file_.descriptor = mkstemp(path);
    file_.name = "scratch";
    EXPECT_GE(file_.descriptor, 0);
    unlink(path);
  }
  ~ScratchFile() { close(file_.descriptor); }
  const File& file() const { return file_; }

 private:
  File file_;
};

std::vector<std::byte> pattern(size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = std::byte(uint8_t(i * 7 + i / 251));
  return made;
}

using MakeEngine = std::function<std::unique_ptr<Engine>()>;

/// io_uring where this machine has it, and threads.
std::vector<MakeEngine> engines() {
  std::vector<MakeEngine> made = {[] { return make_thread_engine({.depth = 4, .threads = 2}); }};
  std::string why;
  if (make_uring_engine({.depth = 4}, why)) {
    made.push_back([] {
      std::string warning;
      return make_uring_engine({.depth = 4}, warning);
    });
  } else {
    std::printf("io_uring is not tested here: %s\n", why.c_str());
  }
  return made;
}

struct Round {
  std::unique_ptr<Engine> writer, reader;
  QueueOptions options = {.block_bytes = 4096};
};

/// Writes a pattern in three transfers, reads it back in two, and returns what was read.
std::vector<std::byte> write_and_read(Round round, const std::vector<std::byte>& bytes) {
  const ScratchFile scratch;
  std::vector<std::byte> out = bytes, in(bytes.size());
  const auto move = [&](Queue& queue, Direction direction, std::vector<std::byte>& memory,
                        size_t parts) {
    std::vector<Ticket> tickets;
    for (size_t p = 0; p < parts; ++p) {
      const size_t begin = memory.size() * p / parts, end = memory.size() * (p + 1) / parts;
      tickets.push_back(queue.submit({.direction = direction,
                                      .file = &scratch.file(),
                                      .offset = int64_t(begin),
                                      .memory = std::span(memory).subspan(begin, end - begin)}));
    }
    std::reverse(tickets.begin(), tickets.end());
    for (Ticket ticket : tickets) queue.wait(ticket);
  };
  Queue writer(std::move(round.writer), round.options);
  move(writer, Direction::write, out, 3);
  Queue reader(std::move(round.reader), round.options);
  move(reader, Direction::read, in, 2);
  return in;
}

FaultyEngine::Chances always(Fault fault) {
  FaultyEngine::Chances chances{};
  chances[size_t(fault)] = 1.0;
  return chances;
}

TEST(Queue, MovesTheSameBytesByEveryEngineAndSetting) {
  const std::vector<std::byte> bytes = pattern(123'457);
  for (const MakeEngine& make : engines()) {
    for (const bool single : {false, true}) {
      for (const bool overlap : {false, true}) {
        const QueueOptions options{
            .block_bytes = 4096, .single_submit = single, .overlap_events = overlap};
        EXPECT_EQ(write_and_read({make(), make(), options}, bytes), bytes);
      }
    }
  }
}

TEST(Queue, CountsWhatItMoves) {
  const ScratchFile scratch;
  std::vector<std::byte> bytes = pattern(10'000);
  Queue queue(make_thread_engine({}), {.block_bytes = 4096});
  queue.wait(
      queue.submit({.direction = Direction::write, .file = &scratch.file(), .memory = bytes}));
  EXPECT_EQ(queue.traffic().bytes_written, 10'000);
  EXPECT_EQ(queue.traffic().blocks, 3);
  EXPECT_EQ(queue.traffic().resubmitted, 0);
}

TEST(Queue, CompletesWhatTheKernelCutsShortInterruptsOrDelays) {
  const std::vector<std::byte> bytes = pattern(200'000);
  FaultyEngine::Chances chances{};
  for (Fault fault : {Fault::shortened, Fault::nothing, Fault::interrupted, Fault::late}) {
    chances[size_t(fault)] = 0.2;
  }
  for (const MakeEngine& make : engines()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      auto writer = std::make_unique<FaultyEngine>(make(), seed, chances);
      auto reader = std::make_unique<FaultyEngine>(make(), seed + 100, chances);
      const FaultyEngine& faults = *writer;
      const ScratchFile scratch;
      Queue queue(std::move(writer), {.block_bytes = 16384});
      std::vector<std::byte> out = bytes, in(bytes.size());
      queue.wait(
          queue.submit({.direction = Direction::write, .file = &scratch.file(), .memory = out}));
      EXPECT_GT(faults.count(Fault::shortened), 0);
      EXPECT_GT(queue.traffic().resubmitted, 0);
      Queue back(std::move(reader), {.block_bytes = 16384});
      back.wait(back.submit({.file = &scratch.file(), .memory = in}));
      EXPECT_EQ(in, bytes) << "seed " << seed;
    }
  }
}

TEST(Queue, NamesFileOffsetLengthAndReasonOfAnError) {
  const ScratchFile scratch;
  std::vector<std::byte> bytes = pattern(4096);
  const auto said = [&](Fault fault, Direction direction) {
    Queue queue(std::make_unique<FaultyEngine>(make_thread_engine({}), 1, always(fault)), {});
    return testing_support::refusal_of(Exit::kIo, [&] {
      queue.wait(queue.submit(
          {.direction = direction, .file = &scratch.file(), .offset = 8192, .memory = bytes}));
    });
  };
  EXPECT_EQ(said(Fault::enospc, Direction::write),
            "scratch: writing 4096 bytes at offset 8192: No space left on device (errno 28)");
  EXPECT_EQ(said(Fault::eio, Direction::read),
            "scratch: reading 4096 bytes at offset 8192: Input/output error (errno 5)");
  EXPECT_THAT(said(Fault::nothing, Direction::write), HasSubstr("no byte moved in 16 attempts"));
  EXPECT_THAT(said(Fault::interrupted, Direction::read), HasSubstr("no byte moved"));
}

TEST(Queue, TakesTheEndOfAFileForAnErrorNotForZeros) {
  const ScratchFile scratch;
  std::vector<std::byte> bytes(4096);
  Queue queue(make_thread_engine({}), {});
  EXPECT_THAT(
      testing_support::refusal_of(
          Exit::kIo, [&] { queue.wait(queue.submit({.file = &scratch.file(), .memory = bytes})); }),
      HasSubstr("no byte moved"));
}

TEST(Queue, GoesOnAfterATransferHasFailed) {
  const ScratchFile scratch;
  const File closed{.descriptor = -1, .name = "closed"};
  std::vector<std::byte> bytes = pattern(20'000), other = bytes;
  Queue queue(make_thread_engine({.depth = 2}), {.block_bytes = 4096});
  const Ticket bad =
      queue.submit({.direction = Direction::write, .file = &closed, .memory = bytes});
  const Ticket good =
      queue.submit({.direction = Direction::write, .file = &scratch.file(), .memory = other});
  EXPECT_THAT(testing_support::refusal_of(Exit::kIo, [&] { queue.wait(bad); }),
              HasSubstr("Bad file descriptor"));
  queue.wait(good);
  EXPECT_EQ(lseek(scratch.file().descriptor, 0, SEEK_END), 20'000);
  EXPECT_TRUE(queue.done(good)) << "what was waited for is done";
}

TEST(Queue, TellsWithoutWaitingWhetherATransferHasEnded) {
  const ScratchFile scratch;
  std::vector<std::byte> bytes = pattern(4096);
  Queue queue(std::make_unique<FaultyEngine>(make_thread_engine({}), 1, always(Fault::late)), {});
  const Ticket ticket =
      queue.submit({.direction = Direction::write, .file = &scratch.file(), .memory = bytes});
  EXPECT_FALSE(queue.done(ticket));
  while (!queue.done(ticket)) usleep(100);
  queue.wait(ticket);
}

TEST(Queue, RefusesMoreTransfersThanItWasMadeFor) {
  const ScratchFile scratch;
  std::vector<std::byte> bytes(64);
  Queue queue(make_thread_engine({}), {.transfers = 2});
  const Transfer transfer{.direction = Direction::write, .file = &scratch.file(), .memory = bytes};
  queue.submit(transfer);
  queue.submit(transfer);
  EXPECT_THROW(queue.submit(transfer), Error);
}

TEST(MakeEngine, FallsBackToThreadsOnlyWhereThatIsAllowed) {
  std::string why;
  const bool has_uring = make_uring_engine({}, why) != nullptr;
  const EngineChoice choice = make_engine({});
  EXPECT_EQ(choice.engine->name(), has_uring ? "io_uring" : "threads");
  EXPECT_EQ(choice.warning.empty(), has_uring) << choice.warning;
  if (!has_uring) {
    EXPECT_THROW(make_engine({.require_uring = true}), Error);
  }
}

}  // namespace
}  // namespace zero::aio
