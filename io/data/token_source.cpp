#include "io/data/token_source.hpp"

#include <algorithm>
#include <filesystem>

#include "io/data/id_file.hpp"
#include "io/data/prepared_documents.hpp"
#include "io/text/tokenizers.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/path.hpp"
#include "zero/base/shared_files.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

std::string whole_text(const DataFile& file) {
  std::string text(size_t(file.bytes()), '\0');
  const std::span bytes(reinterpret_cast<uint8_t*>(text.data()), text.size());
  file.read(0, bytes);
  TextCheck check(file);
  check.add(bytes);
  check.finish();
  return text;
}

/// Most entries to ask for: those of the published vocabulary. Models with more are padded for fast
/// matrix products.
constexpr int64_t kMostEntries = 50257;

std::string make_command(const TokenOptions& options, const std::string& source,
                         const std::string& tokens) {
  const std::string command =
      text(shared_file("tools/data/make_tokens.sh"), " ", source, " ", tokens);
  if (options.tokenizer == "bytes") return command;
  const int64_t entries = std::min(options.vocab_size, kMostEntries);
  return text(command, " ", options.tokenizer, " ", entries);
}

std::string replaced(const std::string& path, const char* extension) {
  return fs::path(path).replace_extension(extension).string();
}

/// Returns advice for a missing file. A text and its tokens share a name in all input files here.
std::string how_to_make(const TokenOptions& options) {
  if (const std::string pair = options.path + ".bin"; look_at(pair).kind == PathKind::file)
    return "write " + pair;
  if (!options.path.ends_with(".bin")) {
    return text("write the path of a UTF-8 text; ", shared_file("tools/data/web_text.py"),
                " makes data/web.txt");
  }
  return "make it: " + make_command(options, replaced(options.path, ".txt"), options.path);
}

std::unique_ptr<TokenSource> open_text(std::unique_ptr<DataFile> file,
                                       const TokenOptions& options) {
  if (options.tokenizer == "bytes") {
    const IdLayout layout = text_layout(*file);
    file->require_text();
    return std::make_unique<IdFile>(std::move(file), layout);
  }
  const std::string tokens = replaced(options.path, ".bin");
  const std::string how = names_pieces(options.tokenizer)
                              ? "with the tokenizer's own library"
                              : make_command(options, options.path, tokens);
  return std::make_unique<EncodedText>(
      *file, *open_tokenizer(options.tokenizer),
      text("make a token file once, ", how, ", and name that instead"));
}

IdLayout binary_layout(const DataFile& file, int64_t vocab_size) {
  if (!is_there(index_path(file.path()))) return nanogpt_layout(file, vocab_size);
  const DataFile index(index_path(file.path()), "make it with its .bin, or remove it");
  return megatron_layout(file, index, vocab_size);
}

std::unique_ptr<TokenSource> open_format(const TokenOptions& options) {
  if (names_prepared_text(options.path) && is_there(prepared_list(options.path)))
    return open_prepared_text(options.path, *open_tokenizer(options.tokenizer), options.vocab_size);
  if (options.path.ends_with(".idx")) {
    refuse(Exit::kInput, options.path, ": is an index; write ", replaced(options.path, ".bin"));
  }
  auto file = std::make_unique<DataFile>(options.path, how_to_make(options));
  IdLayout layout;
  if (is_token_file(*file)) {
    layout = token_file_layout(*file);
  } else if (is_llmc_file(*file)) {
    layout = llmc_layout(*file, options.vocab_size);
  } else if (options.path.ends_with(".bin")) {
    file->require_numbers();
    layout = binary_layout(*file, options.vocab_size);
  } else {
    return open_text(std::move(file), options);
  }
  return std::make_unique<IdFile>(std::move(file), layout);
}

}  // namespace

EncodedText::EncodedText(const DataFile& file, const Tokenizer& tokenizer,
                         const std::string& advice)
    : vocab_size_(tokenizer.vocab_size()) {
  if (file.bytes() > kMostBytes) {
    refuse(Exit::kInput, file.path(), ": a text of ", file.bytes(), " bytes, but at most ",
           kMostBytes, " are encoded at the start of a run; ", advice);
  }
  file.require_text();
  const std::string text = whole_text(file);
  ids_ = tokenizer.encode(text);
  const uint32_t crc = crc32(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  // Multiplying by an odd number keeps every bit of the tokenizer's.
  fingerprint_ =
      (tokenizer.fingerprint() * 0x9E3779B97F4A7C15u) ^ (uint64_t(text.size()) << 32 | crc);
}

void EncodedText::read(int64_t first, std::span<int32_t> out) const {
  const int64_t count = int64_t(out.size());
  ZERO_REQUIRE(first >= 0 && count <= tokens() && first <= tokens() - count, "tokens ", first,
               " to ", first + count, " of ", tokens());
  std::copy_n(ids_.begin() + first, count, out.begin());
}

bool is_text_to_encode(const TokenOptions& options) {
  const std::string& path = options.path;
  if (options.tokenizer == "bytes" || path.ends_with(".bin") || path.ends_with(".idx") ||
      look_at(path).kind != PathKind::file || InputFile(path).bytes() == 0) {
    return false;
  }
  const DataFile file(path, "");
  return !is_token_file(file) && !is_llmc_file(file);
}

std::unique_ptr<TokenSource> open_tokens(const TokenOptions& options) {
  auto source = open_format(options);
  if (source->vocab_size() > options.vocab_size) {
    refuse(Exit::kInput, options.path, ": has a vocabulary of ", source->vocab_size(),
           ", the model one of ", options.vocab_size,
           "; write model.vocab_size = ", source->vocab_size(), " or more");
  }
  return source;
}

}  // namespace zero
