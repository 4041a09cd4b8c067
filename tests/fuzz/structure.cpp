/// Any members of a manifest and any bytes as each of its files: HDF5's structure in them says what
/// the manifest does, or one error of an input says what is wrong.

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "io/checkpoint/manifest_seal.hpp"
#include "io/checkpoint/structure_rules.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {
namespace {

InputFile file_of(const std::string& content) {
  OpenFile file(memfd_create("structure", MFD_CLOEXEC));
  ZERO_REQUIRE(file && write_all(file, content) == 0, "no file in memory");
  return {std::move(file), "file"};
}

template <class Work>
void check(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kInput || error.exit() == Exit::kNoCheckpoint, error.what());
  }
}

}  // namespace
}  // namespace zero::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zero::checkpoint;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), size);
  check([&] {
    const Manifest manifest = parse_manifest(sealed(input.substr(0, end)), "manifest");
    const zero::InputFile file = file_of(input.substr(std::min(end + 1, size)));
    for (const File& entry : manifest.files) {
      check([&] { require_structure(file, manifest, entry); });
    }
  });
  return 0;
}
