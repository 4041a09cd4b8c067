#include "io/data/data_file.hpp"
#include "io/data/parquet_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

[[noreturn]] void refuse_file(const std::string& path) {
  const DataFile file(path, kDocumentFileAdvice);
  file.require_records();
  refuse(Exit::kInput, path, ": is no Parquet file; ", kDocumentFileAdvice);
}

}  // namespace

bool names_parquet(const std::string& path) { return path.ends_with(".parquet"); }

std::vector<int64_t> parquet_group_bytes(const std::string& path) { refuse_file(path); }

std::unique_ptr<DocumentFile> open_parquet_documents(const std::string& path, const DocumentFields&,
                                                     const GroupRange&) {
  refuse_file(path);
}

}  // namespace zero
