#include <atomic>
#include <cstring>
#include <string>

#include "src/models/joined_weights.hpp"
#include "zero/base/error.hpp"
#include "zero/models/generator.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

/// Lengths and tokens, one text behind the other.
std::string to_bytes(std::span<const TokenList> texts) {
  std::string bytes;
  const auto add = [&](const int32_t* first, size_t count) {
    bytes.append(reinterpret_cast<const char*>(first), count * sizeof(int32_t));
  };
  for (const TokenList& text : texts) {
    const int32_t length = int32_t(text.size());
    add(&length, 1);
    add(text.data(), text.size());
  }
  return bytes;
}

/// Puts what rank `first` of `step` has written in its places.
void from_bytes(std::string_view bytes, size_t first, size_t step, std::span<TokenList> texts) {
  const auto take = [&](int32_t* to, size_t count) {
    ZERO_REQUIRE(bytes.size() >= count * sizeof(int32_t), "texts of rank ", first, " are cut off");
    std::memcpy(to, bytes.data(), count * sizeof(int32_t));
    bytes.remove_prefix(count * sizeof(int32_t));
  };
  for (size_t i = first; i < texts.size(); i += step) {
    int32_t length = 0;
    take(&length, 1);
    texts[i].resize(size_t(length));
    take(texts[i].data(), texts[i].size());
  }
}

}  // namespace

std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Architecture& model,
                                      const GenerationOptions& options,
                                      std::span<const TokenList> sources) {
  std::vector<TokenList> own;
  std::vector<int64_t> numbers;
  const size_t rank = size_t(peers.rank()), ranks = size_t(peers.ranks());
  for (size_t i = rank; i < sources.size(); i += ranks) {
    own.push_back(sources[i]);
    numbers.push_back(int64_t(i));
  }
  TextGenerator generator(model, options);
  join_weights(view, peers, peers.ranks(),
               [&](int32_t index, int64_t first, std::span<const float> values) {
                 generator.set_parameter(index, first, values);
               });
  std::atomic<int64_t> steps{0};
  launch::SignOfLife life(peers, {.name = "its texts", .slow = "a text takes long", .moved = [&] {
                                    return steps.load();
                                  }});
  const auto texts = generator.write(own, numbers, [&](int64_t) { ++steps; });
  life.finish();
  std::vector<TokenList> all(sources.size());
  const std::vector<std::string> shared = peers.share(to_bytes(texts));
  for (size_t from = 0; from < ranks; ++from) from_bytes(shared[from], from, ranks, all);
  return all;
}

void load_weights(const StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set) {
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    read_pieces(
        model, graph[parameter.tensor].name, 0, parameter.real_numel,
        [&](int64_t first, std::span<const float> piece) { set(int32_t(p), first, piece); });
  }
}

}  // namespace zero::models
