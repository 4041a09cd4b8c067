#pragma once
/// Files of records with named fields, told apart by their names:
///
///   X.jsonl, X.ndjson, X.json
///                     JSON lines: an object a line. A field has the name of the keys that lead to
///                     it: "translation.en" is en in the object translation, or a key of that
///                     whole name. With .zst behind these, the lines are compressed by zstd.
///   X.csv             RFC 4180: commas; a field may stand in double quotes, two of which are one,
///                     and then hold commas and ends of lines. The first record names the fields.
///   X.tsv             tabs, which no field holds; quotes are characters like any other (IANA's
///                     text/tab-separated-values). The first line names the fields.
///
/// Blank lines at the end of a file are no records.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/data/data_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {

/// A field that each record must have.
struct WantedField {
  std::string name = {};
  bool is_text = true;  ///< false: a number, a boolean and null are values too

  bool operator==(const WantedField&) const = default;
};

/// The words of messages to a user whose file lacks something.
struct FieldWords {
  const char* advice;  ///< for a missing or empty file
  const char* keys;    ///< "data.source_field and data.target_field"
  const char* record;  ///< "pair"
};

/// Returns the wanted fields by the names that a file has: those of a table's first line, or of the
/// values in the first object. `place` is that of the names, for messages.
using FieldChoice = std::function<std::vector<WantedField>(const std::vector<std::string>& names,
                                                           const std::string& place)>;

/// A file of records. Thread-safe.
class FieldFile {
 public:
  virtual ~FieldFile() = default;

  /// Returns the format for people: "JSON lines".
  virtual std::string format() const = 0;
  virtual int64_t records() const = 0;
  /// Returns the wanted fields of a record in their order. All values of a table are texts. Throws
  /// Error(kInput) naming file and line if the record is damaged or lacks a field.
  virtual std::vector<JsonScalar> read(int64_t record) const = 0;
  /// Returns the place of a record: "pairs.csv: line 7".
  virtual std::string place(int64_t record) const = 0;
  /// Returns the count of blank lines at the end, which are no records.
  virtual int64_t blank_lines() const = 0;
  /// Returns a number that changes with any byte.
  virtual uint64_t fingerprint() const = 0;
  /// Returns the wanted fields.
  virtual const std::vector<WantedField>& fields() const = 0;
};

/// True for the name of a JSON, CSV or TSV file.
bool names_fields(const std::string& path);
/// True for the name of a file of JSON lines, compressed or not.
bool names_json(const std::string& path);

/// The limits of a line, which may hold nested values around the texts.
inline constexpr JsonLimits kLineLimits{.depth = 32, .keys = 1 << 12};

/// Throws Error(kInput) with the right form for a line that cannot be an object.
void require_object(const RecordFile& lines, int64_t record, std::string_view line);

/// Opens a file of records. REQUIRES: names_fields(path). Throws Error(kInput) if a table's first
/// line is damaged or lacks a field, or no record follows. Throws as RecordFile and `choose`.
std::unique_ptr<FieldFile> open_field_file(const std::string& path, const FieldChoice& choose,
                                           const FieldWords& words);
/// Reads the fields of JSON lines that are open.
std::unique_ptr<FieldFile> open_json_fields(std::shared_ptr<const RecordFile> lines,
                                            const FieldChoice& choose, const FieldWords& words);

}  // namespace zero
