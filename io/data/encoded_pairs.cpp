#include "io/data/encoded_pairs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/data/data_file.hpp"

namespace zero {
namespace {

constexpr int64_t kCheckEvery = 1024;  // pairs between two checks of held memory

uint64_t fingerprint_of(const PairFile& file, const Tokenizer& tokenizer,
                        const EncodedPairs::Options& options) {
  const PairForm& form = options.form;
  // The lengths of names tell two names from a single name with a line's end.
  const std::string said = text(file.fingerprint(), '\n', tokenizer.fingerprint(), '\n',
                                options.fields.source.size(), '\n', options.fields.source, '\n',
                                options.fields.target.size(), '\n', options.fields.target, '\n',
                                form.pad, '\n', form.end, '\n', form.start, '\n', options.prefix);
  return number_of(xxh3_of(std::as_bytes(std::span(said))));
}

}  // namespace

EncodedPairs::EncodedPairs(const Options& options, std::shared_ptr<const Tokenizer> tokenizer)
    : options_(options),
      tokenizer_(std::move(tokenizer)),
      file_(open_pair_file(options.path, options.fields)),
      vocab_size_(std::max<int64_t>({tokenizer_->vocab_size(), options.form.pad + 1,
                                     options.form.end + 1, options.form.start + 1})),
      sources_(vocab_size_),
      targets_(vocab_size_),
      fingerprint_(fingerprint_of(*file_, *tokenizer_, options)) {}

int64_t EncodedPairs::add(int64_t first, int64_t count) {
  const int64_t row = sources_.rows();
  pair_of_[row] = first;
  for (int64_t pair = first; pair < first + count; ++pair) {
    const TextPair texts = file_->read(pair);
    add_text(sources_, pair, options_.prefix + texts.source, true);
    add_text(targets_, pair, texts.target, false);
    if ((pair - first) % kCheckEvery == 0) require_room(pair);
  }
  return row;
}

void EncodedPairs::add_text(IdRows& rows, int64_t pair, const std::string& text, bool is_source) {
  std::vector<int32_t> ids = tokenizer_->encode(text);
  const int64_t most = is_source ? options_.form.source_length : options_.form.target_length;
  const int64_t tokens = int64_t(ids.size()) + 1;
  if (tokens > most && options_.refuse_long) {
    const char* what = is_source ? "source" : "target";
    refuse(Exit::kInput, file_->place(pair), ": the ", what, " has ", tokens,
           " tokens with its end, but data.", what, "_length = ", most, "; write ", tokens,
           " or more, or data.too_long = \"cut\"");
  }
  if (tokens > most) {
    ids.resize(size_t(most - 1));
    ++(is_source ? cut_sources_ : cut_targets_);
  }
  if (!is_source && ids.empty()) ++empty_targets_;
  ids.push_back(options_.form.end);
  rows.add(ids);
}

void EncodedPairs::require_room(int64_t pair) const {
  if (sources_.bytes() + targets_.bytes() <= kMostBytes) return;
  refuse(Exit::kInput, file_->place(pair), ": the pairs before it take ", bytes_text(kMostBytes),
         " of memory as ids, the most that is held; write smaller data.max_train_samples and ",
         "data.max_validation_samples, or shorter lengths");
}

void EncodedPairs::read(int64_t row, const PairColumns& out) const {
  const int64_t sources = sources_.copy(row, out.source());
  out.finish(sources, targets_.copy(row, out.targets()));
}

std::string EncodedPairs::target_text(int64_t row) const {
  const auto [begin, pair] = *std::prev(pair_of_.upper_bound(row));
  return file_->read(pair + row - begin).target;
}

PairSamples::PairSamples(const EncodedPairs& pairs, const PairForm& form, int64_t first_row,
                         int64_t rows, std::optional<uint64_t> shuffle_seed)
    : PairDataset(form, rows, shuffle_seed), pairs_(pairs), first_row_(first_row) {}

std::optional<std::string> PairSamples::target_text(int64_t position) const {
  return pairs_.target_text(first_row_ + sample_at(position));
}

void PairSamples::read_sample(int64_t sample, ColumnSpans out) const {
  const PairColumns columns(form_, out);
  if (sample >= samples()) return columns.finish(0, 0);
  pairs_.read(first_row_ + sample, columns);
}

int64_t PairSamples::counted_in(int64_t sample) const {
  return sample < samples() ? pairs_.target_length(first_row_ + sample) : 0;
}

}  // namespace zero
