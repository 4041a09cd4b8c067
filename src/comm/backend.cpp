#include "zero/comm/backends.hpp"

namespace zero::comm {

Backend backend_for(const Ranks& ranks) {
  if (ranks.count == 1) return Backend::self;
  if (!ranks.drive_devices) return Backend::host;
  return ranks.share_a_device || !ranks.have_nccl ? Backend::staged : Backend::nccl;
}

}  // namespace zero::comm
