#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// The digits of one block, as File::digests has them.
std::string digest_of(std::span<const std::byte> block, const DigestForm& form);

/// Enters the next bytes of a file: whole blocks, but for those that end it.
void add_blocks(std::span<const std::byte> bytes, const DigestForm& form, File& file);

}  // namespace zero::checkpoint
