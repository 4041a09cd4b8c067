#include "zero/base/error.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::aio {

EngineChoice make_engine(const EngineOptions& options) {
  ZERO_REQUIRE(options.depth >= 1 && options.threads >= 1, "an engine of depth ", options.depth,
               " with ", options.threads, " threads: both must be at least 1");
  EngineChoice choice;
  choice.engine = make_uring_engine(options, choice.warning);
  if (choice.engine) return choice;
  if (options.require_uring) {
    refuse(Exit::kUsage, "aio.require_uring = true, but ", choice.warning,
           "; write false to move the same bytes by threads");
  }
  choice.warning += "; threads move the same bytes, aio.intra_op_parallelism blocks at a time";
  choice.engine = make_thread_engine(options);
  return choice;
}

}  // namespace zero::aio
