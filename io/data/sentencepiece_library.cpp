#include <sentencepiece_processor.h>

#include <exception>

#include "io/data/sentencepiece.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using sentencepiece::SentencePieceProcessor;
using sentencepiece::util::Status;

constexpr size_t kMostBytes = size_t(64) << 20;

class LibraryModel : public SentencePieceModel {
 public:
  LibraryModel(const std::string& content, const std::string& path) : path_(path) {
    require(guarded([&] { return processor_.LoadFromSerializedProto(content); }));
  }

  int32_t size() const override { return processor_.GetPieceSize(); }

  std::optional<int32_t> find(const std::string& piece) const override {
    const int id = processor_.PieceToId(piece);
    if (processor_.IdToPiece(id) != piece) return std::nullopt;  // else it is the unknown one's
    return id;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    if (text.size() > kMostBytes) {
      refuse(Exit::kInput, "a text of ", text.size(), " bytes: ", path_, " encodes at most ",
             kMostBytes, " at once; give it line by line");
    }
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
  /// What the library throws becomes a status, as its other failures are.
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
  SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<SentencePieceModel> open_sentencepiece(const std::string& content,
                                                       const std::string& path) {
  check_sentencepiece(content, path);
  return std::make_unique<LibraryModel>(content, path);
}

}  // namespace zero
