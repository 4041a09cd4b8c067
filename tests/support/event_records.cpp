#include "tests/support/event_records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "tests/support/content_of.hpp"

namespace zero::testing_support {
namespace {

/// CRC-32C bit by bit, masked.
uint32_t checksum(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
  }
  crc ^= 0xffffffff;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.substr(at, sizeof number).data(), sizeof number);
  return number;
}

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = uint8_t(bytes.at(0));
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

struct Field {
  uint64_t number = 0, integer = 0;
  std::string_view bytes;
};

Field take_field(std::string_view& bytes) {
  const uint64_t key = take_varint(bytes);
  Field field{.number = key >> 3, .integer = 0, .bytes = {}};
  size_t size = 0;
  switch (key & 7) {
    case 0:
      field.integer = take_varint(bytes);
      return field;
    case 1:
      size = 8;
      break;
    case 2:
      size = take_varint(bytes);
      break;
    case 5:
      size = 4;
      break;
    default:
      throw std::runtime_error("unknown wire type");
  }
  field.bytes = bytes.substr(0, size);
  if (field.bytes.size() != size) throw std::runtime_error("a field is cut");
  bytes.remove_prefix(size);
  return field;
}

void read_value(std::string_view bytes, EventRecord& record) {
  std::string tag, rest;
  while (!bytes.empty()) {
    const Field field = take_field(bytes);
    if (field.number == 1) tag = field.bytes;
    if (field.number == 2) record.scalars[tag] = number_at<float>(field.bytes, 0);
    if (field.number == 5 || field.number == 8 || field.number == 9) rest += field.bytes;
  }
  if (!rest.empty()) record.tensors[tag] = rest;
}

EventRecord read_event(std::string_view bytes) {
  EventRecord record;
  while (!bytes.empty()) {
    const Field field = take_field(bytes);
    if (field.number == 1) record.wall_time = number_at<double>(field.bytes, 0);
    if (field.number == 2) record.step = int64_t(field.integer);
    if (field.number == 3) record.version = field.bytes;
    if (field.number == 7) record.starts_session = field.bytes == "\x08\x01";
    if (field.number != 5) continue;
    std::string_view values = field.bytes;
    while (!values.empty()) read_value(take_field(values).bytes, record);
  }
  return record;
}

}  // namespace

std::vector<EventRecord> read_events(const std::string& path) {
  const std::string content = content_of(path);
  std::vector<EventRecord> records;
  for (std::string_view rest = content; rest.size() >= 12;) {
    const auto size = number_at<uint64_t>(rest, 0);
    EXPECT_EQ(number_at<uint32_t>(rest, 8), checksum(rest.substr(0, 8))) << path;
    if (rest.size() < size + 16) break;
    const std::string_view data = rest.substr(12, size);
    EXPECT_EQ(number_at<uint32_t>(rest, 12 + size), checksum(data)) << path;
    records.push_back(read_event(data));
    rest.remove_prefix(size + 16);
  }
  return records;
}

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

}  // namespace zero::testing_support
