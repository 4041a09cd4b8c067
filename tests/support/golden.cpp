#include "tests/support/golden.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "zero/base/error.hpp"

namespace zero::testing {

namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : 63;
}

/// Little-endian numbers of a type from base64.
template <class T>
std::vector<T> unpack(const std::string& packed) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  std::vector<T> values;
  Word word = 0;
  uint64_t bits = 0;
  size_t bytes = 0;
  int bit_count = 0;
  for (char c : packed) {
    if (c == '=') break;
    bits = (bits << 6) | uint64_t(sextet(c));
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    word |= Word((bits >> bit_count) & 0xff) << (8 * bytes);
    if (++bytes < sizeof(Word)) continue;
    values.push_back(std::bit_cast<T>(word));
    word = 0;
    bytes = 0;
  }
  return values;
}

GoldenTensor read_tensor(const nlohmann::json& from) {
  GoldenTensor tensor{.name = from.at("name"),
                      .shape = from.at("shape"),
                      .offset = from.at("offset"),
                      .amplitude = from.at("amplitude"),
                      .gradient = {}};
  if (from.contains("projections")) {
    tensor.norm = from.at("norm");
    tensor.projections = unpack<double>(from.at("projections"));
    return tensor;
  }
  tensor.gradient = unpack<double>(from.at("gradient"));
  if (int64_t(tensor.gradient.size()) != tensor.numel()) {
    refuse(Exit::kInput, tensor.name, ": ", tensor.gradient.size(), " gradients for ",
           tensor.numel(), " elements");
  }
  return tensor;
}

GoldenCurve read_curve(const nlohmann::json& from) {
  const nlohmann::json& rule = from.at("optimizer");
  return {.micro_batches = from.at("micro_batches"),
          .lr = rule.at("lr"),
          .beta1 = rule.at("beta1"),
          .beta2 = rule.at("beta2"),
          .eps = rule.at("eps"),
          .weight_decay = rule.at("weight_decay"),
          .gradient_clipping = rule.at("gradient_clipping"),
          .loss = from.at("loss"),
          .norm = from.at("norm")};
}

Golden read_golden(const nlohmann::json& from) {
  const nlohmann::json& config = from.at("config");
  Golden golden{.layers = config.at("layers"),
                .width = config.at("width"),
                .heads = config.at("heads"),
                .vocabulary = config.at("vocabulary"),
                .length = config.at("length"),
                .batch = config.at("batch"),
                .counted_tokens = from.at("counted_tokens"),
                .loss = from.at("loss"),
                .tensors = {},
                .curve = {}};
  for (const auto& tensor : from.at("tensors")) golden.tensors.push_back(read_tensor(tensor));
  if (from.contains("curve")) golden.curve = read_curve(from.at("curve"));
  return golden;
}

/// The rows of all samples, one behind the other.
std::vector<int32_t> joined(const nlohmann::json& rows) {
  std::vector<int32_t> all;
  for (const auto& row : rows) {
    const std::vector<int32_t> ids = row;
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

GoldenPairs read_golden_pairs(const nlohmann::json& from) {
  const nlohmann::json& data = from.at("data");
  GoldenPairs golden{.hub = from.at("hub").dump(),
                     .label_smoothing = from.at("label_smoothing"),
                     .samples = int64_t(data.at("source").size()),
                     .source_length = int64_t(data.at("source").at(0).size()),
                     .target_length = int64_t(data.at("next").at(0).size()),
                     .source = joined(data.at("source")),
                     .source_count = data.at("source_count"),
                     .previous = joined(data.at("previous")),
                     .next = joined(data.at("next")),
                     .counted = 0,
                     .loss = from.at("loss"),
                     .tensors = {}};
  golden.counted = std::ranges::count_if(golden.next, [](int32_t label) { return label >= 0; });
  for (const auto& tensor : from.at("tensors")) golden.tensors.push_back(read_tensor(tensor));
  return golden;
}

GoldenLamb read_golden_lamb(const nlohmann::json& from) {
  const nlohmann::json& rule = from.at("optimizer");
  GoldenLamb golden{.pairs = from.at("pairs"),
                    .steps = from.at("steps"),
                    .optimizer = {.type = OptimizerType::LAMB,
                                  .lr = rule.at("lr"),
                                  .betas = {rule.at("beta1"), rule.at("beta2")},
                                  .eps = rule.at("eps"),
                                  .weight_decay = rule.at("weight_decay"),
                                  .max_coeff = rule.at("max_coeff"),
                                  .min_coeff = rule.at("min_coeff")},
                    .weights = {}};
  for (const auto& [name, packed] : from.at("weights").items())
    golden.weights[name] = unpack<float>(packed);
  return golden;
}

GoldenLayer read_golden_layer(const nlohmann::json& from) {
  const nlohmann::json& config = from.at("config");
  GoldenLayer golden{.width = config.at("width"),
                     .heads = config.at("heads"),
                     .buckets = std::max<int64_t>(config.at("buckets").get<int64_t>(), 0),
                     .most_distance = config.at("most_distance"),
                     .length = config.at("length"),
                     .classes = config.at("classes"),
                     .counts = config.at("counts"),
                     .labels = from.at("labels"),
                     .counted = 0,
                     .loss = from.at("loss"),
                     .tensors = {}};
  golden.counted = std::ranges::count_if(golden.labels, [](int32_t label) { return label >= 0; });
  for (const auto& tensor : from.at("tensors")) golden.tensors.push_back(read_tensor(tensor));
  return golden;
}

GoldenLabelled read_labelled(const nlohmann::json& from) {
  GoldenLabelled data{.tokens = joined(from.at("tokens")),
                      .counts = from.at("token_count"),
                      .labels = {},
                      .counted = 0};
  for (const auto& label : from.at("labels")) {
    data.labels.push_back(label.is_null() ? std::nan("") : label.get<double>());
    data.counted += data.labels.back() >= 0;
  }
  return data;
}

GoldenLabels read_golden_labels(const nlohmann::json& from) {
  GoldenLabels golden{.hub = from.at("hub").dump(),
                      .samples = int64_t(from.at("data").at("tokens").size()),
                      .length = int64_t(from.at("data").at("tokens").at(0).size()),
                      .data = read_labelled(from.at("data")),
                      .loss = from.at("loss"),
                      .logits = {},
                      .tensors = {},
                      .curve = {},
                      .curve_data = {}};
  for (const std::vector<double> row : from.at("logits"))
    golden.logits.insert(golden.logits.end(), row.begin(), row.end());
  for (const auto& tensor : from.at("tensors")) golden.tensors.push_back(read_tensor(tensor));
  if (!from.contains("curve")) return golden;
  golden.curve = read_curve(from.at("curve"));
  for (const auto& data : from.at("curve").at("data"))
    golden.curve_data.push_back(read_labelled(data));
  return golden;
}

GoldenDecoder read_golden_decoder(const nlohmann::json& from) {
  const nlohmann::json &data = from.at("data"), &greedy = from.at("greedy");
  GoldenDecoder golden{.hub = from.at("hub").dump(),
                       .samples = int64_t(data.at("tokens").size()),
                       .length = int64_t(data.at("tokens").at(0).size()),
                       .tokens = joined(data.at("tokens")),
                       .targets = joined(data.at("targets")),
                       .first = {},
                       .counted = 0,
                       .loss = from.at("loss"),
                       .tensors = {},
                       .prompt = greedy.at("prompt"),
                       .text = greedy.at("tokens"),
                       .logits = unpack<double>(greedy.at("logits")),
                       .drawn = greedy.at("drawn"),
                       .far = unpack<double>(greedy.at("far")),
                       .curve = read_curve(from.at("curve"))};
  if (data.contains("first")) golden.first = joined(data.at("first"));
  golden.counted = std::ranges::count_if(golden.targets, [](int32_t label) { return label >= 0; });
  for (const auto& tensor : from.at("tensors")) golden.tensors.push_back(read_tensor(tensor));
  return golden;
}

/// What `read` makes of tests/golden/<name>.
template <class Read>
auto load(const std::string& name, const Read& read) {
  const std::string path = text(ZERO_GOLDEN_FOLDER, "/", name);
  std::ifstream file(path);
  if (!file) refuse(Exit::kInput, path, ": cannot be opened; tools/golden makes it");
  try {
    return read(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception& error) {
    refuse(Exit::kInput, path, ": ", error.what());
  }
}

}  // namespace

Golden load_golden(const std::string& name) { return load(name + ".json", read_golden); }

GoldenPairs load_golden_pairs(const std::string& name) {
  return load(name + ".json", read_golden_pairs);
}

GoldenLamb load_golden_lamb(const std::string& name) {
  return load(name + ".json", read_golden_lamb);
}

GoldenLayer load_golden_layer(const std::string& name) {
  return load(name + ".json", read_golden_layer);
}

GoldenLabels load_golden_labels(const std::string& name) {
  return load(name + ".json", read_golden_labels);
}

GoldenDecoder load_golden_decoder(const std::string& name) {
  return load("decoder_" + name + ".json", read_golden_decoder);
}

std::vector<double> projected(std::span<const double> gradient, int64_t index, size_t count) {
  std::vector<double> sums(count);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const uint32_t bits = golden_hash(uint32_t(5000 + index), uint32_t(i));
    for (size_t j = 0; j < count; ++j) sums[j] += (bits >> j & 1) != 0 ? -gradient[i] : gradient[i];
  }
  return sums;
}

std::vector<GoldenBuckets> load_golden_buckets() {
  return load("deberta_buckets.json", [](const nlohmann::json& from) {
    std::vector<GoldenBuckets> tables;
    for (const auto& table : from.at("tables"))
      tables.push_back({.buckets = table.at("buckets"),
                        .most_distance = table.at("most_distance"),
                        .of_distance = table.at("of_distance")});
    return tables;
  });
}

GoldenLogits load_golden_logits() {
  return load("hub/logits.json", [](const nlohmann::json& from) {
    return GoldenLogits{.folder = text(ZERO_GOLDEN_FOLDER, "/hub"),
                        .tokens = from.at("tokens"),
                        .logits = unpack<double>(from.at("logits"))};
  });
}

uint32_t golden_hash(uint32_t stream, uint32_t element) {
  uint32_t x = stream * 0x9E3779B1u + element * 0x85EBCA77u + 0x165667B1u;
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

std::vector<float> golden_weights(const GoldenTensor& tensor, int64_t index) {
  std::vector<float> weights(size_t(tensor.numel()));
  for (size_t i = 0; i < weights.size(); ++i) {
    const double share = golden_hash(uint32_t(index), uint32_t(i)) / 4294967296.0;
    weights[i] = float(tensor.offset + tensor.amplitude * (share - 0.5));
  }
  return weights;
}

GoldenBatch golden_batch(const Golden& golden, uint32_t stream) {
  const auto token = [&](int64_t sample, int64_t position) {
    const int64_t element = sample * (golden.length + 1) + position;
    const int64_t u = golden_hash(1000 + stream, uint32_t(element)) % golden.vocabulary;
    return int32_t(u * u / golden.vocabulary);
  };
  GoldenBatch batch{};
  for (int64_t b = 0; b < golden.batch; ++b) {
    for (int64_t t = 0; t < golden.length; ++t) {
      const bool ignored = golden_hash(3000 + stream, uint32_t(b * golden.length + t)) % 5 == 0;
      batch.tokens.push_back(token(b, t));
      batch.targets.push_back(ignored ? -1 : token(b, t + 1));
      batch.counted += !ignored;
    }
  }
  return batch;
}

namespace {

GoldenBatch text_of(int64_t vocabulary, int64_t length, uint32_t stream) {
  Golden shape{};
  shape.vocabulary = vocabulary;
  shape.length = length;
  shape.batch = 1;
  return golden_batch(shape, stream);
}

}  // namespace

GoldenRow golden_row(const GoldenDecoder& golden, int64_t vocabulary, int64_t step,
                     int64_t micro_batch) {
  const uint32_t stream = golden_stream(golden.curve, step, micro_batch);
  const GoldenBatch batch = text_of(vocabulary, golden.length, stream);
  GoldenRow row{batch.tokens, batch.targets, {}, 0};
  if (!golden.first.empty()) {
    const auto begin = golden.first.begin() + int64_t(stream % 2) * golden.length;
    row.first.assign(begin, begin + golden.length);
    for (size_t t = 0; t < row.first.size(); ++t) {
      const bool ends = t + 1 == row.first.size() || row.first[t + 1] != row.first[t];
      if (ends) row.targets[t] = -1;
    }
  }
  row.counted = std::ranges::count_if(row.targets, [](int32_t label) { return label >= 0; });
  return row;
}

std::vector<int32_t> drawn_tokens(const GoldenDecoder& golden, int64_t vocabulary) {
  return text_of(vocabulary, golden.drawn, 0).tokens;
}

uint32_t golden_stream(const GoldenCurve& curve, int64_t step, int64_t micro_batch) {
  return uint32_t(1 + curve.micro_batches * step + micro_batch);
}

double relative_l2(std::span<const double> got, std::span<const double> expected, double floor) {
  ZERO_REQUIRE(got.size() == expected.size(), got.size(), " values, expected ", expected.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), floor);
}

}  // namespace zero::testing
