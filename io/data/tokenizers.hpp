#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "zero/io/data/tokenizer.hpp"

namespace zero {

/// The kinds of tokenizers that are read from files. Both throw as open_tokenizer().
/// `folder` has vocab.json and merges.txt.
std::unique_ptr<Tokenizer> open_bpe(const std::string& folder);
/// `path` is a SentencePiece model; settings are in `folder`, "" for none.
std::unique_ptr<Tokenizer> open_pieces(const std::string& path, const std::string& folder);

/// Whether open_tokenizer() takes `name` for a SentencePiece model.
bool names_pieces(const std::string& name);

/// Throws Error(kInput) unless ids[i] is an id of a tokenizer of `vocab_size`.
void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size);

}  // namespace zero
