#include "kernels/vendor/attention_library.hpp"

#include "kernels/support/elements.hpp"
#include "kernels/support/rows.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kDropout = "zero::write_dropout";
const std::string kLengths = "zero::write_lengths";
const std::string kQueries = "zero::clear_blind_queries";
const std::string kKeys = "zero::clear_padding";

struct WriteDropout {
  DropoutSite site;
  const StepInputs* inputs;
  AttentionDropout* dropout;

  KOKKOS_FUNCTION void operator()(int64_t) const {
    *dropout =
        attention_dropout(inputs->seed, site.site, inputs->first_sample + site.sample_offset);
  }
};

struct WriteLengths {
  AttentionExtents extents;
  const int32_t* key_counts;
  SampleLengths lengths;

  KOKKOS_FUNCTION void operator()(int64_t sample) const {
    const int64_t all = extents.key_length();
    const int64_t keys = key_counts ? least(key_counts[sample], all) : all;
    lengths.queries[sample] = int32_t(keys > 0 ? extents.length : 1);
    lengths.keys[sample] = int32_t(keys > 0 ? keys : 1);
  }
};

template <class T>
struct ClearBlindQueries {
  AttentionExtents extents;
  const int32_t* key_counts;
  QueryRows<T> rows;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    const int64_t sample = r / extents.length, query = r % extents.length;
    if (key_counts[sample] > 0) return;
    T* const to = rows.first + r * rows.stride;
    row.for_each(extents.inner_width(), [=](int64_t j) { to[j] = T(0.0f); });
    if (!rows.logsumexp) return;
    const int64_t length = extents.length;
    float* const statistics = rows.logsumexp + sample * extents.heads * length + query;
    row.for_each(extents.heads, [=](int64_t head) { statistics[head * length] = 0.0f; });
  }
};

template <class T>
struct ClearPadding {
  AttentionExtents extents;
  const int32_t* key_counts;
  KeyRows<T> rows;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    const int64_t sample = r / extents.key_length(), key = r % extents.key_length();
    if (key < key_counts[sample]) return;
    T* const dk = rows.dk + r * rows.stride;
    T* const dv = rows.dv + r * rows.stride;
    row.for_each(extents.key_width(), [=](int64_t j) {
      dk[j] = T(0.0f);
      dv[j] = T(0.0f);
    });
  }
};

}  // namespace

void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout) {
  for_each_element(stream, kDropout, 1, WriteDropout{site, inputs, dropout});
}

void write_lengths(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const SampleLengths& lengths) {
  for_each_element(stream, kLengths, extents.samples, WriteLengths{extents, key_counts, lengths});
}

template <class T>
void clear_blind_queries(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                         const QueryRows<T>& rows) {
  for_each_row(stream, kQueries, extents.samples * extents.length,
               ClearBlindQueries<T>{extents, key_counts, rows});
}

template <class T>
void clear_padding(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const KeyRows<T>& rows) {
  for_each_row(stream, kKeys, extents.samples * extents.key_length(),
               ClearPadding<T>{extents, key_counts, rows});
}

template void clear_blind_queries(Stream&, const AttentionExtents&, const int32_t*,
                                  const QueryRows<bf16>&);
template void clear_blind_queries(Stream&, const AttentionExtents&, const int32_t*,
                                  const QueryRows<f16>&);
template void clear_padding(Stream&, const AttentionExtents&, const int32_t*, const KeyRows<bf16>&);
template void clear_padding(Stream&, const AttentionExtents&, const int32_t*, const KeyRows<f16>&);

}  // namespace zero::kernels::vendor
