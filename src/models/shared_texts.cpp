#include <atomic>
#include <cstring>
#include <string>

#include "zero/base/error.hpp"
#include "zero/launch/peers.hpp"
#include "zero/models/generator.hpp"
#include "zero/models/stored_model.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {
namespace {

/// Elements that go from rank to rank at a time.
constexpr size_t kPiece = 1 << 20;

/// From rank 0 to all others, each of which hands it on to the next one.
void hand_on(const launch::Peers& peers, std::span<float> values) {
  for (size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    if (peers.rank() > 0) peers.receive(piece, peers.rank() - 1);
    if (peers.rank() + 1 < peers.ranks()) peers.send(piece, peers.rank() + 1);
  }
}

/// What all ranks hold becomes every rank's own, parameter by parameter.
void join_weights(const state::StateView& view, const launch::Peers& peers,
                  TextGenerator& generator) {
  const graph::Graph& graph = generator.graph();
  std::vector<float> values;
  for (const graph::Parameter& parameter : graph.parameters)
    values.reserve(size_t(parameter.real_numel));
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    values.clear();
    state::join_state(view, peers, state::StateKind::master, int32_t(p),
                      [&](std::span<const float> piece) {
                        values.insert(values.end(), piece.begin(), piece.end());
                      });
    values.resize(size_t(graph.parameters[p].real_numel));
    hand_on(peers, values);
    generator.set_parameter(int32_t(p), 0, values);
  }
}

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
  join_weights(view, peers, generator);
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
