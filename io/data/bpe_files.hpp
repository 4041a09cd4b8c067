#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/data/bpe_merges.hpp"

namespace zero {

/// What vocab.json and merges.txt of a byte-level BPE say.
struct BpeFiles {
  std::vector<std::string> tokens;         ///< the bytes of each id; none is empty
  std::array<int32_t, 256> byte_ids = {};  ///< the id of each single byte
  std::vector<BpeMerge> merges;            ///< by rank
  MergeTable table{0};                     ///< of `merges`
  uint64_t fingerprint = 0;                ///< changes with any entry, id, or merge
};

/// Reads FOLDER/vocab.json, one JSON object from entry to id, and FOLDER/merges.txt, a merge a
/// line: two entries with one blank between; lines that begin with "#version" are no merges. Throws
/// Error(kInput) with file, offset or line and how such files are made. It does so for a file that
/// is missing, too large or malformed. Malformed are an entry or id that comes twice; ids that are
/// not 0, 1, 2, ...; a byte without its entry; a merge that comes twice or whose sides or result
/// are no entries.
BpeFiles read_bpe_files(const std::string& folder);

}  // namespace zero
