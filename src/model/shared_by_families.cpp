#include "src/model/shared_by_families.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {

graph::TensorId layer_norm(graph::GraphBuilder& out, graph::TensorId x, const std::string& name,
                           float epsilon) {
  const int64_t width = out[x].shape[1];
  const auto vector = [&](const char* end, graph::Init init) {
    return out.parameter({.name = name + end, .shape = {width}, .decays = false, .init = init});
  };
  const graph::TensorId weight = vector(".weight", graph::Init::ones);
  return graph::layernorm(out, x, weight, vector(".bias", graph::Init::zeros), epsilon);
}

std::string long_sequence(const RunConfig& config) {
  const int64_t length = config.data.sequence_length;
  const int64_t positions = model_numbers(config).count("max_positions");
  if (length <= positions) return "";
  return text("a sequence of ", counted(length, "token"), " in a model of ",
              counted(positions, "position"), "; write sequence_length = ", positions, " or less");
}

void require_sample(int64_t length, int64_t positions) {
  if (length <= positions) return;
  refuse(Exit::kUsage, "samples of ", length, " tokens, but the model has ", positions,
         " positions: shorten data.sequence_length or raise model.max_positions");
}

void require_context(int64_t context, int64_t positions) {
  if (context <= positions) return;
  refuse(Exit::kUsage, "a context of ", context, " tokens, but the model has ", positions,
         " positions: ask for at most as many tokens");
}

int64_t source_length(const graph::MicroBatch& micro) {
  return micro.source_length > 0 ? micro.source_length : micro.length;
}

double flops_per_target(const StackCounts& counts, const graph::MicroBatch& micro) {
  const auto target = double(micro.length), source = double(source_length(micro));
  const auto attended = double(counts.attended), width = double(counts.width);
  const auto layers = double(counts.layers), decoder_layers = double(counts.decoder_layers);
  const double cross = 2 * width * attended;  // keys and values come from the source
  const double decoder = double(2 * counts.attention + counts.decoder_feed_forward) - cross;
  const double products =
      source * (layers * double(counts.attention + counts.feed_forward) + decoder_layers * cross) +
      target * (decoder_layers * decoder + double(counts.vocabulary) * width);
  const double scores =
      attended * (layers * source * source + decoder_layers * target * (source + target / 2));
  return (6 * products + 12 * scores) / target;
}

int64_t longest_text(const RunConfig& config) {
  return std::max(config.data.sequence_length, config.data.source_length);
}

std::vector<std::string> unpacked(std::string_view name, std::string_view end) {
  for (const std::string_view packed : {".qkv", ".kv"}) {
    const std::string whole = text(packed, end);
    if (!name.ends_with(whole)) continue;
    std::vector<std::string> names;
    const std::string_view front = name.substr(0, name.size() - whole.size());
    for (const char part : packed.substr(1)) names.push_back(text(front, '.', part, end));
    return names;
  }
  return {};
}

int64_t encoder_layers(const RunConfig& config) { return config.model.numbers.count("layers"); }

int64_t four_widths(const RunConfig& config) { return 4 * config.model.numbers.count("width"); }

}  // namespace zero::model
