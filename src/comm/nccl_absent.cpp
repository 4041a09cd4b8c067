#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"

namespace zero::comm {

bool has_nccl() { return false; }

std::unique_ptr<Communicator> make_nccl(const NcclOptions&) {
  refuse(Exit::kUsage,
         "this build has no NCCL, which is for GPUs: configure with ZERO_DEVICE=cuda where nccl.h "
         "is, or use the host's communicators");
}

}  // namespace zero::comm
