#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/added_tokens.hpp"
#include "io/text/bpe_files.hpp"
#include "io/text/bpe_tokenizer.hpp"
#include "io/text/json_section.hpp"
#include "io/text/word_pattern.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// A step that cuts a piece of text, or puts a blank in front of it unless it begins with one.
struct CutStep {
  enum class Kind : uint8_t { kPattern, kDigits, kDigitRuns, kPrefixSpace };
  Kind kind = Kind::kPattern;
  WordPattern pattern = WordPattern::kByteLevel;  ///< of kPattern

  bool operator==(const CutStep&) const = default;
};

/// The pre-tokenizer Metaspace: blanks become U+2581, and one more precedes some pieces.
struct MarkRule {
  enum class Prefix : uint8_t { kFirst, kAlways, kNever };
  Prefix prefix = Prefix::kAlways;
  bool splits = true;  ///< a word begins at each mark
};

/// The decoder: from tokens to text.
struct DecodeRules {
  bool byte_level = false;  ///< tokens are bytes; the others do not matter then
  bool marks_are_blanks = false;
  bool joins_bytes = false;        ///< <0xNN> is a byte
  bool strips_blank = false;       ///< one blank at the start of the text goes
  bool drops_first_marks = false;  ///< all marks in the first token go
};

/// The rules of a tokenizer.json beside its vocabulary.
struct TokenizerRules {
  enum class Normal : uint8_t { kNfc, kPrependMark, kMarkBlanks };
  std::vector<Normal> normal;
  bool byte_level = false;
  std::vector<CutStep> cuts;  ///< of a byte-level BPE
  std::optional<MarkRule> marks;
  DecodeRules decode;
  TextFrame frame;
  bool ignores_merges = false;  ///< a word in the vocabulary is taken whole
  bool byte_fallback = false, fuses_unknown = false;
  std::string unknown;  ///< unk_token, "" for none
};

/// Reads the sections normalizer, pre_tokenizer, post_processor and decoder of the root of a file.
/// Throws Error(kInput) naming a type, regex, flag or key that is not supported, and what is.
TokenizerRules read_tokenizer_rules(JsonSection& root);

/// The vocabulary and the sections of a tokenizer.json before anyone has judged its rules.
struct TokenizerJsonFile {
  std::string path;
  BpeVocabulary vocabulary;
  bool has_vocabulary = false;  ///< model.vocab is an object from entries to ids
  std::vector<std::pair<std::string, std::string>> merges;
  JsonNode root;  ///< all but truncation, padding, model.vocab and model.merges
};

/// Parses a tokenizer.json. Throws Error(kInput) if it is damaged: no JSON, too large or too deep,
/// ids that are not 0, 1, 2, ..., or a merge that has not two sides.
TokenizerJsonFile parse_tokenizer_json(const std::string& path);

/// The content of a tokenizer.json of a BPE.
struct TokenizerJson {
  TokenizerRules rules;
  BpeVocabulary vocabulary;
  std::vector<BpeMerge> merges;   ///< in the order of their ranks
  MergeTable table{0};            ///< table of `merges`
  std::vector<AddedToken> added;  ///< in the order of the file
  uint64_t fingerprint = 0;       ///< changes with any of these
};

/// Judges the content of a file. Throws Error(kInput) for what is not supported or contradictory,
/// with what works.
TokenizerJson read_tokenizer_json(TokenizerJsonFile file);

/// Makes the tokenizer of a file in FOLDER with the settings beside it. Throws Error(kInput) if
/// these name other tokens or other ids around a text.
std::unique_ptr<Tokenizer> make_json_tokenizer(TokenizerJson json, const std::string& folder);

}  // namespace zero
