#include <array>
#include <charconv>

#include "src/model/decoder.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

std::string flag_text(bool flag) { return flag ? "true" : "false"; }

std::string ids_text(const std::vector<double>& ids) {
  if (ids.empty()) return "null";
  std::string list;
  for (const double id : ids) list += text(list.empty() ? "" : ", ", int64_t(id));
  return ids.size() == 1 ? list : "[" + list + "]";
}

std::string whole_or_null(double number) {
  return number > 0 ? text(int64_t(number)) : std::string("null");
}

/// Adds the entries that only some rows have.
void add_switches(const Decoder& model, const ModelNumbers& numbers,
                  std::vector<HubEntry>& entries) {
  const DecoderRow& row = *model.row;
  for (const std::string_view key : row.flags)
    entries.push_back({std::string(key), flag_text(numbers.rate(key) != 0)});
  if (row.has_multipliers) {
    for (const char* key :
         {"attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"})
      entries.push_back({key, json_number(numbers.rate(key))});
  }
  if (row.has_caps) {
    const auto cap = [](double number) {
      return number > 0 ? json_number(number) : std::string("null");
    };
    const double scalar = numbers.rate("query_scalar");
    const bool is_whole = scalar == double(int64_t(scalar));
    entries.push_back(
        {"query_pre_attn_scalar", is_whole ? text(int64_t(scalar)) : json_number(scalar)});
    entries.push_back({"attn_logit_softcapping", cap(model.attention_cap)});
    entries.push_back({"final_logit_softcapping", cap(model.logit_cap)});
  }
  if (!row.residual_dropout.empty()) {
    entries.push_back({std::string(row.residual_dropout), json_number(model.dropout)});
  }
  if (!row.skips_turns) return;
  std::string list;
  for (const bool turns : model.turns) list += text(list.empty() ? "" : ", ", turns ? 1 : 0);
  entries.push_back({"no_rope_layers", "[" + list + "]"});
  entries.push_back({"no_rope_layer_interval", text(int64_t(numbers.rate("turn_interval")))});
}

void add_windows(const Decoder& model, const ModelNumbers& numbers,
                 std::vector<HubEntry>& entries) {
  const DecoderRow& row = *model.row;
  if (row.sliding == Sliding::none) return;
  entries.push_back({"sliding_window", whole_or_null(numbers.rate("window"))});
  if (row.sliding == Sliding::late || row.sliding == Sliding::unturned)
    entries.push_back({"use_sliding_window", flag_text(numbers.rate("use_window") != 0)});
  if (row.sliding == Sliding::late || row.sliding == Sliding::unturned)
    entries.push_back({"max_window_layers", text(int64_t(numbers.rate("window_layers")))});
  if (row.has_period_key)
    entries.push_back({"sliding_window_pattern", text(int64_t(numbers.rate("window_period")))});
  if (!row.lists_kinds) return;
  std::string list;
  for (const bool slides : model.slides)
    list += text(list.empty() ? "" : ", ", '"', slides ? kSlidingKind : kFullKind, '"');
  entries.push_back({"layer_types", "[" + list + "]"});
}

}  // namespace

std::vector<HubEntry> decoder_to_hub(const Architecture& architecture, std::string_view dtype) {
  const Decoder model = decoder_of(architecture);
  const DecoderRow& row = *model.row;
  const ModelNumbers& numbers = architecture.numbers;
  const std::string type = text('"', dtype, '"');
  std::vector<HubEntry> entries = {
      {"architectures", text("[\"", row.hub_class, "\"]"), true},
      {"model_type", text('"', row.type, '"'), true},
      {"vocab_size", text(model.vocabulary)},
      {"hidden_size", text(model.width)},
      {"intermediate_size", text(model.inner)},
      {"num_hidden_layers", text(model.layers)},
      {"num_attention_heads", text(model.heads)},
      {"num_key_value_heads", text(model.key_heads)},
      {"head_dim", text(model.head_width)},
      {std::string(row.activation_key), text('"', row.activation, '"')},
      {"max_position_embeddings", text(model.positions)},
      {"initializer_range", json_number(model.deviation)},
      {"rms_norm_eps", json_number(model.epsilon)},
      {"tie_word_embeddings", flag_text(model.tied)},
      {"attention_dropout", json_number(model.dropout)},
      {"bos_token_id", ids_text(numbers.list("begin"))},
      {"eos_token_id", ids_text(numbers.list("end"))},
      {"pad_token_id", ids_text(numbers.list("pad"))}};
  const ReadRope read{model.rope, model.local_theta, model.query_growth};
  const RopeForm form{.theta = row.theta,
                      .local_theta = row.local_theta,
                      .is_partial = row.has_partial_turn,
                      .grows_queries = row.grows_queries,
                      .has_alpha = row.has_alpha,
                      .positions = model.positions,
                      .head_width = model.head_width};
  for (HubEntry& entry : rope_entries(read, form)) {
    entry.always = true;
    entries.push_back(std::move(entry));
  }
  add_switches(model, numbers, entries);
  add_windows(model, numbers, entries);
  entries.push_back({"torch_dtype", type, true});
  entries.push_back({"dtype", type, true});
  return entries;
}

std::string json_number(double number) {
  std::array<char, 40> room;
  const auto [end, error] = std::to_chars(room.begin(), room.end(), float(number));
  ZERO_REQUIRE(error == std::errc(), "a number without digits");
  std::string digits(room.begin(), end);
  if (digits.find_first_not_of("-0123456789") == digits.npos) digits += ".0";
  return digits;
}

}  // namespace zero::model
