#include "src/launch/process_life.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "zero/base/error.hpp"

namespace zero::launch {
namespace {

/// Makes a robust lock in memory that several processes share. False if the system refuses.
bool make(pthread_mutex_t& mutex) {
  pthread_mutexattr_t kind;
  if (pthread_mutexattr_init(&kind) != 0) return false;
  const bool made = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
                    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0 &&
                    pthread_mutex_init(&mutex, &kind) == 0;
  pthread_mutexattr_destroy(&kind);
  return made;
}

}  // namespace

LifeLock::LifeLock() : state_(kUnborn) {
  ZERO_REQUIRE(make(mutex_) && pthread_mutex_lock(&mutex_) == 0,
               "this system makes no robust lock between processes");
  state_ = kLives;
}

void LifeLock::leave() {
  if (state_ != kLives) return;
  state_ = kLeft;
  pthread_mutex_unlock(&mutex_);
}

bool LifeLock::has_died() {
  if (state_ != kLives) return state_ == kDead;
  const int taken = pthread_mutex_trylock(&mutex_);
  if (taken != 0 && taken != EOWNERDEAD) return false;
  // The first process to see the death records it, because a later try would find the lock free.
  int lives = kLives;
  state_.compare_exchange_strong(lives, kDead);
  if (taken == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  pthread_mutex_unlock(&mutex_);
  return state_ == kDead;
}

namespace {

/// Returns the number after `name` in "name: number" lines. 0 if there is none.
int64_t number_of(std::string_view lines, std::string_view name) {
  const size_t found = lines.find(name);
  if (found == lines.npos) return 0;
  const std::string_view digits = lines.substr(found + name.size());
  int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

MovedBytes::MovedBytes() : file_(open("/proc/self/io", O_RDONLY | O_CLOEXEC)) {}

// Allocates nothing, because it runs beside steps.
int64_t MovedBytes::count() {
  std::array<char, 512> text{};
  const ssize_t length = file_ ? pread(file_.descriptor(), text.data(), text.size(), 0) : 0;
  if (length <= 0) return 0;
  // The count does not include the read that has just returned it.
  int64_t sum = -own_;
  own_ += length;
  const std::string_view lines(text.data(), size_t(length));
  for (const std::string_view name : {"rchar: ", "wchar: ", "\nread_bytes: ", "\nwrite_bytes: "}) {
    sum += number_of(lines, name);
  }
  return sum;
}

}  // namespace zero::launch
