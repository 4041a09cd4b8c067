#include "src/launch/life_lock.hpp"

#include <cerrno>

#include "zero/base/error.hpp"

namespace zero::launch {
namespace {

/// A lock that may lie in the memory of several processes, and survives its owner.
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

}  // namespace zero::launch
