#include "src/run/prompt_thread.hpp"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zero::run {
namespace {

constexpr int kThisThread = 0, kNoFlags = 0;

sched_attr scheduling() {
  sched_attr attributes{};
  (void)syscall(SYS_sched_getattr, kThisThread, &attributes, sizeof attributes, kNoFlags);
  return attributes;
}

}  // namespace

void wake_promptly() {
  sched_attr attributes = scheduling();
  // For real-time policies the field has another meaning.
  if (attributes.sched_policy != SCHED_NORMAL && attributes.sched_policy != SCHED_BATCH) return;
  attributes.sched_runtime = 100'000;  // ns, the shortest in Linux
  (void)syscall(SYS_sched_setattr, kThisThread, &attributes, kNoFlags);
}

uint64_t slice_of_thread() { return scheduling().sched_runtime; }

}  // namespace zero::run
