#include "io/text/json_bpe.hpp"

#include <algorithm>

#include "io/text/characters.hpp"
#include "io/text/sentencepiece.hpp"

namespace zero {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

std::string fallback_symbol(size_t byte) {
  return {'<', '0', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15], '>'};
}

uint32_t last_code_point(std::string_view text) {
  return character(text, last_character(text, text.size())).code_point;
}

}  // namespace

JsonBpe::JsonBpe(TokenizerJson& json, const std::string& file)
    : byte_level_(json.rules.byte_level),
      ignores_merges_(json.rules.ignores_merges),
      byte_fallback_(json.rules.byte_fallback),
      fuses_unknown_(json.rules.fuses_unknown),
      unknown_text_(json.rules.unknown),
      merges_(std::move(json.merges)),
      table_(std::move(json.table)) {
  for (const std::string* entry : json.vocabulary.entries) {
    entries_.push_back(*entry);
    tokens_.push_back(byte_level_ ? bpe_bytes(*entry) : *entry);
  }
  ids_.reserve(entries_.size());
  for (size_t id = 0; id < entries_.size(); ++id) {
    ids_.emplace(entries_[id], int32_t(id));
    // An entry with another character than those of bytes is never a word.
    const bool is_word =
        !byte_level_ || tokens_[id] != entries_[id] ||
        std::ranges::all_of(entries_[id], [](char c) { return c > ' ' && c < 127; });
    if (ignores_merges_ && is_word) words_.emplace(tokens_[id], int32_t(id));
  }
  find_symbols();
  if (!byte_level_) find_joins();
  require_known_symbols(file);
}

int32_t JsonBpe::find(std::string_view entry) const {
  const auto found = ids_.find(entry);
  return found == ids_.end() ? SpecialIds::kNone : found->second;
}

void JsonBpe::find_symbols() {
  for (size_t byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = find(byte_level_ ? bpe_symbol(uint8_t(byte)) : fallback_symbol(byte));
  if (!unknown_text_.empty()) unknown_ = find(unknown_text_);
  if (byte_level_) return;
  for (size_t id = 0; id < entries_.size(); ++id) {
    const Character first = character(entries_[id], 0);
    if (!first.broken && first.bytes == entries_[id].size())
      symbols_.emplace(first.code_point, int32_t(id));
  }
}

/// Finds the characters that may not be parted from a mark behind them. Where no merge joins the
/// two sides of a place, both are merged alone, and words are found in the cache.
void JsonBpe::find_joins() {
  for (const BpeMerge& merge : merges_) {
    if (entries_[size_t(merge.right)].starts_with(kBlankMark))
      joined_.insert(last_code_point(entries_[size_t(merge.left)]));
  }
  const bool joins_unknown =
      joined_.contains('>') ||
      (!unknown_text_.empty() && joined_.contains(last_code_point(unknown_text_)));
  cuts_ = !ignores_merges_ && !joins_unknown && find(kBlankMark) != SpecialIds::kNone;
}

void JsonBpe::require_known_symbols(const std::string& file) const {
  const bool has_all = std::ranges::find(bytes_, SpecialIds::kNone) == bytes_.end();
  if (has_all && (byte_level_ || byte_fallback_)) return;
  if (byte_level_ && byte_fallback_)
    refuse(Exit::kInput, file,
           ": model.byte_fallback: true is not supported beside ByteLevel with ",
           "bytes that model.vocab lacks; write false");
  if (!unknown_text_.empty() && unknown_ == SpecialIds::kNone)
    refuse(Exit::kInput, file, ": model.unk_token: model.vocab has no ", shown_entry(unknown_text_),
           "; write null, or an entry");
}

void JsonBpe::add_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (word.size() > WordCache::kMostBytes) return add_parts(word, scratch, ids);
  add_part(word, scratch, ids);
}

/// Adds a word or a part of it. REQUIRES: a short word has no place to cut that matters.
void JsonBpe::add_part(std::string_view part, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (part.empty()) return;
  if (part.size() > WordCache::kMostBytes) return merge(part, scratch, ids);
  WordCache::Slot& slot = scratch.cache.slot_of(part);
  if (!slot.holds(part)) {
    scratch.made.clear();
    merge(part, scratch, scratch.made);
    slot.keep(part, scratch.made);
    if (!slot.holds(part))
      return ids.insert(ids.end(), scratch.made.begin(), scratch.made.end()), void();
  }
  const std::span<const int32_t> known = slot.known();
  ids.insert(ids.end(), known.begin(), known.end());
}

/// True if no merge joins what is in front of the mark at `at` with it.
bool JsonBpe::may_cut(std::string_view word, size_t at) const {
  return !joined_.contains(character(word, last_character(word, at)).code_point);
}

void JsonBpe::add_parts(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (!cuts_) return merge(word, scratch, ids);
  size_t first = 0;
  for (size_t at = word.find(kBlankMark, 1); at != word.npos; at = word.find(kBlankMark, at + 1)) {
    if (!may_cut(word, at)) continue;
    add_part(word.substr(first, at - first), scratch, ids);
    first = at;
  }
  add_part(word.substr(first), scratch, ids);
}

void JsonBpe::merge(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (ignores_merges_) {
    const auto whole = words_.find(word);
    if (whole != words_.end()) return ids.push_back(whole->second);
  }
  scratch.symbols.clear();
  read_symbols(word, scratch.symbols);
  scratch.merger.merge(scratch.symbols, ids);
}

/// Returns the id of a single symbol, or kNone.
int32_t JsonBpe::symbol(std::string_view word, size_t at, size_t bytes) const {
  if (byte_level_) return bytes_[uint8_t(word[at])];
  const Character found = character(word.substr(at, bytes), 0);
  const auto known = found.broken ? symbols_.end() : symbols_.find(found.code_point);
  return known == symbols_.end() ? SpecialIds::kNone : known->second;
}

/// Appends a token for each byte. False if one has none.
bool JsonBpe::add_bytes(std::string_view bytes, std::vector<int32_t>& out) const {
  const bool all = std::ranges::all_of(
      bytes, [&](char byte) { return bytes_[uint8_t(byte)] != SpecialIds::kNone; });
  if (!all) return false;
  for (const char byte : bytes) out.push_back(bytes_[uint8_t(byte)]);
  return true;
}

/// Appends the symbols of a word. An unknown one waits for the next known one, so that a run of
/// them may be one token; bytes pass by it, as in `tokenizers`.
void JsonBpe::read_symbols(std::string_view word, std::vector<int32_t>& out) const {
  bool waits = false;
  for (size_t at = 0, bytes = 0; at < word.size(); at += bytes) {
    bytes = byte_level_ ? 1 : character(word, at).bytes;
    const int32_t id = symbol(word, at, bytes);
    if (id != SpecialIds::kNone) {
      if (std::exchange(waits, false)) out.push_back(unknown_);
      out.push_back(id);
      continue;
    }
    if (byte_fallback_ && add_bytes(word.substr(at, bytes), out)) continue;
    if (unknown_ == SpecialIds::kNone) continue;
    if (std::exchange(waits, true) && !fuses_unknown_) out.push_back(unknown_);
  }
  if (waits) out.push_back(unknown_);
}

}  // namespace zero
