#include <algorithm>
#include <utility>

#include "io/data/encoded_pairs.hpp"
#include "io/data/sample_files.hpp"
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
    require_vocabulary(options, *tokenizer_);
  }

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
  /// Returns the banner's words on what was cut or empty.
  std::string remark(const EncodedPairs& source) const {
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
    return words;
  }

 private:
  const DataOptions& options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  PairForm form_;
};

DataSets open(const DataOptions& options) {
  if (options.data.train == "synthetic") return synthetic_pairs(options);
  return open_sample_files(options, PairOpener(options));
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
