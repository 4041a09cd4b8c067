#include "src/commands/generate_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/commands/commands.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/path.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/launch/cores.hpp"
#include "zero/launch/kernel_threads.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/thread_room.hpp"
#include "zero/state/communicators.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/character_stream.hpp"
#include "zero/text/continuation.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/search_rules.hpp"
#include "zero/text/text_decoder.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::commands {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPromptBytesMax = int64_t(16) << 20, kDefaultTokens = 200;
constexpr int64_t kUsualContext = 4096;  // tokens in the cache, unless more are asked for

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

void require_options_that_act(const CommandLine& line) {
  if (!line.overrides.empty()) {
    refuse(Exit::kUsage, "command line: ", line.overrides[0],
           ": generate takes no settings; see zeroapp --help");
  }
  const int asked = int(!line.prompt.empty()) + int(!line.prompt_file.empty()) +
                    int(!line.lines.empty()) + int(line.chat);
  if (asked != 1) {
    refuse(Exit::kUsage, "command line: write --prompt TEXT or --prompt-file FILE, ",
           "or --input FILE with a source on each line, or --chat");
  }
  if (!line.output.empty() && line.lines.empty()) {
    refuse(Exit::kUsage, "command line: --output: only what --input asks for goes to a file; ",
           "write --input FILE as well, or redirect standard output");
  }
  if (line.batch > 0 && line.lines.empty()) {
    refuse(Exit::kUsage, "command line: --batch: only lines of a file are worked on together; ",
           "write --input FILE as well");
  }
  if (line.first_line > 1 && line.lines.empty()) {
    refuse(Exit::kUsage, "command line: --first-line: only a file has lines; ",
           "write --input FILE as well");
  }
  if (line.ids && line.chat) {
    refuse(Exit::kUsage, "command line: --ids: a talk is of texts; write --prompt or --input");
  }
  if (!line.persona.empty() && !line.chat) {
    refuse(Exit::kUsage, "command line: --persona: only who talks has one; write --chat as well");
  }
}

std::string prompt_of(const CommandLine& line) {
  if (!line.prompt.empty()) return line.prompt;
  std::string prompt = read_file_or_pipe(line.prompt_file, kPromptBytesMax);
  if (prompt.empty()) refuse(Exit::kInput, line.prompt_file, ": is empty; write a prompt into it");
  return prompt;
}

std::unique_ptr<Tokenizer> tokenizer_of(const stored::StoredModel& model) {
  const stored::ModelDescription& description = model.description();
  if (description.tokenizer.empty()) {
    refuse(Exit::kInput, model.path(),
           ": has no tokenizer; copy the tokenizer.json, the vocab.json and merges.txt, or the ",
           "spiece.model, that its training data was made with to this folder");
  }
  auto tokenizer = open_tokenizer(description.tokenizer);
  const int64_t vocabulary = model::data_form(description.model).vocabulary;
  if (tokenizer->vocab_size() > vocabulary) {
    refuse(Exit::kInput, model.path(), ": its tokenizer has ", tokenizer->vocab_size(),
           " tokens, its model ", vocabulary);
  }
  return tokenizer;
}

/// A screen on standard output, which shows characters or ids as they come.
class Screen {
 public:
  Screen(const Tokenizer& tokenizer, bool ids) : tokenizer_(tokenizer), ids_(ids) {}
  /// Decodes each token behind its predecessor, on which its text may depend.
  void show(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      if (ids_) {
        put(text(std::exchange(has_begun_, true) ? " " : "", token));
        continue;
      }
      const size_t known = tokenizer_.decode(last_).size();
      last_.push_back(token);
      put(characters_.add(tokenizer_.decode(last_).substr(known)));
      last_ = {token};
    }
  }
  void finish() { put(characters_.finish() + "\n"); }

 private:
  void put(const std::string& text) {
    const bool shown = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!shown || std::fflush(stdout) != 0) refuse(Exit::kIo, "standard output: is closed or full");
  }

  const Tokenizer& tokenizer_;
  const bool ids_;
  bool has_begun_ = false;
  writing::CharacterStream characters_;
  std::vector<int32_t> last_;  ///< token shown last
};

/// A text that is continued and shown token by token.
class Stream {
 public:
  Stream(const CommandLine& line, const Writer& writer, std::span<const int32_t> prompt)
      : line_(line),
        writer_(writer),
        decoder_(writer.model.description().recipe(), {.compute = writer.compute(),
                                                       .context = context(int64_t(prompt.size())),
                                                       .threads = writer.threads,
                                                       .together = writer.together()}) {
    stored::load_weights(writer.model, decoder_);
  }

  /// Lets the first rank feed the tokens that it chooses; the others follow.
  void run(std::span<const int32_t> prompt, Clock::time_point start) {
    if (!writer_.is_first()) return decoder_.follow();
    go_on(prompt, start);
    if (writer_.ranks) decoder_.dismiss();
  }

 private:
  void go_on(std::span<const int32_t> prompt, Clock::time_point start) {
    writing::SearchRules rules =
        asked_rules(line_, writer_.model, ended_generation(writer_), kDefaultTokens);
    const int64_t most = count(rules, int64_t(prompt.size()));
    rules.scores.max_length = int64_t(prompt.size()) + most;
    Screen screen(writer_.tokenizer, line_.ids);
    screen.show(line_.ids ? prompt : prompt.subspan(framed(prompt)));
    const writing::Language language = decoder_.language(writer_.tokenizer.vocab_size());
    const Clock::time_point loaded = Clock::now();
    Clock::time_point first = loaded;
    int64_t made = 0;
    writing::continue_tokens(language, prompt, most, rules.scores, rules.choice,
                             [&](int32_t token) {
                               if (made++ == 0) first = Clock::now();
                               if (line_.ids || !is_silent_end(rules.scores, token))
                                 screen.show({&token, 1});
                             });
    screen.finish();
    const double seconds = seconds_between(first, Clock::now());
    std::fprintf(stderr,
                 "loaded in %.1f s; %zu tokens of prompt in %.2f s; %lld tokens, %.1f tokens/s\n",
                 seconds_between(start, loaded), prompt.size(), seconds_between(loaded, first),
                 (long long)made, seconds > 0 ? double(made - 1) / seconds : 0.0);
  }

  /// Returns the tokens in the cache. All positions of a model for long texts would be too many.
  int64_t context(int64_t prompt) const {
    const int64_t positions = model::data_form(writer_.model.description().model).context();
    const int64_t made =
        count(asked_rules(line_, writer_.model, ended_generation(writer_), kDefaultTokens), prompt);
    return std::min(positions, std::max(kUsualContext, prompt + made));
  }

  int64_t count(const writing::SearchRules& rules, int64_t prompt) const {
    if (rules.max_new_tokens > 0) return rules.max_new_tokens;
    const int64_t whole = rules.scores.max_length;
    if (whole > prompt) return whole - prompt;
    const bool written = line_.generation.max_length.has_value();
    refuse(Exit::kUsage, written ? "command line: " : writer_.model.path() + ": its generation: ",
           written ? "--max-length" : "max_length", ": ", whole, " with a prompt of ", prompt,
           " tokens; write ", written ? "more than that" : "--tokens N");
  }

  /// Returns the count of ids in front of the prompt that are the tokenizer's, such as bos.
  size_t framed(std::span<const int32_t> prompt) const {
    const std::vector<int32_t> before = writer_.tokenizer.text_frame().before;
    const bool begins =
        prompt.size() >= before.size() && std::equal(before.begin(), before.end(), prompt.begin());
    return begins ? before.size() : 0;
  }

  /// True if a token ends the text and is special, so it is not shown.
  bool is_silent_end(const writing::ScoreRules& rules, int32_t token) const {
    return std::ranges::find(rules.eos_token_id, token) != rules.eos_token_id.end() &&
           writer_.tokenizer.decode({&token, 1}, SpecialTokens::kSkipped).empty();
  }

  const CommandLine& line_;
  const Writer& writer_;
  writing::Decoder decoder_;
};

void continue_prompt(const CommandLine& line, const Writer& writer, Clock::time_point start) {
  std::string text;
  const auto prompt = writer.asked([&]() -> std::vector<writing::TokenList> {
    text = prompt_of(line);
    const std::vector<int32_t> tokens = encode_prompt(writer.tokenizer, text);
    if (!tokens.empty()) return {tokens};
    refuse(Exit::kUsage, "command line: the prompt has no token of ", writer.model.path(),
           "'s tokenizer; write a word");
  });
  const bool beams = writer.generation.num_beams.value_or(1) > 1;
  if (writer.answers() || beams) return write_text(line, writer, text);
  Stream(line, writer, prompt[0]).run(prompt[0], start);
}

void write_what_is_asked(const CommandLine& line, const Writer& writer, Clock::time_point start) {
  if (line.chat) {
    talk(line, writer);
  } else if (!line.lines.empty()) {
    write_lines(line, writer);
  } else {
    continue_prompt(line, writer, start);
  }
}

/// An open model, with its tokenizer and all that was asked of it.
struct Opened {
  std::unique_ptr<stored::StoredModel> model;
  std::unique_ptr<Tokenizer> tokenizer;
  GenerationConfig generation;

  void look_at(const CommandLine& line) {
    const stored::ModelDescription& description = model->description();
    model::require_decode(description.recipe());
    tokenizer = tokenizer_of(*model);
    generation = asked_generation(line, description.generation, model->path());
    if (!line.chat || model::data_form(description.model).ids.start >= 0) return;
    refuse(Exit::kUsage, "command line: --chat: ", model->path(),
           " holds a model that continues a text and answers none; write --prompt");
  }

  Writer writer(int threads, const WritingRanks* ranks = nullptr) const {
    return {.model = *model,
            .tokenizer = *tokenizer,
            .generation = generation,
            .threads = threads,
            .ranks = ranks};
  }
};

int generate_alone(const CommandLine& line, Clock::time_point start) {
  const int threads = int(std::min<int64_t>(launch::allowed_cores().count(), launch::kMostThreads));
  // OpenMP ends the program if it is refused a thread.
  std::optional<launch::ThreadTrial>(std::in_place, threads).reset();
  const launch::KernelThreads kernels(threads);
  Opened opened;
  opened.model =
      stored::open_model(*line.catalogue, stored::find_model(*line.catalogue, line.input));
  opened.look_at(line);
  write_what_is_asked(line, opened.writer(threads), start);
  return int(Exit::kFinished);
}

/// Returns a request at stage 3, by whose shards ranks hold the model.
plan::Request request_for(int ranks) {
  plan::Request request;
  request.stage = 3;
  request.ranks = ranks;
  return request;
}

int generate_on_ranks(const CommandLine& line, int& argc, char**& argv, Clock::time_point start) {
  launch::Session session(argc, argv);
  session.require_whole_launch();
  // Live outside, because peers may still wait for this rank through these if it fails alone.
  Opened opened;
  state::Communicators comms;
  session.end_all_on_error([&] {
    session.on_every_rank([&] { require_options_that_act(line); });
    opened.model = stored::open_model(session, *line.catalogue, line.input);
    session.on_every_rank([&] { opened.look_at(line); });
    session.start_threads(0, /*share_device=*/true);
    session.lookout().enter(launch::Milestone::steps);
    comms = state::ready_communicators(session);
    const auto together =
        writing::decoding_ranks(session, request_for(session.ranks()), comms.lanes());
    const WritingRanks ranks{.session = session, .together = *together};
    write_what_is_asked(line, opened.writer(session.threads(), &ranks), start);
  });
  return int(Exit::kFinished);
}

}  // namespace

int generate(const CommandLine& line, int& argc, char**& argv) {
  const Clock::time_point start = Clock::now();
  if (launch::current_launch().tasks > 1) return generate_on_ranks(line, argc, argv, start);
  require_options_that_act(line);
  return generate_alone(line, start);
}

}  // namespace zero::commands
