#pragma once
/// What a device does a second, call by call in its own stream.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/stream.hpp"

namespace zero::perf {

/// Measures one thing after the other and prints a line of each.
class Rates {
 public:
  /// `file` also gets a JSON line of each; null: none does.
  explicit Rates(const char* file) : file_(file ? std::fopen(file, "a") : nullptr) {
    if (file && !file_) refuse(Exit::kIo, file, ": cannot be written");
    take_another_stream();
  }
  ~Rates() {
    if (file_) std::fclose(file_);
  }
  Rates(const Rates&) = delete;
  Rates& operator=(const Rates&) = delete;

  /// Libraries choose once for a stream: what is measured from now on is chosen anew.
  void take_another_stream() {
    streams_.push_back(std::make_unique<Stream>(1));
    adopt_threads(*streams_.back());
  }

  /// `work` queues one call, of `amount` operations or bytes; the unit is TFLOP/s or GB/s. Returns
  /// its seconds.
  double add(const std::string& name, double amount, const std::string& unit,
             const std::function<void(Stream&)>& work) {
    return note(name, seconds_of_one(work), amount, unit);
  }
  /// What follows from others.
  double note(const std::string& name, double seconds, double amount, const std::string& unit) {
    const double rate = amount / seconds * (unit == "GB/s" ? 1e-9 : 1e-12);
    std::printf("%-44s %10.1f us %9.1f %s\n", name.c_str(), 1e6 * seconds, rate, unit.c_str());
    std::fflush(stdout);
    if (!file_) return seconds;
    std::fprintf(file_,
                 "{\"what\": \"%s\", \"microseconds\": %.2f, \"rate\": %.2f, \"unit\": \"%s\"}\n",
                 name.c_str(), 1e6 * seconds, rate, unit.c_str());
    std::fflush(file_);
    return seconds;
  }

 private:
  /// The first call lets libraries choose, the second says how many fill the time.
  double seconds_of_one(const std::function<void(Stream&)>& work) {
    constexpr double kSeconds = 0.02;
    constexpr double kMost = 1000;
    seconds_of(work, 1);
    const double once = seconds_of(work, 1);
    const int calls = int(std::min(kMost, kSeconds / once)) + 1;
    return seconds_of(work, calls) / calls;
  }

  double seconds_of(const std::function<void(Stream&)>& work, int calls) {
    Stream& stream = *streams_.back();
    begin_.mark(stream);
    for (int i = 0; i < calls; ++i) work(stream);
    end_.mark(stream);
    end_.wait();
    return end_.seconds_since(begin_);
  }

  std::vector<std::unique_ptr<Stream>>
      streams_;  ///< the last is in use, the others keep their names
  Moment begin_, end_;
  std::FILE* file_;
};

/// Places for the operands of a call, in device memory: four of 16 bits an element and one, the
/// last, of fp32 for twice as many parameters as a block has. They begin with random numbers, since
/// a device that multiplies zeros takes less power and runs faster.
class Room {
 public:
  Room(int64_t numel, int64_t parameters)
      : place_bytes_(2 * std::max(numel, parameters)),
        arena_(4 * place_bytes_ + 8 * parameters, Place::device) {
    std::mt19937 draw(1);
    std::vector<bf16> values(size_t(1) << 20);
    for (bf16& value : values) value = bf16(float(int(draw() % 2001) - 1000) * 1e-3f);
    Stream stream(1);
    const int64_t bytes = int64_t(values.size() * sizeof(bf16));
    for (int64_t at = 0; at < arena_.bytes(); at += bytes) {
      const int64_t part = std::min(bytes, arena_.bytes() - at);
      copy_bytes(stream, std::as_bytes(std::span(values)).first(size_t(part)), arena_.data() + at);
    }
    stream.wait();
  }

  template <class T>
  T* at(int place) const {
    return reinterpret_cast<T*>(arena_.data() + place * place_bytes_);
  }

 private:
  int64_t place_bytes_;
  Arena arena_;
};

/// One way, the other, and both at once on streams of their own.
inline void copies(Rates& rates) {
  constexpr int64_t kBytes = int64_t(64) << 20;
  Arena host(2 * kBytes, Place::pinned), device(2 * kBytes, Place::device);
  host.touch(1);
  device.touch(1);
  const std::span down(host.data(), size_t(kBytes));
  const std::span up(device.data() + kBytes, size_t(kBytes));
  const double bytes = double(kBytes);
  rates.add("copy from host to device", bytes, "GB/s",
            [&](Stream& stream) { copy_bytes(stream, down, device.data()); });
  rates.add("copy from device to host", bytes, "GB/s",
            [&](Stream& stream) { copy_bytes(stream, up, host.data() + kBytes); });
  rates.add("copy within the device, read and written", 2 * bytes, "GB/s",
            [&](Stream& stream) { copy_bytes(stream, up, device.data()); });
  Stream other(1);
  Event forks, joins;
  rates.add("copies both ways at once", 2 * bytes, "GB/s", [&](Stream& stream) {
    forks.record(stream);
    forks.hold(other);
    copy_bytes(stream, down, device.data());
    copy_bytes(other, up, host.data() + kBytes);
    joins.record(other);
    joins.hold(stream);
  });
}

}  // namespace zero::perf
