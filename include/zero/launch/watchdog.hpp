#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::launch {

/// A thread that gives a run up if no lane has finished anything for too long. Only time in which
/// this process ran counts, so a stopped process has not waited.
class Watchdog {
 public:
  struct Options {
    double timeout_seconds = 30;
    std::function<int64_t()> finished;     ///< returns the ops that all lanes have finished so far
    std::function<std::string()> running;  ///< describes the ops that the lanes run
    /// Gets the text of `running` and the timeout. Called once, on the watchdog's thread.
    std::function<void(const std::string&, double)> on_hang;
    std::function<bool()> excused{};  ///< true if the wait may take longer; empty: never
  };
  /// Starts the thread of a watchdog, which is not armed yet.
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  double timeout_seconds() const { return timeout_seconds_; }
  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

  /// Starts to count time until disarm(). Nothing is expected while the watchdog is not armed. A
  /// hang is reported at `place`, a text of static lifetime, or by `running` if it is null.
  void arm(const char* place = nullptr);
  void disarm() { armed_ = false; }

  /// A scope in which the watchdog is armed, if there is one. Scopes do not nest.
  class Armed {
   public:
    /// Arms `watchdog` at `place`, as arm(). Does nothing if it is null.
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

/// Returns a turn of a body in words, for people: "adam of unit h.3" or "linear of unit h.2,
/// micro-batch 0".
std::string describe_op(const plan::Plan& plan, const plan::Body& body, const plan::Turn& turn);

/// Returns the number of ops that all lanes of `progress` together have finished since the start.
int64_t finished_ops(std::span<const run::LaneProgress> progress);

/// Returns the op of each busy lane of `progress`, [lanes], in words: "lane gather: all_gather of
/// unit h.3 (op 17 of step, 1203 finished)".
std::string describe_progress(const plan::Plan& plan, plan::BodyId body,
                              std::span<const run::LaneProgress> progress);

}  // namespace zero::launch
