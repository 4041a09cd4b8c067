#include "io/data/document_part.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "io/data/data_file.hpp"
#include "zero/io/files/output_file.hpp"

namespace zero {
namespace {

constexpr int64_t kPiece = 1 << 16;  // tokens that are read at a time, a multiple of 64
constexpr int64_t kBits = 64;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

uint64_t hash_of(std::span<const std::byte> bytes) { return number_of(xxh3_of(bytes)); }

using Take = std::function<void(std::span<const std::byte>)>;

/// A cutter of bytes into blocks of kDigestBytes.
class Blocks {
 public:
  explicit Blocks(const Take& take) : take_(take) { block_.reserve(size_t(kDigestBytes)); }

  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t now = std::min(size_t(kDigestBytes) - block_.size(), bytes.size());
      block_.insert(block_.end(), bytes.begin(), bytes.begin() + ptrdiff_t(now));
      bytes = bytes.subspan(now);
      if (block_.size() == size_t(kDigestBytes)) finish();
    }
  }
  void finish() {
    if (!block_.empty()) take_(block_);
    block_.clear();
  }

 private:
  const Take& take_;
  std::vector<std::byte> block_;
};

/// Gives ids and bits, as a part holds them, to `take` in blocks of kDigestBytes.
void visit_body(const DocumentSource& source, int64_t tokens, int64_t id_bytes, const Take& take) {
  Blocks blocks(take);
  std::vector<int32_t> ids(size_t(std::min(kPiece, tokens)));
  std::vector<std::byte> raw(ids.size() * size_t(id_bytes));
  for (int64_t first = 0; first < tokens; first += kPiece) {
    const size_t now = size_t(std::min(kPiece, tokens - first));
    source.read(first, std::span(ids).first(now));
    for (size_t i = 0; i < now; ++i)
      memcpy(raw.data() + i * size_t(id_bytes), &ids[i], size_t(id_bytes));
    blocks.add(std::span(raw).first(now * size_t(id_bytes)));
  }
  std::vector<uint64_t> bits;
  for (int64_t first = 0; first < tokens; first += kPiece) {
    const size_t now = size_t(std::min(kPiece, tokens - first));
    source.read_targets(first, std::span(ids).first(now));
    bits.assign((now + kBits - 1) / kBits, 0);
    for (size_t i = 0; i < now; ++i) bits[i / kBits] |= uint64_t(ids[i] >= 0) << (i % kBits);
    blocks.add(bytes_of(bits));
  }
  blocks.finish();
}

/// Returns the places of documents and their targets.
std::vector<std::byte> index_of(const DocumentSource& source, int64_t documents) {
  std::vector<std::byte> index(size_t(8 * (documents + 1) + 4 * documents));
  for (int64_t i = 0; i <= documents; ++i) {
    const int64_t begin = source.begin(i);
    memcpy(index.data() + 8 * i, &begin, 8);
    if (i == documents) break;
    const int32_t targets = int32_t(source.targets(i, source.length(i)));
    memcpy(index.data() + 8 * (documents + 1) + 4 * i, &targets, 4);
  }
  return index;
}

}  // namespace

PartHeader write_part(const std::string& path, const PartContent& content) {
  const DocumentSource& source = content.documents;
  const int64_t tokens = source.begin(content.count);
  const DocumentSource::Counts counts = source.counts();
  PartHeader header{.magic = kPartMagic,
                    .version = 1,
                    .rules = content.rules,
                    .id_bytes = content.vocab_size > 65536 ? 4u : 2u,
                    .documents = uint64_t(content.count),
                    .tokens = uint64_t(tokens),
                    .vocabulary = uint64_t(source.vocab_size()),
                    .empty = uint64_t(counts.empty),
                    .merged = uint64_t(counts.merged)};
  const std::vector<std::byte> index = index_of(source, content.count);
  std::vector<uint64_t> digests;
  const int64_t id_bytes = int64_t(header.id_bytes);
  visit_body(source, tokens, id_bytes,
             [&](std::span<const std::byte> block) { digests.push_back(hash_of(block)); });
  header.index_digest = hash_of(index);
  header.block_digest = hash_of(bytes_of(digests));
  header.header_digest = digest_of(header);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(index);
  visit_body(source, tokens, id_bytes,
             [&](std::span<const std::byte> block) { file.write(block); });
  file.write(bytes_of(digests));
  file.publish();
  return header;
}

}  // namespace zero
