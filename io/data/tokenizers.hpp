#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/data/added_tokens.hpp"
#include "zero/io/data/tokenizer.hpp"

namespace zero {

/// The kinds of tokenizers that are read from files. Both throw as open_tokenizer().
/// `folder` has vocab.json and merges.txt.
std::unique_ptr<Tokenizer> open_bpe(const std::string& folder);
/// `path` is a SentencePiece model; settings are in `folder`, "" for none.
std::unique_ptr<Tokenizer> open_pieces(const std::string& path, const std::string& folder);

/// True if open_tokenizer() takes `name` for a SentencePiece model.
bool names_pieces(const std::string& name);

/// Throws Error(kInput) unless ids[i] is an id of a tokenizer of `vocab_size`.
void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size);

/// The settings of special tokens and of encoding in the JSON files beside a vocabulary.
struct TokenizerSettings {
  /// A token by its role ("eos_token") or as an additional special one; its id stands elsewhere.
  struct Named {
    std::string role;
    AddedToken token;
  };

  std::vector<Named> named;
  std::map<int32_t, AddedToken> added;  ///< by id
  bool prefix_space = false;            ///< add_prefix_space
  bool legacy = true;
  int64_t extra_ids = 100;
  int32_t decoder_start = SpecialIds::kNone;

  /// The text of the role, or `otherwise` where no file names it.
  std::string text_of(const std::string& role, const std::string& otherwise = "") const;
  /// Changes with all that changes ids.
  uint32_t fingerprint() const;
};

/// Reads tokenizer_config.json; special_tokens_map.json for the roles that it leaves open;
/// added_tokens.json where it lists no added tokens; and decoder_start_token_id of config.json.
/// Each may be missing. Throws Error(kInput) with file and key for a value of another type, an id
/// that is none, or a rule that is not followed here.
TokenizerSettings read_tokenizer_settings(const std::string& folder);

/// The tokens of `settings` with their ids: those that have one, and the named ones to which
/// `find` gives one. A named token without an id is text like any other.
std::vector<AddedToken> tokens_with_ids(
    const TokenizerSettings& settings,
    const std::function<std::optional<int32_t>(const std::string&)>& find);

}  // namespace zero
