#include "zero/train/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "zero/base/philox.hpp"
#include "zero/kernels/product.hpp"
#include "zero/run/naive.hpp"
#include "zero/train/state_reader.hpp"

namespace zero::train {
namespace {

constexpr int64_t kMostParameters = 64'000'000;
constexpr int64_t kLongestContext = 128;
constexpr uint64_t kStream = 0x73616d706c65;  // no other numbers of a run are drawn with this key

/// The forward graph of one sample up to the final norm: the classifier computes a loss, not
/// logits.
struct Network {
  graph::Graph graph;
  graph::TensorId last = graph::kNone;   ///< [T, width]
  graph::TensorId table = graph::kNone;  ///< [padded vocabulary, width]
};

Network network_of(const model::Gpt2& model, int64_t length) {
  Network network{.graph = model::gpt2(model, {.micro = {.samples = 1, .length = length},
                                               .compute = Dtype::f32,
                                               .training = false})};
  const graph::Op& head = network.graph.ops.back();
  ZERO_REQUIRE(head.kind == graph::OpKind::classifier, "the last op is no classifier");
  network.last = head.inputs[0];
  network.table = head.inputs[1];
  network.graph.ops.pop_back();
  return network;
}

class Sampler {
 public:
  Sampler(const model::Gpt2& model, const SampleOptions& options, int64_t length)
      : network_(network_of(model, length)),
        executor_(network_.graph, options.threads),
        stream_(options.threads),
        options_(options),
        vocabulary_(model.vocabulary),
        width_(model.width),
        logits_(size_t(model.vocabulary)) {}

  std::span<float> parameter(int32_t index) {
    return executor_.values<float>(network_.graph.parameters[size_t(index)].tensor);
  }

  std::string sample(uint32_t number) {
    std::string text = "\n";
    for (uint32_t i = 0; i < options_.characters; ++i) {
      const PhiloxBlock bits = philox({{i, number, 0, 0}}, options_.seed ^ kStream);
      const double uniform = (bits.word[0] + 0.5) / 4294967296.0;
      text += char(draw(next_logits(text), options_.temperature, uniform));
    }
    return text.substr(1);
  }

 private:
  std::span<const float> next_logits(const std::string& text) {
    const std::span<int32_t> tokens = executor_.values<int32_t>(network_.graph.tokens);
    const size_t used = std::min(tokens.size(), text.size());
    std::fill(tokens.begin(), tokens.end(), 0);
    for (size_t i = 0; i < used; ++i) tokens[i] = uint8_t(text[text.size() - used + i]);
    executor_.run(0);
    const float* row = executor_.values<float>(network_.last).data() + int64_t(used - 1) * width_;
    kernels::product<float, float>(
        stream_, {.m = 1, .n = vocabulary_, .k = width_, .transpose_b = true}, row,
        executor_.values<float>(network_.table).data(), nullptr, logits_.data());
    stream_.wait();
    return logits_;
  }

  Network network_;
  run::NaiveExecutor executor_;
  Stream stream_;
  SampleOptions options_;
  int64_t vocabulary_, width_;
  std::vector<float> logits_;
};

/// Padding rows and gaps stay as they were made, so they are cleared first.
void join_weights(const StateView& view, const Peers& peers, Sampler* sampler) {
  const size_t parameters = view.plan->graphs[0].parameters.size();
  for (size_t p = 0; p < parameters; ++p) {
    std::span<float> place;
    if (sampler) place = sampler->parameter(int32_t(p));
    std::fill(place.begin(), place.end(), 0.0f);
    join_state(view, peers, StateKind::master, int32_t(p), [&](std::span<const float> piece) {
      std::copy(piece.begin(), piece.end(), place.begin());
      place = place.subspan(piece.size());
    });
  }
}

}  // namespace

std::string why_no_samples(const model::Gpt2& model) {
  if (model.vocabulary != 256) return "its tokens are no bytes";
  if (model::parameter_count(model) < kMostParameters) return "";
  return text("it has ", model::parameter_count(model), " parameters, at most ", kMostParameters,
              " are joined on one rank");
}

int64_t draw(std::span<const float> logits, double temperature, double uniform) {
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double sum = 0;
  for (float logit : logits) {
    weights.push_back(std::exp((logit - most) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return int64_t(i);
  }
  return int64_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::string sample_text(const StateView& view, const Peers& peers, const model::Gpt2& model,
                        const SampleOptions& options) {
  std::optional<Sampler> sampler;
  const int64_t length = std::min(view.plan->graphs[0].length, kLongestContext);
  if (view.rank == 0) sampler.emplace(model, options, length);
  join_weights(view, peers, sampler ? &*sampler : nullptr);
  std::string text;
  for (int64_t i = 0; sampler && i < options.samples; ++i) {
    text += (i ? "\n\n" : "") + sampler->sample(uint32_t(i));
  }
  return text;
}

}  // namespace zero::train
