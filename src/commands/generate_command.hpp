#pragma once
/// The options of generate completed by those of a model, and the writing of whole texts: answers,
/// lines of a file, a talk.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/commands.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/search_rules.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::commands {

/// Returns the written options, completed by those of the model in `place`. Texts are drawn if a
/// temperature above 0 is written, or if none is and the model draws. A written temperature draws
/// among all tokens unless top_k is set. Throws Error(kUsage) for options that contradict each
/// other or the model, or have no effect. Throws Error(kInput) if the model contradicts itself.
GenerationConfig asked_generation(const CommandLine& line, const GenerationConfig& of_model,
                                  const std::string& place);

/// Returns the rules of `asked`, from asked_generation(), for texts of up to `new_tokens` more if
/// it sets no length. Throws as writing::search_rules(): Error(kUsage) naming the option, or
/// Error(kInput) if the model sets it. Also throws if a least length exceeds `new_tokens`, or is
/// written and no token ends a text.
writing::SearchRules asked_rules(const CommandLine& line, const stored::StoredModel& model,
                                 const GenerationConfig& asked, int64_t new_tokens);

/// The ranks that hold the model together. The first reads requests and shows texts.
struct WritingRanks {
  launch::Session& session;
  writing::DecodingRanks together;
};

/// A model that writes, with its options.
struct Writer {
  const stored::StoredModel& model;
  const Tokenizer& tokenizer;
  GenerationConfig generation;  ///< from asked_generation()
  int threads;
  const WritingRanks* ranks = nullptr;  ///< null = this process alone

  model::DataForm form() const { return model::data_form(model.description().model); }
  /// True if it answers a text, instead of continuing it.
  bool answers() const { return form().ids.start >= 0; }
  Dtype compute() const { return model.description().compute; }
  bool is_first() const { return ranks == nullptr || ranks->session.is_first(); }
  std::optional<writing::DecodingRanks> together() const {
    return ranks ? std::optional(ranks->together) : std::nullopt;
  }
  /// Returns on every rank the sources that `of_first` returns on the first. If it throws, all
  /// ranks end. Collective.
  std::vector<writing::TokenList> asked(
      const std::function<std::vector<writing::TokenList>()>& of_first) const;
};

/// Returns the generation settings of a writer. If neither they nor the model end a text, the
/// tokenizer's end does, because trained documents end with it. Transformers' Trainer writes it to
/// the model's config.json.
GenerationConfig ended_generation(const Writer& writer);

/// Writes a text for one prompt to standard output.
void write_text(const CommandLine& line, const Writer& writer, const std::string& prompt);

/// Writes a text for each line of a file, one a line, to a new file or standard output. Each
/// follows as soon as it and its predecessors have ended. Line breaks within a text become blanks.
/// After an error, texts stay in the file's temporary. A later call tells how to go on behind those
/// of a killed one.
void write_lines(const CommandLine& line, const Writer& writer);

using Turns = std::deque<std::string>;

/// Returns the text that a model reads of a talk, without its end: the persona, unless "", and the
/// turns. The last turn was said to the model, the one in front of it by the model, and so on.
std::string text_of_talk(const model::TalkForm& form, const std::string& persona,
                         const Turns& turns);

/// Reads lines from standard input, and answers each to standard output. For each answer the model
/// reads the persona and as many of the latest turns as it has room for. A line beyond that room is
/// skipped with a warning. Throws Error(kUsage) if the persona leaves no room.
void talk(const CommandLine& line, const Writer& writer);

}  // namespace zero::commands
