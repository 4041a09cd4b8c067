#include <sentencepiece_processor.h>

#include <algorithm>
#include <exception>

#include "io/text/piece_path.hpp"
#include "io/text/sentencepiece.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using sentencepiece::SentencePieceProcessor;
using sentencepiece::util::Status;

constexpr size_t kMostBytes = size_t(64) << 20;
/// Bytes of a part. The library takes some 220 bytes of memory for each byte that it encodes at
/// once.
constexpr size_t kPartBytes = size_t(64) << 10, kMostPartBytes = size_t(4) << 20;

class LibraryModel : public SentencePieceModel {
 public:
  LibraryModel(const SentencePieceFile& file, const std::string& content, const std::string& path)
      : path_(path), table_(file), cuts_(file) {
    require(guarded([&] { return processor_.LoadFromSerializedProto(content); }));
  }

  int32_t size() const override { return processor_.GetPieceSize(); }

  std::optional<int32_t> find(const std::string& piece) const override {
    const int id = processor_.PieceToId(piece);
    if (processor_.IdToPiece(id) != piece) return std::nullopt;  // else the id is the unknown's
    return id;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    if (text.size() > kMostBytes) {
      refuse(Exit::kInput, "a text of ", text.size(), " bytes: ", path_, " encodes at most ",
             kMostBytes, " at once; give it line by line");
    }
    if (text.size() > kPartBytes) return encode_parts(text, ids);
    std::vector<int> found;
    require(guarded([&] { return processor_.Encode(text, &found); }));
    ids.insert(ids.end(), found.begin(), found.end());
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    const std::vector<int> given(ids.begin(), ids.end());
    require(guarded([&] { return processor_.Decode(given, &text); }));
    return text;
  }

 private:
  void encode_parts(std::string_view text, std::vector<int32_t>& ids) const {
    PiecePath path(table_);
    while (!text.empty()) {
      const PieceCuts::Cut cut = cuts_.find(text, kPartBytes, kMostPartBytes);
      if (cut.end > kMostPartBytes) {
        refuse(Exit::kInput, "a text of ", text.size(), " bytes: ", path_, " encodes at most ",
               kMostPartBytes, " at once, and finds no blank before that where it may cut; ",
               "give it line by line");
      }
      path.add(normalised(text.substr(0, cut.end)), ids);
      text.remove_prefix(cut.next);
    }
  }
  /// Returns the text in which the library finds pieces, joined from them. Bytes of unknown
  /// characters are pieces of their own.
  std::string normalised(std::string_view text) const {
    std::vector<std::string> pieces;
    require(guarded([&] { return processor_.Encode(text, &pieces); }));
    std::string all;
    for (const std::string& piece : pieces) {
      const int id = table_.byte_ids.empty() ? -1 : processor_.PieceToId(piece);
      const auto byte = std::ranges::find(table_.byte_ids, id);
      if (id >= 0 && byte != table_.byte_ids.end()) {
        all += char(byte - table_.byte_ids.begin());
      } else {
        all += piece;
      }
    }
    return all;
  }
  /// Turns an exception of the library into a status, like its other failures.
  template <class Work>
  static Status guarded(const Work& work) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return {sentencepiece::util::StatusCode::kInternal, error.what()};
    }
  }
  void require(const Status& status) const {
    if (status.ok()) return;
    refuse(Exit::kInput, path_, ": SentencePiece refuses it: ", status.ToString(),
           "; take the file as its maker has written it");
  }

  std::string path_;
  PieceTable table_;
  PieceCuts cuts_;
  SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string& content,
                                                       const std::string& path) {
  return std::make_unique<LibraryModel>(check_sentencepiece(content, path), content, path);
}

}  // namespace zero
