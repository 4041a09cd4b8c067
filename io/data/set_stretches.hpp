#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/data/document_source.hpp"
#include "zero/io/data/prepare.hpp"

namespace zero {

/// Records of a raw file that make a part of a prepared set.
struct Stretch {
  /// text, lines: bytes, of which records begin in [begin, end); records: of a table; groups: of
  /// rows of Parquet.
  enum class Unit : uint8_t { text, lines, records, groups };

  Unit unit = Unit::lines;
  std::string path = {};  ///< file that is read
  std::string name = {};  ///< file for messages
  int64_t begin = 0, end = 0;
  bool is_last = false;  ///< of its file
  int64_t bytes = 0;     ///< about, unpacked
  std::shared_ptr<const DocumentFile> table = nullptr;
};

struct Encoding {
  const DocumentRules* rules;  ///< null for a text
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// Returns the bytes of a file, unpacked if it is Parquet.
int64_t content_bytes(const std::string& path);

/// Adds the stretches of a file, of about `part` bytes each. `path` has its content. Depends on the
/// file alone. Throws as open_document_file().
void add_stretches(const RawFile& file, const std::string& path, const Encoding& encoding,
                   int64_t part, std::vector<Stretch>& all);

/// Opens a stretch, of which add() encodes the documents. `lines_before` is for messages.
std::unique_ptr<DocumentSource> open_stretch(const Stretch& stretch, const Encoding& encoding,
                                             int64_t lines_before);

}  // namespace zero
