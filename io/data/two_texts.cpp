#include "io/data/two_texts.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/data/encoded_pairs.hpp"
#include "io/data/synthetic.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

int64_t source_length(const DataOptions& options) {
  const int64_t length = options.data.source_length;
  return length > 0 ? length : options.data.sequence_length;
}

/// Returns the id written under a key, else the known one. Refuses one that differs from
/// config.json, because a program that loads an exported model goes by that.
int32_t id_of(const char* key, int64_t written, int64_t known, int64_t of_model,
              const DataOptions& options) {
  const int64_t id = written < 0 ? known : written;
  if (id < 0) {
    const std::string_view word = std::string_view(key).substr(std::string_view("data.").size());
    refuse_settings({key, "data.tokenizer"}, "the tokenizer ", options.data.tokenizer,
                    " does not say which id this is, as it names no ",
                    word.substr(0, word.find("_id")), " token; write ", key, " = ",
                    of_model < 0 ? std::string("NUMBER") : std::to_string(of_model),
                    of_model < 0 ? ", that which the model was trained with"
                                 : ", which config.json of such a model has");
  }
  if (id >= options.vocab_size) {
    refuse_settings({key}, id, " is beyond the model's vocabulary, which is of ",
                    options.vocab_size, "; write one below");
  }
  if (of_model >= 0 && id != of_model) {
    refuse_settings({key, "data.tokenizer"}, "id ", id,
                    written < 0 ? ", as the tokenizer says" : "",
                    ", but config.json of such a model has ", of_model, "; write ", of_model,
                    ", or take a tokenizer that has it there");
  }
  return int32_t(id);
}

}  // namespace

SpecialIds known_ids(const DataOptions& options, const Tokenizer& tokenizer) {
  const ModelIds& of_model = options.ids;
  SpecialIds ids;
  if (options.data.tokenizer == "bytes") {
    ids.pad = int32_t(std::max<int64_t>(of_model.pad, 0));
    ids.eos = of_model.end < 0 ? 1 : int32_t(of_model.end);
    ids.decoder_start = int32_t(std::max<int64_t>(of_model.start, 0));
    return ids;
  }
  ids = tokenizer.special_ids();
  if (ids.decoder_start < 0) ids.decoder_start = int32_t(of_model.start);
  return ids;
}

int32_t pad_id_of(const DataOptions& options, const SpecialIds& known) {
  return id_of("data.pad_id", options.data.pad_id, known.pad, options.ids.pad, options);
}

void require_vocabulary(const DataOptions& options, const Tokenizer& tokenizer) {
  if (tokenizer.vocab_size() <= options.vocab_size) return;
  refuse_settings({"data.tokenizer", "model.vocab_size"}, "the tokenizer knows ",
                  tokenizer.vocab_size(), " tokens, the model ", options.vocab_size,
                  "; write model.vocab_size = ", tokenizer.vocab_size(), " or more");
}

PairForm form_of(const DataOptions& options, const SpecialIds& known) {
  const DataConfig& data = options.data;
  const ModelIds& of_model = options.ids;
  return {.source_length = source_length(options),
          .target_length = data.sequence_length,
          .pad = pad_id_of(options, known),
          .end = id_of("data.eos_id", data.eos_id, known.eos, of_model.end, options),
          .start = id_of("data.decoder_start_id", data.decoder_start_id, known.decoder_start,
                         of_model.start, options)};
}

std::vector<DataColumn> columns_of_two_texts(const DataOptions& options) {
  return PairForm{.source_length = source_length(options),
                  .target_length = options.data.sequence_length}
      .columns();
}

DataSets synthetic_pairs(const DataOptions& options) {
  const PairForm form =
      form_of(options, known_ids(options, *open_tokenizer(options.data.tokenizer)));
  const int64_t samples = synthetic_samples(options.data.max_train_samples);
  auto source = std::make_unique<SyntheticTokens>(
      options.seed, samples * (form.source_length + form.target_length), options.vocab_size);
  DataSets sets;
  sets.train = std::make_unique<SyntheticPairs>(*source, form, samples, options.seed);
  sets.train_source = std::move(source);
  sets.synthetic = true;
  return sets;
}

}  // namespace zero
