#include "tests/families/letter_pairs.hpp"

#include <algorithm>
#include <utility>

#include "io/data/token_source.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

struct Form {
  explicit Form(const DataOptions& options)
      : source(options.model.at("source_length")), target(options.data.sequence_length) {}

  int64_t window() const { return source + target + 1; }
  std::vector<DataColumn> columns() const {
    return {{.name = "source", .numel = source},
            {.name = "previous", .numel = target},
            {.name = "next", .numel = target}};
  }

  int64_t source, target;
};

class Pairs : public Dataset {
 public:
  Pairs(const TokenSource& source, const Form& form, int64_t first, int64_t samples,
        std::optional<uint64_t> shuffle_seed)
      : Dataset(form.columns(), samples, shuffle_seed),
        source_(source),
        form_(form),
        first_(first) {}

  std::string form() const override {
    return text(form_.source, " and ", form_.target, " + 1 tokens");
  }

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override {
    const auto source = values_in<int32_t>(out[0]), previous = values_in<int32_t>(out[1]),
               next = values_in<int32_t>(out[2]);
    if (sample >= samples()) {
      for (const std::span<int32_t> column : {previous, source}) std::ranges::fill(column, 0);
      std::ranges::fill(next, kNotCounted);
      return;
    }
    const int64_t begin = (first_ + sample) * form_.window();
    source_.read(begin, source);
    source_.read(begin + form_.source, previous);
    source_.read(begin + form_.source + 1, next);
  }
  int64_t counted_in(int64_t sample) const override {
    return sample < samples() ? form_.target : 0;
  }

  const TokenSource& source_;
  Form form_;
  int64_t first_;
};

std::vector<DataColumn> columns(const DataOptions& options) { return Form(options).columns(); }

std::vector<std::string> files(const DataOptions& options) { return {options.data.train}; }

DataSets open(const DataOptions& options) {
  const Form form(options);
  auto source = open_tokens({.path = options.data.train, .vocab_size = options.vocab_size});
  const int64_t samples = source->tokens() / form.window();
  const int64_t trained = trained_samples(options, samples);
  if (samples < 1) refuse(Exit::kInput, options.data.train, ": holds no sample of ", form.window());
  DataSets sets;
  sets.train = std::make_unique<Pairs>(
      *source, form, 0, limited(trained, options.data.max_train_samples), options.seed);
  if (trained < samples) {
    sets.validation = std::make_unique<Pairs>(
        *source, form, trained, limited(samples - trained, options.data.max_validation_samples),
        std::nullopt);
  }
  sets.train_source = std::move(source);
  return sets;
}

}  // namespace

const DataKind& letter_pair_data() {
  static const DataKind kLetterPairs{
      .name = "letter pairs", .columns = columns, .files = files, .open = open};
  return kLetterPairs;
}

}  // namespace zero
