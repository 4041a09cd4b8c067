#include "io/checkpoint/structure_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::checkpoint {

StructureMemory::StructureMemory(const std::string& name)
    : name_(name), file_(memfd_create("structure", MFD_CLOEXEC)) {
  if (!file_) refuse(Exit::kIo, name_, ": ", std::strerror(errno), " taking memory");
}

int64_t StructureMemory::bytes() const {
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0) {
    refuse(Exit::kIo, name_, ": ", std::strerror(errno), " asking its length");
  }
  return int64_t(status.st_size);
}

void StructureMemory::write(std::span<const std::byte> content) const {
  const int reason =
      write_all(file_, {reinterpret_cast<const char*>(content.data()), content.size()});
  if (reason != 0) refuse(Exit::kIo, name_, ": ", std::strerror(reason), " copying it");
}

std::vector<std::byte> StructureMemory::read(int64_t offset, int64_t bytes) const {
  std::vector<std::byte> content(static_cast<size_t>(bytes));
  for (std::span<std::byte> out(content); !out.empty();) {
    const ssize_t got = pread(file_.descriptor(), out.data(), out.size(), off_t(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      refuse(Exit::kIo, name_, ": offset ", offset, ": ",
             got == 0 ? "the file ends here" : std::strerror(errno), " reading ", out.size(),
             " bytes of structure back");
    }
    out = out.subspan(size_t(got));
    offset += got;
  }
  return content;
}

FileStructure::FileStructure(const StructureMemory& memory, std::vector<Extent> extents)
    : file_bytes_(memory.bytes()), extents_(std::move(extents)) {
  int64_t begin = 0;
  for (size_t i = 0; i < extents_.size(); ++i) {
    const auto& [offset, bytes] = extents_[i];
    ZERO_REQUIRE(begin <= offset, memory.name(), ": HDF5 laid payload ", i,
                 " not behind the one before");
    between_.push_back(memory.read(begin, offset - begin));
    begin = offset + bytes;
  }
  ZERO_REQUIRE(begin <= file_bytes_, memory.name(), ": ends before its last payload does");
  between_.push_back(memory.read(begin, file_bytes_ - begin));
}

}  // namespace zero::checkpoint
