#pragma once
/// A tiny GPT-2 in a model folder, and folders that go away.

#include <fstream>
#include <string>
#include <vector>

#include "src/model/gpt2.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::testing_support {

/// 10 tokens are padded to more rows in memory, never in a file.
inline constexpr model::Gpt2 kSmallModel{
    .layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .positions = 4};

/// Element i of the whole model, in its order of parameters; exact in 16 bits.
inline float small_weight(int64_t i) { return float(i % 251) / 64 - 1; }

inline int64_t small_model_numel() {
  int64_t numel = 0;
  const graph::Graph graph = stored::stored_graph({kSmallModel});
  for (const graph::Parameter& parameter : graph.parameters) numel += parameter.real_numel;
  return numel;
}

inline stored::ModelWriter::Options small_options(const std::string& folder, Dtype compute) {
  return {
      .folder = folder,
      .description = {
          .model = kSmallModel, .compute = compute, .tokenizer = "bytes", .sequence_length = 4}};
}

/// Writes it in pieces of an odd length.
inline void write_small_model(const stored::ModelWriter::Options& options) {
  stored::ModelWriter writer(options);
  const int64_t numel = small_model_numel();
  std::vector<float> piece;
  for (int64_t i = 0; i < numel; ++i) {
    piece.push_back(small_weight(i));
    if (piece.size() < 101 && i + 1 < numel) continue;
    writer.add(piece);
    piece.clear();
  }
  writer.publish();
}

/// Every parameter of a stored model, joined in their order.
inline std::vector<float> weights_of(const stored::StoredModel& model) {
  std::vector<float> all;
  const graph::Graph graph = stored::stored_graph(model.description().recipe());
  for (const graph::Parameter& parameter : graph.parameters) {
    stored::read_pieces(model, graph[parameter.tensor].name, 0, parameter.real_numel,
                        [&](int64_t, std::span<const float> piece) {
                          all.insert(all.end(), piece.begin(), piece.end());
                        });
  }
  return all;
}

inline std::vector<float> small_weights() {
  std::vector<float> all(static_cast<size_t>(small_model_numel()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = small_weight(int64_t(i));
  return all;
}

/// Changes one byte of a file.
inline void damage(const std::string& path, int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const char byte = char(file.get() ^ 4);
  file.seekp(offset);
  file.put(byte);
}

}  // namespace zero::testing_support

namespace zero::stored {

using testing_support::small_model_numel;
using testing_support::small_options;
using testing_support::small_weights;
using testing_support::TempFolder;
using testing_support::weights_of;
using testing_support::write_small_model;

}  // namespace zero::stored
