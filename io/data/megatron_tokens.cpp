#include <algorithm>
#include <string_view>

#include "io/data/id_file.hpp"

namespace zero {
namespace {

constexpr std::string_view kMapped = {"MMIDIDX\0\0", 9};
constexpr std::string_view kLegacy = {"TNTIDX\0\0", 8};

/// A row of signed numbers of 4 or 8 bytes in an index, read from first to last.
class Column {
 public:
  Column(const DataFile& index, int64_t begin, int64_t bytes, int64_t count)
      : index_(index),
        at_(begin - bytes),
        bytes_(bytes),
        fetched_(begin),
        end_(begin + bytes * count) {}

  int64_t next() {
    at_ += bytes_;
    if (at_ == fetched_) fetch();
    const uint8_t* raw = piece_.data() + (at_ - (fetched_ - held_));
    return bytes_ == 4 ? id_value<int32_t>(raw) : id_value<int64_t>(raw);
  }
  /// Returns the offset of the last number read.
  int64_t offset() const { return at_; }
  int64_t end() const { return end_; }

 private:
  void fetch() {
    held_ = std::min(int64_t(piece_.size()), end_ - fetched_);
    index_.read(fetched_, std::span(piece_).first(size_t(held_)));
    fetched_ += held_;
  }

  const DataFile& index_;
  int64_t at_, bytes_, fetched_, end_;
  int64_t held_ = 0;
  std::array<uint8_t, 1 << 15> piece_;
};

/// The header of an index.
struct Header {
  bool legacy = false;
  int64_t bytes = 0;
  IdType type = kUint8;
  int64_t sequences = 0, documents = 0;
};

IdType type_of(const DataFile& index, int64_t offset, uint64_t code) {
  switch (code) {
    case 1:
      return kUint8;
    case 2:
      return kInt8;
    case 3:
      return kInt16;
    case 4:
      return kInt32;
    case 5:
      return kInt64;
    case 8:
      return kUint16;
    case 6:
    case 7:
      index.damaged(offset, "type ", code, " is a floating-point one, which no id has");
    default:
      index.damaged(offset, "type ", code, ", only 1 to 5 and 8 are types of ids");
  }
}

/// Returns a count of entries that take `bytes` each. Refuses more than the index can hold.
int64_t count_at(const DataFile& index, int64_t offset, int64_t bytes, const char* what) {
  const auto count = index.number<uint64_t>(offset);
  if (count < 1 || count > uint64_t(index.bytes() / bytes)) {
    index.damaged(offset, count, " ", what, " in an index of ", index.bytes(), " bytes");
  }
  return int64_t(count);
}

void require_version(const DataFile& index, int64_t offset) {
  const auto version = index.number<uint64_t>(offset);
  if (version != 1) index.damaged(offset, "version ", version, ", only 1 is read");
}

bool begins_with(const DataFile& index, std::string_view magic) {
  std::array<uint8_t, 16> first{};
  index.read(0, std::span(first).first(size_t(std::min<int64_t>(index.bytes(), 16))));
  return std::equal(magic.begin(), magic.end(), first.begin());
}

void require_bytes(const DataFile& index, int64_t bytes) {
  if (index.bytes() < bytes) {
    index.damaged(index.bytes(), "the header of ", bytes, " bytes is cut off");
  }
}

void require_length(const DataFile& index, const Header& header, int64_t wanted) {
  if (index.bytes() == wanted) return;
  const bool modes = index.bytes() == wanted + header.sequences;
  index.damaged(std::min(index.bytes(), wanted), header.sequences, " sequences and ",
                header.documents, " borders of documents take ", wanted,
                " bytes, but the index has ", index.bytes(),
                modes ? ": it is one of several modes, of which only text is read" : "");
}

Header mapped_header(const DataFile& index) {
  require_bytes(index, 34);
  require_version(index, 9);
  const Header header{.legacy = false,
                      .bytes = 34,
                      .type = type_of(index, 17, index.number<uint8_t>(17)),
                      .sequences = count_at(index, 18, 12, "sequences"),
                      .documents = count_at(index, 26, 8, "borders of documents")};
  require_length(index, header, header.bytes + 12 * header.sequences + 8 * header.documents);
  return header;
}

Header legacy_header(const DataFile& index) {
  require_bytes(index, 56);
  require_version(index, 8);
  const Header header{.legacy = true,
                      .bytes = 56,
                      .type = type_of(index, 16, index.number<uint64_t>(16)),
                      .sequences = count_at(index, 32, 24, "sequences"),
                      .documents = count_at(index, 48, 8, "borders of documents")};
  if (const auto bytes = index.number<uint64_t>(24); bytes != uint64_t(header.type.bytes)) {
    index.damaged(24, "elements of ", bytes, " bytes, but ", header.type.name, " has ",
                  header.type.bytes);
  }
  if (const auto sizes = index.number<uint64_t>(40); sizes != uint64_t(header.sequences)) {
    index.damaged(40, sizes, " sizes of ", header.sequences,
                  " sequences; only rows of ids are read, no tables");
  }
  // Both rows of offsets have an end after the last sequence.
  const int64_t rows = 2 * (header.sequences + 1) + header.sequences + header.documents;
  require_length(index, header, header.bytes + 8 * rows);
  return header;
}

Header header_of(const DataFile& index) {
  if (begins_with(index, kMapped)) return mapped_header(index);
  if (begins_with(index, kLegacy)) return legacy_header(index);
  index.damaged(0, "is no index of Megatron-LM, which begins with MMIDIDX or TNTIDX; remove it if ",
                "the .bin beside it is no part of a pair");
}

/// Checks that the sequences follow each other without a gap, so that the file is their join.
/// Returns the count of their ids.
int64_t check_sequences(const DataFile& index, Column sizes, Column places, int64_t place_unit,
                        int64_t sequences, int64_t held) {
  int64_t tokens = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t place = places.next(), size = sizes.next();
    if (place != tokens * place_unit) {
      index.damaged(places.offset(), "sequence ", i, " begins at ", place, ", not at ",
                    tokens * place_unit, ", where the one before ends");
    }
    if (size < 0) index.damaged(sizes.offset(), "sequence ", i, " has a size of ", size);
    if (size > held - tokens) {
      index.damaged(sizes.offset(), "sequence ", i, " of ", size, " ids ends beyond the ", held,
                    " of the .bin");
    }
    tokens += size;
  }
  return tokens;
}

void check_documents(const DataFile& index, Column borders, const Header& header) {
  int64_t before = 0;
  for (int64_t i = 0; i < header.documents; ++i) {
    const int64_t border = borders.next();
    const bool in_order = i == 0 ? border == 0 : border >= before;
    if (!in_order || border > header.sequences) {
      index.damaged(borders.offset(), "document ", i, " begins at sequence ", border, " of ",
                    header.sequences, ", the one before at ", before);
    }
    before = border;
  }
}

int64_t check_mapped(const DataFile& index, const Header& header, int64_t held) {
  const int64_t places = header.bytes + 4 * header.sequences;
  check_documents(index, {index, places + 8 * header.sequences, 8, header.documents}, header);
  return check_sequences(index, {index, header.bytes, 4, header.sequences},
                         {index, places, 8, header.sequences}, header.type.bytes, header.sequences,
                         held);
}

int64_t check_legacy(const DataFile& index, const Header& header, int64_t held) {
  const int64_t row = 8 * (header.sequences + 1);
  const int64_t places = header.bytes + row, sizes = places + row;
  Column dimensions(index, header.bytes, 8, header.sequences + 1);
  for (int64_t i = 0; i <= header.sequences; ++i) {
    if (const int64_t first = dimensions.next(); first != i) {
      index.damaged(dimensions.offset(), "sequence ", i, " has its size at ", first,
                    "; only rows of ids are read, no tables");
    }
  }
  check_documents(index, {index, sizes + 8 * header.sequences, 8, header.documents}, header);
  const int64_t tokens =
      check_sequences(index, {index, sizes, 8, header.sequences},
                      {index, places, 8, header.sequences}, 1, header.sequences, held);
  const int64_t last = places + 8 * header.sequences;
  if (const auto end = index.number<int64_t>(last); end != tokens) {
    index.damaged(last, "the last sequence ends at ", end, ", not at ", tokens);
  }
  return tokens;
}

/// Returns the token at which each sequence begins, and their end.
std::vector<int64_t> sequence_begins(const DataFile& index, const Header& header) {
  const int64_t sizes = header.legacy ? header.bytes + 16 * (header.sequences + 1) : header.bytes;
  Column column(index, sizes, header.legacy ? 8 : 4, header.sequences);
  std::vector<int64_t> begins = {0};
  for (int64_t i = 0; i < header.sequences; ++i) begins.push_back(begins.back() + column.next());
  return begins;
}

}  // namespace

std::vector<int64_t> megatron_borders(const DataFile& index) {
  const Header header = header_of(index);
  const std::vector<int64_t> begins = sequence_begins(index, header);
  Column borders(index, index.bytes() - 8 * header.documents, 8, header.documents);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < header.documents; ++i) tokens.push_back(begins[size_t(borders.next())]);
  if (tokens.back() != begins.back()) {
    index.damaged(index.bytes() - 8, "the last document ends at token ", tokens.back(),
                  ", the sequences at ", begins.back());
  }
  return tokens;
}

std::string index_path(const std::string& path) { return path.substr(0, path.size() - 4) + ".idx"; }

IdLayout megatron_layout(const DataFile& file, const DataFile& index, int64_t vocab_size) {
  const Header header = header_of(index);
  const int64_t held = file.bytes() / header.type.bytes;
  const int64_t tokens =
      header.legacy ? check_legacy(index, header, held) : check_mapped(index, header, held);
  if (file.bytes() != tokens * header.type.bytes) {
    file.damaged(tokens * header.type.bytes, "the sequences of ", index.path(),
                 " end here, but the file has ", file.bytes(), " bytes");
  }
  return {.format = text("Megatron-LM pair of ", header.type.name, " ids, ", header.sequences,
                         " sequences"),
          .type = header.type,
          .offset = 0,
          .tokens = tokens,
          .vocab_size = vocab_size};
}

}  // namespace zero
