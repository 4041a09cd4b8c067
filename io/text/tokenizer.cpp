#include "zero/io/text/tokenizer.hpp"

#include <array>

#include "io/text/tokenizers.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"

namespace zero {
namespace {

constexpr const char* kPieces = "spiece.model";
/// Names under which Transformers looks for the files of a tokenizer.
constexpr std::array<const char*, 7> kFiles = {"vocab.json",
                                               kPieces,
                                               "merges.txt",
                                               "tokenizer.json",
                                               "tokenizer_config.json",
                                               "added_tokens.json",
                                               "special_tokens_map.json"};

class ByteTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kBytes = 256;

  int64_t vocab_size() const override { return kBytes; }

  std::vector<int32_t> encode(std::string_view text) const override {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return {bytes.begin(), bytes.end()};
  }

  std::string decode(std::span<const int32_t> ids, SpecialTokens) const override {
    std::string bytes;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, kBytes);
      bytes += char(ids[i]);
    }
    return bytes;
  }

  uint64_t fingerprint() const override { return kBytes; }
};

bool is_file(const std::string& path) { return is_there(path) && !is_folder(path); }

bool holds_pieces(const std::string& folder) { return is_there(folder + "/" + kPieces); }
bool holds_bpe(const std::string& folder) {
  return is_there(folder + "/vocab.json") && is_there(folder + "/merges.txt");
}

/// True if other files of a tokenizer name sentinels, which belong to SentencePiece here.
bool knows_sentinels(const std::string& folder) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const FileStart start = read_start(folder + "/" + name, size_t(1) << 20);
    if (start.reason == 0 && start.bytes.find("extra_id") != std::string::npos) return true;
  }
  return false;
}

/// Refuses a tokenizer.json without other files. Files made from it may give other ids, because
/// they lack its normalizer, pre-tokenizer and added tokens.
[[noreturn]] void refuse_json(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  const FileStart start = read_start(path, size_t(64) << 20);
  if (start.bytes.find("\"Unigram\"") != std::string::npos) {
    refuse(Exit::kInput, path, ": is not read; put the spiece.model that the model comes with ",
           "beside it");
  }
  refuse(Exit::kInput, path, ": is not read; put the vocab.json and merges.txt that the model ",
         "comes with beside it");
}

/// Throws Error(kInput) unless the folder has one tokenizer.
void require_one_kind(const std::string& folder) {
  if (holds_pieces(folder) && holds_bpe(folder)) {
    refuse(Exit::kInput, folder, ": holds two tokenizers, spiece.model, and vocab.json with ",
           "merges.txt; remove the one that the model does not have, or write data.tokenizer = ",
           folder, "/spiece.model");
  }
  if (!holds_pieces(folder) && !holds_bpe(folder) && knows_sentinels(folder)) {
    refuse(Exit::kInput, folder, ": holds no spiece.model, which its other files belong to; take ",
           "it from where the model comes from");
  }
  if (!holds_pieces(folder) && !holds_bpe(folder) && is_there(folder + "/tokenizer.json"))
    refuse_json(folder);
}

}  // namespace

void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size) {
  if (ids[i] >= 0 && ids[i] < vocab_size) return;
  refuse(Exit::kInput, "token ", ids[i], " at place ", i, ": the tokenizer has ", vocab_size,
         "; name the one that the tokens were made with");
}

bool names_pieces(const std::string& name) {
  return name != "bytes" && (is_file(name) || is_there(name + "/" + kPieces));
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  if (is_folder(name)) require_one_kind(name);
  if (!names_pieces(name)) return open_bpe(name);
  if (is_file(name)) return open_pieces(name, "");
  return open_pieces(name + "/" + kPieces, name);
}

std::vector<TokenizerFile> tokenizer_files(const std::string& name) {
  if (name.empty() || name == "bytes") return {};
  if (is_file(name)) return {{.path = name, .name = kPieces}};
  std::vector<TokenizerFile> files;
  for (const char* file : kFiles) {
    const std::string path = name + "/" + file;
    const bool is_read = file != std::string_view("tokenizer.json");
    if (is_read && is_there(path)) files.push_back({.path = path, .name = file});
  }
  return files;
}

std::vector<std::string> tokenizer_paths(const std::string& name) {
  if (name.empty() || name == "bytes") return {};
  if (is_file(name)) return {name};
  std::vector<std::string> paths = {name + "/config.json"};
  for (const char* file : kFiles) paths.push_back(name + "/" + file);
  return paths;
}

bool holds_tokenizer(const std::string& folder) {
  return holds_pieces(folder) || holds_bpe(folder);
}

}  // namespace zero
