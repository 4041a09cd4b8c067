#pragma once
/// Stretches of a text that are encoded apart, with the ids that the whole text has there.

#include <cstdint>
#include <memory>
#include <vector>

#include "io/data/data_file.hpp"
#include "io/data/document_source.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// A place that parts a text.
struct TextCut {
  int64_t place = 0;
  /// The tokenizer puts a mark in front of each text, which is none behind the cut. So that text is
  /// encoded behind another line, whose ids are taken away.
  bool is_behind_line = false;
};

/// Returns the first place from `from` on, behind the end of a line, that parts the text without a
/// change of its ids: some 4 KiB on either side have the same ids together and apart. The text's
/// end if that comes first. Throws Error(kInput), with advice, if none of the lines that end in the
/// next `room` bytes does.
TextCut next_text_cut(const DataFile& file, const Tokenizer& tokenizer, int64_t from, int64_t room);

/// The ids of the bytes from a cut up to `end` of a text, as one document.
class TextStretch : public DocumentSource {
 public:
  /// Reads the bytes. Throws Error(kInput) if they are no UTF-8. add() encodes them.
  TextStretch(const DataFile& file, std::shared_ptr<const Tokenizer> tokenizer,
              const TextCut& begin, int64_t end);

  int64_t add(int64_t first, int64_t count) override;
  int64_t begin(int64_t row) const override { return row == 0 ? 0 : int64_t(ids_.size()); }
  void read(int64_t first, std::span<int32_t> out) const override;
  void read_targets(int64_t first, std::span<int32_t> out) const override { read(first, out); }
  int64_t learnt(int64_t, int64_t count) const override { return count; }
  std::string place(int64_t) const override;
  Counts counts() const override { return {}; }
  std::string format() const override { return "UTF-8 text, encoded by a tokenizer"; }
  int64_t items() const override { return 1; }
  int64_t vocab_size() const override { return tokenizer_->vocab_size(); }
  uint64_t fingerprint() const override;

 private:
  std::string path_, advice_, text_;
  TextCut begin_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int32_t> ids_;
};

}  // namespace zero
