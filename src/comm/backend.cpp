#include "zero/comm/backends.hpp"

namespace zero::comm {

Backend backend_for(const BackendFacts& facts) {
  if (facts.count == 1) return Backend::self;
  if (!facts.drive_devices) return Backend::host;
  return facts.share_a_device || !facts.have_nccl ? Backend::staged : Backend::nccl;
}

}  // namespace zero::comm
