#include "io/data/token_data.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/data/field_file.hpp"
#include "io/data/id_file.hpp"
#include "io/data/parquet_file.hpp"
#include "io/data/synthetic.hpp"
#include "io/data/token_source.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {
namespace {

int64_t count_samples(const TokenSource& source, const TokenWindows::Options& options) {
  const int64_t window = options.sequence_length + 1;
  ZERO_REQUIRE(options.sequence_length >= 1 && options.first_token >= 0 &&
                   options.first_token + options.tokens <= source.tokens(),
               "a data set of ", options.tokens, " tokens from ", options.first_token, " of ",
               source.tokens(), " in windows of ", window);
  int64_t samples = options.tokens / window;
  if (options.keep_tail && options.tokens % window >= 2) ++samples;
  if (options.max_samples > 0) samples = std::min(samples, options.max_samples);
  ZERO_REQUIRE(samples >= 1, options.tokens, " tokens hold no window of ", window);
  return samples;
}

std::unique_ptr<TokenSource> open_file(const std::string& path, const DataOptions& options) {
  return open_tokens(
      {.path = path, .tokenizer = options.data.tokenizer, .vocab_size = options.vocab_size});
}

[[noreturn]] void refuse_short(const std::string& path, int64_t tokens, int64_t window) {
  refuse(Exit::kInput, path, ": ", counted(tokens, "token"), tokens == 1 ? " holds" : " hold",
         " no sample of ", window, "; give more data or a data.sequence_length below ",
         std::max<int64_t>(tokens, 2));
}

std::unique_ptr<Dataset> windows_of(const TokenSource& source,
                                    const TokenWindows::Options& options) {
  return std::make_unique<TokenWindows>(source, options);
}

/// Returns a question to the user if a file of records was named as a text, else "".
std::string doubt_of(const std::string& path, const TokenSource& source) {
  if (!names_fields(path) && !names_parquet(path)) return "";
  if (!source.format().starts_with("UTF-8 text")) return "";
  return text("is ", path, " a text? All of it is learnt, names of fields and quotes too; else ",
              "write its texts alone into a file");
}

DataSets open_synthetic(const DataOptions& options) {
  const int64_t samples = synthetic_samples(options.data.max_train_samples);
  const int64_t tokens = samples * (options.data.sequence_length + 1);
  auto source = std::make_unique<SyntheticTokens>(options.seed, tokens, options.vocab_size);
  DataSets sets;
  sets.train = windows_of(*source, {.tokens = tokens,
                                    .sequence_length = options.data.sequence_length,
                                    .shuffle_seed = options.seed});
  sets.train_source = std::move(source);
  sets.synthetic = true;
  return sets;
}

std::unique_ptr<Dataset> validation_of(const TokenSource& source, int64_t first,
                                       const DataOptions& options) {
  return windows_of(source, {.first_token = first,
                             .tokens = source.tokens() - first,
                             .sequence_length = options.data.sequence_length,
                             .max_samples = options.data.max_validation_samples,
                             .keep_tail = true});
}

std::vector<DataColumn> columns(const DataOptions& options) {
  return TokenWindows::columns_of(options.data.sequence_length);
}

std::vector<std::string> files(const DataOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& path : {options.data.train, options.data.validation}) {
    if (path.empty() || path == "synthetic") continue;
    paths.push_back(path);
    if (path.ends_with(".bin")) paths.push_back(index_path(path));
  }
  if (paths.empty()) return paths;
  for (const std::string& path : tokenizer_paths(options.data.tokenizer)) paths.push_back(path);
  return paths;
}

DataSets open(const DataOptions& options) {
  if (options.data.train == "synthetic") return open_synthetic(options);
  const int64_t window = options.data.sequence_length + 1;
  auto source = open_file(options.data.train, options);
  const int64_t tokens = source->tokens();
  if (tokens < window) refuse_short(options.data.train, tokens, window);
  const int64_t trained = trained_samples(options, tokens / window);
  DataSets sets;
  sets.train = windows_of(*source, {.tokens = trained * window,
                                    .sequence_length = options.data.sequence_length,
                                    .max_samples = options.data.max_train_samples,
                                    .shuffle_seed = options.seed});
  if (!options.data.validation.empty()) {
    auto held_out = open_file(options.data.validation, options);
    if (held_out->tokens() < 2) refuse_short(options.data.validation, 1, 2);
    sets.validation = validation_of(*held_out, 0, options);
    sets.validation_source = std::move(held_out);
  } else if (options.data.validation_fraction > 0) {
    sets.validation = validation_of(*source, trained * window, options);
  }
  sets.remark = doubt_of(options.data.train, *source);
  if (sets.remark.empty() && sets.validation_source)
    sets.remark =
        doubt_of(options.data.validation, static_cast<TokenSource&>(*sets.validation_source));
  sets.train_source = std::move(source);
  return sets;
}

}  // namespace

TokenWindows::TokenWindows(const TokenSource& source, const Options& options)
    : Dataset(columns_of(options.sequence_length), count_samples(source, options),
              options.shuffle_seed),
      source_(&source),
      options_(options) {}

std::vector<DataColumn> TokenWindows::columns_of(int64_t sequence_length) {
  return {{.name = "tokens", .dtype = Dtype::i32, .numel = sequence_length},
          {.name = "targets", .dtype = Dtype::i32, .numel = sequence_length}};
}

std::string TokenWindows::form() const { return text(options_.sequence_length, " + 1 tokens"); }

std::vector<ShownIds> TokenWindows::shown(int64_t position) const {
  std::vector<ShownIds> columns = Dataset::shown(position);
  columns[0].ids.push_back(columns[1].ids.back());
  columns[0].is_text = true;
  columns.pop_back();
  return columns;
}

/// Returns the count of tokens in a sample, at most sequence_length + 1; 0 after the end.
int64_t TokenWindows::length_of(int64_t sample) const {
  if (sample >= samples()) return 0;
  const int64_t window = options_.sequence_length + 1;
  return std::min(window, options_.tokens - sample * window);
}

void TokenWindows::read_sample(int64_t sample, ColumnSpans out) const {
  const auto tokens = values_in<int32_t>(out[0]), targets = values_in<int32_t>(out[1]);
  const int64_t length = length_of(sample);
  const size_t inputs = size_t(std::max<int64_t>(length - 1, 0));
  if (inputs > 0) {
    const int64_t first = options_.first_token + sample * (options_.sequence_length + 1);
    source_->read(first, tokens.first(inputs));
    std::copy_n(tokens.begin() + 1, inputs - 1, targets.begin());
    source_->read(first + length - 1, targets.subspan(inputs - 1, 1));
  }
  std::fill(tokens.begin() + ptrdiff_t(inputs), tokens.end(), 0);
  std::fill(targets.begin() + ptrdiff_t(inputs), targets.end(), kNotCounted);
}

int64_t TokenWindows::counted_in(int64_t sample) const {
  return std::max<int64_t>(length_of(sample) - 1, 0);
}

const DataKind& token_data() {
  static const DataKind kTokens{.name = "tokens", .columns = columns, .files = files, .open = open};
  return kTokens;
}

}  // namespace zero
