/// A file of any bytes, and an archive around a pickle of any bytes, is a file of torch.save whose
/// tensors can be read to the last element, or one input error, in a second of the processor.

#include "zero/io/interop/torch_file.hpp"

#include <ctime>
#include <span>
#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

void read_everything(const TensorFile& file) {
  int64_t left = 1 << 20;  // elements: many tensors may share a storage
  for (const FileTensor& tensor : file.tensors()) {
    ZERO_REQUIRE(file.find(tensor.name) == &tensor, "another tensor of the name");
    if (!tensor.usable || tensor.numel() > left) continue;
    left -= tensor.numel();
    std::vector<float> values(size_t(tensor.numel()));
    file.read(tensor, 0, values);
  }
}

void check(std::span<const uint8_t> bytes) {
  const MemoryFile memory(bytes);
  const std::clock_t before = std::clock();
  try {
    read_everything(open_torch_file(memory.path()));
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kInput, error.what());
  }
  ZERO_REQUIRE(std::clock() - before < CLOCKS_PER_SEC, "more than a second");
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zero::testing_support;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  zero::check({data, size});
  const std::string unchecked = without_crcs(bytes);
  zero::check({reinterpret_cast<const uint8_t*>(unchecked.data()), unchecked.size()});
  const std::string file = torch_file_of(bytes, {std::string(24, '\1'), std::string(8, '\1')});
  zero::check({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  return 0;
}
