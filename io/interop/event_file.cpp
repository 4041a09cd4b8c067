#include "zero/io/interop/event_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "io/interop/proto_message.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

/// Memory of a record of 32 curves.
constexpr size_t kRecordBytes = 4096;
constexpr size_t kMostBuckets = 20;
constexpr std::string_view kPrefix = "events.out.tfevents.";

// Numbers of fields, by tensorboard/compat/proto and tensorboard/plugins/hparams.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value {
constexpr uint32_t kTag = 1, kSimple = 2, kHistogram = 5, kTensor = 8, kMetadata = 9;
}
namespace histogram {
constexpr uint32_t kLeast = 1, kMost = 2, kCount = 3, kSum = 4, kSquares = 5, kLimits = 6,
                   kBuckets = 7;
}
namespace tensor {
constexpr uint32_t kType = 1, kShape = 2, kString = 8, kFloats = 1, kStrings = 7;
}
namespace hparams {
constexpr uint32_t kStart = 3, kEnd = 4, kSettings = 1, kGroup = 4, kStartTime = 5;
}

constexpr auto kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    table[byte] = crc;
  }
  return table;
}();

/// Returns the CRC-32C of `bytes`, rotated and shifted as in these files.
uint32_t masked_crc(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ byte) & 0xff];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class Number>
void append_little_endian(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) bytes += char(number >> (8 * i));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Returns the seconds in the name of an event file; 0 of another.
int64_t seconds_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return 0;
  int64_t seconds = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), seconds);
  return seconds;
}

std::string file_name(const std::string& folder) {
  auto seconds = int64_t(seconds_now());
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    seconds = std::max(seconds, seconds_of(entry.path().filename().string()) + 1);
  std::string host = host_name();
  std::ranges::replace(host, '/', '_');
  return text(kPrefix, format("%010lld", (long long)seconds), ".", host, ".", getpid(), ".0");
}

std::string plugin_metadata(std::string_view plugin, std::string_view content = {}) {
  ProtoMessage data, metadata;
  data.bytes(1, plugin);
  if (!content.empty()) data.bytes(2, content);
  metadata.bytes(1, data.bytes());
  return std::string(metadata.bytes());
}

std::string setting_entry(const HyperParameter& setting) {
  ProtoMessage number, entry;
  if (const auto* flag = std::get_if<bool>(&setting.second)) number.integer(4, *flag);
  if (const auto* real = std::get_if<double>(&setting.second)) number.fixed64(2, *real);
  if (const auto* word = std::get_if<std::string>(&setting.second)) number.bytes(3, *word);
  entry.bytes(1, setting.first);
  entry.bytes(2, number.bytes());
  return std::string(entry.bytes());
}

}  // namespace

void append_event_record(std::string& file, std::string_view data) {
  const size_t begin = file.size();
  append_little_endian(file, uint64_t(data.size()));
  append_little_endian(file, masked_crc(std::string_view(file).substr(begin)));
  file += data;
  append_little_endian(file, masked_crc(data));
}

struct EventFile::State {
  std::string path;
  OpenFile file;
  int64_t bytes = 0;  ///< bytes of whole records
  std::string record;
  ProtoMessage histogram{kRecordBytes}, value{kRecordBytes}, summary{kRecordBytes},
      event{kRecordBytes};

  void add_value(std::string_view tag, std::string_view metadata, std::string_view tensor) {
    value.clear();
    value.bytes(value::kTag, tag);
    value.bytes(value::kMetadata, metadata);
    value.bytes(value::kTensor, tensor);
    summary.bytes(1, value.bytes());
  }

  void add_session(std::string_view tag, uint32_t field, std::string_view content) {
    ProtoMessage data, tensor;
    data.bytes(field, content);
    tensor.integer(tensor::kType, tensor::kFloats);
    ProtoMessage shape;
    shape.bytes(2, {});
    tensor.bytes(tensor::kShape, shape.bytes());
    add_value(tag, plugin_metadata("hparams", data.bytes()), tensor.bytes());
  }

  void begin_event(int64_t step) {
    event.clear();
    event.fixed64(event::kWallTime, seconds_now());
    if (step != 0) event.integer(event::kStep, step);
  }

  int append_event() {
    record.clear();
    append_event_record(record, event.bytes());
    const int reason = write_all(file, record);
    if (reason == 0) {
      bytes += int64_t(record.size());
    } else if (ftruncate(file.descriptor(), bytes) == 0) {
      lseek(file.descriptor(), bytes, SEEK_SET);
    }
    return reason;
  }

  int begin(int64_t first) {
    begin_event(0);
    event.bytes(event::kFileVersion, "brain.Event:2");
    if (const int reason = append_event()) return reason;
    ProtoMessage start;
    start.integer(1, 1);
    begin_event(first);
    event.bytes(event::kSessionLog, start.bytes());
    return append_event();
  }
};

EventFile::EventFile(const std::string& folder, int64_t first) : state_(std::make_unique<State>()) {
  state_->path = folder + "/" + file_name(folder);
  state_->file = open_own(state_->path, O_WRONLY | O_CREAT | O_EXCL);
  state_->record.reserve(kRecordBytes);
  const int reason = state_->begin(first);
  if (reason != 0) refuse(Exit::kIo, state_->path, ": ", std::strerror(reason));
}

EventFile::~EventFile() = default;

const std::string& EventFile::path() const { return state_->path; }

void EventFile::scalar(std::string_view tag, double value) {
  state_->value.clear();
  state_->value.bytes(value::kTag, tag);
  state_->value.fixed32(value::kSimple, float(value));
  state_->summary.bytes(1, state_->value.bytes());
}

void EventFile::histogram(std::string_view tag, std::span<const double> values) {
  if (values.empty()) return;
  const auto [least, most] = std::ranges::minmax(values);
  std::array<double, kMostBuckets> limits, buckets{};
  const size_t count = most > least ? kMostBuckets : 1;
  for (size_t i = 0; i < count; ++i)
    limits[i] = i + 1 == count ? most : least + (most - least) * double(i + 1) / double(count);
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    ++buckets[size_t(std::lower_bound(limits.data(), limits.data() + count - 1, value) -
                     limits.data())];
  }
  ProtoMessage& out = state_->histogram;
  out.clear();
  const auto packed = [count](const std::array<double, kMostBuckets>& numbers) {
    return std::string_view(reinterpret_cast<const char*>(numbers.data()), 8 * count);
  };
  out.fixed64(histogram::kLeast, least);
  out.fixed64(histogram::kMost, most);
  out.fixed64(histogram::kCount, double(values.size()));
  out.fixed64(histogram::kSum, sum);
  out.fixed64(histogram::kSquares, squares);
  out.bytes(histogram::kLimits, packed(limits));
  out.bytes(histogram::kBuckets, packed(buckets));
  state_->value.clear();
  state_->value.bytes(value::kTag, tag);
  state_->value.bytes(value::kHistogram, out.bytes());
  state_->summary.bytes(1, state_->value.bytes());
}

void EventFile::text(std::string_view tag, std::string_view markdown) {
  ProtoMessage size, shape, tensor;
  size.integer(1, 1);
  shape.bytes(2, size.bytes());
  tensor.integer(tensor::kType, tensor::kStrings);
  tensor.bytes(tensor::kShape, shape.bytes());
  tensor.bytes(tensor::kString, markdown);
  state_->add_value(tag, plugin_metadata("text"), tensor.bytes());
}

void EventFile::begin_session(const std::string& name,
                              const std::vector<HyperParameter>& settings) {
  ProtoMessage start;
  for (const HyperParameter& setting : settings)
    start.bytes(hparams::kSettings, setting_entry(setting));
  start.bytes(hparams::kGroup, name);
  start.fixed64(hparams::kStartTime, seconds_now());
  state_->add_session("_hparams_/session_start_info", hparams::kStart, start.bytes());
}

void EventFile::end_session(SessionStatus status) {
  ProtoMessage end;
  end.integer(1, int64_t(status));
  end.fixed64(2, seconds_now());
  state_->add_session("_hparams_/session_end_info", hparams::kEnd, end.bytes());
}

int EventFile::write(int64_t step) {
  state_->begin_event(step);
  state_->event.bytes(event::kSummary, state_->summary.bytes());
  state_->summary.clear();
  return state_->append_event();
}

}  // namespace zero
