#pragma once
/// Attention as graphs of cuDNN's front end: their tensors, and where these lie. Only
/// cudnn_attention.cpp includes this, to make plans.

#include <cudnn_frontend.h>

#include <memory>
#include <vector>

#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

enum Name : int64_t {
  kQ = 1,
  kK,
  kV,
  kY,
  kLogsumexp,
  kDy,
  kDq,
  kDk,
  kDv,
  kSeed,
  kOffset,
  kQueries,
  kKeys,
  kBias,
  kDbias
};

/// The GPU that plans are made for, present or only described.
struct Machine {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> described = nullptr;
  int architecture = 0;
};

class AttentionGraph {
 public:
  AttentionGraph(const AttentionProblem& problem, const Machine& machine)
      : extents_(problem.extents), problem_(problem), graph_(std::make_shared<Graph>()) {
    graph_
        ->set_io_data_type(problem.dtype == Dtype::bf16 ? fe::DataType_t::BFLOAT16
                                                        : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(machine.architecture);
    if (machine.described) graph_->set_device_properties(machine.described);
  }

  std::shared_ptr<Graph> forward() {
    fe::graph::SDPA_attributes attributes;
    set(attributes.set_name("attention").set_generate_stats(true));
    auto [y, logsumexp] = graph_->sdpa(q(), k(), v(), attributes);
    place(y->set_output(true).set_uid(kY), of_y());
    describe_logsumexp(logsumexp->set_output(true));
    return graph_;
  }

  std::shared_ptr<Graph> backward() {
    fe::graph::SDPA_backward_attributes attributes;
    // Even a default run promises the same bits at every home and schedule.
    set(attributes.set_name("attention_backward")
            .set_deterministic_algorithm(problem_.deterministic));
    // Each sample keeps its own gradient, because cuDNN would add samples in any order.
    if (extents_.biased) attributes.set_dbias(scores("dbias", kDbias, extents_.samples));
    Tensor_attributes logsumexp;
    describe_logsumexp(logsumexp.set_name("logsumexp"));
    auto [dq, dk, dv] =
        graph_->sdpa_backward(q(), k(), v(), tensor("y", kY, of_y()), tensor("dy", kDy, of_y()),
                              graph_->tensor(logsumexp), attributes);
    place(dq->set_output(true).set_uid(kDq), of_q());
    place(dk->set_output(true).set_uid(kDk), of_keys());
    place(dv->set_output(true).set_uid(kDv), of_keys());
    return graph_;
  }

 private:
  struct Place {
    std::vector<int64_t> dimensions, strides;
  };

  Place heads_of(int64_t heads, int64_t rows, int64_t row_stride) const {
    const HeadStrides stride = head_strides(extents_, rows, row_stride);
    return {{extents_.samples, heads, rows, extents_.head_width},
            {stride.sample, stride.head, stride.row, 1}};
  }
  Place of_q() const { return heads_of(extents_.heads, extents_.length, problem_.rows.q); }
  /// Fewer heads of keys are as many heads of queries each, in their order.
  Place of_keys() const {
    return heads_of(extents_.heads_of_keys(), extents_.key_length(), problem_.rows.kv);
  }
  Place of_y() const { return heads_of(extents_.heads, extents_.length, extents_.inner_width()); }

  static Tensor_attributes& place(Tensor_attributes& tensor, const Place& at) {
    return tensor.set_dim(at.dimensions).set_stride(at.strides);
  }

  Tensor tensor(const char* name, int64_t uid, const Place& at) {
    Tensor_attributes attributes;
    return graph_->tensor(place(attributes.set_name(name).set_uid(uid), at));
  }
  Tensor q() { return tensor("q", kQ, of_q()); }
  Tensor k() { return tensor("k", kK, of_keys()); }
  Tensor v() { return tensor("v", kV, of_keys()); }

  Tensor scores(const char* name, int64_t uid, int64_t samples) {
    const int64_t keys = extents_.key_length(), matrix = extents_.length * keys;
    return tensor(name, uid,
                  {{samples, extents_.heads, extents_.length, keys},
                   {extents_.heads * matrix, matrix, keys, 1}});
  }

  Tensor numbers(const char* name, int64_t uid, int64_t count, fe::DataType_t type) {
    Tensor_attributes attributes;
    place(attributes.set_name(name).set_uid(uid), {{count, 1, 1, 1}, {1, 1, 1, 1}});
    return graph_->tensor(attributes.set_data_type(type));
  }

  void describe_logsumexp(Tensor_attributes& tensor) const {
    tensor.set_uid(kLogsumexp)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({extents_.samples, extents_.heads, extents_.length, 1})
        .set_stride({extents_.heads * extents_.length, extents_.length, 1, 1});
  }

  /// Sets the attributes that both directions share.
  template <class Attributes>
  void set(Attributes& attributes) {
    attributes.set_attn_scale(1.0f / extents_.divisor());
    if (extents_.causal)
      attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    if (problem_.dropout > 0.0f)
      attributes.set_dropout(problem_.dropout, numbers("seed", kSeed, 1, fe::DataType_t::INT64),
                             numbers("offset", kOffset, 1, fe::DataType_t::INT64));
    if (extents_.biased) attributes.set_bias(scores("bias", kBias, 1));
    if (!tells_lengths(extents_)) return;
    attributes.set_padding_mask(true)
        .set_seq_len_q(numbers("queries", kQueries, extents_.samples, fe::DataType_t::INT32))
        .set_seq_len_kv(numbers("keys", kKeys, extents_.samples, fe::DataType_t::INT32));
  }

  AttentionExtents extents_;
  AttentionProblem problem_;
  std::shared_ptr<Graph> graph_;
};

}  // namespace zero::kernels::vendor
