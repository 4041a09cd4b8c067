#pragma once
/// Files of choices: JSON lines, each an object with the fields
///
///   context            a text, which may be empty
///   choices            an array of texts that may follow it
///   answer             the right choice: its index, counted from 0, or its text
///   target_delimiter   stands between the context and each choice; a blank if missing
///
/// Other fields are passed over.

#include <cstdint>
#include <string>
#include <vector>

#include "io/data/data_file.hpp"

namespace zero {

struct ChoiceRecord {
  std::string context;
  std::vector<std::string> choices;
  int64_t answer = 0;
  std::string delimiter = " ";
};

/// A file of choices. Thread-safe.
class ChoiceFile {
 public:
  /// Throws Error(kInput) for a name that is none of JSON lines, or a file without a record. Throws
  /// as RecordFile.
  explicit ChoiceFile(const std::string& path);

  int64_t records() const { return lines_.records() - lines_.blank_at_end(); }
  /// Throws Error(kInput) naming file and line if the record is damaged, lacks a field, has an
  /// empty choice or names no choice as the answer.
  ChoiceRecord read(int64_t record) const;
  std::string place(int64_t record) const { return lines_.place(record); }
  /// Returns a number that changes with any byte.
  uint64_t fingerprint() const { return lines_.fingerprint(); }

 private:
  RecordFile lines_;
};

}  // namespace zero
