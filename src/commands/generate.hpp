#pragma once
/// What the options of generate and a model's own word ask of texts, as one; and what it does with
/// whole texts: answers, lines of a file, a talk.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/commands.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/models/generator.hpp"
#include "zero/models/score_rules.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::commands {

/// Returns the written options, completed by those that the model in `place` says. Texts are drawn
/// where a temperature above 0 is written, or where none is and the model says so; where nobody
/// says among how many tokens, a written temperature draws among all. Throws Error(kUsage) for
/// options that contradict each other or the model, or have no effect; Error(kInput) where the
/// model contradicts itself.
GenerationConfig asked_generation(const CommandLine& line, const GenerationConfig& of_model,
                                  const std::string& place);

/// The rules of what asked_generation() has returned, of texts of up to `new_tokens` more where it
/// says no length. Throws as models::search_rules(), as Error(kUsage) with the option, or
/// Error(kInput) where the model says so; likewise where a least length exceeds `new_tokens`, or
/// is written and no token ends a text.
models::SearchRules asked_rules(const CommandLine& line, const models::StoredModel& model,
                                const GenerationConfig& asked, int64_t new_tokens);

/// Ranks that hold the model together; the first reads what is asked and shows what is written.
struct WritingRanks {
  launch::Session& session;
  models::WeightsTogether together;
};

/// The model that writes, and how.
struct Writer {
  const models::StoredModel& model;
  const Tokenizer& tokenizer;
  GenerationConfig generation;  ///< as asked_generation() has it
  int threads;
  const WritingRanks* ranks = nullptr;  ///< null: this process alone

  model::DataForm form() const { return model::data_form(model.description().model); }
  /// True if it answers a text, instead of continuing it.
  bool answers() const { return form().start >= 0; }
  Dtype compute() const { return model.description().compute; }
  bool is_first() const { return ranks == nullptr || ranks->session.is_first(); }
  std::optional<models::WeightsTogether> together() const {
    return ranks ? std::optional(ranks->together) : std::nullopt;
  }
  /// Returns the sources that the first rank is asked, on every rank; one that throws ends all.
  /// Collective.
  std::vector<models::TokenList> asked(
      const std::function<std::vector<models::TokenList>()>& of_first) const;
};

/// Writes a text for one prompt to standard output.
void write_text(const CommandLine& line, const Writer& writer, const std::string& prompt);

/// A text for each line of a file, one a line, to a new file or standard output, as soon as it and
/// those before it have ended; line breaks within a text become blanks. What an error ends stays in
/// the file's temporary, and a later call says how to go on behind what a killed one has left.
void write_lines(const CommandLine& line, const Writer& writer);

using Turns = std::deque<std::string>;

/// Returns the text that a model reads of a talk, but for its end: what it is told of itself, where
/// that is not "", and turns, of which the last one was said to it, the one in front of that by it,
/// and so on.
std::string text_of_talk(const model::TalkForm& form, const std::string& persona,
                         const Turns& turns);

/// Reads what is said from standard input, line by line, and answers each to standard output. What
/// was said before is read again each time, as much of its end as the model has room for, after
/// what it is told of itself. A line that the model has no room for is passed over with a warning.
/// Throws Error(kUsage) where what it is told leaves no room at all.
void talk(const CommandLine& line, const Writer& writer);

}  // namespace zero::commands
