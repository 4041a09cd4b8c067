#pragma once
/// Decoders of today: one block with switches. A row of decoder_rows.cpp says the switches of a
/// family, a Decoder the numbers of a model.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/decoder_rope.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// The places of norms around attention and the feed-forward layer.
enum class NormPlace : uint8_t { before, behind, both };
/// The norm of queries and keys: of each head before or behind the rotation, or of all heads
/// together.
enum class KeyNorm : uint8_t { none, before_turn, behind_turn, whole };
/// The layers with a window where config.json does not list kinds of layers.
enum class Sliding : uint8_t {
  none,      ///< no layer
  all,       ///< all layers, if there is a window
  late,      ///< layers from max_window_layers on, under use_sliding_window
  unturned,  ///< layers without rotation, under use_sliding_window
  periodic   ///< all but each last layer of a period
};
enum class FeedForward : uint8_t { silu, gelu, squared_relu };

/// A family of decoders: what its class in Transformers computes and reads.
struct DecoderRow {
  std::string_view type, hub_class, title;  ///< type: model_type, and value of model.family
  NormPlace norms = NormPlace::before;
  bool one_plus = false;  ///< norms multiply by 1 + weight
  KeyNorm key_norm = KeyNorm::none;
  std::string_view query_norm_name = "q_norm", key_norm_name = "k_norm";
  FeedForward feed_forward = FeedForward::silu;
  bool is_packed = false;         ///< files hold queries, keys and values, and gates, as one tensor
  bool scales_embedding = false;  ///< by the square root of the width
  bool drops_residuals = false;   ///< model.dropout also acts on both branches
  bool has_two_ropes = false;     ///< layers with a window turn by frequencies of their own
  bool turns_sliding = false;     ///< where windows exist, layers without one do not turn
  Sliding sliding = Sliding::none;
  int64_t period = 0;             ///< layers of a period
  bool lists_kinds = false;       ///< config.json may have layer_types
  bool has_period_key = false;    ///< config.json may have sliding_window_pattern
  bool skips_turns = false;       ///< config.json may have no_rope_layers
  bool has_partial_turn = false;  ///< config.json may have partial_rotary_factor and longrope
  bool grows_queries = false;     ///< rope_parameters may have llama_4_scaling_beta
  bool has_alpha = false;         ///< rope_parameters of a dynamic rope may have alpha
  bool has_multipliers = false;   ///< config.json may have four multipliers
  bool has_caps = false;          ///< config.json may have caps and query_pre_attn_scalar
  bool divides_width = false;     ///< heads must divide the width
  std::vector<std::string_view> flags = {};  ///< of biases in config.json, of kBiasKeys
  std::string_view activation_key = "hidden_act", activation = "silu";
  std::string_view residual_dropout = {};  ///< key of config.json, acting as drops_residuals says
  /// Meanings of absent keys.
  int64_t key_heads = 0;   ///< 0: as many as heads
  int64_t head_width = 0;  ///< 0: the width divided by heads
  double theta = 1e4, local_theta = 0, epsilon = 1e-6, window = 0, usual_dropout = 0;
  double query_scalar = 0, attention_cap = 0, logit_cap = 0;
  bool is_tied = false, has_bias = false;
  std::vector<double> begin = {}, end = {}, pad = {};  ///< ids
  std::vector<ModelSize> sizes = {};                   ///< smallest first
};
inline constexpr std::string_view kBiasKeys[] = {"attention_bias", "attention_out_bias",
                                                 "mlp_bias"};

/// Words of layer_types.
inline constexpr const char *kSlidingKind = "sliding_attention", *kFullKind = "full_attention";

/// Returns all rows, in the order of the list of families.
std::span<const DecoderRow> decoder_rows();
/// Returns the row of a family. REQUIRES: the family is a decoder.
const DecoderRow& decoder_row(const Family& family);
/// Returns the row of a model_type; nullptr if there is none.
const DecoderRow* find_decoder_row(std::string_view type);
/// Returns the families of all rows.
std::vector<const Family*> decoder_families();

/// A model of a row.
struct Decoder {
  const DecoderRow* row = nullptr;
  int64_t layers = 0, width = 0, heads = 0, key_heads = 0, head_width = 0, inner = 0;
  int64_t vocabulary = 0;  ///< real classes; tables are padded to a multiple of 64
  int64_t positions = 0;
  bool tied = false;
  float dropout = 0, epsilon = 0, deviation = 0;
  bool has_bias = false, has_output_bias = false, has_feed_bias = false;
  double divisor = 0;                      ///< of scores
  float attention_cap = 0, logit_cap = 0;  ///< 0: none
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  int64_t window = 0;
  /// Id whose look-ups move no row, as with padding_idx of Transformers' classes; -1: none.
  int64_t padding = -1;
  std::vector<bool> slides = {}, turns = {};  ///< by layer
  Rope rope = {};
  double local_theta = 0;   ///< of layers with a window, if the row has two ropes
  double query_growth = 0;  ///< 0: queries do not grow with positions

  int64_t packed_width() const { return (heads + 2 * key_heads) * head_width; }
  bool is_gated() const { return row->feed_forward != FeedForward::squared_relu; }
};
Decoder decoder_of(const Architecture& model);

/// Returns the constants of a row's family with their usual values.
std::map<std::string, double, std::less<>> decoder_constants(const DecoderRow& row);
/// Adds the lists of layers that the numbers lack.
void complete_decoder(Architecture& model);

/// Reads and writes config.json.
ModelNumbers decoder_from_hub(const HubConfig& config);
std::vector<HubEntry> decoder_to_hub(const Architecture& model, std::string_view dtype);

/// Maximum parameters of a model, so that no count of elements or bytes overflows.
inline constexpr double kMostParameters = 1e13;
/// Returns the parameters in double, which no number overflows.
double approximate_parameters(const Decoder& model);
/// Returns the error text for numbers that do not fit together; "" if they do.
std::string misfit_of(const Decoder& model);

Trunk decoder_trunk(graph::GraphBuilder& out, const Decoder& model, const ForwardOptions& options);
void decoder_head(graph::GraphBuilder& out, const Decoder& model, const Trunk& trunk,
                  const ForwardOptions& options);
graph::Graph decoder_decode(const Decoder& model, const graph::Chunk& chunk, Dtype compute);

}  // namespace zero::model
