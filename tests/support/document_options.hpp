#pragma once

#include <string>

#include "zero/io/data/data_kind.hpp"

namespace zero::testing_support {

/// Options of packed documents of bytes, in samples of 11 tokens.
inline DataOptions packed_options(const std::string& path, Packing packing = Packing::documents) {
  DataConfig data;
  data.train = path;
  data.sequence_length = 11;
  data.packing = packing;
  return {.data = data, .seed = 1, .vocab_size = 256, .packs = true};
}

}  // namespace zero::testing_support
