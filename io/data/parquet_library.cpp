#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/id_lists.hpp"
#include "io/data/parquet_file.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr int64_t kMostGroupBytes = int64_t(4) << 30;  // of a row group, unpacked

/// Throws Error(kInput) naming the file and the fault that Arrow found.
void require_ok(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) refuse(Exit::kInput, path, ": ", shown(status.message()), "; write it anew");
}

template <class T>
T taken(arrow::Result<T> result, const std::string& path) {
  require_ok(result.status(), path);
  return std::move(result).ValueUnsafe();
}

/// Returns what `read` returns. Arrow takes the sizes of a damaged file for true; the exceptions
/// that follow become Error(kInput) naming the file.
template <class Read>
auto guarded(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const parquet::ParquetException& error) {
    refuse(Exit::kInput, path, ": ", shown(error.what()), "; write it anew");
  } catch (const std::bad_alloc&) {
    refuse(Exit::kInput, path, ": asks for more memory than there is; write smaller row groups");
  } catch (const std::length_error& error) {
    refuse(Exit::kInput, path, ": ", shown(error.what()), "; write it anew");
  }
}

std::unique_ptr<parquet::arrow::FileReader> open_reader(const std::string& path) {
  const DataFile file(path, kDocumentFileAdvice);  // tells what is missing, empty or a folder
  auto input = taken(arrow::io::ReadableFile::Open(path, arrow::system_memory_pool()), path);
  return taken(parquet::arrow::OpenFile(std::move(input), arrow::system_memory_pool()), path);
}

/// Returns the offset of a row group's first page.
int64_t begin_of(const parquet::FileMetaData& file, int group) {
  const auto column = file.RowGroup(group)->ColumnChunk(0);
  const int64_t data = column->data_page_offset();
  return column->has_dictionary_page() ? std::min(data, column->dictionary_page_offset()) : data;
}

/// Throws Error(kInput) unless the row groups of a footer lie in the file one after the other and
/// have the rows that the file has.
void require_footer(const parquet::FileMetaData& meta, const std::string& path, int64_t bytes) {
  int64_t rows = 0, begin = 0;
  for (int i = 0; i < meta.num_row_groups(); ++i) {
    const auto group = meta.RowGroup(i);
    const bool has_sizes = group->num_rows() >= 0 && group->total_byte_size() >= 0;
    const int64_t next = group->num_columns() > 0 ? begin_of(meta, i) : -1;
    if (!has_sizes || next < begin || next >= bytes || group->num_rows() > meta.num_rows() - rows)
      refuse(Exit::kInput, path, ": the footer tells no place in the file of row group ", i,
             "; write it anew");
    begin = next;
    rows += group->num_rows();
  }
  if (rows != meta.num_rows())
    refuse(Exit::kInput, path, ": has ", meta.num_rows(), " rows by its footer, and ", rows,
           " in its row groups; write it anew");
}

/// A column of a row group.
class Column {
 public:
  Column(const arrow::Table& table, const std::string& name)
      : values_(table.GetColumnByName(name)) {}

  /// Calls `take(array, row in it)` for a row.
  template <class Take>
  auto at(int64_t row, const Take& take) const {
    int chunk = 0;
    while (row >= values_->chunk(chunk)->length()) row -= values_->chunk(chunk++)->length();
    return take(*values_->chunk(chunk), row);
  }

 private:
  std::shared_ptr<arrow::ChunkedArray> values_;
};

template <class Array>
std::string text_of(const arrow::Array& array, int64_t row) {
  return std::string(static_cast<const Array&>(array).GetView(row));
}

std::string text_at(const Column& column, int64_t row, const std::string& place,
                    const std::string& name) {
  std::string value = column.at(row, [&](const arrow::Array& array, int64_t i) {
    if (array.IsNull(i)) {
      refuse(Exit::kInput, place, ": \"", shown(name), "\" is no text but null; write \"\" for an ",
             "empty text, or leave the row out");
    }
    return array.type_id() == arrow::Type::LARGE_STRING ? text_of<arrow::LargeStringArray>(array, i)
                                                        : text_of<arrow::StringArray>(array, i);
  });
  Utf8Checker utf8;
  const bool is_text = std::ranges::all_of(value, [&](char c) { return utf8.accept(uint8_t(c)); });
  if (is_text && utf8.complete()) return value;
  refuse(Exit::kInput, place, ": \"", shown(name), "\" is no UTF-8 text; write it as one");
}

template <class Array>
std::pair<int64_t, int64_t> range_of(const arrow::Array& array, int64_t row) {
  const auto& lists = static_cast<const Array&>(array);
  return {lists.value_offset(row), lists.value_length(row)};
}

/// Gives the numbers of a list to `lists`, which checks them.
void add_list(const Column& column, int64_t row, const std::string& name, IdLists& lists) {
  const std::vector<std::string> path = {name};
  column.at(row, [&](const arrow::Array& array, int64_t i) {
    const bool is_large = array.type_id() == arrow::Type::LARGE_LIST;
    lists.open(path, !array.IsNull(i));
    const auto [first, count] =
        is_large ? range_of<arrow::LargeListArray>(array, i) : range_of<arrow::ListArray>(array, i);
    const auto values = is_large ? static_cast<const arrow::LargeListArray&>(array).values()
                                 : static_cast<const arrow::ListArray&>(array).values();
    const bool is_wide = values->type_id() == arrow::Type::INT64;
    for (int64_t at = first; at < first + count; ++at) {
      const int64_t number =
          is_wide ? static_cast<const arrow::Int64Array&>(*values).Value(at)
                  : int64_t(static_cast<const arrow::Int32Array&>(*values).Value(at));
      lists.value(path, values->IsNull(at) ? JsonScalar(nullptr) : JsonScalar(number));
    }
  });
}

bool is_text_type(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
}

bool is_id_type(const arrow::DataType& type) {
  if (type.id() != arrow::Type::LIST && type.id() != arrow::Type::LARGE_LIST) return false;
  const arrow::Type::type element = type.field(0)->type()->id();
  return element == arrow::Type::INT32 || element == arrow::Type::INT64;
}

/// A reader of row groups, of which it holds one.
class ParquetDocuments : public DocumentFile {
 public:
  ParquetDocuments(const std::string& path, const DocumentFields& fields, const GroupRange& groups)
      : path_(path), reader_(open_reader(path)), meta_(reader_->parquet_reader()->metadata()) {
    require_footer(*meta_, path, InputFile(path).bytes());
    std::shared_ptr<arrow::Schema> schema;
    require_ok(reader_->GetSchema(&schema), path);
    form_ = form_of_documents(schema->field_names(), fields, path);
    choose_columns(*schema, fields);
    first_group_ = groups.begin;
    const int end = std::min(groups.end, meta_->num_row_groups());
    for (int i = 0; i < groups.begin; ++i) rows_before_ += meta_->RowGroup(i)->num_rows();
    for (int i = groups.begin; i < end; ++i)
      begins_.push_back(begins_.back() + meta_->RowGroup(i)->num_rows());
    if (meta_->num_rows() == 0) refuse(Exit::kInput, path, ": has no row; ", kDocumentFileAdvice);
    fingerprint_ = hash_groups(groups.begin, end);
  }

  DocumentForm form() const override { return form_; }
  std::string format() const override {
    return form_ == DocumentForm::text  ? "Parquet of texts"
           : form_ == DocumentForm::ids ? "Parquet of ids"
                                        : "Parquet of completions";
  }
  int64_t documents() const override { return begins_.back(); }
  int64_t blank_lines() const override { return 0; }
  std::string place(int64_t document) const override {
    return text(path_, ": row ", rows_before_ + document + 1);
  }
  uint64_t fingerprint() const override { return fingerprint_; }

  Document read(int64_t document) const override {
    return guarded(path_, [&] { return read_row(document); });
  }

 private:
  Document read_row(int64_t document) const {
    const std::lock_guard lock(mutex_);
    const int64_t row = row_in_group(document);
    const std::string name = place(document);
    if (form_ == DocumentForm::ids) {
      IdLists lists(name);
      for (size_t i = 0; i < names_.size(); ++i) add_list(columns_[i], row, names_[i], lists);
      lists.finish();
      return {.ids = std::move(lists.ids), .learnt = std::move(lists.learnt)};
    }
    Document made{.text = text_at(columns_.back(), row, name, names_.back())};
    if (names_.size() > 1) made.prompt = text_at(columns_.front(), row, name, names_.front());
    return made;
  }

  void choose_columns(const arrow::Schema& schema, const DocumentFields& fields) {
    const bool is_ids = form_ == DocumentForm::ids;
    if (form_ == DocumentForm::text) names_ = {fields.text};
    if (form_ == DocumentForm::completion) names_ = {fields.prompt, fields.completion};
    if (is_ids) names_ = {kIdsField};
    if (is_ids && schema.GetFieldByName(kLabelsField)) names_.push_back(kLabelsField);
    for (const std::string& name : names_) {
      const auto field = schema.GetFieldByName(name);  // null if two have the name
      if (field && (is_ids ? is_id_type(*field->type()) : is_text_type(*field->type()))) continue;
      refuse(Exit::kInput, path_, ": column \"", shown(name), "\" is ",
             field ? field->type()->ToString() : "there twice", "; write it as ",
             is_ids ? "lists of int32 or int64" : "strings", ", or the file as JSON lines");
    }
    const parquet::SchemaDescriptor& leaves = *meta_->schema();
    for (int i = 0; i < leaves.num_columns(); ++i) {
      if (std::ranges::count(names_, leaves.GetColumnRoot(i)->name()) > 0) leaves_.push_back(i);
    }
  }

  uint64_t hash_groups(int first, int end) const {
    const InputFile file(path_);
    const int groups = meta_->num_row_groups();
    const int64_t begin = first < groups ? begin_of(*meta_, first) : file.bytes();
    const int64_t behind = end < groups ? begin_of(*meta_, end) : file.bytes();
    std::vector<std::byte> room(1 << 20);
    Xxh3 hash;
    for (int64_t at = begin; at < behind; at += int64_t(room.size())) {
      const auto piece =
          std::span(room).first(size_t(std::min<int64_t>(int64_t(room.size()), behind - at)));
      file.read(at, piece);
      hash.add(piece);
    }
    return number_of(hash.digest());
  }

  /// Reads the row group of a document unless it is there. Returns the row in it.
  int64_t row_in_group(int64_t document) const {
    ZERO_REQUIRE(document >= 0 && document < documents(), "row ", document, " of ", documents());
    const auto behind = std::ranges::upper_bound(begins_, document);
    const int group = int(behind - begins_.begin()) - 1;
    if (group != group_) {
      group_ = -1;
      const int number = first_group_ + group;
      const int64_t bytes = meta_->RowGroup(number)->total_byte_size();
      if (bytes > kMostGroupBytes) {
        refuse(Exit::kInput, path_, ": row group ", number, " unpacks to ", bytes, " bytes, of ",
               "which at most ", kMostGroupBytes, " are read; write smaller row groups");
      }
      table_ = taken(reader_->ReadRowGroup(number, leaves_), path_);
      if (table_->num_rows() != begins_[size_t(group) + 1] - begins_[size_t(group)])
        refuse(Exit::kInput, path_, ": row group ", number, " has other rows than its footer says");
      columns_.clear();
      for (const std::string& name : names_) columns_.emplace_back(*table_, name);
      group_ = group;
    }
    return document - begins_[size_t(group)];
  }

  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> meta_;
  DocumentForm form_ = DocumentForm::text;
  std::vector<std::string> names_;  ///< columns that are read
  std::vector<int> leaves_;         ///< their numbers
  int first_group_ = 0;
  int64_t rows_before_ = 0;
  std::vector<int64_t> begins_ = {0};  ///< [groups + 1] first row of each
  uint64_t fingerprint_ = 0;
  mutable std::mutex mutex_;
  mutable int group_ = -1;  ///< group that is held; -1 = none
  mutable std::shared_ptr<arrow::Table> table_;
  mutable std::vector<Column> columns_;  ///< [names]
};

}  // namespace

bool names_parquet(const std::string& path) { return path.ends_with(".parquet"); }

std::vector<int64_t> parquet_group_bytes(const std::string& path) {
  return guarded(path, [&] {
    const auto reader = open_reader(path);
    const std::shared_ptr<parquet::FileMetaData> meta = reader->parquet_reader()->metadata();
    require_footer(*meta, path, InputFile(path).bytes());
    std::vector<int64_t> bytes;
    for (int i = 0; i < meta->num_row_groups(); ++i)
      bytes.push_back(meta->RowGroup(i)->total_byte_size());
    return bytes;
  });
}

std::unique_ptr<DocumentFile> open_parquet_documents(const std::string& path,
                                                     const DocumentFields& fields,
                                                     const GroupRange& groups) {
  return guarded(path, [&]() -> std::unique_ptr<DocumentFile> {
    return std::make_unique<ParquetDocuments>(path, fields, groups);
  });
}

}  // namespace zero
