#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/data/document_file.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// Documents as ids, one behind the other. A document that was added has a range of tokens, which
/// is empty if it has none.
class DocumentSource : public DataSource {
 public:
  /// The counts of added documents that people should know of.
  struct Counts {
    int64_t empty = 0;   ///< documents without a token
    int64_t merged = 0;  ///< completions whose first token reaches back into the prompt
    int64_t blank_lines = 0;

    Counts& operator+=(const Counts& other);
  };

  /// Makes `count` documents from `first` on readable. Returns the row of the first; the rows of
  /// the others follow. Throws Error(kInput) naming the document that is damaged.
  virtual int64_t add(int64_t first, int64_t count) = 0;

  /// Returns the place in the tokens where a row begins. The row after the last begins at the end.
  virtual int64_t begin(int64_t row) const = 0;
  int64_t length(int64_t row) const { return begin(row + 1) - begin(row); }

  /// Copies tokens from `first` on. Threads may read at once; allocates nothing.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;
  /// Copies tokens, but -1 in place of those that are not learnt.
  virtual void read_targets(int64_t first, std::span<int32_t> out) const = 0;
  /// Returns the count of learnt tokens in `count` from `first` on.
  virtual int64_t learnt(int64_t first, int64_t count) const = 0;

  /// Returns the count of learnt tokens among the first `count` of a row, but for its first token.
  virtual int64_t targets(int64_t row, int64_t count) const;

  /// Returns the place of a row's document in its file: "train.jsonl: line 7".
  virtual std::string place(int64_t row) const = 0;
  virtual Counts counts() const = 0;

  std::string_view item() const override { return "document"; }
};

/// The rules by which documents become ids.
struct DocumentRules {
  DocumentFields fields = {};
  bool special_tokens = true;  ///< names of special tokens in texts become these
  int32_t end = -1;            ///< ends a text and a completion that do not end with it
  int64_t vocab_size = 0;      ///< vocabulary size of the model
};

/// Returns the rules of a run. Throws SettingsError if the end token is beyond the vocabulary.
DocumentRules document_rules(const DataOptions& options, const Tokenizer& tokenizer);

/// Returns the documents of a file as ids, encoded in memory as they are added. Throws
/// SettingsError if texts have no end token or the tokenizer knows more tokens than the model.
std::unique_ptr<DocumentSource> encoded_documents(std::shared_ptr<const DocumentFile> file,
                                                  const DocumentRules& rules,
                                                  std::shared_ptr<const Tokenizer> tokenizer);

/// Opens a Megatron-LM pair of files (token_source.hpp) with the borders of its documents, all of
/// whose ids are learnt.
std::unique_ptr<DocumentSource> open_megatron_documents(const std::string& path,
                                                        int64_t vocab_size);

}  // namespace zero
