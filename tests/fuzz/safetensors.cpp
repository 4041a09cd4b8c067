/// A file of any bytes is a safetensors file whose tensors can be read to the last element, or one
/// input error.

#include "zero/io/interop/safetensors.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

/// A file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    ZERO_REQUIRE(write(file_, bytes.data(), bytes.size()) == ssize_t(bytes.size()), "no memory");
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return text("/proc/self/fd/", file_); }

 private:
  int file_;
};

void read_everything(const SafetensorsFile& file) {
  for (const SafetensorsTensor& tensor : file.tensors()) {
    ZERO_REQUIRE(file.find(tensor.name) == &tensor, "another tensor of the name");
    if (!tensor.usable) continue;
    std::vector<float> values(size_t(tensor.numel()));
    file.read(tensor, 0, values);
  }
}

void check(std::span<const uint8_t> bytes) {
  const MemoryFile memory(bytes);
  try {
    read_everything(SafetensorsFile(memory.path()));
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kInput, error.what());
  }
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zero::check({data, size});
  return 0;
}
