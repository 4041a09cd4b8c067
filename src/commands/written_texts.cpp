#include "src/commands/written_texts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/files.hpp"
#include "zero/models/generator.hpp"

namespace zero::commands {
namespace {

using models::TokenList;

constexpr int64_t kMostBytes = int64_t(4) << 30;
constexpr int64_t kDefaultTokens = 200, kDefaultBatch = 8;
/// Between what was said in turn, and what a speaker is told of itself.
constexpr const char* kTurn = "  ";

/// "3,17"
std::vector<int32_t> ids_of(const std::string& words, const char* option) {
  std::vector<int32_t> ids;
  const char *at = words.data(), *const end = at + words.size();
  while (at != end) {
    int32_t id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next != end && (*next != ',' || next + 1 == end))) {
      refuse(Exit::kUsage, "command line: ", option, ": \"", words,
             "\" is no list of ids; write them as 3,17");
    }
    ids.push_back(id);
    at = next == end ? end : next + 1;
  }
  return ids;
}

models::EarlyStopping early_stopping(const std::string& word) {
  if (word == "never") return models::EarlyStopping::never;
  return word == "yes" ? models::EarlyStopping::yes : models::EarlyStopping::no;
}

/// The rules with what depends on the model: ids that end a text, and those that no text has.
models::SearchRules rules_for(const CommandLine& line, const Writer& writer) {
  models::SearchRules rules = search_rules(line);
  const int64_t end =
      writer.form().end >= 0 ? writer.form().end : int64_t(writer.tokenizer.special_ids().eos);
  if (end >= 0) rules.scores.eos_token_id = {int32_t(end)};
  for (int64_t id = writer.tokenizer.vocab_size(); id < writer.form().vocabulary; ++id) {
    if (id != end) rules.scores.suppress_tokens.push_back(int32_t(id));
  }
  return rules;
}

/// How far texts may go behind beginnings of up to so many tokens.
void set_length(const CommandLine& line, const Writer& writer, int64_t beginning,
                models::SearchRules& rules) {
  rules.scores.max_length = line.max_length;
  rules.max_new_tokens = line.tokens;
  if (line.max_length > 0 || line.tokens > 0) return;
  const int64_t room = writer.form().positions - beginning + 1;
  rules.max_new_tokens = std::clamp<int64_t>(room, 1, kDefaultTokens);
}

/// How many sources will come at a time, and the tokens of the longest.
struct Extents {
  int64_t count, longest;
};

/// The plans that write for sources.
class Texts {
 public:
  Texts(const CommandLine& line, const Writer& writer, const Extents& of)
      : writer_(writer), generator_(writer.model.description().model, options(line, of)) {
    models::load_weights(writer.model, generator_.graph(),
                         [&](int32_t parameter, int64_t first, std::span<const float> piece) {
                           generator_.set_parameter(parameter, first, piece);
                         });
  }

  std::vector<std::string> write(std::span<const TokenList> sources) {
    std::vector<std::string> texts;
    for (TokenList& text : generator_.write(sources)) texts.push_back(shown(text));
    return texts;
  }

 private:
  /// Bytes have no special ids of their own, so those around an answer are taken away here.
  std::string shown(TokenList& text) const {
    const model::DataForm form = writer_.form();
    if (writer_.answers())
      std::erase_if(text, [&](int32_t id) { return id == form.start || id == form.end; });
    return writer_.tokenizer.decode(text, SpecialTokens::kSkipped);
  }

  models::GenerationOptions options(const CommandLine& line, const Extents& of) const {
    models::GenerationOptions made{.rules = rules_for(line, writer_)};
    set_length(line, writer_, writer_.answers() ? 1 : of.longest, made.rules);
    made.compute = writer_.compute();
    made.threads = writer_.threads;
    made.batch = std::min(line.batch > 0 ? line.batch : kDefaultBatch, of.count);
    made.longest_source = of.longest;
    return made;
  }

  const Writer& writer_;
  models::TextGenerator generator_;
};

/// As in training, what is answered ends.
TokenList source_of(const Writer& writer, std::string_view text) {
  TokenList source = writer.tokenizer.encode(text);
  if (writer.answers()) source.push_back(int32_t(writer.form().end));
  return source;
}

Extents extents(std::span<const TokenList> sources) {
  size_t longest = 1;
  for (const TokenList& source : sources) longest = std::max(longest, source.size());
  return {.count = int64_t(sources.size()), .longest = int64_t(longest)};
}

void require_source(const CommandLine& line, const Writer& writer, size_t number,
                    const TokenList& source) {
  const int64_t positions = writer.form().positions;
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
  const std::string content = read_whole(line.lines, kMostBytes);
  std::vector<TokenList> sources;
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\n', at), content.size());
    std::string_view text = std::string_view(content).substr(at, end - at);
    if (text.ends_with('\r')) text.remove_suffix(1);
    sources.push_back(source_of(writer, text));
    require_source(line, writer, sources.size(), sources.back());
    at = end + 1;
  }
  if (sources.empty()) refuse(Exit::kInput, line.lines, ": is empty; write a source on each line");
  return sources;
}

void show(const std::string& text) {
  const bool shown = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!shown || std::fflush(stdout) != 0) refuse(Exit::kIo, "standard output: is closed or full");
}

/// What a model reads of a talk: its persona, and the last turns that fit into `most` tokens.
TokenList source_of_talk(const Writer& writer, const std::string& persona, int64_t most,
                         std::deque<std::string>& turns) {
  for (;;) {
    std::string all = persona;
    for (const std::string& turn : turns) all += (all.empty() ? "" : kTurn) + turn;
    TokenList source = source_of(writer, all);
    if (int64_t(source.size()) <= most) return source;
    if (turns.size() <= 1) {
      refuse(Exit::kUsage, "what was said, with the persona, has ", source.size(),
             " tokens and room for ", most, "; say less at a time");
    }
    turns.pop_front();
  }
}

}  // namespace

models::SearchRules search_rules(const CommandLine& line) {
  models::SearchRules rules{.choice = {.seed = uint64_t(line.seed)},
                            .num_beams = line.num_beams,
                            .length_penalty = line.length_penalty,
                            .early_stopping = early_stopping(line.early_stopping)};
  rules.scores = {
      .min_length = line.min_length,
      .min_new_tokens = line.min_new_tokens,
      .repetition_penalty = line.repetition_penalty,
      .no_repeat_ngram_size = line.no_repeat_ngram_size,
      .encoder_no_repeat_ngram_size = line.encoder_no_repeat_ngram_size,
      .suppress_tokens = ids_of(line.suppress_tokens, "--suppress-tokens"),
      .begin_suppress_tokens = ids_of(line.begin_suppress_tokens, "--begin-suppress-tokens")};
  if (line.forced_bos_token_id >= 0)
    rules.scores.forced_bos_token_id = int32_t(line.forced_bos_token_id);
  if (line.forced_eos_token_id >= 0)
    rules.scores.forced_eos_token_id = {int32_t(line.forced_eos_token_id)};
  if (line.temperature > 0) {
    rules.choice.draws = models::DrawRules{
        .temperature = line.temperature, .top_k = line.top_k, .top_p = line.top_p};
  }
  return rules;
}

void write_text(const CommandLine& line, const Writer& writer, const std::string& prompt) {
  const std::vector<TokenList> source = {source_of(writer, prompt)};
  show(Texts(line, writer, extents(source)).write(source)[0] + "\n");
}

void write_lines(const CommandLine& line, const Writer& writer) {
  const std::vector<TokenList> sources = sources_of(line, writer);
  // A name that cannot be had is known before hours of work.
  std::optional<OutputFile> file;
  if (!line.output.empty()) file.emplace(line.output);
  std::string all;
  for (std::string& text : Texts(line, writer, extents(sources)).write(sources)) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    all += text + "\n";
  }
  if (!file) return show(all);
  file->write(all);
  file->publish();
}

void talk(const CommandLine& line, const Writer& writer) {
  // Where positions have no end, a talk has one.
  constexpr int64_t kMostTokens = 2048;
  const int64_t most = std::min(writer.form().positions, kMostTokens);
  Texts texts(line, writer, {.count = 1, .longest = most});
  std::deque<std::string> turns;
  for (std::string said; std::getline(std::cin, said);) {
    turns.push_back(said);
    const std::vector<TokenList> source = {source_of_talk(writer, line.persona, most, turns)};
    turns.push_back(texts.write(source)[0]);
    show(turns.back() + "\n");
  }
}

}  // namespace zero::commands
