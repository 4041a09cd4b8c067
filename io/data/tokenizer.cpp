#include "zero/io/data/tokenizer.hpp"

#include "io/data/bpe.hpp"
#include "io/data/require_token.hpp"

namespace zero {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kBytes = 256;

  int64_t vocab_size() const override { return kBytes; }

  std::vector<int32_t> encode(std::string_view text) const override {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return {bytes.begin(), bytes.end()};
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string bytes;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, kBytes);
      bytes += char(ids[i]);
    }
    return bytes;
  }

  uint64_t fingerprint() const override { return kBytes; }
};

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  return std::make_unique<BpeTokenizer>(name);
}

}  // namespace zero
