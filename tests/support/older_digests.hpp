#pragma once
/// Digests of files as formats 1 to 3 have them, which nothing writes any more.

#include <algorithm>
#include <span>
#include <string>

#include "zero/base/digests.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/blocks.hpp"

namespace zero::testing_support {

inline checkpoint::File older_entry(const std::string& name, const std::string& content,
                                    const checkpoint::DigestForm& form) {
  checkpoint::File file{.name = name, .digests = "", .xxh3 = ""};
  const auto bytes = std::as_bytes(std::span(content));
  add_blocks(bytes, form, file);
  Xxh3 whole;
  const auto block_bytes = size_t(form.block_bytes);
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    const auto block = bytes.subspan(at, std::min(block_bytes, bytes.size() - at));
    const Xxh3Digest digest = xxh3_of(block);
    whole.add(form.file_is_of_bytes ? block : std::as_bytes(std::span(digest)));
  }
  file.xxh3 = hex_of(whole.digest());
  return file;
}

}  // namespace zero::testing_support
