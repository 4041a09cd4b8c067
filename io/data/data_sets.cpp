#include "zero/io/data/data_sets.hpp"

#include <cmath>

#include "io/data/formats.hpp"
#include "zero/base/counted.hpp"
#include "zero/base/error.hpp"
#include "zero/io/data/open_tokens.hpp"
#include "zero/io/data/synthetic_tokens.hpp"

namespace zero {
namespace {

constexpr int64_t kSyntheticSamples = 1 << 20;

std::unique_ptr<TokenSource> open_file(const std::string& path, const DataOptions& options) {
  return open_tokens(
      {.path = path, .tokenizer = options.tokenizer, .vocab_size = options.vocab_size});
}

[[noreturn]] void refuse_short(const std::string& path, int64_t tokens, int64_t window) {
  refuse(Exit::kInput, path, ": ", counted(tokens, "token"), tokens == 1 ? " holds" : " hold",
         " no sample of ", window, "; give more data or a data.sequence_length below ",
         std::max<int64_t>(tokens, 2));
}

DataSets open_synthetic(const DataOptions& options) {
  DataSets sets;
  const int64_t samples = options.max_train_samples ? options.max_train_samples : kSyntheticSamples;
  const int64_t tokens = samples * (options.sequence_length + 1);
  sets.train_source = std::make_unique<SyntheticTokens>(options.seed, tokens, options.vocab_size);
  sets.train.emplace(*sets.train_source,
                     TokenWindows::Options{.tokens = tokens,
                                           .sequence_length = options.sequence_length,
                                           .shuffle_seed = options.seed});
  sets.synthetic = true;
  return sets;
}

TokenWindows validation_of(const TokenSource& source, int64_t first, const DataOptions& options) {
  return TokenWindows(source, {.first_token = first,
                               .tokens = source.tokens() - first,
                               .sequence_length = options.sequence_length,
                               .max_samples = options.max_validation_samples,
                               .keep_tail = true});
}

/// Where validation begins: at least one sample is left on either side.
int64_t split(const DataOptions& options, int64_t samples) {
  if (options.validation_fraction <= 0) return samples;
  const int64_t held_out = int64_t(std::ceil(options.validation_fraction * double(samples)));
  if (held_out >= samples) {
    refuse(Exit::kInput, options.train, ": ", counted(samples, "sample"),
           ", of which data.validation_fraction", " = ", options.validation_fraction, " holds out ",
           held_out, ", leave none to train on; give more data, or data.validation = FILE");
  }
  return samples - held_out;
}

}  // namespace

uint64_t DataSets::fingerprint() const {
  const uint64_t first = train_source->fingerprint();
  if (!validation_source) return first;
  // Multiplying by an odd number keeps every bit of the first.
  return (first * 0x9E3779B97F4A7C15u) ^ validation_source->fingerprint();
}

std::vector<std::string> data_files(const DataOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& path : {options.train, options.validation}) {
    if (path.empty() || path == "synthetic") continue;
    paths.push_back(path);
    if (path.ends_with(".bin")) paths.push_back(index_path(path));
  }
  if (paths.empty() || options.tokenizer == "bytes") return paths;
  for (const char* name : {"/vocab.json", "/merges.txt"}) paths.push_back(options.tokenizer + name);
  return paths;
}

DataSets open_data(const DataOptions& options) {
  if (options.train == "synthetic") return open_synthetic(options);
  DataSets sets;
  const int64_t window = options.sequence_length + 1;
  sets.train_source = open_file(options.train, options);
  const int64_t tokens = sets.train_source->tokens();
  if (tokens < window) refuse_short(options.train, tokens, window);
  const int64_t trained = split(options, tokens / window);
  sets.train.emplace(*sets.train_source,
                     TokenWindows::Options{.tokens = trained * window,
                                           .sequence_length = options.sequence_length,
                                           .max_samples = options.max_train_samples,
                                           .shuffle_seed = options.seed});
  if (!options.validation.empty()) {
    sets.validation_source = open_file(options.validation, options);
    if (sets.validation_source->tokens() < 2) refuse_short(options.validation, 1, 2);
    sets.validation = validation_of(*sets.validation_source, 0, options);
  } else if (options.validation_fraction > 0) {
    sets.validation = validation_of(*sets.train_source, trained * window, options);
  }
  return sets;
}

}  // namespace zero
