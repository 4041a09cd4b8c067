#include "io/data/id_file.hpp"

namespace zero {
namespace {

struct Kind {
  uint32_t magic;
  int32_t version;
  IdType type;
};

constexpr Kind kKinds[] = {{kLlmcMagic16, 1, kUint16}, {kLlmcMagic32, 7, kUint32}};

/// Null if the file is of neither kind.
const Kind* kind_of(const DataFile& file) {
  if (file.bytes() < int64_t(sizeof(uint32_t))) return nullptr;
  const auto magic = file.number<uint32_t>(0);
  for (const Kind& kind : kKinds) {
    if (magic == __builtin_bswap32(kind.magic)) {
      file.damaged(0, "llm.c's magic ", kind.magic,
                   " in big-endian order; write the file on a little-endian machine");
    }
    if (magic == kind.magic) return &kind;
  }
  return nullptr;
}

}  // namespace

bool is_llmc_file(const DataFile& file) { return kind_of(file) != nullptr; }

IdLayout llmc_layout(const DataFile& file, int64_t vocab_size) {
  const Kind& kind = *kind_of(file);
  if (file.bytes() < kLlmcHeaderBytes) {
    file.damaged(file.bytes(), "llm.c's header of ", kLlmcHeaderBytes, " bytes is cut off");
  }
  const auto version = file.number<int32_t>(4), tokens = file.number<int32_t>(8);
  if (version != kind.version) {
    file.damaged(4, "version ", version, " of llm.c's magic ", kind.magic, ", only ", kind.version,
                 " is read");
  }
  const int64_t body = file.bytes() - kLlmcHeaderBytes;
  if (tokens < 1 || body != tokens * kind.type.bytes) {
    file.damaged(8, "the header says ", tokens, " tokens, ", kLlmcHeaderBytes, " + ",
                 kind.type.bytes, " bytes each, but the file has ", file.bytes(), " bytes");
  }
  return {.format = text("llm.c file of ", kind.type.name, " ids"),
          .type = kind.type,
          .offset = kLlmcHeaderBytes,
          .tokens = tokens,
          .vocab_size = vocab_size};
}

}  // namespace zero
