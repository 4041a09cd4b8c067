#include "src/run/together.hpp"

#include <array>
#include <cstring>

#include "zero/base/with_type.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::run {
namespace {

using Operands = std::span<const std::vector<void*>>;

template <class T>
T* at(void* base, int64_t element) {
  return static_cast<T*>(base) + element;
}

void gather(const plan::PlanOp& op, Operands operands) {
  const int64_t element = int64_t(bytes_of(op.in));
  const int64_t begin = op.piece_begin * element, bytes = op.piece_numel * element;
  for (const std::vector<void*>& target : operands) {
    for (size_t source = 0; source < operands.size(); ++source) {
      const int64_t place = int64_t(source) * op.shard_numel * element + begin;
      // The shard may lie in its place inside the full array.
      std::memmove(at<std::byte>(target[1], place), at<std::byte>(operands[source][0], begin),
                   size_t(bytes));
    }
  }
}

template <class T, class Out>
void reduce(const plan::PlanOp& op, Operands operands) {
  std::array<const T*, kernels::kMaxTreeSources> sources{};
  ZERO_REQUIRE(operands.size() <= sources.size(), operands.size(), " ranks: one process runs at ",
               "most ", sources.size(), " in any order");
  for (size_t rank = 0; rank < operands.size(); ++rank) {
    const int64_t place = int64_t(rank) * op.shard_numel + op.piece_begin;
    for (size_t s = 0; s < operands.size(); ++s) sources[s] = at<T>(operands[s][0], place);
    kernels::tree_sum<T, Out>(std::span(sources).first(operands.size()), op.piece_numel,
                              at<Out>(operands[rank][1], op.piece_begin), op.add);
  }
}

void reduce_scatter(const plan::PlanOp& op, Operands operands) {
  with_type(op.in, [&](auto t) {
    using T = typename decltype(t)::type;
    if (op.out == Dtype::f32) return reduce<T, float>(op, operands);
    ZERO_REQUIRE(op.out == op.in, "a reduction of ", name_of(op.in), " to ", name_of(op.out),
                 ": to fp32, or to what travels");
    reduce<T, T>(op, operands);
  });
}

void all_reduce(const plan::PlanOp& op, Operands operands) {
  const int64_t words = op.operands[0].bytes / int64_t(sizeof(int64_t));
  for (int64_t i = 0; i < words; ++i) {
    int64_t sum = 0;
    for (const std::vector<void*>& rank : operands) sum += *at<int64_t>(rank[0], i);
    for (const std::vector<void*>& rank : operands) *at<int64_t>(rank[0], i) = sum;
  }
}

}  // namespace

void run_together(const plan::PlanOp& op, std::span<const std::vector<void*>> operands) {
  switch (op.kind) {
    case plan::Kind::all_gather:
      return gather(op, operands);
    case plan::Kind::reduce_scatter:
      return reduce_scatter(op, operands);
    case plan::Kind::all_reduce:
      return all_reduce(op, operands);
    default:
      ZERO_REQUIRE(false, plan::name_of(op.kind), " is no collective");
  }
}

}  // namespace zero::run
