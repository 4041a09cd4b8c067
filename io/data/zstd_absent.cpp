#include "io/data/zstd_file.hpp"
#include "zero/base/error.hpp"

namespace zero {

void unpack_zstd(const InputFile& file, const std::function<void(std::span<const std::byte>)>&) {
  refuse(Exit::kInput, file.path(), ": this build has no libzstd; unpack the file: zstd -dc ",
         file.path(), " > NEW");
}

std::string unpacked_zstd(const InputFile& file) {
  unpack_zstd(file, {});
  return "";
}

}  // namespace zero
