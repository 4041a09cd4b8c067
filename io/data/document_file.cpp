#include "io/data/document_file.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/field_file.hpp"
#include "io/data/id_lists.hpp"
#include "io/data/parquet_file.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr FieldWords kWords{
    .advice = kDocumentFileAdvice,
    .keys = "data.text_field, or data.prompt_field and data.completion_field",
    .record = "document"};

/// The fields of a record by which its form is chosen.
class FormChoice {
 public:
  FormChoice(const std::vector<std::string>& names, const DocumentFields& fields)
      : names_(names),
        fields_(fields),
        has_text_(has(fields.text)),
        has_pair_(has(fields.prompt) && has(fields.completion)),
        has_ids_(has(kIdsField)) {}

  DocumentForm form(const std::string& place) const {
    const int forms = int(has_text_) + int(has_pair_) + int(has_ids_);
    if (forms == 0) refuse_none(place);
    if (forms > 1) {
      refuse(Exit::kInput, place, ": has ", has_text_ ? shown_name(fields_.text) : "",
             has_text_ ? " and " : "", has_pair_ ? shown_name(fields_.completion) : "",
             has_pair_ && has_ids_ ? " and " : "", has_ids_ ? shown_name(kIdsField) : "",
             ", and one of them is learnt; write data.text_field = \"\" or data.prompt_field = ",
             "\"\" for what is not, or remove the field");
    }
    return has_text_   ? DocumentForm::text
           : has_pair_ ? DocumentForm::completion
                       : DocumentForm::ids;
  }

 private:
  static std::string shown_name(std::string_view name) { return text('"', shown(name), '"'); }
  bool has(const std::string& name) const {
    return !name.empty() && std::ranges::find(names_, name) != names_.end();
  }
  [[noreturn]] void refuse_none(const std::string& place) const {
    std::string there;
    constexpr size_t kMostNamed = 6;
    for (size_t i = 0; i < std::min(names_.size(), kMostNamed); ++i)
      there += (there.empty() ? "" : ", ") + shown_name(names_[i]);
    for (const char* turns : {"messages", "conversations"}) {
      if (!has(turns)) continue;
      refuse(Exit::kInput, place, ": has \"", turns, "\", and no template makes a text of these ",
             "yet; write the text of each record as \"", fields_.text, "\", or \"", kIdsField,
             "\" and \"", kLabelsField, "\"");
    }
    refuse(Exit::kInput, place, ": has no \"", shown(fields_.text), "\", no \"",
           shown(fields_.prompt), "\" with \"", shown(fields_.completion), "\" and no \"",
           kIdsField, there.empty() ? "\"" : "\" but ", there, "; ", kWords.keys,
           " name the texts");
  }

  const std::vector<std::string>& names_;
  const DocumentFields& fields_;
  bool has_text_, has_pair_, has_ids_;
};

/// A receiver of the names of an object's values, lists and objects, each with those around it.
class Names : public JsonSink {
 public:
  void open(Path path, bool) override { add(path); }
  void value(Path path, const JsonScalar&) override { add(path); }
  const std::vector<std::string>& all() const { return names_; }

 private:
  void add(Path path) {
    constexpr size_t kMostNames = 1000;
    std::string name;
    for (const std::string& key : path) name += (name.empty() ? "" : ".") + key;
    if (!name.empty() && names_.size() < kMostNames && (names_.empty() || names_.back() != name))
      names_.push_back(name);
  }

  std::vector<std::string> names_;
};

/// A reader of documents whose texts are fields.
class FieldDocuments : public DocumentFile {
 public:
  /// Opens a table.
  FieldDocuments(const std::string& path, const DocumentFields& fields)
      : file_(open_field_file(
            path,
            [&](const std::vector<std::string>& names, const std::string& place) {
              form_ = FormChoice(names, fields).form(place);
              if (form_ != DocumentForm::ids) return wanted(form_, fields);
              refuse(Exit::kInput, place, ": has \"", kIdsField, "\", and no cell of a table is ",
                     "an array; write JSON lines");
            },
            kWords)) {}
  FieldDocuments(std::shared_ptr<const RecordFile> lines, const DocumentFields& fields,
                 DocumentForm form)
      : form_(form),
        file_(open_json_fields(
            std::move(lines), [&](const auto&, const auto&) { return wanted(form, fields); },
            kWords)) {}

  DocumentForm form() const override { return form_; }
  std::string format() const override {
    return file_->format() + (form_ == DocumentForm::text ? " of texts" : " of completions");
  }
  int64_t documents() const override { return file_->records(); }
  int64_t blank_lines() const override { return file_->blank_lines(); }
  Document read(int64_t document) const override {
    std::vector<JsonScalar> values = file_->read(document);
    Document made{.text = std::get<std::string>(std::move(values.back()))};
    if (values.size() > 1) made.prompt = std::get<std::string>(std::move(values.front()));
    return made;
  }
  std::string place(int64_t document) const override { return file_->place(document); }
  uint64_t fingerprint() const override { return file_->fingerprint(); }

 private:
  static std::vector<WantedField> wanted(DocumentForm form, const DocumentFields& fields) {
    if (form == DocumentForm::text) return {{.name = fields.text}};
    return {{.name = fields.prompt}, {.name = fields.completion}};
  }

  DocumentForm form_ = DocumentForm::text;
  std::unique_ptr<FieldFile> file_;
};

/// A reader of documents that are ids already.
class IdDocuments : public DocumentFile {
 public:
  /// `head` has the first line of the file.
  IdDocuments(std::shared_ptr<const RecordFile> lines, const RecordFile& head)
      : lines_(std::move(lines)), has_labels_(lists_of(head, 0, head.place(0)).has_labels()) {}

  DocumentForm form() const override { return DocumentForm::ids; }
  std::string format() const override { return "JSON lines of ids"; }
  int64_t documents() const override { return lines_->records() - lines_->blank_at_end(); }
  int64_t blank_lines() const override { return lines_->blank_at_end(); }
  Document read(int64_t document) const override {
    const std::string name = place(document);
    IdLists lists = lists_of(*lines_, document, name);
    if (lists.has_labels() != has_labels_) {
      refuse(Exit::kInput, name, has_labels_ ? ": has no" : ": has",
             " \"labels\", unlike the first ", "record of the file; write records of one form");
    }
    return {.ids = std::move(lists.ids), .learnt = std::move(lists.learnt)};
  }
  std::string place(int64_t document) const override { return lines_->place(document); }
  uint64_t fingerprint() const override { return lines_->fingerprint(); }

 private:
  /// Reads a record. `name` must outlive the lists.
  static IdLists lists_of(const RecordFile& file, int64_t document, const std::string& name) {
    std::string room;
    const std::string_view line = file.read(document, room);
    require_object(file, document, line);
    IdLists lists(name);
    read_json(line, name, kLineLimits, lists);
    lists.finish();
    return lists;
  }

  std::shared_ptr<const RecordFile> lines_;
  bool has_labels_ = false;
};

/// Returns the file's first line, from which the form of all is read.
std::shared_ptr<const RecordFile> head_of(const std::string& path, const LineRange& range) {
  const LineRange first{.begin = 0, .end = 1, .name = range.name};
  return std::make_shared<RecordFile>(path, kDocumentFileAdvice, first);
}

std::unique_ptr<DocumentFile> open_lines(const std::string& path, const DocumentFields& fields,
                                         const LineRange& range) {
  const auto lines = std::make_shared<RecordFile>(path, kDocumentFileAdvice, range);
  if (range.is_whole() && lines->records() == lines->blank_at_end())
    lines->damaged(0, "holds blank lines alone; ", kDocumentFileAdvice);
  const std::shared_ptr<const RecordFile> head = range.begin == 0 ? lines : head_of(path, range);
  std::string room;
  const std::string_view line = head->read(0, room);
  require_object(*head, 0, line);
  Names names;
  read_json(line, head->place(0), kLineLimits, names);
  const DocumentForm form = FormChoice(names.all(), fields).form(head->place(0));
  if (form == DocumentForm::ids) return std::make_unique<IdDocuments>(lines, *head);
  return std::make_unique<FieldDocuments>(lines, fields, form);
}

}  // namespace

DocumentForm form_of_documents(const std::vector<std::string>& names, const DocumentFields& fields,
                               const std::string& place) {
  return FormChoice(names, fields).form(place);
}

std::unique_ptr<DocumentFile> open_document_lines(const std::string& path,
                                                  const DocumentFields& fields,
                                                  const LineRange& range) {
  return open_lines(path, fields, range);
}

std::unique_ptr<DocumentFile> open_document_file(const std::string& path,
                                                 const DocumentFields& fields) {
  if (names_json(path)) return open_lines(path, fields, {});
  if (names_fields(path)) return std::make_unique<FieldDocuments>(path, fields);
  if (names_parquet(path)) return open_parquet_documents(path, fields, {});
  if (is_there(path)) require_records_kind(first_bytes(InputFile(path)), path);
  refuse(Exit::kInput, path, ": its name says no format of documents; ", kDocumentFileAdvice);
}

}  // namespace zero
