#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/commands.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/model/text_scores.hpp"

namespace zero::commands {
namespace {

using model::TextCounts;

constexpr int64_t kMostBytes = int64_t(4) << 30;

void require_utf8(const std::string& path, size_t number, std::string_view line) {
  Utf8Checker utf8;
  for (const char byte : line) {
    if (!utf8.accept(uint8_t(byte)))
      refuse(Exit::kInput, path, ": line ", number,
             ": is no UTF-8; convert the file, as with iconv");
  }
  if (!utf8.complete())
    refuse(Exit::kInput, path, ": line ", number, ": ends inside a character of UTF-8");
}

/// A reader of a file's lines, one at a time, without their ends. The last line may lack its end.
class Lines {
 public:
  explicit Lines(const std::string& path)
      : path_(path), content_(read_file_or_pipe(path, kMostBytes)) {}

  bool next(std::string_view& line) {
    if (at_ == content_.size()) return false;
    const size_t end = std::min(content_.find('\n', at_), content_.size());
    line = std::string_view(content_).substr(at_, end - at_);
    at_ = std::min(end + 1, content_.size());
    require_utf8(path_, ++number_, line);
    return true;
  }
  /// Returns the number of blank lines up to the end; none if a text follows.
  std::optional<int64_t> blank_rest() {
    const std::string_view rest = std::string_view(content_).substr(at_);
    if (rest.find_first_not_of(text(kBlanks, '\n')) != rest.npos) return std::nullopt;
    return std::ranges::count(rest, '\n') + int64_t(!rest.empty() && !rest.ends_with('\n'));
  }
  const std::string& path() const { return path_; }
  int64_t count_rest() {
    std::string_view line;
    while (next(line)) continue;
    return int64_t(number_);
  }

 private:
  const std::string& path_;
  const std::string content_;
  size_t at_ = 0, number_ = 0;
};

/// True if nothing but blank lines is left of the longer file. Warns of them.
bool passes_over(Lines& longer, std::string_view line) {
  const std::optional<int64_t> rest = longer.blank_rest();
  if (!rest || !is_blank(line)) return false;
  warn(longer.path(), ": ", blank_lines_text(*rest + 1));
  return true;
}

TextCounts count_lines(const CommandLine& line) {
  Lines texts(line.input), references(line.second);
  TextCounts counts;
  std::string_view text, reference;
  for (;;) {
    const bool has_text = texts.next(text), has_reference = references.next(reference);
    if (!has_text && !has_reference) return counts;
    if (has_text != has_reference) {
      if (has_text ? passes_over(texts, text) : passes_over(references, reference)) return counts;
      refuse(Exit::kInput, line.input, ": has ", counted(texts.count_rest(), "line"), ", and ",
             line.second, " ", references.count_rest(),
             "; write one reference a line for each text");
    }
    counts += model::count_text(text, reference);
  }
}

void print_json(const TextCounts& counts) {
  const nlohmann::ordered_json json = {{"bleu", model::bleu(counts)},
                                       {"signature", model::bleu_signature()},
                                       {"precisions", model::bleu_precisions(counts)},
                                       {"brevity_penalty", model::brevity_penalty(counts)},
                                       {"text_tokens", counts.tokens},
                                       {"reference_tokens", counts.reference_tokens},
                                       {"exact_match", model::exact_match(counts)},
                                       {"lines", counts.texts}};
  std::puts(json.dump(2).c_str());
}

void print_text(const TextCounts& counts) {
  const auto precisions = model::bleu_precisions(counts);
  std::printf("BLEU %.4f  precisions %.1f %.1f %.1f %.1f, brevity penalty %.3f, %lld tokens, ",
              model::bleu(counts), precisions[0], precisions[1], precisions[2], precisions[3],
              model::brevity_penalty(counts), (long long)counts.tokens);
  std::printf("%lld in the references\n", (long long)counts.reference_tokens);
  std::printf("  %s\n", model::bleu_signature().c_str());
  std::printf("exact match %.4f  %lld of %s\n", model::exact_match(counts), (long long)counts.exact,
              counted(counts.texts, "line").c_str());
}

}  // namespace

int score(const CommandLine& line) {
  const TextCounts counts = count_lines(line);
  if (counts.texts == 0)
    refuse(Exit::kInput, line.input, ": is empty; write a text a line, its reference in ",
           line.second);
  if (line.json) {
    print_json(counts);
  } else {
    print_text(counts);
  }
  return 0;
}

}  // namespace zero::commands
