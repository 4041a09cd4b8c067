#include "src/advise/buffers.hpp"

#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

constexpr const char* kKey = "zero.offload_optimizer.buffer_count";

/// More than the least are not needed for their own sake: they leave some of a memory whose limit
/// nobody has given to others.
bool fits_with(RunConfig config, int64_t buffers, const state::World& world,
               const MemoryLimit& limit) {
  config.offload_optimizer.buffer_count = buffers;
  const bool least = buffers <= plan::kLeastStagedUnits;
  return fits(state::build(config, world), least ? limit : limit_of_largest(config, limit));
}

}  // namespace

bool chooses_buffers(const RunConfig& config) {
  const bool moves =
      config.offload_optimizer.device != Home::none || config.offload_param.device != Home::none;
  return moves && config.offload_optimizer.buffer_count == 0;
}

int64_t choose_buffers(const RunConfig& config, const state::World& world, const MemoryLimit& limit,
                       const plan::Machine& machine) {
  if (!chooses_buffers(config)) return config.offload_optimizer.buffer_count;
  const int64_t wanted = state::buffers_for(config, world, machine);
  if (fits_with(config, wanted, world, limit)) return wanted;
  int64_t low = 1, high = wanted;  // `high` does not fit
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (fits_with(config, middle, world, limit) ? low : high) = middle;
  }
  return low;
}

Choices buffer_choices(const RunConfig& asked, const RunConfig& chosen) {
  const int64_t count = chosen.offload_optimizer.buffer_count;
  if (asked.offload_optimizer.buffer_count != 0 || count == 0) return {};
  return {{kKey, "auto", text(count)}};
}

}  // namespace zero::advise
