#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/data/document_source.hpp"
#include "io/data/prepared_documents.hpp"

namespace zero {

struct PartContent {
  const DocumentSource& documents;
  int64_t count = 0;       ///< documents
  uint64_t rules = 0;      ///< PartHeader::rules
  int64_t vocab_size = 0;  ///< of the model: ids take 2 bytes up to 65536, else 4
};

/// Writes documents as a part of a prepared set, under a new name. Holds a few MiB and 12 bytes a
/// document besides them. Returns the header. Throws Error(kIo) if the disk fails.
PartHeader write_part(const std::string& path, const PartContent& content);

/// Returns the header of a part that is whole by its header and its size. None if it is not.
std::optional<PartHeader> whole_part(const std::string& path);

}  // namespace zero
