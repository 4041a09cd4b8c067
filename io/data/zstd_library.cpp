#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/data/zstd_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using Context = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

}  // namespace

void unpack_zstd(const InputFile& file,
                 const std::function<void(std::span<const std::byte>)>& take) {
  const Context context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZERO_REQUIRE(context, "libzstd has no memory");
  std::vector<std::byte> packed(ZSTD_DStreamInSize()), room(ZSTD_DStreamOutSize());
  size_t wanted = 0;  // 0 at the end of a frame
  for (int64_t at = 0; at < file.bytes(); at += int64_t(packed.size())) {
    packed.resize(size_t(std::min<int64_t>(int64_t(packed.size()), file.bytes() - at)));
    file.read(at, packed);
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    for (bool is_full = true; in.pos < in.size || is_full;) {
      ZSTD_outBuffer out{room.data(), room.size(), 0};
      const size_t before = in.pos;
      wanted = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(wanted)) {
        refuse(Exit::kInput, file.path(), ": offset ", at + int64_t(before),
               ": is no text that zstd compressed: ", ZSTD_getErrorName(wanted));
      }
      take(std::span(room).first(out.pos));
      is_full = out.pos == out.size;
    }
  }
  if (wanted != 0) {
    refuse(Exit::kInput, file.path(), ": offset ", file.bytes(), ": the last frame is cut off");
  }
}

/// A header may lie about the size, so the text grows by what comes out.
std::string unpacked_zstd(const InputFile& file) {
  std::string content;
  unpack_zstd(file, [&](std::span<const std::byte> piece) {
    content.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (int64_t(content.size()) <= kMostUnpackedBytes) return;
    refuse(Exit::kInput, file.path(), ": unpacks to more than ", kMostUnpackedBytes,
           " bytes; make several files of it, or a prepared set");
  });
  return content;
}

}  // namespace zero
