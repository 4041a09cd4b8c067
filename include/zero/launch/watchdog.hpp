#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace zero::launch {

/// A thread that gives a run up when nothing has finished on any lane for too long. What counts is
/// time in which this process ran: one that was stopped and goes on has not waited meanwhile.
class Watchdog {
 public:
  struct Options {
    double timeout_seconds = 30;
    std::function<int64_t()> finished;     ///< ops of all lanes so far
    std::function<std::string()> running;  ///< what the lanes are at
    std::function<void(const std::string&)>
        on_hang;                      ///< gets what was running; on its thread, once
    std::function<bool()> excused{};  ///< whether what is waited for may take longer; none: never
  };
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  double timeout_seconds() const { return timeout_seconds_; }
  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

  /// Only an armed watchdog counts time, from the arming on: between waits nothing is expected.
  /// `place`, text that stays, is said to hang instead of what `running` tells.
  void arm(const char* place = nullptr);
  void disarm() { armed_ = false; }

  /// Armed as long as it lives; without a watchdog nothing is. They do not nest.
  class Armed {
   public:
    explicit Armed(Watchdog* watchdog, const char* place = nullptr);
    ~Armed();
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

   private:
    Watchdog* watchdog_;
  };

 private:
  void watch();
  std::string place() const;

  Options options_;
  std::atomic<double> timeout_seconds_;
  std::atomic<bool> armed_{false};
  std::atomic<const char*> place_{nullptr};
  std::atomic<int64_t> armings_{0};
  std::mutex mutex_;
  std::condition_variable closing_changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace zero::launch
