#pragma once
/// Files of texts with a label: records (field_file.hpp) with one or two text fields, and a field
/// that is a word or a number.
///
/// A file of GLUE or of Hugging Face needs no names of fields. CoLA's is the exception: it has no
/// line of names, and so is refused.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/data/field_file.hpp"

namespace zero {

/// The names of a file's fields.
struct LabelFields {
  std::vector<std::string> texts = {};  ///< one or two; empty: known names
  std::string label = {};               ///< "": a known name

  bool operator==(const LabelFields&) const = default;
};

struct LabelledTexts {
  std::vector<std::string> texts = {};  ///< one or two
  JsonScalar label = {};
};

/// Returns the written names. Where there are none, returns the known ones among `names`, or "text"
/// and "label". Throws Error(kInput) with `place` if several are known.
LabelFields choose_label_fields(const LabelFields& written, const std::vector<std::string>& names,
                                const std::string& place);

/// A file of labelled texts, in the order of the file. Thread-safe.
class LabelFile {
 public:
  /// Throws Error(kInput) for an unknown name of a file, with the known ones. Throws as
  /// open_field_file() and choose_label_fields().
  LabelFile(const std::string& path, const LabelFields& written);

  std::string format() const { return file_->format(); }
  int64_t records() const { return file_->records(); }
  /// Throws as FieldFile::read().
  LabelledTexts read(int64_t record) const;
  std::string place(int64_t record) const { return file_->place(record); }
  int64_t blank_lines() const { return file_->blank_lines(); }
  uint64_t fingerprint() const { return file_->fingerprint(); }
  const LabelFields& fields() const { return fields_; }

 private:
  LabelFields fields_;
  std::unique_ptr<FieldFile> file_;
};

}  // namespace zero
