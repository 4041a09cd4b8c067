/// A file of any bytes is a safetensors file whose tensors can be read to the last element, or one
/// input error.

#include "zero/io/interop/safetensors.hpp"

#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

void read_everything(const TensorFile& file) {
  for (const FileTensor& tensor : file.tensors()) {
    ZERO_REQUIRE(file.find(tensor.name) == &tensor, "another tensor of the name");
    if (!tensor.usable) continue;
    std::vector<float> values(size_t(tensor.numel()));
    file.read(tensor, 0, values);
  }
}

void check(std::span<const uint8_t> bytes) {
  const MemoryFile memory(bytes);
  try {
    read_everything(open_safetensors(memory.path()));
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
