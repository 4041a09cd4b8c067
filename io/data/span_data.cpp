#include <algorithm>
#include <memory>

#include "io/data/field_file.hpp"
#include "io/data/id_file.hpp"
#include "io/data/span_corruption.hpp"
#include "io/data/token_source.hpp"
#include "io/data/two_texts.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

/// An opener of texts with spans that the model must restore.
class SpanOpener {
 public:
  explicit SpanOpener(const DataOptions& options)
      : options_(options),
        known_(known_ids(options, *open_tokenizer(options.data.tokenizer))),
        form_(form_of(options, known_)),
        noise_{.density = options.data.noise_density,
               .mean_span = options.data.mean_noise_span_length,
               .seed = options.seed},
        window_(longest_window(form_, noise_)) {
    if (window_ >= 2) return;
    refuse_settings({"data.source_length", "data.sequence_length", "data.noise_density"},
                    "no text of 2 tokens or more fits ", form_.words(),
                    " with its sentinels and ends; write longer ones");
  }

  DataSets open() {
    auto source = opened(options_.data.train);
    require_ids(source->vocab_size());
    noise_.first_sentinel = first_sentinel(source->vocab_size());
    const int64_t samples = source->tokens() / window_;
    if (samples < 1) refuse_short(options_.data.train, source->tokens());
    const int64_t trained = trained_samples(options_, samples) * window_;
    DataSets sets;
    sets.train = spans_of(*source, {.tokens = trained,
                                    .max_samples = options_.data.max_train_samples,
                                    .shuffle_seed = options_.seed});
    if (!options_.data.validation.empty()) {
      auto held_out = opened(options_.data.validation);
      if (held_out->tokens() < 2) refuse_short(options_.data.validation, held_out->tokens());
      sets.validation = validation_of(*held_out, 0);
      sets.validation_source = std::move(held_out);
    } else if (options_.data.validation_fraction > 0) {
      sets.validation = validation_of(*source, trained);
    }
    sets.train_source = std::move(source);
    return sets;
  }

 private:
  std::unique_ptr<TokenSource> opened(const std::string& path) const {
    if (names_fields(path)) {
      refuse_settings({"data.noise_density", "data.train", "data.validation"}, path,
                      " is a file of pairs by its name, and spans are taken out of a text; write ",
                      "data.noise_density = 0 to learn the pairs, or the path of a text");
    }
    return open_tokens(
        {.path = path, .tokenizer = options_.data.tokenizer, .vocab_size = options_.vocab_size});
  }
  std::unique_ptr<Dataset> spans_of(const TokenSource& source,
                                    CorruptedSpans::Options options) const {
    options.form = form_;
    options.noise = noise_;
    return std::make_unique<CorruptedSpans>(source, options);
  }
  std::unique_ptr<Dataset> validation_of(const TokenSource& source, int64_t first) const {
    return spans_of(source, {.first_token = first,
                             .tokens = source.tokens() - first,
                             .max_samples = options_.data.max_validation_samples,
                             .keep_tail = true});
  }
  /// Refuses a file of tokens without the special ids, because it does not say them.
  void require_ids(int64_t ids_of_texts) const {
    const DataConfig& data = options_.data;
    const bool are_written = std::min({data.pad_id, data.eos_id, data.decoder_start_id}) >= 0;
    if (ids_of_texts <= 256 || options_.data.tokenizer != "bytes" || are_written) return;
    refuse_settings({"data.eos_id", "data.pad_id", "data.decoder_start_id", "data.train"},
                    options_.data.train, " does not say which ids these are; write all three");
  }
  /// Returns the first sentinel's id. A sample has a sentinel a span and one more, with ids that no
  /// text has.
  int32_t first_sentinel(int64_t ids_of_texts) const {
    const int64_t wanted = span_counts(window_, noise_).spans + 1;
    const int64_t written = options_.data.sentinel_id;
    const bool is_known = written < 0 && known_.sentinels > 0;
    const int64_t last = options_.vocab_size - 1;
    const int64_t first = is_known ? known_.first_sentinel : written < 0 ? last : written;
    const int64_t least = is_known ? first - known_.sentinels + 1 : written < 0 ? ids_of_texts : 0;
    for (const int64_t id : {form_.pad, form_.end, form_.start}) {
      if (id > first || id <= first - wanted) continue;
      refuse_settings({"data.sentinel_id"}, "a sample has ", wanted,
                      " sentinels, counted down from ", first, ", of which ", id,
                      " means something else; write a higher one");
    }
    if (first < options_.vocab_size && first - wanted + 1 >= least) return int32_t(first);
    refuse_settings({"data.sentinel_id", "model.vocab_size"}, "a sample has ", wanted,
                    " sentinels, counted down from ", first, ", in a vocabulary of ",
                    options_.vocab_size, ", of which texts have the first ", ids_of_texts,
                    "; write model.vocab_size = ", ids_of_texts + wanted,
                    " or more, or a sentinel_id");
  }
  [[noreturn]] void refuse_short(const std::string& path, int64_t tokens) const {
    refuse(Exit::kInput, path, ": ", counted(tokens, "token"), tokens == 1 ? " holds" : " hold",
           " no sample, which takes ", window_, "; give more data or shorter lengths");
  }

  const DataOptions& options_;
  SpecialIds known_;
  PairForm form_;
  SpanNoise noise_;
  int64_t window_;
};

DataSets open(const DataOptions& options) {
  return options.data.train == "synthetic" ? synthetic_pairs(options) : SpanOpener(options).open();
}

std::vector<std::string> files(const DataOptions& options) { return token_data().files(options); }

}  // namespace

const DataKind& span_data() {
  static const DataKind kSpans{
      .name = "spans",
      .columns = columns_of_two_texts,
      .files = files,
      .open = open,
      .keys = {"data.source_length", "data.pad_id", "data.eos_id", "data.decoder_start_id",
               "data.noise_density", "data.mean_noise_span_length", "data.sentinel_id"}};
  return kSpans;
}

}  // namespace zero
