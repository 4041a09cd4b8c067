#include "io/data/zstd_file.hpp"
#include "zero/base/error.hpp"

namespace zero {

std::string unpacked_zstd(const InputFile& file) {
  refuse(Exit::kInput, file.path(), ": this build has no libzstd; unpack the file: zstd -dc ",
         file.path(), " > NEW");
}

}  // namespace zero
