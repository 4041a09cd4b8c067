#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"

namespace zero::comm {
namespace {

[[noreturn]] void refuse_absent() {
  refuse(Exit::kUsage,
         "this build has no NCCL, which is for GPUs: configure with ZERO_DEVICE=cuda where nccl.h "
         "is, or use the host's communicators");
}

}  // namespace

bool has_nccl() { return false; }
bool nccl_shares_devices() { refuse_absent(); }

std::unique_ptr<Communicator> make_nccl(const NcclOptions&) { refuse_absent(); }

}  // namespace zero::comm
