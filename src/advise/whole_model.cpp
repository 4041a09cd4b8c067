#include <numeric>

#include "zero/advise/plan_report.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

using plan::Tier;

/// Texts, for which ranks hold a model beside the plan for a while.
struct Texts {
  const char* key;
  const char* who;  ///< where one rank holds it whole
  const char* instead;
  plan::TierBytes bytes;
};

/// A limit, and what of the plan and of texts counts under it.
struct Counted {
  int64_t most;
  const std::string& source;
  int64_t planned, texts;
};

void require_room(const state::Build& build, const Texts& texts, const MemoryLimit& limit) {
  const plan::Request& request = build.plan.request;
  const bool is_shared = request.stage == 3 && request.ranks > 1;
  const auto require = [&](const Counted& of) {
    if (of.most == 0 || of.planned + of.texts <= of.most) return;
    refuse(Exit::kDoesNotFit, texts.key, ": ", is_shared ? "every rank" : texts.who, " would hold ",
           is_shared ? "its part of the model" : "the whole model", " for it, ",
           bytes_text(double(of.texts)), " beside the plan's ", bytes_text(double(of.planned)),
           " of ", bytes_text(double(of.most)), " (", of.source, "); ", texts.instead);
  };
  const plan::TierBytes more = beside(build, texts.bytes);
  const int64_t device = more[size_t(Tier::device)], host = more[size_t(Tier::host)];
  require({limit.bytes, limit.source, counted_bytes(build, limit),
           limit.of_host ? device + host : device});
  require({limit.host_bytes, limit.host_source, host_bytes(build), host});
  require({limit.process_bytes, limit.process_source, all_bytes(build), device + host});
}

}  // namespace

plan::TierBytes beside(const state::Build& build, plan::TierBytes texts) {
  const plan::Stretch free = plan::free_between_bodies(build.plan);
  int64_t& device = texts[size_t(Tier::device)];
  if (device <= free.end - free.begin) device = 0;
  return texts;
}

int64_t sum(const plan::TierBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
}

void require_room_for_samples(const state::Build& build, const plan::TierBytes& bytes,
                              const MemoryLimit& limit) {
  require_room(build,
               {"evaluation.show_samples", "the first rank",
                "write evaluation.show_samples = 0 and run zeroapp generate afterwards", bytes},
               limit);
}

void require_room_for_answers(const state::Build& build, const plan::TierBytes& bytes,
                              const MemoryLimit& limit) {
  require_room(build,
               {"evaluation.generate", "every rank",
                "write a smaller evaluation.micro_batch_size, or evaluation.generate = false and "
                "run zeroapp eval RUN evaluation.generate=true afterwards",
                bytes},
               limit);
}

}  // namespace zero::advise
