#include "zero/monitor/step_record.hpp"

namespace zero::monitor {

double units_per_second(const StepRecord& record) {
  return record.seconds > 0 ? double(record.counted) / record.seconds : 0;
}

double share_of_peak(const StepRecord& record, const LogContext& context) {
  if (context.peak_flops <= 0) return 0;
  return units_per_second(record) * context.flops_per_unit / context.peak_flops;
}

}  // namespace zero::monitor
