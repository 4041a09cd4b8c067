#pragma once
/// The operands of both kinds of attention. Only attention.cpp includes this.

#include "zero/graph/operation.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::graph {

/// The inputs of both kinds under common names.
template <class S>
struct Sources {
  S q;
  S kv;  ///< absent if q also holds keys and values
  S bias, key_counts, first;
};

/// Attention of a text to itself, with queries, keys and values in one tensor.
struct Self {
  template <class S>
  struct In {
    S qkv, step_inputs;
    S bias = kAbsent<S>, key_counts = kAbsent<S>, first = kAbsent<S>;
  };
  template <class S>
  struct Out {
    S y, logsumexp;
  };
  template <class S>
  struct GradIn {
    S dy, y, qkv, logsumexp, step_inputs;
    S bias = kAbsent<S>, key_counts = kAbsent<S>, first = kAbsent<S>;
  };
  template <class S>
  struct GradOut {
    S dqkv;
    S dbias = kAbsent<S>;
  };

  template <class S, template <class> class From>
  static Sources<S> sources(const From<S>& in) {
    return {.q = in.qkv,
            .kv = kAbsent<S>,
            .bias = in.bias,
            .key_counts = in.key_counts,
            .first = in.first};
  }
  template <class T>
  static kernels::AttentionInputs<T> arrays(const kernels::AttentionExtents& extents,
                                            const Sources<Address>& from) {
    return kernels::packed_attention<T>(extents, from.q);
  }
  template <class T>
  static void set_gradients(const kernels::AttentionExtents& extents, const GradOut<Address>& out,
                            kernels::AttentionGradArrays<T>& arrays) {
    arrays.dq = out.dqkv;
    arrays.dk = arrays.dq + extents.inner_width();
    arrays.dv = arrays.dk + extents.key_width();
  }
};

/// Attention of a text to another one.
struct Cross {
  template <class S>
  struct In {
    S q, kv, step_inputs;
    S bias = kAbsent<S>, key_counts = kAbsent<S>;
  };
  template <class S>
  using Out = Self::Out<S>;
  template <class S>
  struct GradIn {
    S dy, y, q, kv, logsumexp, step_inputs;
    S bias = kAbsent<S>, key_counts = kAbsent<S>;
  };
  template <class S>
  struct GradOut {
    S dq, dkv;
    S dbias = kAbsent<S>;
  };

  template <class S, template <class> class From>
  static Sources<S> sources(const From<S>& in) {
    return {
        .q = in.q, .kv = in.kv, .bias = in.bias, .key_counts = in.key_counts, .first = kAbsent<S>};
  }
  template <class T>
  static kernels::AttentionInputs<T> arrays(const kernels::AttentionExtents& extents,
                                            const Sources<Address>& from) {
    return kernels::paired_attention<T>(extents, from.q, from.kv);
  }
  template <class T>
  static void set_gradients(const kernels::AttentionExtents& extents, const GradOut<Address>& out,
                            kernels::AttentionGradArrays<T>& arrays) {
    arrays.dq = out.dq;
    arrays.dk = out.dkv;
    arrays.dv = arrays.dk + extents.key_width();
  }
};

}  // namespace zero::graph
