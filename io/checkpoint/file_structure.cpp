#include "io/checkpoint/file_structure.hpp"

#include <utility>

#include "zero/base/error.hpp"

namespace zero::checkpoint {

FileStructure::FileStructure(const InputFile& file, std::vector<Extent> extents)
    : file_bytes_(file.bytes()), extents_(std::move(extents)) {
  int64_t begin = 0;
  const auto keep = [&](int64_t end) {
    between_.emplace_back(size_t(end - begin));
    file.read(begin, between_.back());
  };
  for (size_t i = 0; i < extents_.size(); ++i) {
    const auto& [offset, bytes] = extents_[i];
    ZERO_REQUIRE(begin <= offset, file.path(), ": HDF5 laid payload ", i,
                 " not behind the one before");
    keep(offset);
    begin = offset + bytes;
  }
  ZERO_REQUIRE(begin <= file_bytes_, file.path(), ": ends before its last payload does");
  keep(file_bytes_);
}

}  // namespace zero::checkpoint
