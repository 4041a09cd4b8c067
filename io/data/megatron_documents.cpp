#include <utility>

#include "io/data/document_source.hpp"
#include "io/data/id_file.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

/// The documents of a Megatron-LM pair, whose ids stay in the file.
class MegatronDocuments : public DocumentSource {
 public:
  MegatronDocuments(const std::string& path, int64_t vocab_size)
      : path_(path),
        tokens_(open_tokens({.path = path, .vocab_size = vocab_size})),
        begins_(megatron_borders(DataFile(index_path(path), "make it with its .bin"))) {}

  int64_t add(int64_t first, int64_t) override { return first; }
  int64_t begin(int64_t row) const override { return begins_[size_t(row)]; }
  void read(int64_t first, std::span<int32_t> out) const override { tokens_->read(first, out); }
  void read_targets(int64_t first, std::span<int32_t> out) const override { read(first, out); }
  int64_t learnt(int64_t, int64_t count) const override { return count; }
  std::string place(int64_t row) const override { return text(path_, ": document ", row); }
  Counts counts() const override {
    Counts all;
    for (int64_t row = 0; row < items(); ++row) all.empty += length(row) == 0;
    return all;
  }
  std::string format() const override { return tokens_->format(); }
  int64_t items() const override { return int64_t(begins_.size()) - 1; }
  int64_t vocab_size() const override { return tokens_->vocab_size(); }
  uint64_t fingerprint() const override { return tokens_->fingerprint(); }

 private:
  std::string path_;
  std::unique_ptr<TokenSource> tokens_;
  std::vector<int64_t> begins_;  ///< [documents + 1]
};

}  // namespace

std::unique_ptr<DocumentSource> open_megatron_documents(const std::string& path,
                                                        int64_t vocab_size) {
  if (!path.ends_with(".bin") || !is_there(index_path(path))) {
    refuse_settings(
        {"data.packing", "data.train"}, path, " says no borders of documents; write ",
        "data.packing = \"stream\", or a file of JSON lines, or a .bin beside its .idx");
  }
  auto made = std::make_unique<MegatronDocuments>(path, vocab_size);
  if (made->items() == 0) {
    refuse(Exit::kInput, index_path(path), ": has no document; write data.packing = \"stream\"");
  }
  return made;
}

}  // namespace zero
