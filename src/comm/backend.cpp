#include "src/comm/host_communicator.hpp"
#include "zero/comm/backends.hpp"

namespace zero::comm {
namespace {

class Self final : public HostCommunicator {
 public:
  Self() : HostCommunicator(0, 1) {}
  std::string_view backend() const override { return "self"; }

 private:
  void gather(const Call& call, const std::byte* shard, std::byte* full) override {
    place_own_piece(call, 0, shard, full);
  }
  void reduce(const Call& call, const std::byte* full, std::byte* shard, float* sums) override {
    const std::byte* source[] = {full + call.offset_in_full(0, 0)};
    sum_sources(call, source, call.numel, shard + call.begin * call.out_bytes(), sums);
  }
  void sum_words(const Call&, int64_t*) override {}
  void copy_from_root(const Call&, std::byte*) override {}
  void meet(const Call&) override {}
};

}  // namespace

Backend backend_for(const BackendFacts& facts) {
  if (facts.want_nccl) return Backend::nccl;
  if (facts.count == 1) return Backend::self;
  if (!facts.drive_devices) return Backend::host;
  const bool refused = facts.share_a_device || (facts.share_a_card && !facts.nccl_shares);
  return refused || !facts.have_nccl ? Backend::staged : Backend::nccl;
}

std::unique_ptr<Communicator> make_self() { return std::make_unique<Self>(); }

}  // namespace zero::comm
