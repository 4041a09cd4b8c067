#include "zero/io/text/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "io/text/tokenizer_json.hpp"
#include "io/text/tokenizers.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"

namespace zero {
namespace {

constexpr const char* kPieces = "spiece.model";
constexpr const char* kJson = "tokenizer.json";
constexpr std::array kPieceFiles = {kPieces, kSpmFile};
/// Names under which Transformers looks for the files of a tokenizer.
constexpr std::array<const char*, 9> kFiles = {"vocab.json",
                                               kPieces,
                                               kSpmFile,
                                               "merges.txt",
                                               kJson,
                                               "tokenizer_config.json",
                                               "added_tokens.json",
                                               "special_tokens_map.json",
                                               "chat_template.jinja"};

class ByteTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kBytes = 256;

  int64_t vocab_size() const override { return kBytes; }

  std::vector<int32_t> encode(std::string_view text, SpecialNames) const override {
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

/// Returns the name of the folder's model of SentencePiece, "" without one.
std::string pieces_in(const std::string& folder) {
  for (const char* name : kPieceFiles) {
    if (is_there(folder + "/" + name)) return name;
  }
  return "";
}
bool holds_pieces(const std::string& folder) { return !pieces_in(folder).empty(); }
bool holds_bpe(const std::string& folder) {
  return is_there(folder + "/vocab.json") && is_there(folder + "/merges.txt");
}

bool mentions(const std::string& path, std::string_view word) {
  const FileStart start = read_start(path, size_t(1) << 20);
  return start.reason == 0 && start.bytes.find(word) != std::string::npos;
}

/// Returns the model that other files of a tokenizer belong to, "" if they name none. Sentinels
/// belong to SentencePiece here.
std::string missing_pieces(const std::string& folder) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = folder + "/" + name;
    if (mentions(path, "extra_id")) return kPieces;
    if (mentions(path, "\"DebertaV2Tokenizer")) return kSpmFile;
  }
  // Keys of the models that have these files.
  if (mentions(folder + "/config.json", "\"pos_att_type\"")) return kSpmFile;
  if (mentions(folder + "/config.json", "\"relative_attention_num_buckets\"")) return kPieces;
  return "";
}

/// Returns the names of the older files that could stand for a tokenizer.json.
std::string older_files(const std::string& folder) {
  const FileStart start = read_start(folder + "/" + kJson, size_t(64) << 20);
  if (start.bytes.find("\"Unigram\"") == std::string::npos) return "vocab.json and merges.txt";
  return start.bytes.find("\"[CLS]\"") != std::string::npos ? kSpmFile : kPieces;
}

/// True if vocab.json and merges.txt give the ids of a tokenizer.json: it cuts words as ByteLevel
/// does, and changes no text before.
bool cuts_as_older_files(const TokenizerJsonFile& file) {
  JsonSection root(file.root, file.path, "");
  JsonSection cutter = root.at("pre_tokenizer");
  return root.at("normalizer").is_null() && cutter.is_object() &&
         cutter.at("type").is("ByteLevel") && !cutter.at("use_regex").is(false);
}

/// Returns the rules of a tokenizer.json. Returns none if it has rules that are not read, and older
/// files beside it give its ids, or are named as missing. Throws Error(kInput) if it is damaged, or
/// not read and without such files.
std::optional<TokenizerJson> read_json_of(const std::string& folder) {
  if (!is_there(folder + "/" + kJson)) return std::nullopt;
  TokenizerJsonFile file = parse_tokenizer_json(folder + "/" + kJson);
  const bool has_older = holds_pieces(folder) || (holds_bpe(folder) && cuts_as_older_files(file));
  try {
    return read_tokenizer_json(std::move(file));
  } catch (const Error& error) {
    if (has_older || !missing_pieces(folder).empty()) return std::nullopt;
    if (holds_bpe(folder)) throw;  // the older files would give other ids
    refuse(error.exit(), error.what(), "; or put the ", older_files(folder),
           " that the model comes with beside it");
  }
}

/// Throws Error(kInput) unless the folder has one tokenizer.
void require_one_kind(const std::string& folder) {
  const std::string pieces = pieces_in(folder);
  const bool has_both = pieces == kPieces && is_there(folder + "/" + kSpmFile);
  if (!pieces.empty() && (has_both || holds_bpe(folder))) {
    refuse(Exit::kInput, folder, ": holds two tokenizers, ", pieces, ", and ",
           has_both ? kSpmFile : "vocab.json with merges.txt",
           "; remove the one that the model does not have, or write data.tokenizer = ", folder, "/",
           pieces);
  }
  if (!pieces.empty() || holds_bpe(folder)) return;
  if (const std::string missing = missing_pieces(folder); !missing.empty()) {
    refuse(Exit::kInput, folder, ": holds no ", missing, ", which its other files belong to; take ",
           "it from where the model comes from");
  }
}

}  // namespace

void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size) {
  if (ids[i] >= 0 && ids[i] < vocab_size) return;
  refuse(Exit::kInput, "token ", ids[i], " at place ", i, ": the tokenizer has ", vocab_size,
         "; name the one that the tokens were made with");
}

bool is_spm_file(const std::string& path) {
  return std::filesystem::path(path).filename() == kSpmFile;
}

bool names_pieces(const std::string& name) {
  return name != "bytes" && (is_file(name) || holds_pieces(name));
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  if (is_folder(name)) {
    if (std::optional<TokenizerJson> json = read_json_of(name))
      return make_json_tokenizer(std::move(*json), name);
    require_one_kind(name);
  }
  if (!names_pieces(name)) return open_bpe(name);
  if (is_file(name)) return open_pieces(name, "");
  return open_pieces(name + "/" + pieces_in(name), name);
}

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text,
                                   SpecialNames names) {
  std::vector<int32_t> ids = tokenizer.encode(text, names);
  const std::vector<int32_t> before = tokenizer.text_frame().before;
  const bool has_it =
      ids.size() >= before.size() && std::equal(before.begin(), before.end(), ids.begin());
  if (!has_it) ids.insert(ids.begin(), before.begin(), before.end());
  return ids;
}

std::vector<TokenizerFile> tokenizer_files(const std::string& name) {
  if (name.empty() || name == "bytes") return {};
  if (is_file(name)) return {{.path = name, .name = is_spm_file(name) ? kSpmFile : kPieces}};
  std::vector<TokenizerFile> files;
  for (const char* file : kFiles) {
    const std::string path = name + "/" + file;
    if (is_there(path)) files.push_back({.path = path, .name = file});
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
  return holds_pieces(folder) || holds_bpe(folder) || is_there(folder + "/" + kJson);
}

}  // namespace zero
