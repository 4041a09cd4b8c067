#include <algorithm>
#include <utility>

#include "io/data/encoded_pairs.hpp"
#include "io/data/two_texts.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

std::vector<std::string> files(const DataOptions& options) {
  std::vector<std::string> paths = token_data().files(options);
  for (const std::string& path : {options.data.train, options.data.validation}) {
    if (path.ends_with(".source")) paths.push_back(target_path(path));
  }
  return paths;
}

/// An opener of pairs in a file, and in one more file for validation.
class PairOpener {
 public:
  explicit PairOpener(const DataOptions& options)
      : options_(options),
        tokenizer_(open_tokenizer(options.data.tokenizer)),
        form_(form_of(options, known_ids(options, *tokenizer_))) {
    if (tokenizer_->vocab_size() <= options.vocab_size) return;
    refuse_settings({"data.tokenizer", "model.vocab_size"}, "the tokenizer knows ",
                    tokenizer_->vocab_size(), " tokens, the model ", options.vocab_size,
                    "; write model.vocab_size = ", tokenizer_->vocab_size(), " or more");
  }

  DataSets open() const {
    DataSets sets;
    auto source = opened(options_.data.train);
    const int64_t trained = trained_samples(options_, source->pairs());
    sets.train =
        samples(*source, 0, limited(trained, options_.data.max_train_samples), options_.seed);
    sets.remark = cuts("training", *source);
    const int64_t most = options_.data.max_validation_samples;
    if (!options_.data.validation.empty()) {
      auto held_out = opened(options_.data.validation);
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
    const DataConfig& data = options_.data;
    return std::make_unique<EncodedPairs>(
        EncodedPairs::Options{.path = path,
                              .fields = {data.source_field, data.target_field},
                              .prefix = data.source_prefix,
                              .form = form_,
                              .refuse_long = data.too_long == TooLong::refuse},
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

DataSets open(const DataOptions& options) {
  return options.data.train == "synthetic" ? synthetic_pairs(options) : PairOpener(options).open();
}

}  // namespace

const DataKind& pair_data() {
  static const DataKind kPairs{
      .name = "pairs",
      .columns = columns_of_two_texts,
      .files = files,
      .open = open,
      .keys = {"data.source_length", "data.pad_id", "data.eos_id", "data.decoder_start_id",
               "data.noise_density", "data.source_field", "data.target_field", "data.source_prefix",
               "data.too_long", "data.length_buckets"}};
  return kPairs;
}

}  // namespace zero
