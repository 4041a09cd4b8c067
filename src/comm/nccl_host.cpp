#include "zero/base/error.hpp"
#include "zero/comm/nccl.hpp"

namespace zero::comm {

std::unique_ptr<Communicator> make_nccl(const NcclOptions&) {
  refuse(Exit::kUsage,
         "this build has no NCCL, which is for GPUs: configure with ZERO_DEVICE=cuda, or use the "
         "host's communicators");
}

}  // namespace zero::comm
