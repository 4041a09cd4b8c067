#pragma once

#include <cstdint>
#include <string>

#include "zero/io/data/data_kind.hpp"

namespace zero {

struct Preparation {
  int64_t documents = 0, tokens = 0;
  int64_t parts = 0;
  int64_t kept = 0;  ///< parts that an earlier process had made
  int64_t empty = 0, merged = 0;
};

/// Writes the documents of data.train as a prepared set (prepared_documents.hpp) in a new folder,
/// whose name ends in ".documents". Goes on in a folder that a killed process left. Encodes on
/// `threads` threads; the set does not depend on their number. Throws Error(kUsage) for another
/// name, an existing set, and parts with weights; Error(kInput) as document_data().open(), and for
/// a folder with parts of other data or rules; Error(kIo) if the disk fails.
Preparation prepare_documents(const DataOptions& options, const std::string& folder, int threads);

}  // namespace zero
