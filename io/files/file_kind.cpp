#include "zero/io/files/file_kind.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero {
namespace {

using std::string_view_literals::operator""sv;

struct Kind {
  std::string_view begin;
  const char* what;
  const char* remedy;               ///< advice to a reader of a text; FILE stands for its path
  const char* of_records = remedy;  ///< advice to a reader of records
};

constexpr const char* kTextOfTable =
    "write the texts of a column into a file: python3 -c \"import pandas; "
    "print(*pandas.read_parquet('FILE')['COLUMN'], sep='\\n')\" > NEW.txt";
constexpr const char* kJsonLines =
    "write its records as JSON lines: python3 -c \"import pandas; "
    "pandas.read_parquet('FILE').to_json('NEW.jsonl', "
    "orient='records', lines=True, force_ascii=False)\"";
constexpr const char* kPickle = "is a pickle of Python's, which may hold a program";
constexpr const char* kTextOfPickle = "load it where you trust it, and save its texts as one";
constexpr const char* kPickledLines =
    "load it where you trust it, and save its texts as JSON lines";
constexpr const char* kUtf16 = "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW";

/// Kinds by first bytes; of two that begin alike, the longer comes first.
constexpr Kind kKinds[] = {
    {"\xFF\xFE\0\0"sv, "is a text in UTF-32", "convert it: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\0\0\xFE\xFF"sv, "is a text in UTF-32", "convert it: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\xFF\xFE"sv, "is a text in UTF-16", kUtf16},
    {"\xFE\xFF"sv, "is a text in UTF-16", kUtf16},
    {"\x1F\x8B\x08"sv, "is compressed by gzip", "unpack it: gzip -dc FILE > NEW"},
    {"\x28\xB5\x2F\xFD"sv, "is compressed by zstd", "unpack it: zstd -dc FILE > NEW"},
    {"\xFD\x37zXZ\0"sv, "is compressed by xz", "unpack it: xz -dc FILE > NEW"},
    {"BZh91AY&SY"sv, "is compressed by bzip2", "unpack it: bzip2 -dc FILE > NEW"},
    {"PK\x03\x04"sv, "is a zip archive, as PyTorch and Excel write them too",
     "unpack it, unzip FILE, or let the program that wrote it save a text"},
    {"PAR1"sv, "is a Parquet file", kTextOfTable, kJsonLines},
    {"\x89HDF\r\n\x1A\n"sv, "is an HDF5 file",
     "write its texts into a text file, as Python's h5py reads them",
     "write its texts into a file of JSON lines, as Python's h5py reads them"},
    {"\x93NUMPY"sv, "is an array of NumPy's",
     "write its ids alone, which must be below 65536: python3 -c \"import numpy; "
     "a = numpy.load('FILE'); b = a.astype('uint16'); assert (a == b).all(); "
     "b.tofile('NEW.bin')\""},
    {"\x80\x02"sv, kPickle, kTextOfPickle, kPickledLines},
    {"\x80\x03"sv, kPickle, kTextOfPickle, kPickledLines},
    {"\x80\x04\x95"sv, kPickle, kTextOfPickle, kPickledLines},
    {"\x80\x05\x95"sv, kPickle, kTextOfPickle, kPickledLines},
    {"version https://git-lfs.github.com/spec/"sv, "is what Git LFS keeps in place of the file",
     "fetch the file: git lfs pull"},
};

/// True for ASCII in UTF-16 without a byte order mark: each second byte is 0.
bool alternates(std::string_view first, size_t zero) {
  constexpr size_t kLeast = 8;
  if (first.size() < kLeast) return false;
  for (size_t i = 0; i < kLeast; ++i) {
    if ((first[i] == '\0') != (i % 2 == zero)) return false;
  }
  return true;
}

const Kind* kind_of(std::string_view first) {
  static constexpr Kind kLittle = {"", "is a text in UTF-16",
                                   "convert it: iconv -f UTF-16LE -t UTF-8 FILE > NEW"};
  static constexpr Kind kBig = {"", "is a text in UTF-16",
                                "convert it: iconv -f UTF-16BE -t UTF-8 FILE > NEW"};
  const auto found =
      std::ranges::find_if(kKinds, [&](const Kind& kind) { return first.starts_with(kind.begin); });
  if (found != std::end(kKinds)) return found;
  if (alternates(first, 1)) return &kLittle;
  return alternates(first, 0) ? &kBig : nullptr;
}

std::string words_of(const Kind& kind, std::string remedy, const std::string& path) {
  for (size_t at = remedy.find("FILE"); at != remedy.npos; at = remedy.find("FILE", at))
    remedy.replace(at, 4, path), at += path.size();
  return text(kind.what, "; ", remedy);
}

void require(const Kind* kind, const char* Kind::*remedy, const std::string& path) {
  if (kind != nullptr) refuse(Exit::kInput, path, ": ", words_of(*kind, kind->*remedy, path));
}

}  // namespace

std::string file_kind(std::string_view first, const std::string& path) {
  const Kind* kind = kind_of(first);
  return kind == nullptr ? "" : words_of(*kind, kind->remedy, path);
}

std::string first_bytes(const InputFile& file) {
  std::string first(size_t(std::min<int64_t>(file.bytes(), kFileKindBytes)), '\0');
  file.read(0, std::as_writable_bytes(std::span(first)));
  return first;
}

void require_text_kind(std::string_view first, const std::string& path) {
  require(kind_of(first), &Kind::remedy, path);
}

void require_records_kind(std::string_view first, const std::string& path) {
  require(kind_of(first), &Kind::of_records, path);
}

void require_number_kind(std::string_view first, const std::string& path) {
  const Kind* kind = kind_of(first);
  if (kind != nullptr && kind->begin.size() >= 4) require(kind, &Kind::remedy, path);
}

}  // namespace zero
