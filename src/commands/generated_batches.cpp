#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "src/commands/generate_command.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/text/shared_texts.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::commands {
namespace {

using writing::TokenList;

constexpr int64_t kMostBytes = int64_t(4) << 30;
constexpr int64_t kDefaultTokens = 200, kDefaultBatch = 8;
/// Batches that a rank writes before texts are shown, so many that few ranks wait long.
constexpr int64_t kRankBatches = 8;

/// Returns the rules of a call. Without a length, each text has the default number of tokens after
/// its beginning, if there is room. The very last token takes no position.
writing::SearchRules rules_for(const CommandLine& line, const Writer& writer) {
  const GenerationConfig asked = ended_generation(writer);
  const int64_t positions = writer.form().context();
  writing::SearchRules rules =
      asked_rules(line, writer.model, asked, std::min(kDefaultTokens, positions));
  const bool is_open = !asked.max_length && !asked.max_new_tokens;
  if (is_open && !writer.answers()) rules.scores.max_length = positions + 1;
  writing::suppress_unknown(writer.tokenizer, writer.form(), rules.scores);
  return rules;
}

/// The number of sources at a time, and the tokens of the longest.
struct Extents {
  int64_t count, longest;
};

std::string ids_text(std::span<const int32_t> ids) {
  std::string all;
  for (const int32_t id : ids) all += text(all.empty() ? "" : " ", id);
  return all;
}

/// A writer of texts for sources.
class Texts {
 public:
  using Show = std::function<void(std::string)>;

  Texts(const CommandLine& line, const Writer& writer, const Extents& of)
      : writer_(writer),
        shows_ids_(line.ids),
        batch_(std::min(line.batch > 0 ? line.batch : kDefaultBatch, of.count)),
        generator_(writer.model.description().recipe(), options(line, of)) {
    stored::load_weights(writer.model, generator_);
  }

  /// Gives the text of each source to `show`, in order and as soon as it can. `first` is the number
  /// of the first text among those that the seed draws.
  void write(std::span<const TokenList> sources, int64_t first, const Show& show) {
    if (!writer_.ranks) return write_alone(sources, first, show);
    const launch::Peers& peers = writer_.ranks->session.peers();
    const size_t most = size_t(batch_ * kRankBatches * peers.ranks());
    for (size_t at = 0; at < sources.size(); at += most) {
      const auto part = sources.subspan(at, std::min(most, sources.size() - at));
      for (const TokenList& text :
           writing::write_by_ranks(generator_, peers, part, first + int64_t(at)))
        show(shown(text));
    }
  }

  std::string write_one(const TokenList& source, int64_t number) {
    std::string written;
    write({&source, 1}, number, [&](std::string text) { written = std::move(text); });
    return written;
  }

 private:
  void write_alone(std::span<const TokenList> sources, int64_t first, const Show& show) {
    std::vector<int64_t> numbers(sources.size());
    std::iota(numbers.begin(), numbers.end(), first);
    std::map<int64_t, std::string> waiting;
    int64_t next = 0;
    generator_.write(sources, numbers, [&](int64_t place, const TokenList& text) {
      waiting[place] = shown(text);
      for (; waiting.contains(next); ++next) show(std::move(waiting.extract(next).mapped()));
    });
  }

  std::string shown(const TokenList& text) const {
    const model::DataForm form = writer_.form();
    if (shows_ids_) return ids_text(std::span(text).subspan(writer_.answers() ? 1 : 0));
    return writer_.answers()
               ? writing::answer_text(text, form.ids.start, form.ids.end, writer_.tokenizer)
               : writer_.tokenizer.decode(text, SpecialTokens::kSkipped);
  }

  writing::GenerationOptions options(const CommandLine& line, const Extents& of) const {
    writing::GenerationOptions made{.rules = rules_for(line, writer_)};
    made.compute = writer_.compute();
    made.threads = writer_.threads;
    made.batch = batch_;
    made.longest_source = of.longest;
    made.together = writer_.together();
    return made;
  }

  const Writer& writer_;
  const bool shows_ids_;
  const int64_t batch_;
  writing::TextGenerator generator_;
};

/// Returns the tokens of a source. If it is answered, it ends as in training.
TokenList source_of(const Writer& writer, std::string_view text) {
  if (!writer.answers()) return encode_prompt(writer.tokenizer, text);
  TokenList source = writer.tokenizer.encode(text);
  source.push_back(int32_t(writer.form().ids.end));
  return source;
}

Extents extents(std::span<const TokenList> sources) {
  size_t longest = 1;
  for (const TokenList& source : sources) longest = std::max(longest, source.size());
  return {.count = int64_t(sources.size()), .longest = int64_t(longest)};
}

void require_source(const CommandLine& line, const Writer& writer, size_t number,
                    const TokenList& source) {
  const int64_t positions = writer.form().context();
  if (source.empty()) {
    refuse(Exit::kInput, line.lines, ": line ", number, ": has no token of the model's; ",
           "write a word to go on from");
  }
  if (int64_t(source.size()) > positions) {
    refuse(Exit::kInput, line.lines, ": line ", number, ": has ",
           counted(int64_t(source.size()), "token"), " and the model ",
           counted(positions, "position"), "; shorten it");
  }
}

std::vector<TokenList> sources_of(const CommandLine& line, const Writer& writer) {
  const std::string content = read_file_or_pipe(line.lines, kMostBytes);
  std::vector<TokenList> sources;
  int64_t number = 0;
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\n', at), content.size());
    std::string_view text = std::string_view(content).substr(at, end - at);
    at = end + 1;
    if (++number < line.first_line) continue;
    if (text.ends_with('\r')) text.remove_suffix(1);
    sources.push_back(source_of(writer, text));
    require_source(line, writer, size_t(number), sources.back());
  }
  if (number == 0) refuse(Exit::kInput, line.lines, ": is empty; write a source on each line");
  if (sources.empty()) {
    refuse(Exit::kUsage, "command line: --first-line: ", line.first_line, ", but ", line.lines,
           " has ", counted(number, "line"), "; write one of them");
  }
  return sources;
}

void show(const Writer& writer, const std::string& text) {
  if (!writer.is_first()) return;
  const bool shown = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!shown || std::fflush(stdout) != 0) refuse(Exit::kIo, "standard output: is closed or full");
}

/// Warns of texts that a killed process left, and how to go on behind them.
void tell_of_left(const std::string& output) {
  for (const std::string& left : left_files(output)) {
    std::ifstream file(left, std::ios::binary);
    int64_t texts = 0;
    char last = '\n';
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
      if ((last = *at) == '\n') ++texts;
    const int64_t first = first_line_of(left);
    warn(left, ": holds ", counted(texts, "text"), last == '\n' ? "" : " and a part of another",
         " of a generate that was ended, from line ", first, " on; --first-line ", first + texts,
         " goes on behind them; keep it, or remove it");
  }
}

/// The file or standard output that lines go to, each as it comes.
class WrittenLines {
 public:
  WrittenLines(const CommandLine& line, const Writer& writer)
      : writer_(writer), first_(line.first_line) {
    if (line.output.empty() || !writer.is_first()) return;
    tell_of_left(line.output);
    file_.emplace(line.output, first_);
  }
  /// Keeps the texts so far after an error, and says how to go on.
  ~WrittenLines() {
    if (!file_ || count_ == 0) return;
    warn(file_->leave(), ": holds the ", counted(count_, "text"), " that were written before; ",
         "--first-line ", first_ + count_, " goes on behind them");
  }

  void write(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += '\n';
    if (!file_) return show(writer_, text);
    file_->write(text);
    ++count_;
  }
  void publish() {
    if (file_) file_->publish();
    file_.reset();
  }

 private:
  const Writer& writer_;
  std::optional<OutputFile> file_;
  int64_t first_, count_ = 0;
};

const model::TalkForm& talk_form(const Writer& writer) {
  return writer.model.description().model.family->talk;
}

TokenList source_of_talk(const Writer& writer, const std::string& persona, const Turns& turns) {
  return source_of(writer, text_of_talk(talk_form(writer), persona, turns));
}

void require_persona(const Writer& writer, const std::string& persona, int64_t most) {
  const int64_t tokens = int64_t(source_of_talk(writer, persona, {""}).size());
  if (persona.empty() || tokens < most) return;
  refuse(Exit::kUsage, "command line: --persona: has ", counted(tokens, "token"),
         ", which leave no room among ", most, " for what is said; write a shorter one");
}

}  // namespace

std::vector<TokenList> Writer::asked(
    const std::function<std::vector<TokenList>()>& of_first) const {
  if (ranks == nullptr) return of_first();
  // People and pipes may take as long as they like.
  constexpr double kWeekSeconds = 7 * 24 * 3600;
  launch::Lookout& lookout = ranks->session.lookout();
  lookout.set_patience(kWeekSeconds);
  std::vector<TokenList> texts;
  ranks->session.on_every_rank([&] {
    if (is_first()) texts = of_first();
  });
  lookout.set_patience(launch::Lookout::kPatienceSeconds);
  return writing::shared_by_first(ranks->session.peers(), texts);
}

std::string text_of_talk(const model::TalkForm& form, const std::string& persona,
                         const Turns& turns) {
  std::string_view word = form.persona;
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  const bool is_begun = persona.empty() || persona.starts_with(word);
  std::string all = is_begun ? persona : text(form.persona, persona);
  for (size_t i = 0; i < turns.size(); ++i) {
    const bool is_said = (turns.size() - i) % 2 == 1;
    all += text(all.empty() ? "" : form.between, is_said ? form.said : "", turns[i]);
  }
  return all;
}

void write_text(const CommandLine& line, const Writer& writer, const std::string& prompt) {
  const auto source =
      writer.asked([&] { return std::vector<TokenList>{source_of(writer, prompt)}; });
  show(writer, Texts(line, writer, extents(source)).write_one(source[0], 0) + "\n");
}

void write_lines(const CommandLine& line, const Writer& writer) {
  // The file is made first, to refuse a bad name before hours of work.
  std::optional<WrittenLines> lines;
  const std::vector<TokenList> sources = writer.asked([&] {
    std::vector<TokenList> read = sources_of(line, writer);
    lines.emplace(line, writer);
    return read;
  });
  Texts(line, writer, extents(sources)).write(sources, line.first_line - 1, [&](std::string text) {
    if (lines) lines->write(std::move(text));
  });
  if (lines) lines->publish();
}

void talk(const CommandLine& line, const Writer& writer) {
  // Most tokens of a talk, because positions may have no limit.
  constexpr int64_t kMostTokens = 2048;
  const int64_t most = std::min(writer.form().context(), kMostTokens);
  require_persona(writer, line.persona, most);
  Texts texts(line, writer, {.count = 1, .longest = most});
  const auto tokens_of = [&](const Turns& turns) {
    return int64_t(source_of_talk(writer, line.persona, turns).size());
  };
  Turns turns;
  const auto next = [&]() -> std::vector<TokenList> {
    for (std::string said; std::getline(std::cin, said);) {
      if (const int64_t tokens = tokens_of({said}); tokens > most) {
        warn("that line, with the persona, has ", tokens, " tokens, and the model reads ", most,
             "; it is passed over; say less at a time");
        continue;
      }
      turns.push_back(said);
      while (tokens_of(turns) > most) turns.pop_front();
      return {source_of_talk(writer, line.persona, turns)};
    }
    return {};
  };
  for (int64_t number = 0;; ++number) {
    const std::vector<TokenList> source = writer.asked(next);
    if (source.empty()) return;
    turns.push_back(texts.write_one(source[0], number));
    show(writer, turns.back() + "\n");
  }
}

}  // namespace zero::commands
