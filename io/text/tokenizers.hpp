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

#include "io/text/added_tokens.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// Opens a byte-level BPE from a folder with vocab.json and merges.txt. Throws as open_tokenizer().
std::unique_ptr<Tokenizer> open_bpe(const std::string& folder);
/// The name of a SentencePiece model with the special tokens of DebertaV2Tokenizer. Other names
/// mean those of T5Tokenizer, unless tokenizer_config.json says the first class.
inline constexpr const char* kSpmFile = "spm.model";

/// True for the path of a file of that name.
bool is_spm_file(const std::string& path);

/// Opens the SentencePiece model `path` with settings in `folder`, "" for none. Throws as
/// open_tokenizer().
std::unique_ptr<Tokenizer> open_pieces(const std::string& path, const std::string& folder);

/// True if open_tokenizer() takes `name` for a SentencePiece model.
bool names_pieces(const std::string& name);

/// Throws Error(kInput) unless ids[i] is an id of a tokenizer of `vocab_size`.
void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size);

/// The settings of special tokens and of encoding in the JSON files beside a vocabulary.
struct TokenizerSettings {
  /// A token named by its role ("eos_token") or as an additional special one. Its id stands
  /// elsewhere.
  struct Named {
    std::string role;
    AddedToken token;
  };

  std::vector<Named> named;
  std::map<int32_t, AddedToken> added;  ///< by id
  bool prefix_space = false;            ///< add_prefix_space
  bool legacy = true;
  std::string tokenizer_class = {};  ///< class in Transformers; "" if no file names it
  bool lower_case = false;           ///< do_lower_case
  bool split_by_punct = false;
  int64_t extra_ids = 100;
  int32_t decoder_start = SpecialIds::kNone;
  std::optional<bool> adds_bos = {}, adds_eos = {};  ///< add_bos_token and add_eos_token

  /// Returns the text of a role, or `otherwise` if no file names it.
  std::string text_of(const std::string& role, const std::string& otherwise = "") const;
  /// Returns a number that changes with everything that changes ids.
  uint32_t fingerprint() const;
};

/// The choice to read single_word of an added token, or to refuse it if it is true.
enum class SingleWord { kRefused, kRead };

/// Reads tokenizer_config.json; special_tokens_map.json for roles that it leaves open;
/// added_tokens.json if it lists no added tokens; and decoder_start_token_id of config.json. Each
/// may be missing. Throws Error(kInput) with file and key for a value of another type, an invalid
/// id, or an unsupported rule.
TokenizerSettings read_tokenizer_settings(const std::string& folder,
                                          SingleWord single_word = SingleWord::kRefused);

/// Returns the ids of the roles that `settings` name. `id_of` gives the id of a token's text, which
/// is empty for a role that no file names.
SpecialIds ids_of_roles(const TokenizerSettings& settings,
                        const std::function<int32_t(const std::string&)>& id_of);

/// Returns the tokens of `settings` that have an id: the added ones, and the named ones to which
/// `find` gives one. A named token without an id is ordinary text.
std::vector<AddedToken> tokens_with_ids(
    const TokenizerSettings& settings,
    const std::function<std::optional<int32_t>(const std::string&)>& find);

}  // namespace zero
