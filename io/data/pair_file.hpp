#pragma once
/// Files of pairs of texts, told apart by their names: records with two text fields
/// (field_file.hpp), or X.source, lines whose pairs are the lines of X.target beside it. Blank
/// lines at the end of a file are no pairs.

#include <cstdint>
#include <memory>
#include <string>

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
/// if one of two files has more lines. Throws as open_field_file() and RecordFile.
std::unique_ptr<PairFile> open_pair_file(const std::string& path, const PairFields& fields);

/// Returns "X.target", the file beside "X.source".
std::string target_path(const std::string& source_path);

/// The advice if a file of pairs is missing or empty.
inline constexpr const char* kPairFileAdvice =
    "write the path of a file of pairs: .jsonl, .csv, .tsv, or .source beside its .target";

}  // namespace zero
