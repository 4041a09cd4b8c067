#pragma once
/// Files of documents: records (field_file.hpp) in one of three forms, by the fields of the first:
///
///   text         a field with the whole document, of which all is learnt
///   completion   two fields, a prompt and its completion, which alone is learnt
///   ids          "input_ids", an array of token ids, and "labels" if not all are learnt: an array
///                of as many numbers, the id itself where it is learnt, else -100 or -1. JSON lines
///                alone have arrays.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/data/data_file.hpp"

namespace zero {

enum class DocumentForm : uint8_t { text, completion, ids };

/// The names of the text fields of records; "" for a form that is not looked for.
struct DocumentFields {
  std::string text, prompt, completion;
};

/// A document as its file has it.
struct Document {
  std::string prompt = {}, text = {};
  std::vector<int32_t> ids = {};
  std::vector<bool> learnt = {};  ///< [ids]
};

/// A file of documents. Thread-safe.
class DocumentFile {
 public:
  virtual ~DocumentFile() = default;

  virtual DocumentForm form() const = 0;
  /// Returns the format for people: "JSON lines of texts".
  virtual std::string format() const = 0;
  virtual int64_t documents() const = 0;
  /// Throws Error(kInput) naming file and line if the record is damaged or lacks a field.
  virtual Document read(int64_t document) const = 0;
  /// Returns the place of a document: "train.jsonl: line 7".
  virtual std::string place(int64_t document) const = 0;
  /// Returns the count of blank lines at the end, which are no documents.
  virtual int64_t blank_lines() const = 0;
  /// Returns a number that changes with any byte.
  virtual uint64_t fingerprint() const = 0;
};

/// Returns the form of records with fields of these names. `place` is that of the names, for
/// messages. Throws Error(kInput) for the fields of no form, and of several.
DocumentForm form_of_documents(const std::vector<std::string>& names, const DocumentFields& fields,
                               const std::string& place);

/// Opens a file of documents. Throws Error(kInput) for an unknown name, and if the first record has
/// the fields of no form or of several. Throws as open_field_file().
std::unique_ptr<DocumentFile> open_document_file(const std::string& path,
                                                 const DocumentFields& fields);

/// Opens a range of a file of JSON lines, whatever its name. The form is that of the file's first
/// line. A range may have no documents. Throws as open_document_file().
std::unique_ptr<DocumentFile> open_document_lines(const std::string& path,
                                                  const DocumentFields& fields,
                                                  const LineRange& range);

/// The advice if a file of documents is missing or empty.
inline constexpr const char* kDocumentFileAdvice =
    "write the path of a file of documents: .jsonl, .csv, .tsv or .parquet";

}  // namespace zero
