#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// A model of the library SentencePiece (Kudo and Richardson 2018). Immutable; safe from several
/// threads at once.
class SentencePieceModel {
 public:
  virtual ~SentencePieceModel() = default;
  virtual int32_t size() const = 0;
  /// The id of a piece that the model has.
  virtual std::optional<int32_t> find(const std::string& piece) const = 0;
  /// Appends the ids of a text. Throws Error(kInput) with the library's words.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
  /// The text of ids that are all below size(); the blank in front of it is left out.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
};

/// Opens `content` of the file `path`. A build without the library throws Error(kUsage) that names
/// its package; one with it throws Error(kInput), naming the file, for what is no such model.
std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string& content,
                                                       const std::string& path);

/// Throws Error(kInput), naming file and offset, unless `content` is a unigram model whose rules of
/// normalisation stay within their tables: the library itself follows them without a look.
void check_sentencepiece(std::string_view content, const std::string& path);

}  // namespace zero
