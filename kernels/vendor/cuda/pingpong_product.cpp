// CUTLASS's ping-pong kernel, whose epilogue is a tree of its visitors.

#include <cuda_runtime.h>
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/sm90_visitor_tma_warpspecialized.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"

namespace zero::kernels::vendor {
namespace {

namespace fusion = cutlass::epilogue::fusion;
namespace collective = cutlass::epilogue::collective;
using cute::_1, cute::_2, cute::_64, cute::_128;
using cutlass::arch::OpClassTensorOp, cutlass::arch::Sm90, cutlass::layout::RowMajor;
using Bf16 = cutlass::bfloat16_t;
using Tile = cute::Shape<_128, _128, _64>;
using Cluster = cute::Shape<_2, _1, _1>;  ///< blocks that share tiles of b
using Schedule = cutlass::epilogue::TmaWarpSpecialized;
constexpr auto kNearest = cutlass::FloatRoundStyle::round_to_nearest;

template <class T>
struct Gelu {};
template <int N>
struct Gelu<cutlass::Array<float, N>> {
  CUTLASS_DEVICE cutlass::Array<float, N> operator()(const cutlass::Array<float, N>& x) const {
    cutlass::Array<float, N> y;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) y[i] = fast_gelu(x[i]);
    return y;
  }
};

template <class Node, class... Inputs>
using Tree = fusion::Sm90EVT<Node, Inputs...>;
using Descriptor = collective::detail::EpilogueDescriptor<Tile, collective::EpilogueTileAuto, Bf16,
                                                          Bf16, Schedule>;
using Aux = collective::detail::AuxStoreDescriptor<Descriptor, RowMajor, Bf16>;
using Sum = Tree<fusion::Sm90Compute<cutlass::plus, float, float, kNearest>, fusion::Sm90AccFetch,
                 fusion::Sm90RowBroadcast<0, Tile, Bf16, float>>;
using StoreAux = fusion::Sm90AuxStore<Aux::Stages, Aux::EpilogueTile, Bf16, kNearest, Aux::Stride,
                                      Aux::SmemLayoutAtom, Aux::CopyOpR2S>;
/// The epilogue c = gelu(product + bias), which also stores the sum to aux.
using Visitors = Tree<fusion::Sm90Compute<Gelu, Bf16, float, kNearest>, Tree<StoreAux, Sum>>;

using Epilogue =
    collective::CollectiveBuilder<Sm90, OpClassTensorOp, Tile, Cluster,
                                  collective::EpilogueTileAuto, float, float, void, RowMajor, 8,
                                  Bf16, RowMajor, 8, Schedule, Visitors>::CollectiveOp;
using Stages =
    cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(Epilogue::SharedStorage))>;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    Sm90, OpClassTensorOp, Bf16, RowMajor, 8, Bf16, RowMajor, 8, float, Tile, Cluster, Stages,
    cutlass::gemm::KernelTmaWarpSpecializedPingpong>::CollectiveOp;
using Kernel =
    cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
using Device = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

/// Returns the clusters that run at once, asked for only once because the driver takes its time.
const cutlass::KernelHardwareInfo& hardware() {
  static const auto info = cutlass::KernelHardwareInfo::make_kernel_hardware_info<Kernel>();
  return info;
}

Kernel::Arguments arguments_of(const GemmSpec& spec, const GemmOperands& operands) {
  const cutlass::gemm::TagToStrideC_t<RowMajor> dense{spec.ldc, _1{}, int64_t(0)};
  Kernel::StrideB stride_b{};
  cute::get<1>(stride_b) = spec.ldb;
  const Visitors::Arguments visitors{{{{}, {static_cast<const Bf16*>(operands.bias)}, {}},
                                      {static_cast<Bf16*>(operands.aux), dense}},
                                     {}};
  Kernel::Arguments made{cutlass::gemm::GemmUniversalMode::kGemm,
                         {int(spec.m), int(spec.n), int(spec.k), 1},
                         {static_cast<const Bf16*>(operands.a),
                          {spec.lda, _1{}, int64_t(0)},
                          static_cast<const Bf16*>(operands.b),
                          stride_b},
                         {visitors, nullptr, dense, static_cast<Bf16*>(operands.c), dense},
                         hardware()};
  made.scheduler.max_swizzle_size = 8;
  return made;
}

}  // namespace

bool run_pingpong_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands) {
  const Kernel::Arguments arguments = arguments_of(spec, operands);
  constexpr auto kTaken = cutlass::Status::kSuccess;
  Device device;
  return Device::can_implement(arguments) == kTaken &&
         device.initialize(arguments, nullptr, stream) == kTaken && device.run(stream) == kTaken;
}

}  // namespace zero::kernels::vendor
