// Ranks: 1
#include "zero/io/interop/event_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/interop/proto_message.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/event_records.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::event_files;
using testing_support::EventRecord;
using testing_support::read_events;

std::string in_hex(const std::string& bytes) {
  std::string hex;
  for (unsigned char byte : bytes) {
    for (int digit : {byte >> 4, byte & 15}) hex += "0123456789abcdef"[digit];
  }
  return hex;
}

TEST(EventRecord, HasTheBytesThatTensorBoardReads) {
  ProtoMessage version, point, value, summary;
  version.fixed64(1, 1.0);
  version.bytes(3, "brain.Event:2");
  value.bytes(1, "train/loss");
  value.fixed32(2, 2.5f);
  summary.bytes(1, value.bytes());
  point.fixed64(1, 2.0);
  point.integer(2, 7);
  point.bytes(5, summary.bytes());
  std::string file;
  append_event_record(file, version.bytes());
  EXPECT_EQ(in_hex(file),
            "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
  append_event_record(file, point.bytes());
  EXPECT_EQ(
      in_hex(file.substr(40)),
      "200000000000000029eda95009000000000000004010072a130a110a0a747261696e2f6c6f73731500002040"
      "9f7ba4f7");
}

TEST(ProtoMessage, WritesNumbersOfSeveralBytes) {
  ProtoMessage message;
  message.integer(1, 300);
  message.bytes(16, "a");
  EXPECT_EQ(in_hex(std::string(message.bytes())), "08ac0282010161");
}

/// A folder that is removed at the end.
class EventFiles : public ::testing::Test {
 protected:
  EventFiles() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~EventFiles() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = testing_support::TempFile("events", "").path() + ".d";
};

TEST_F(EventFiles, HoldCurvesTextsAndSettings) {
  EventFile file(folder_, 3);
  file.scalar("train/loss", 2.5);
  file.scalar("train/lr", 1e-3);
  EXPECT_EQ(file.write(3), 0);
  file.text("effective.toml", "a = 1");
  file.begin_session("run", {{"zero.stage", 3.0}, {"bf16.enabled", true}, {"run.output", "x"}});
  EXPECT_EQ(file.write(0), 0);
  file.end_session(SessionStatus::failure);
  EXPECT_EQ(file.write(int64_t(1) << 40), 0);
  const std::vector<EventRecord> records = read_events(file.path());
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].version, "brain.Event:2");
  EXPECT_GT(records[0].wall_time, 1.7e9);
  EXPECT_TRUE(records[1].starts_session);
  EXPECT_EQ(records[1].step, 3);
  EXPECT_EQ(records[2].step, 3);
  EXPECT_EQ(records[2].scalars,
            (std::map<std::string, float>{{"train/loss", 2.5f}, {"train/lr", 1e-3f}}));
  EXPECT_THAT(records[3].tensors.at("effective.toml"), HasSubstr("a = 1"));
  EXPECT_THAT(records[3].tensors.at("_hparams_/session_start_info"),
              ::testing::AllOf(HasSubstr("hparams"), HasSubstr("zero.stage"),
                               HasSubstr(std::string("\x12\x02\x20\x01", 4))));
  EXPECT_THAT(records[4].tensors.at("_hparams_/session_end_info"), HasSubstr("\x08\x02"));
  EXPECT_EQ(records[4].step, int64_t(1) << 40);
}

TEST_F(EventFiles, HoldTheSpreadOfValues) {
  EventFile file(folder_, 1);
  const std::vector<double> values = {1, 2, 21, 21}, same = {5, 5};
  file.histogram("ranks", values);
  file.histogram("same", same);
  EXPECT_EQ(file.write(1), 0);
  const auto tensors = read_events(file.path()).at(2).tensors;
  ProtoMessage wanted, limits, buckets;
  // Twenty buckets of width 1 from 1 on: two values in the first, which ends at 2, two in the last.
  for (int i = 0; i < 20; ++i) {
    limits.fixed64(1, 2 + i);
    buckets.fixed64(1, i == 0 || i == 19 ? 2 : 0);
  }
  for (const auto& [field, number] :
       {std::pair{1u, 1.0}, {2u, 21.0}, {3u, 4.0}, {4u, 45.0}, {5u, 887.0}})
    wanted.fixed64(field, number);
  // A packed field has the numbers without their keys of a byte each.
  const auto packed = [](const ProtoMessage& keyed) {
    std::string bytes;
    for (size_t at = 0; at < keyed.bytes().size(); at += 9)
      bytes += keyed.bytes().substr(at + 1, 8);
    return bytes;
  };
  wanted.bytes(6, packed(limits));
  wanted.bytes(7, packed(buckets));
  EXPECT_EQ(in_hex(tensors.at("ranks")), in_hex(std::string(wanted.bytes())));
  ProtoMessage lone;
  for (const auto& [field, number] :
       {std::pair{1u, 5.0}, {2u, 5.0}, {3u, 2.0}, {4u, 10.0}, {5u, 50.0}})
    lone.fixed64(field, number);
  ProtoMessage limit, bucket;
  limit.fixed64(1, 5);
  bucket.fixed64(1, 2);
  lone.bytes(6, packed(limit));
  lone.bytes(7, packed(bucket));
  EXPECT_EQ(in_hex(tensors.at("same")), in_hex(std::string(lone.bytes())));
}

TEST_F(EventFiles, SortBehindThoseOfEarlierLaunches) {
  const std::string later = folder_ + "/events.out.tfevents.4000000000.zzz.1.0";
  std::ofstream(later) << "x";
  std::ofstream(folder_ + "/events.out.tfevents.x") << "x";
  const EventFile file(folder_, 1);
  EXPECT_GT(file.path(), later);
  const EventFile next(folder_, 1);
  EXPECT_GT(next.path(), file.path());
  EXPECT_EQ(event_files(folder_).size(), 4u);
}

TEST_F(EventFiles, AreReadUpToTheLastWholeRecord) {
  std::string content;
  {
    EventFile file(folder_, 1);
    for (int step = 1; step <= 3; ++step) {
      file.scalar("a", step);
      EXPECT_EQ(file.write(step), 0);
    }
    content = testing_support::content_of(file.path());
  }
  std::vector<size_t> ends;
  for (size_t at = 0; at < content.size();) {
    uint64_t size = 0;
    std::memcpy(&size, &content[at], sizeof size);
    ends.push_back(at += size + 16);
  }
  ASSERT_EQ(ends.size(), 5u);
  for (size_t bytes = 0; bytes <= content.size(); ++bytes) {
    const testing_support::TempFile cut("events", content.substr(0, bytes));
    const auto whole = std::ranges::count_if(ends, [&](size_t end) { return end <= bytes; });
    EXPECT_EQ(read_events(cut.path()).size(), size_t(whole)) << bytes;
  }
}

TEST_F(EventFiles, AreRefusedWithoutAFolder) {
  const testing_support::TempFile file("events", "");
  EXPECT_THAT([&] { EventFile(file.path() + "/job", 1); },
              ::testing::ThrowsMessage<Error>(HasSubstr(file.path() + "/job/events")));
}

}  // namespace
}  // namespace zero
