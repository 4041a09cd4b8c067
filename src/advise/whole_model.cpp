#include "zero/advise/plan_report.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

/// Work for which a rank holds the whole model beside the plan for a while.
struct WholeModel {
  const char* key;
  const char* who;
  const char* instead;
  int64_t bytes;
};

void require_room(const state::Build& build, const WholeModel& work, const MemoryLimit& limit) {
  const auto require = [&](int64_t planned, int64_t most, const std::string& source) {
    if (most == 0 || planned + work.bytes <= most) return;
    refuse(Exit::kDoesNotFit, work.key, ": ", work.who, " would hold the whole model for it, ",
           bytes_text(double(work.bytes)), " beside the plan's ", bytes_text(double(planned)),
           " of ", bytes_text(double(most)), " (", source, "); ", work.instead);
  };
  const int64_t device = build.plan.arena_bytes[size_t(plan::Tier::device)];
  const int64_t both = device + build.plan.arena_bytes[size_t(plan::Tier::host)];
  require(limit.of_host ? both : device, limit.bytes, limit.source);
  require(both, limit.process_bytes, limit.process_source);
}

}  // namespace

void require_room_for_samples(const state::Build& build, int64_t bytes, const MemoryLimit& limit) {
  require_room(build,
               {"evaluation.show_samples", "the first rank",
                "write evaluation.show_samples = 0 and run zeroapp generate afterwards", bytes},
               limit);
}

void require_room_for_answers(const state::Build& build, int64_t bytes, const MemoryLimit& limit) {
  require_room(build,
               {"evaluation.generate", "every rank",
                "write a smaller evaluation.micro_batch_size, or evaluation.generate = false and "
                "run zeroapp eval RUN evaluation.generate=true afterwards, on fewer ranks",
                bytes},
               limit);
}

}  // namespace zero::advise
