#include "io/data/encoded_labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "io/data/data_file.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr int64_t kCheckEvery = 1024;  // records between two checks of held memory

uint64_t fingerprint_of(const LabelFile& file, const Tokenizer& tokenizer,
                        const LabelReader& reader, const LabelForm& form) {
  std::string said = text(file.fingerprint(), '\n', tokenizer.fingerprint(), '\n', form.pad, '\n',
                          form.cls, '\n', form.sep, '\n', file.fields().texts.size());
  // The lengths of names tell two names from a single name with a line's end.
  const auto add = [&](const std::string& name) { said += text('\n', name.size(), '\n', name); };
  std::ranges::for_each(file.fields().texts, add);
  add(file.fields().label);
  std::ranges::for_each(reader.classes(), add);
  return number_of(xxh3_of(std::as_bytes(std::span(said))));
}

void require_length(const LabelForm& form, const LabelFields& fields) {
  const int64_t special = LabelForm::special_ids(fields.texts.size());
  const int64_t least = special + int64_t(fields.texts.size());
  if (form.length >= least) return;
  refuse_settings({"data.sequence_length"}, form.length, " tokens leave none for a text, as ",
                  special, " of a sample are special; write ", least, " or more");
}

}  // namespace

EncodedLabels::EncodedLabels(std::shared_ptr<const LabelFile> file, LabelReader reader,
                             const Options& options, std::shared_ptr<const Tokenizer> tokenizer)
    : options_(options),
      file_(std::move(file)),
      reader_(std::move(reader)),
      tokenizer_(std::move(tokenizer)),
      vocab_size_(std::max<int64_t>({tokenizer_->vocab_size(), options.form.pad + 1,
                                     options.form.cls + 1, options.form.sep + 1})),
      ids_(vocab_size_),
      fingerprint_(fingerprint_of(*file_, *tokenizer_, reader_, options.form)) {
  require_length(options.form, file_->fields());
}

std::string EncodedLabels::format() const {
  const size_t classes = reader_.classes().size();
  return text(file_->format(), ", ", counted(int64_t(file_->fields().texts.size()), "text"),
              " and ",
              classes == 0 ? std::string("a number") : text("one of ", classes, " classes"));
}

int64_t EncodedLabels::add(int64_t first, int64_t count) {
  const int64_t row = ids_.rows();
  for (int64_t i = first; i < first + count; ++i) {
    const LabelledTexts record = file_->read(i);
    ids_.add(encoded(record, i));
    labels_.push_back(reader_.read(record.label, file_->place(i)));
    if ((i - first) % kCheckEvery != 0 || ids_.bytes() <= kMostBytes) continue;
    refuse(Exit::kInput, file_->place(i), ": the samples before it take ", bytes_text(kMostBytes),
           " of memory as ids, the most that is held; write smaller data.max_train_samples and ",
           "data.max_validation_samples, or a shorter data.sequence_length");
  }
  return row;
}

std::vector<int32_t> EncodedLabels::encoded(const LabelledTexts& record, int64_t number) {
  const LabelForm& form = options_.form;
  const size_t texts = record.texts.size();
  std::array<std::vector<int32_t>, 2> ids;
  for (size_t i = 0; i < texts; ++i) {
    const std::string& one = record.texts[i];
    quoted_ += one.size() > 1 && one.front() == '"' && one.back() == '"';
    ids[i] = tokenizer_->encode(one);
  }
  const LengthPair lengths{.source = int64_t(ids[0].size()), .target = int64_t(ids[1].size())};
  const int64_t special = LabelForm::special_ids(texts), tokens = lengths.tokens() + special;
  const bool is_long = tokens > form.length;
  if (is_long && options_.refuse_long) {
    refuse(Exit::kInput, file_->place(number), ": the sample has ", tokens, " tokens, ", special,
           " of them special, but data.sequence_length = ", form.length, "; write ", tokens,
           " or more, or data.too_long = \"cut\"");
  }
  if (is_long) ++cut_;
  const int64_t most = form.length - special;
  const LengthPair kept = texts == 1
                              ? LengthPair{.source = std::min(lengths.source, most), .target = 0}
                              : longest_first(lengths, most);
  std::vector<int32_t> all = {form.cls};
  const auto append = [&](const std::vector<int32_t>& text, int64_t count) {
    all.insert(all.end(), text.begin(), text.begin() + count);
    all.push_back(form.sep);
  };
  append(ids[0], kept.source);
  if (texts == 2) append(ids[1], kept.target);
  return all;
}

}  // namespace zero
