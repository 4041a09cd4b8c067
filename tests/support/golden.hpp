#pragma once
/// Golden values of tiny GPT-2s, made once in float64 by tools/golden/gpt2_golden.py, whose head
/// has every formula. The files hold results; weights and tokens are made again here, bit for bit.
/// The values of encoder-decoders are made by pairs_golden.py there, and hold their data, too.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/optimizer_keys.hpp"

namespace zero::testing {

struct GoldenTensor {
  std::string name;  ///< as Hugging Face's, without "transformer."
  std::vector<int64_t> shape;
  double offset;
  double amplitude;
  std::vector<double> gradient;          ///< of the mean loss of stream 0, row-major
  double norm = 0;                       ///< of a gradient that is not in the file whole
  std::vector<double> projections = {};  ///< of it: projected()

  int64_t numel() const {
    int64_t numel = 1;
    for (const int64_t extent : shape) numel *= extent;
    return numel;
  }
};

/// AdamW with decay on matrices and tables only; see the script for the exact rule.
struct GoldenCurve {
  int64_t micro_batches;  ///< a step's
  double lr, beta1, beta2, eps, weight_decay, gradient_clipping;
  std::vector<double> loss;  ///< of each step, before its update
  std::vector<double> norm;  ///< of the unclipped gradient
};

struct Golden {
  int64_t layers, width, heads, vocabulary, length, batch;
  int64_t counted_tokens;  ///< of stream 0
  double loss;             ///< mean over the counted tokens of stream 0
  std::vector<GoldenTensor> tensors;
  std::optional<GoldenCurve> curve;
};

/// Tokens and targets are [batch, length]; a target of -1 does not count.
struct GoldenBatch {
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
  int64_t counted;
};

/// A loss of an encoder-decoder; the four columns of its micro-batch are as inputs have them.
struct GoldenPairs {
  std::string hub;  ///< a config.json
  double label_smoothing;
  int64_t samples, source_length, target_length;
  std::vector<int32_t> source, source_count, previous, next;
  int64_t counted;
  double loss;                        ///< mean over the counted targets
  std::vector<GoldenTensor> tensors;  ///< as Hugging Face stores them
};

/// Reads tests/golden/<name>.json. Throws as load_golden().
GoldenPairs load_golden_pairs(const std::string& name);

/// A training by LAMB in float64, made by tools/golden/lamb_golden.py, whose head has the formula.
struct GoldenLamb {
  std::string pairs;  ///< the file of its model, first weights and batch
  int64_t steps;
  OptimizerConfig optimizer;
  std::map<std::string, std::vector<float>> weights;  ///< after the steps, by stored tensor
};

/// Reads tests/golden/<name>.json. Throws as load_golden().
GoldenLamb load_golden_lamb(const std::string& name);

/// Logits of a text under the weights of a model folder, made by tools/golden/hub_golden.py.
struct GoldenLogits {
  std::string folder;
  std::vector<int32_t> tokens;
  std::vector<double> logits;  ///< [tokens][vocabulary]
};

/// Reads tests/golden/hub. Throws as load_golden().
GoldenLogits load_golden_logits();

/// One layer of disentangled attention between its input and a head of classes, made by
/// tools/golden/deberta_golden.py, whose head says what the tensors are.
struct GoldenLayer {
  int64_t width, heads, buckets, most_distance, length, classes;
  std::vector<int32_t> counts;  ///< tokens of each sample
  std::vector<int32_t> labels;  ///< [samples * length]; -1: padding
  int64_t counted;
  double loss;  ///< mean over the counted labels
  std::vector<GoldenTensor> tensors;
};

/// Reads tests/golden/<name>.json. Throws as load_golden().
GoldenLayer load_golden_layer(const std::string& name);

/// A micro-batch of texts with labels, as inputs have them.
struct GoldenLabelled {
  std::vector<int32_t> tokens, counts;
  std::vector<double> labels;  ///< -1 or NaN: not counted
  int64_t counted;
};

/// A classifier of texts, made by tools/golden/deberta_golden.py.
struct GoldenLabels {
  std::string hub;  ///< a config.json
  int64_t samples, length;
  GoldenLabelled data;
  double loss;                 ///< mean over the counted samples
  std::vector<double> logits;  ///< [samples, labels]
  std::vector<GoldenTensor> tensors;
  std::optional<GoldenCurve> curve;
  std::vector<GoldenLabelled> curve_data;  ///< each micro-batch of each step
};

/// Reads tests/golden/<name>.json. Throws as load_golden().
GoldenLabels load_golden_labels(const std::string& name);

/// A decoder with its loss and a greedy text, made by tools/golden/decoder_golden.py.
struct GoldenDecoder {
  std::string hub;  ///< a config.json
  int64_t samples, length;
  std::vector<int32_t> tokens, targets;  ///< [samples * length]
  std::vector<int32_t> first;            ///< as kFirstInput; empty: rows are not packed
  int64_t counted;
  double loss;                        ///< mean over the counted targets
  std::vector<GoldenTensor> tensors;  ///< with projections
  int64_t prompt;                     ///< tokens of row 0 that the text continues
  std::vector<int32_t> text;
  std::vector<double> logits;  ///< behind the prompt
  int64_t drawn;               ///< tokens of drawn_tokens() before `far`
  std::vector<double> far;     ///< logits
  GoldenCurve curve;           ///< of micro-batches by golden_row()
};

/// Reads tests/golden/decoder_<name>.json. Throws as load_golden().
GoldenDecoder load_golden_decoder(const std::string& name);

/// A micro-batch of a decoder's curve, one row.
struct GoldenRow {
  std::vector<int32_t> tokens, targets, first;  ///< as GoldenDecoder has them
  int64_t counted;
};
/// Returns the micro-batch of a step of the curve, both counted from 0.
GoldenRow golden_row(const GoldenDecoder& golden, int64_t vocabulary, int64_t step,
                     int64_t micro_batch);
/// Returns the text before GoldenDecoder::far.
std::vector<int32_t> drawn_tokens(const GoldenDecoder& golden, int64_t vocabulary);

/// Returns the sums of a tensor's gradient with signs by golden_hash(): projection j has a minus
/// where bit j of the element's hash is set. `index` counts tensors in the file.
std::vector<double> projected(std::span<const double> gradient, int64_t index, size_t count);

/// The buckets of distances 0 to 1023.
struct GoldenBuckets {
  int64_t buckets, most_distance;
  std::vector<int64_t> of_distance;
};

/// Reads tests/golden/deberta_buckets.json. Throws as load_golden().
std::vector<GoldenBuckets> load_golden_buckets();

/// Reads tests/golden/<name>.json. Throws Error(kInput) where it is missing or malformed.
Golden load_golden(const std::string& name);

uint32_t golden_hash(uint32_t stream, uint32_t element);

/// Initial values of the tensor that stands at `index` in its file, row-major, exact in float32.
std::vector<float> golden_weights(const GoldenTensor& tensor, int64_t index);
inline std::vector<float> golden_weights(const Golden& golden, int64_t index) {
  return golden_weights(golden.tensors.at(size_t(index)), index);
}

/// Stream 0 belongs to loss and gradients, streams from 1 on to the curve.
GoldenBatch golden_batch(const Golden& golden, uint32_t stream);

/// The stream of a micro-batch of a step of the curve, both counted from 0.
uint32_t golden_stream(const GoldenCurve& curve, int64_t step, int64_t micro_batch);

/// |got - expected| / max(|expected|, floor), in the Euclidean norm. Throws Error(kInternal) where
/// the sizes differ.
double relative_l2(std::span<const double> got, std::span<const double> expected, double floor);

}  // namespace zero::testing
