#include <algorithm>
#include <utility>

#include "io/data/encoded_pairs.hpp"
#include "io/data/id_file.hpp"
#include "io/data/span_corruption.hpp"
#include "io/data/synthetic.hpp"
#include "io/data/token_source.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {
namespace {

/// Returns the special ids in the tokenizer's files, with the model's decoder start as a fallback.
/// For bytes, returns the model's ids, else the first two: control characters that texts seldom
/// hold.
SpecialIds known_ids(const DataOptions& options, const Tokenizer& tokenizer) {
  const PairOptions& pairs = options.pairs;
  SpecialIds ids;
  if (options.tokenizer == "bytes") {
    ids.pad = int32_t(std::max<int64_t>(pairs.model_pad, 0));
    ids.eos = pairs.model_end < 0 ? 1 : int32_t(pairs.model_end);
    ids.decoder_start = int32_t(std::max<int64_t>(pairs.model_start, 0));
    return ids;
  }
  ids = tokenizer.special_ids();
  if (ids.decoder_start < 0) ids.decoder_start = int32_t(pairs.model_start);
  return ids;
}

bool corrupts(const DataOptions& options) { return options.pairs.noise_density > 0; }

int64_t source_length(const DataOptions& options) {
  const int64_t length = options.pairs.source_length;
  return length > 0 ? length : options.sequence_length;
}

/// Returns the id written under a key, else the known one. Refuses one that differs from
/// config.json, because a program that loads an exported model goes by that.
int32_t id_of(const char* key, int64_t written, int64_t known, int64_t of_model,
              const DataOptions& options) {
  const int64_t id = written < 0 ? known : written;
  if (id < 0) {
    const std::string_view word = std::string_view(key).substr(std::string_view("data.").size());
    refuse_settings({key, "data.tokenizer"}, "the tokenizer ", options.tokenizer,
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

PairForm form_of(const DataOptions& options, const SpecialIds& known) {
  const PairOptions& pairs = options.pairs;
  return {.source_length = source_length(options),
          .target_length = options.sequence_length,
          .pad = id_of("data.pad_id", pairs.pad_id, known.pad, pairs.model_pad, options),
          .end = id_of("data.eos_id", pairs.end_id, known.eos, pairs.model_end, options),
          .start = id_of("data.decoder_start_id", pairs.start_id, known.decoder_start,
                         pairs.model_start, options)};
}

std::vector<DataColumn> columns(const DataOptions& options) {
  return PairForm{.source_length = source_length(options), .target_length = options.sequence_length}
      .columns();
}

std::vector<std::string> files(const DataOptions& options) {
  if (corrupts(options)) return token_data().files(options);
  std::vector<std::string> paths = token_data().files(options);
  for (const std::string& path : {options.train, options.validation}) {
    if (path.ends_with(".source")) paths.push_back(target_path(path));
  }
  return paths;
}

DataSets open_synthetic(const DataOptions& options) {
  const PairForm form = form_of(options, known_ids(options, *open_tokenizer(options.tokenizer)));
  const int64_t samples = synthetic_samples(options.max_train_samples);
  auto source = std::make_unique<SyntheticTokens>(
      options.seed, samples * (form.source_length + form.target_length), options.vocab_size);
  DataSets sets;
  sets.train = std::make_unique<SyntheticPairs>(*source, form, samples, options.seed);
  sets.train_source = std::move(source);
  sets.synthetic = true;
  return sets;
}

/// An opener of pairs in a file, and in one more file for validation.
class PairOpener {
 public:
  explicit PairOpener(const DataOptions& options)
      : options_(options),
        tokenizer_(open_tokenizer(options.tokenizer)),
        form_(form_of(options, known_ids(options, *tokenizer_))) {
    if (tokenizer_->vocab_size() <= options.vocab_size) return;
    refuse_settings({"data.tokenizer", "model.vocab_size"}, "the tokenizer knows ",
                    tokenizer_->vocab_size(), " tokens, the model ", options.vocab_size,
                    "; write model.vocab_size = ", tokenizer_->vocab_size(), " or more");
  }

  DataSets open() const {
    DataSets sets;
    auto source = opened(options_.train);
    const int64_t trained = trained_samples(options_, source->pairs());
    sets.train = samples(*source, 0, limited(trained, options_.max_train_samples), options_.seed);
    sets.remark = cuts("training", *source);
    const int64_t most = options_.max_validation_samples;
    if (!options_.validation.empty()) {
      auto held_out = opened(options_.validation);
      sets.validation = samples(*held_out, 0, limited(held_out->pairs(), most), std::nullopt);
      sets.remark += cuts("validation", *held_out);
      sets.validation_source = std::move(held_out);
    } else if (trained < source->pairs()) {
      sets.validation =
          samples(*source, trained, limited(source->pairs() - trained, most), std::nullopt);
      sets.remark = cuts("training and validation", *source);
    }
    if (!sets.remark.empty()) sets.remark.erase(0, 2);  // drop the separator in front
    sets.train_source = std::move(source);
    return sets;
  }

 private:
  std::unique_ptr<EncodedPairs> opened(const std::string& path) const {
    const PairOptions& pairs = options_.pairs;
    return std::make_unique<EncodedPairs>(
        EncodedPairs::Options{.path = path,
                              .fields = {pairs.source_field, pairs.target_field},
                              .prefix = pairs.source_prefix,
                              .form = form_,
                              .refuse_long = pairs.refuse_long},
        tokenizer_);
  }
  std::unique_ptr<Dataset> samples(EncodedPairs& source, int64_t first, int64_t count,
                                   std::optional<uint64_t> seed) const {
    return std::make_unique<PairSamples>(source, form_, source.add(first, count), count, seed);
  }
  /// Returns the banner's words on a set, "" if nothing was cut or empty.
  std::string cuts(const char* set, const EncodedPairs& source) const {
    std::string words;
    if (source.cut_sources() + source.cut_targets() > 0) {
      words = text(counted(source.cut_sources(), "source"), " cut to ",
                   counted(form_.source_length, "token"), ", ",
                   counted(source.cut_targets(), "target"), " to ", form_.target_length);
    }
    if (source.empty_targets() > 0) {
      words += text(words.empty() ? "" : ", ", counted(source.empty_targets(), "target"),
                    source.empty_targets() == 1 ? " is" : " are", " empty");
    }
    if (const int64_t blank = source.blank_lines(); blank > 0)
      words += text(words.empty() ? "" : ", ", blank_lines_text(blank));
    return words.empty() ? "" : text("; in ", set, " ", words);
  }

  const DataOptions& options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  PairForm form_;
};

/// An opener of texts with spans that the model must restore.
class SpanOpener {
 public:
  explicit SpanOpener(const DataOptions& options)
      : options_(options),
        known_(known_ids(options, *open_tokenizer(options.tokenizer))),
        form_(form_of(options, known_)),
        noise_{.density = options.pairs.noise_density,
               .mean_span = options.pairs.noise_span,
               .seed = options.seed},
        window_(longest_window(form_, noise_)) {
    if (window_ >= 2) return;
    refuse_settings({"data.source_length", "data.sequence_length", "data.noise_density"},
                    "no text of 2 tokens or more fits ", form_.words(),
                    " with its sentinels and ends; write longer ones");
  }

  DataSets open() {
    auto source = opened(options_.train);
    require_ids(source->vocab_size());
    noise_.first_sentinel = first_sentinel(source->vocab_size());
    const int64_t samples = source->tokens() / window_;
    if (samples < 1) refuse_short(options_.train, source->tokens());
    const int64_t trained = trained_samples(options_, samples) * window_;
    DataSets sets;
    sets.train = spans_of(*source, {.tokens = trained,
                                    .max_samples = options_.max_train_samples,
                                    .shuffle_seed = options_.seed});
    if (!options_.validation.empty()) {
      auto held_out = opened(options_.validation);
      if (held_out->tokens() < 2) refuse_short(options_.validation, held_out->tokens());
      sets.validation = validation_of(*held_out, 0);
      sets.validation_source = std::move(held_out);
    } else if (options_.validation_fraction > 0) {
      sets.validation = validation_of(*source, trained);
    }
    sets.train_source = std::move(source);
    return sets;
  }

 private:
  std::unique_ptr<TokenSource> opened(const std::string& path) const {
    if (names_pairs(path)) {
      refuse_settings({"data.noise_density", "data.train", "data.validation"}, path,
                      " is a file of pairs by its name, and spans are taken out of a text; write ",
                      "data.noise_density = 0 to learn the pairs, or the path of a text");
    }
    return open_tokens(
        {.path = path, .tokenizer = options_.tokenizer, .vocab_size = options_.vocab_size});
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
                             .max_samples = options_.max_validation_samples,
                             .keep_tail = true});
  }
  /// Refuses a file of tokens without the special ids, because it does not say them.
  void require_ids(int64_t ids_of_texts) const {
    const PairOptions& ids = options_.pairs;
    const bool are_written = std::min({ids.pad_id, ids.end_id, ids.start_id}) >= 0;
    if (ids_of_texts <= 256 || options_.tokenizer != "bytes" || are_written) return;
    refuse_settings({"data.eos_id", "data.pad_id", "data.decoder_start_id", "data.train"},
                    options_.train, " does not say which ids these are; write all three");
  }
  /// Returns the first sentinel's id. A sample has a sentinel a span and one more, with ids that no
  /// text has.
  int32_t first_sentinel(int64_t ids_of_texts) const {
    const int64_t wanted = span_counts(window_, noise_).spans + 1;
    const int64_t written = options_.pairs.sentinel_id;
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
  if (options.train == "synthetic") return open_synthetic(options);
  return corrupts(options) ? SpanOpener(options).open() : PairOpener(options).open();
}

}  // namespace

const DataKind& pair_data() {
  static constexpr DataKind kPairs{
      .name = "pairs", .columns = columns, .files = files, .open = open, .of_pairs = true};
  return kPairs;
}

}  // namespace zero
