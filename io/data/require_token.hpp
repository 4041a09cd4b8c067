#pragma once

#include <cstdint>
#include <span>

#include "zero/base/error.hpp"

namespace zero {

/// Throws Error(kInput) unless ids[i] is an id of a tokenizer of `vocab_size`.
inline void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size) {
  if (ids[i] >= 0 && ids[i] < vocab_size) return;
  refuse(Exit::kInput, "token ", ids[i], " at place ", i, ": the tokenizer has ", vocab_size,
         "; name the one that the tokens were made with");
}

}  // namespace zero
