#include "zero/kernels/head_norm.hpp"

#include "kernels/support/head_norm_groups.hpp"
#include "kernels/support/head_norm_rows.hpp"
#include "kernels/support/norms.hpp"
#include "kernels/support/row_sums.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::head_norm", kBackward = "zero::head_norm_backward",
                  kWeights = "zero::head_norm_dweight", kTree = "zero::head_norm_tree";

void check(const HeadNormExtents& of) {
  const PackedHeads& packed = of.packed;
  ZERO_REQUIRE(
      packed.rows >= 1 && packed.heads >= 1 && packed.key_heads >= 1 && packed.head_width >= 1,
      "norms of ", packed.rows, " rows with ", packed.heads, " heads of queries and ",
      packed.key_heads, " of keys of ", packed.head_width, ": all must be at least 1");
}

/// Threads of a device that have a norm's columns.
int team_threads(const HeadNormExtents& extents) { return extents.whole ? 128 : 32; }

/// True if groups of a warp's lanes take the arrays in runs.
template <class T>
bool takes_groups(const HeadNormExtents& of, std::initializer_list<const T*> arrays) {
  return !of.whole && of.packed.head_width <= kWarpLanes * kRunNumel &&
         takes_whole_runs<T>(of.packed.head_width, arrays);
}

template <class Code>
void launch_groups(Stream& stream, const std::string& label, int64_t blocks, const Code& code) {
  launch_blocks<Code::kThreads>(stream, label, blocks, code, code.shared_numel());
}

/// Adds the chunks' sums in `scratch` [chunks, weights()] along their tree.
template <class T>
void add_chunks(Stream& stream, const HeadNormExtents& extents, int64_t chunks,
                const HeadNormGradArrays<T>& arrays) {
  const auto add = [&](float* first, int64_t width, T* out) {
    const ColumnTree<T> tree{chunks, extents.weights(), width, first, out};
    for_each_row(stream, kTree, tree.groups(), tree);
  };
  add(arrays.scratch, extents.query_width(), arrays.dquery_weight);
  add(arrays.scratch + extents.query_width(), extents.key_width(), arrays.dkey_weight);
}

/// Computes the gradients by rows on a device: dx by teams, weights by columns.
template <class T>
void backward_by_rows(Stream& stream, const HeadNormExtents& extents, const RowChunks& chunks,
                      const HeadNormGradArrays<T>& arrays) {
  // dx may be dy, which the weights read.
  const HeadNormColumns<T> columns{extents, chunks, arrays};
  for_each_element(stream, kWeights, columns.items(), columns);
  const HeadNormDx<T> dx{extents, arrays};
  for_each_row(stream, kBackward, dx.items(), dx, team_threads(extents));
}

}  // namespace

template <class T>
void head_norm(Stream& stream, const HeadNormExtents& extents, const HeadNormArrays<T>& arrays) {
  check(extents);
  HeadNormArrays<T> of = arrays;
  of.offset = offset_of(arrays.offset);
  const HeadNormForward<T> rows{extents, of};
  if constexpr (kHostSpace) {
    for_each_row(stream, kForward, extents.packed.rows, rows);
  } else if (takes_groups<T>(extents, {of.x, of.query_weight, of.key_weight, of.y})) {
    const HeadNormGroups<T> code{extents, of};
    launch_groups(stream, kForward, code.blocks(), code);
  } else {
    for_each_row(stream, kForward, rows.items(), rows, team_threads(extents));
  }
}

int64_t head_norm_scratch_numel(const HeadNormExtents& extents) {
  return head_norm_chunks(extents).count() * extents.weights();
}

template <class T>
void head_norm_backward(Stream& stream, const HeadNormExtents& extents,
                        const HeadNormGradArrays<T>& arrays) {
  check(extents);
  HeadNormGradArrays<T> of = arrays;
  of.offset = offset_of(arrays.offset);
  const RowChunks chunks = head_norm_chunks(extents);
  if constexpr (kHostSpace) {
    for_each_row(stream, kBackward, chunks.count(), HeadNormChunks<T>{extents, chunks, of});
  } else if (takes_groups<T>(extents, {of.x, of.dy, of.query_weight, of.key_weight, of.dx})) {
    const HeadNormGradGroups<T> code{extents, chunks, of};
    launch_groups(stream, kBackward, chunks.count(), code);
  } else {
    backward_by_rows(stream, extents, chunks, of);
  }
  add_chunks(stream, extents, chunks.count(), of);
}

template void head_norm(Stream&, const HeadNormExtents&, const HeadNormArrays<float>&);
template void head_norm(Stream&, const HeadNormExtents&, const HeadNormArrays<bf16>&);
template void head_norm(Stream&, const HeadNormExtents&, const HeadNormArrays<f16>&);
template void head_norm_backward(Stream&, const HeadNormExtents&, const HeadNormGradArrays<float>&);
template void head_norm_backward(Stream&, const HeadNormExtents&, const HeadNormGradArrays<bf16>&);
template void head_norm_backward(Stream&, const HeadNormExtents&, const HeadNormGradArrays<f16>&);

}  // namespace zero::kernels
