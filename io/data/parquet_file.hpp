#pragma once
/// Parquet files of documents. Needs Arrow's C++ libraries, which Debian lacks and the Python
/// package pyarrow holds. The twin of a build without them refuses each file and says what works.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "io/data/document_file.hpp"

namespace zero {

bool names_parquet(const std::string& path);

/// Row groups of a file: [begin, end).
struct GroupRange {
  int begin = 0, end = std::numeric_limits<int>::max();
};

/// Returns the bytes of each row group in the file, as its footer says. Throws Error(kInput) if the
/// file is damaged.
std::vector<int64_t> parquet_group_bytes(const std::string& path);

/// Opens row groups. A document is a row: a column with the text, two with prompt and completion,
/// or a list of ids with maybe one of labels. Reads these columns alone, a row group at a time.
/// Throws as open_document_file(), and for columns of other types.
std::unique_ptr<DocumentFile> open_parquet_documents(const std::string& path,
                                                     const DocumentFields& fields,
                                                     const GroupRange& groups);

}  // namespace zero
