#pragma once
/// Files of pairs of texts, told apart by their names:
///
///   X.jsonl, X.ndjson, X.json
///                     JSON lines: an object a line, in which two fields are texts. A field has the
///                     name of the keys that lead to it: "translation.en" is en in the object
///                     translation, or a key of that whole name.
///   X.source          lines, whose pairs are the lines of X.target beside it
///   X.csv             RFC 4180: commas; a field may stand in double quotes, two of which are one,
///                     and then hold commas and ends of lines. The first record names the fields.
///   X.tsv             tabs, which no field holds; quotes are characters like any other (IANA's
///                     text/tab-separated-values). The first line names the fields.
///
/// Blank lines at the end of a file are no pairs.

#include <cstdint>
#include <memory>
#include <string>

#include "io/data/data_file.hpp"

namespace zero {

struct TextPair {
  std::string source, target;
};

/// The names of the two text fields of a record.
struct PairFields {
  std::string source, target;
};

/// A file of pairs of texts, in the order of the file. Thread-safe.
class PairFile {
 public:
  virtual ~PairFile() = default;

  /// Returns the format for people: "JSON lines".
  virtual std::string format() const = 0;
  virtual int64_t pairs() const = 0;
  /// Returns a pair. Throws Error(kInput) naming file and line if the record is damaged or lacks a
  /// field.
  virtual TextPair read(int64_t pair) const = 0;
  /// Returns the place of a pair: "pairs.csv: line 7".
  virtual std::string place(int64_t pair) const = 0;
  /// Returns the count of blank lines at the end, which are no pairs.
  virtual int64_t blank_lines() const = 0;
  /// Returns a number that changes with any byte.
  virtual uint64_t fingerprint() const = 0;
};

/// Opens a file of pairs. Throws Error(kInput) for an unknown name, with the known ones. Throws it
/// if a header is damaged or lacks a field, or one of two files has more lines. Throws as
/// RecordFile.
std::unique_ptr<PairFile> open_pair_file(const std::string& path, const PairFields& fields);

/// Returns "X.target", the file beside "X.source".
std::string target_path(const std::string& source_path);

/// The advice if a file of pairs is missing or empty.
inline constexpr const char* kPairFileAdvice =
    "write the path of a file of pairs: .jsonl, .csv, .tsv, or .source beside its .target";

/// True for the name of a JSON, CSV or TSV file.
bool names_pairs(const std::string& path);

}  // namespace zero
