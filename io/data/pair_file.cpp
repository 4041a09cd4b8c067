#include "io/data/pair_file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "io/data/data_file.hpp"
#include "io/data/field_file.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/file_kind.hpp"

namespace zero {
namespace {

/// A reader of pairs in two files, line by line.
class LinePairs : public PairFile {
 public:
  explicit LinePairs(const std::string& path)
      : source_(path, kPairFileAdvice, RecordEnd::line),
        target_(target_path(path), text("its lines are the targets of ", path), RecordEnd::line),
        pairs_(std::max(lines(source_), lines(target_))) {
    if (pairs_ == 0) refuse(Exit::kInput, path, ": holds blank lines alone; ", kPairFileAdvice);
    // A blank line beside a text counts as a line, at the end too.
    if (pairs_ <= source_.records() && pairs_ <= target_.records()) return;
    refuse(Exit::kInput, path, ": has ", counted(source_.records(), "line"), ", but ",
           target_.path(), " beside it has ", target_.records(),
           "; lines of the same number are pairs");
  }

  std::string format() const override { return "lines, whose targets are those of .target"; }
  int64_t pairs() const override { return pairs_; }
  int64_t blank_lines() const override {
    return source_.records() - pairs_ + target_.records() - pairs_;
  }
  TextPair read(int64_t pair) const override {
    std::string source, target;
    return {.source = std::string(source_.read(pair, source)),
            .target = std::string(target_.read(pair, target))};
  }
  std::string place(int64_t pair) const override { return source_.place(pair); }
  uint64_t fingerprint() const override {
    // Multiplying by an odd number keeps every bit, and tells source from target.
    return (source_.fingerprint() * 0x9E3779B97F4A7C15u) ^ target_.fingerprint();
  }

 private:
  static int64_t lines(const RecordFile& file) { return file.records() - file.blank_at_end(); }

  RecordFile source_, target_;
  int64_t pairs_;
};

constexpr FieldWords kWords{
    .advice = kPairFileAdvice, .keys = "data.source_field and data.target_field", .record = "pair"};

/// A reader of pairs in a file of records.
class FieldPairs : public PairFile {
 public:
  FieldPairs(const std::string& path, const PairFields& fields)
      : file_(open_field_file(
            path,
            [&](const auto&, const std::string&) {
              return std::vector<WantedField>{{.name = fields.source}, {.name = fields.target}};
            },
            kWords)) {}

  std::string format() const override { return file_->format(); }
  int64_t pairs() const override { return file_->records(); }
  int64_t blank_lines() const override { return file_->blank_lines(); }
  TextPair read(int64_t pair) const override {
    std::vector<JsonScalar> values = file_->read(pair);
    return {.source = std::get<std::string>(std::move(values[0])),
            .target = std::get<std::string>(std::move(values[1]))};
  }
  std::string place(int64_t pair) const override { return file_->place(pair); }
  uint64_t fingerprint() const override { return file_->fingerprint(); }

 private:
  std::unique_ptr<FieldFile> file_;
};

}  // namespace

std::string target_path(const std::string& source_path) {
  constexpr std::string_view kEnd = ".source";
  return source_path.substr(0, source_path.size() - kEnd.size()) + ".target";
}

std::unique_ptr<PairFile> open_pair_file(const std::string& path, const PairFields& fields) {
  if (names_fields(path)) return std::make_unique<FieldPairs>(path, fields);
  if (path.ends_with(".source")) return std::make_unique<LinePairs>(path);
  if (path.ends_with(".target")) {
    refuse(Exit::kInput, path, ": holds the targets; write the .source beside it");
  }
  if (is_there(path)) require_records_kind(first_bytes(InputFile(path)), path);
  refuse(Exit::kInput, path, ": its name says no format of pairs; ", kPairFileAdvice,
         ", or data.noise_density = 0.15 where it is a text without pairs");
}

}  // namespace zero
