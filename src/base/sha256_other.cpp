#include "src/base/sha256_blocks.hpp"

namespace zero {

void add_sha256_blocks(uint32_t* state, const std::byte* blocks, size_t count) {
  add_sha256_blocks_plain(state, blocks, count);
}

}  // namespace zero
