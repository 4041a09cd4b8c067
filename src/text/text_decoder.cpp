#include "zero/text/text_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "src/text/row_decoder.hpp"
#include "zero/base/error.hpp"

namespace zero::writing {
namespace {

/// Tokens of a text's beginning in one chunk, for which weights are read once.
constexpr int64_t kChunk = 64;

int64_t context_of(const model::Architecture& model, const Decoder::Options& options) {
  const int64_t positions = model::data_form(model).context();
  if (options.context >= 0) return options.context == 0 ? positions : options.context;
  refuse(Exit::kUsage, "a context of ", options.context, " tokens: at least 1, or 0 for all ",
         positions, " positions of the model");
}

RowDecoder::Options rows_of(const model::Architecture& model, const Decoder::Options& options) {
  const int64_t context = context_of(model, options);
  return {.compute = options.compute,
          .threads = options.threads,
          .decode = {.length = 1, .context = context},
          .prefill = {.length = std::min(kChunk, context), .context = context},
          .together = options.together,
          .lent = options.lent};
}

/// An order to ranks that follow, which contribute the least value.
enum class Call : int64_t { none, end, decode, prefill };

}  // namespace

struct Decoder::Parts {
  Parts(const model::Recipe& recipe, const Options& options)
      : context(context_of(recipe.model, options)),
        slides(recipe.model.family->slides),
        rows(recipe, rows_of(recipe.model, options)),
        largest(options.together ? options.together->largest : nullptr) {
    chunk.reserve(size_t(std::min(kChunk, context)));
  }

  void require_room(std::span<const int32_t> tokens) const {
    if (int64_t(tokens.size()) > context - position) {
      refuse(Exit::kUsage, tokens.size(), " tokens more than the ", position, " in a context of ",
             context, ": ask for fewer, or shorten the prompt");
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < rows.vocabulary()) continue;
      refuse(Exit::kUsage, "token ", token, " is none of the model's ", rows.vocabulary(),
             ": the text was encoded with another vocabulary");
    }
  }

  void run(std::span<const int32_t> tokens) {
    chunk.clear();
    for (const int32_t token : tokens) {
      chunk.push_back({.token = token, .place = {.text = 0, .position = int32_t(position)}});
      ++position;
    }
    const int32_t last = int32_t(tokens.size()) - 1;
    call(last == 0 ? Call::decode : Call::prefill);
    rows.run(last == 0 ? plan::kDecode : plan::kPrefill,
             {.rows = chunk, .logits = std::span(&last, 1)});
  }

  /// Sends an order to all ranks. Returns the largest order of all.
  Call call(Call own) const { return largest ? Call(largest(int64_t(own))) : own; }

  int64_t context;
  bool slides;
  RowDecoder rows;
  std::function<int64_t(int64_t)> largest;
  std::vector<TokenRow> chunk;
  int64_t position = 0;
};

plan::TierBytes Decoder::bytes(const model::Recipe& recipe, const Options& options) {
  return RowDecoder::bytes(recipe, rows_of(recipe.model, options));
}

Decoder::Decoder(const model::Recipe& recipe, const Options& options)
    : parts_(std::make_unique<Parts>(recipe, options)) {}
Decoder::~Decoder() = default;

const graph::Graph& Decoder::graph() const { return parts_->rows.graph(); }

void Decoder::set_parameter(int32_t index, int64_t first, std::span<const float> values) {
  parts_->rows.set_parameter(index, first, values);
}

std::span<const float> Decoder::feed(std::span<const int32_t> tokens) {
  ZERO_REQUIRE(!tokens.empty(), "no token to go on from");
  parts_->require_room(tokens);
  const size_t chunk = size_t(std::min(kChunk, parts_->context));
  while (!tokens.empty()) {
    const size_t count = std::min(chunk, tokens.size());
    parts_->run(tokens.first(count));
    tokens = tokens.subspan(count);
  }
  return parts_->rows.logits();
}

int64_t Decoder::position() const { return parts_->position; }
void Decoder::clear() { parts_->position = 0; }

Language Decoder::language(int64_t vocabulary) {
  return {.feed = [this](std::span<const int32_t> tokens) { return feed(tokens); },
          .clear = [this] { clear(); },
          .context = parts_->context,
          .vocabulary = vocabulary,
          .slides = parts_->slides};
}

void Decoder::follow() {
  for (;;) {
    const Call called = parts_->call(Call::none);
    if (called == Call::end || called == Call::none) return;
    parts_->rows.run(called == Call::decode ? plan::kDecode : plan::kPrefill, {});
  }
}

void Decoder::dismiss() { parts_->call(Call::end); }

}  // namespace zero::writing
