#include <algorithm>
#include <utility>

#include "io/data/choice_file.hpp"
#include "io/data/document_file.hpp"
#include "io/data/two_texts.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/base/white_space.hpp"
#include "zero/io/data/scored_texts.hpp"

namespace zero {
namespace {

constexpr const char *kChoices = "evaluation.choices", *kDocuments = "evaluation.documents",
                     *kPrefix = "evaluation.prefix_token_id";

/// Maximum ids of a set, which are kept in memory.
constexpr int64_t kMostIds = int64_t(1) << 27;

int32_t prefix_id(const DataOptions& options, const Tokenizer& tokenizer, int64_t asked) {
  if (asked >= options.vocab_size) {
    refuse_settings({kPrefix}, asked, " is beyond the model's vocabulary, which is of ",
                    options.vocab_size, "; write one below");
  }
  if (asked >= 0) return int32_t(asked);
  const SpecialIds known = tokenizer.special_ids();
  return known.bos >= 0 ? known.bos : known.eos;
}

/// Rows of a set in the making.
class Rows {
 public:
  explicit Rows(const ScoringRules& rules) : rules_(rules) {}

  int64_t count() const { return std::ssize(rows_); }
  /// `place` is that of the record, for messages.
  void add(ScoredIds row, const std::string& place) {
    ids_ += std::ssize(row.ids);
    if (ids_ > kMostIds) {
      refuse(Exit::kInput, place, ": the texts up to here take more than ", kMostIds,
             " tokens, the most that is held; write a file with fewer");
    }
    rows_.push_back(std::move(row));
  }
  void add_choice(const ChoiceRecord& record, size_t choice, const std::string& place) {
    ScoredIds row = scored_pair(rules_, record.context, record.delimiter + record.choices[choice]);
    if (row.scored == 0) {
      refuse(Exit::kInput, place, ": choice ", choice, " adds no token to the context; write ",
             "another choice or target_delimiter");
    }
    if (row.scored > rules_.length) {
      refuse(Exit::kInput, place, ": choice ", choice, " has ", counted(row.scored, "token"),
             ", and data.sequence_length is ", rules_.length, "; write ", row.scored,
             " or more, or a shorter choice");
    }
    add(std::move(row), place);
  }
  std::unique_ptr<ScoredTexts> finish(bool is_packed) {
    return std::make_unique<ScoredTexts>(std::move(rows_), rules_.length, is_packed);
  }

 private:
  const ScoringRules& rules_;
  std::vector<ScoredIds> rows_;
  int64_t ids_ = 0;
};

int64_t characters_in(std::string_view utf8) {
  return std::ranges::count_if(utf8, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; });
}

ScoredSet open_choices(const std::string& path, const ScoringRules& rules, bool is_packed) {
  const ChoiceFile file(path);
  ScoredSet set{.key = kChoices, .samples = {}, .fingerprint = file.fingerprint()};
  Rows rows(rules);
  for (int64_t i = 0; i < file.records(); ++i) {
    const ChoiceRecord record = file.read(i);
    ScoredChoices choices{.first = rows.count(), .answer = record.answer};
    for (size_t k = 0; k < record.choices.size(); ++k) {
      rows.add_choice(record, k, file.place(i));
      choices.characters.push_back(characters_in(record.choices[k]));
      choices.bytes.push_back(std::ssize(record.choices[k]));
    }
    set.choices.push_back(std::move(choices));
  }
  set.samples = rows.finish(is_packed);
  return set;
}

ScoredSet open_documents(const std::string& path, const std::string& field,
                         const ScoringRules& rules, bool is_packed) {
  const auto file = open_document_file(path, {.text = field, .prompt = "", .completion = ""});
  if (file->form() != DocumentForm::text) {
    refuse(Exit::kInput, file->place(0), ": has no \"", field, "\", whose words and bytes are ",
           "counted; write it, or data.text_field");
  }
  ScoredSet set{.key = kDocuments, .samples = {}, .fingerprint = file->fingerprint()};
  Rows rows(rules);
  for (int64_t i = 0; i < file->documents(); ++i) {
    const std::string document = file->read(i).text;
    for (ScoredIds& window : scored_windows(rules, document))
      rows.add(std::move(window), file->place(i));
    set.words += pieces_between_blanks(document);
    set.bytes += std::ssize(document);
  }
  if (rows.count() == 0) {
    refuse(Exit::kInput, path, ": all its documents are empty; write a text in \"", field, '"');
  }
  set.samples = rows.finish(is_packed);
  return set;
}

}  // namespace

std::vector<ScoredSet> open_scored_sets(const DataOptions& options,
                                        const EvaluationConfig& evaluation) {
  std::vector<ScoredSet> sets;
  if (!evaluation.scores_texts()) return sets;
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(options.data.tokenizer);
  require_vocabulary(options, *tokenizer);
  const ScoringRules rules{
      .tokenizer = *tokenizer,
      .names = options.data.special_tokens ? SpecialNames::kTokens : SpecialNames::kText,
      .length = options.data.sequence_length,
      .prefix = prefix_id(options, *tokenizer, evaluation.prefix_token_id)};
  const bool is_packed = takes_documents(options.data) && packing_of(options) == Packing::documents;
  if (!evaluation.choices.empty())
    sets.push_back(open_choices(evaluation.choices, rules, is_packed));
  if (!evaluation.documents.empty()) {
    sets.push_back(open_documents(evaluation.documents, options.data.text_field, rules, is_packed));
  }
  return sets;
}

}  // namespace zero
