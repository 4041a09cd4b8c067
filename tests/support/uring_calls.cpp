#include "tests/support/uring_calls.hpp"

#include <dlfcn.h>
#include <liburing.h>

#include <algorithm>
#include <cerrno>

namespace zero::testing_support {

SubmitPlan submit_plan;

}  // namespace zero::testing_support

using namespace zero::testing_support;
extern "C" int io_uring_submit(struct io_uring* ring) {
  using Submit = int (*)(struct io_uring*);
  static const auto next = reinterpret_cast<Submit>(dlsym(RTLD_NEXT, "io_uring_submit"));
  if (!next) return -ENOSYS;
  SubmitPlan& plan = submit_plan;
  ++plan.calls;
  if (plan.before-- <= 0 && plan.refusals > 0) {
    --plan.refusals;
    return -plan.error;
  }
  // The rest is what the library finds at its next call.
  const unsigned tail = ring->sq.sqe_tail, head = *ring->sq.khead;
  ring->sq.sqe_tail = head + std::min(tail - head, unsigned(plan.most));
  const int sent = next(ring);
  ring->sq.sqe_tail = tail;
  return sent;
}
