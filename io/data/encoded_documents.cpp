#include <algorithm>
#include <map>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/document_source.hpp"
#include "io/data/id_lists.hpp"
#include "io/data/id_rows.hpp"
#include "io/data/learnt_bits.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr int64_t kMostBytes = int64_t(4) << 30;  // of ids in memory
constexpr int64_t kCheckEvery = 1024;             // documents between two looks at the memory

/// The ids of a document, of which those from `learnt_from` on are learnt.
struct DocumentIds {
  std::vector<int32_t> ids;
  size_t learnt_from = 0;
  bool is_merged = false;
};

/// An encoder of texts by a tokenizer and the rules.
class Encoder {
 public:
  Encoder(const DocumentRules& rules, const Tokenizer& tokenizer)
      : rules_(rules), tokenizer_(tokenizer) {}

  DocumentIds encode(const Document& document, bool has_prompt) const {
    DocumentIds made;
    if (document.prompt.empty() && document.text.empty()) return made;
    made.ids = ids_of(document.prompt + document.text);
    if (has_prompt) find_completion(document.prompt, made);
    if (!made.ids.empty() && made.ids.back() == rules_.end) return made;
    const std::vector<int32_t> behind = tokenizer_.text_frame().after;
    made.ids.insert(made.ids.end(), behind.begin(), behind.end());
    if (made.ids.empty() || made.ids.back() != rules_.end) made.ids.push_back(rules_.end);
    return made;
  }

 private:
  /// Returns the ids of a text behind those that the tokenizer puts in front of it.
  std::vector<int32_t> ids_of(const std::string& text) const {
    return encode_prompt(tokenizer_, text,
                         rules_.special_tokens ? SpecialNames::kTokens : SpecialNames::kText);
  }
  /// A tokenizer may join the prompt's end and the completion's begin in one token. The completion
  /// begins at the first id that the prompt alone does not have there (TRL's rule).
  void find_completion(const std::string& prompt, DocumentIds& made) const {
    const std::vector<int32_t> alone = ids_of(prompt);
    const auto [own, other] = std::ranges::mismatch(alone, made.ids);
    made.learnt_from = size_t(other - made.ids.begin());
    made.is_merged = own != alone.end();
  }

  const DocumentRules& rules_;
  const Tokenizer& tokenizer_;
};

uint64_t fingerprint_of(const DocumentFile& file, const Tokenizer& tokenizer,
                        const DocumentRules& rules) {
  const DocumentFields& fields = rules.fields;
  const bool is_ids = file.form() == DocumentForm::ids;
  const std::string said =
      is_ids ? text(file.fingerprint())
             : text(file.fingerprint(), '\n', tokenizer.fingerprint(), '\n', fields.text.size(),
                    '\n', fields.text, '\n', fields.prompt.size(), '\n', fields.prompt, '\n',
                    fields.completion.size(), '\n', fields.completion, '\n', rules.end, '\n',
                    int(rules.special_tokens), '\n', int(file.form()));
  return number_of(xxh3_of(std::as_bytes(std::span(said))));
}

/// The documents of a file, encoded and kept in memory.
class EncodedDocuments : public DocumentSource {
 public:
  EncodedDocuments(std::shared_ptr<const DocumentFile> file, const DocumentRules& rules,
                   std::shared_ptr<const Tokenizer> tokenizer)
      : rules_(rules),
        tokenizer_(std::move(tokenizer)),
        file_(std::move(file)),
        ids_(rules.vocab_size),
        fingerprint_(fingerprint_of(*file_, *tokenizer_, rules_)) {
    if (file_->form() == DocumentForm::ids) return;
    if (rules_.end < 0) {
      refuse_settings({"data.eos_id", "data.tokenizer"}, "the tokenizer names no eos token, which ",
                      "ends each document; write data.eos_id = NUMBER");
    }
    vocab_size_ = std::max<int64_t>(tokenizer_->vocab_size(), rules_.end + 1);
    if (vocab_size_ > rules_.vocab_size) {
      refuse_settings({"data.tokenizer", "model.vocab_size"}, "the tokenizer knows ", vocab_size_,
                      " tokens, the model ", rules_.vocab_size,
                      "; write model.vocab_size = ", vocab_size_, " or more");
    }
  }

  int64_t add(int64_t first, int64_t count) override {
    const int64_t row = ids_.rows();
    document_of_[row] = first;
    const Encoder encoder(rules_, *tokenizer_);
    const DocumentForm form = file_->form();
    for (int64_t i = first; i < first + count; ++i) {
      Document document = file_->read(i);
      if (form == DocumentForm::ids)
        add_ids(i, document);
      else
        add_encoded(encoder.encode(document, form == DocumentForm::completion));
      if ((i - first) % kCheckEvery == 0) require_room(i);
    }
    return row;
  }

  int64_t begin(int64_t row) const override { return ids_.begin(row); }
  void read(int64_t first, std::span<int32_t> out) const override { ids_.copy_from(first, out); }
  void read_targets(int64_t first, std::span<int32_t> out) const override {
    ids_.copy_from(first, out);
    for (size_t i = 0; i < out.size(); ++i)
      if (!learnt_.at(first + int64_t(i))) out[i] = -1;
  }
  int64_t learnt(int64_t first, int64_t count) const override {
    return learnt_.count(first, count);
  }
  std::string place(int64_t row) const override {
    const auto [begin, document] = *std::prev(document_of_.upper_bound(row));
    return file_->place(document + row - begin);
  }
  Counts counts() const override {
    Counts all = counts_;
    all.blank_lines = file_->blank_lines();
    return all;
  }
  std::string format() const override { return file_->format(); }
  int64_t items() const override { return file_->documents(); }
  int64_t vocab_size() const override { return vocab_size_; }
  /// Returns a number that changes with the file's bytes, tokenizer, fields and rules.
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  void add_encoded(const DocumentIds& made) {
    ids_.add(made.ids);
    for (size_t i = 0; i < made.ids.size(); ++i) learnt_.add(i >= made.learnt_from);
    counts_.empty += made.ids.empty();
    counts_.merged += made.is_merged;
  }
  void add_ids(int64_t number, const Document& document) {
    for (const int32_t id : document.ids) {
      if (id >= rules_.vocab_size) {
        refuse(Exit::kInput, file_->place(number), ": \"", kIdsField, "\" has ", id,
               ", and the model a vocabulary of ", rules_.vocab_size,
               "; write model.vocab_size = ", int64_t(id) + 1,
               " or more, that of the tokenizer that made these ids");
      }
      vocab_size_ = std::max<int64_t>(vocab_size_, int64_t(id) + 1);
    }
    ids_.add(document.ids);
    for (const bool is_learnt : document.learnt) learnt_.add(is_learnt);
    counts_.empty += document.ids.empty();
  }
  void require_room(int64_t number) const {
    if (ids_.bytes() + learnt_.bytes() <= kMostBytes) return;
    refuse(Exit::kInput, file_->place(number), ": the documents before it take ",
           bytes_text(kMostBytes), " of memory as ids, the most that is held; write smaller ",
           "data.max_train_samples and data.max_validation_samples, or prepare the file once");
  }

  DocumentRules rules_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const DocumentFile> file_;
  std::map<int64_t, int64_t> document_of_;  ///< [first row of an add()] its first in the file
  IdRows ids_;
  LearntBits learnt_;
  int64_t vocab_size_ = 1;
  Counts counts_ = {};
  uint64_t fingerprint_;
};

}  // namespace

DocumentSource::Counts& DocumentSource::Counts::operator+=(const Counts& other) {
  empty += other.empty;
  merged += other.merged;
  blank_lines += other.blank_lines;
  return *this;
}

int64_t DocumentSource::targets(int64_t row, int64_t count) const {
  return count < 2 ? 0 : learnt(begin(row) + 1, count - 1);
}

std::unique_ptr<DocumentSource> encoded_documents(std::shared_ptr<const DocumentFile> file,
                                                  const DocumentRules& rules,
                                                  std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_unique<EncodedDocuments>(std::move(file), rules, std::move(tokenizer));
}

}  // namespace zero
