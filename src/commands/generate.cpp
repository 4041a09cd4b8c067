#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/commands/commands.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/io/files/files.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/thread_room.hpp"
#include "zero/models/generator.hpp"
#include "zero/models/score_rules.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::commands {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPromptBytesMax = int64_t(16) << 20;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

void require_options_that_act(const CommandLine& line) {
  if (!line.overrides.empty()) {
    refuse(Exit::kUsage, "command line: ", line.overrides[0],
           ": generate takes no settings; see zeroapp --help");
  }
  if (line.prompt.empty() == line.prompt_file.empty()) {
    refuse(Exit::kUsage, "command line: write --prompt TEXT or --prompt-file FILE");
  }
  if (line.temperature > 0) return;
  for (const auto& [name, asks] : {std::pair("--top-k", line.top_k > 0),
                                   {"--top-p", line.top_p < 1},
                                   {"--seed", line.seed > 0}}) {
    if (!asks) continue;
    refuse(Exit::kUsage, "command line: ", name, ": nothing is drawn at temperature 0; ",
           "write --temperature 0.8 as well");
  }
}

std::string prompt_of(const CommandLine& line) {
  if (!line.prompt.empty()) return line.prompt;
  std::string prompt = read_whole(line.prompt_file, kPromptBytesMax);
  if (prompt.empty()) refuse(Exit::kInput, line.prompt_file, ": is empty; write a prompt into it");
  return prompt;
}

std::unique_ptr<Tokenizer> tokenizer_of(const models::StoredModel& model) {
  const models::ModelDescription& description = model.description();
  if (description.tokenizer.empty()) {
    refuse(Exit::kInput, model.path(), ": has no tokenizer; copy the vocab.json and merges.txt, ",
           "or the spiece.model, that its training data was made with to this folder");
  }
  auto tokenizer = open_tokenizer(description.tokenizer);
  const int64_t vocabulary = model::data_form(description.model).vocabulary;
  if (tokenizer->vocab_size() > vocabulary) {
    refuse(Exit::kInput, model.path(), ": its tokenizer has ", tokenizer->vocab_size(),
           " tokens, its model ", vocabulary);
  }
  return tokenizer;
}

void load_weights(const models::StoredModel& model, models::Decoder& decoder) {
  const graph::Graph& graph = decoder.graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    models::read_pieces(model, graph[parameter.tensor].name, 0, parameter.real_numel,
                        [&](int64_t first, std::span<const float> piece) {
                          decoder.set_parameter(int32_t(p), first, piece);
                        });
  }
}

/// Standard output, character by character.
class Screen {
 public:
  explicit Screen(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  /// What a token says may depend on whether another one stands in front of it.
  void show(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
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
  models::CharacterStream characters_;
  std::vector<int32_t> last_;  ///< the token that was shown last
};

}  // namespace

int generate(const CommandLine& line) {
  // Where a launcher started several, the first speaks for all.
  if (launch::current_launch().task > 0) return int(Exit::kFinished);
  require_options_that_act(line);
  const Clock::time_point start = Clock::now();
  const int threads = int(std::min<int64_t>(launch::allowed_cores().count(), launch::kMostThreads));
  // OpenMP ends the program where it is refused a thread.
  std::optional<launch::ThreadTrial>(std::in_place, threads).reset();
  const launch::KernelThreads kernels(threads);
  const auto model =
      models::open_model(*line.catalogue, models::find_model(*line.catalogue, line.input));
  model::require_decode(model->description().model);
  const auto tokenizer = tokenizer_of(*model);
  const std::vector<int32_t> prompt = tokenizer->encode(prompt_of(line));
  if (prompt.empty()) {
    refuse(Exit::kUsage, "command line: the prompt has no token of ", model->path(),
           "'s tokenizer; write a word");
  }
  const models::ModelDescription& description = model->description();
  models::Decoder decoder(description.model,
                          {.compute = description.compute == Dtype::bf16 ? Dtype::bf16 : Dtype::f32,
                           .threads = threads});
  load_weights(*model, decoder);

  Screen screen(*tokenizer);
  screen.show(prompt);
  const models::Language language{
      .feed = [&](std::span<const int32_t> tokens) { return decoder.feed(tokens); },
      .clear = [&] { decoder.clear(); },
      .context = model::data_form(description.model).positions,
      .vocabulary = tokenizer->vocab_size()};
  models::Choice choice{.seed = uint64_t(line.seed)};
  if (line.temperature > 0) {
    choice.draws = models::DrawRules{
        .temperature = line.temperature, .top_k = line.top_k, .top_p = line.top_p};
  }
  const models::ScoreRules rules{.repetition_penalty = line.repetition_penalty,
                                 .no_repeat_ngram_size = line.no_repeat_ngram_size};
  const Clock::time_point loaded = Clock::now();
  Clock::time_point first = loaded;
  int64_t made = 0;
  models::continue_tokens(language, prompt, line.tokens, rules, choice, [&](int32_t token) {
    if (made++ == 0) first = Clock::now();
    screen.show({&token, 1});
  });
  screen.finish();
  const double seconds = seconds_between(first, Clock::now());
  std::fprintf(stderr,
               "loaded in %.1f s; %zu tokens of prompt in %.2f s; %lld tokens, %.1f tokens/s\n",
               seconds_between(start, loaded), prompt.size(), seconds_between(loaded, first),
               (long long)made, seconds > 0 ? double(made - 1) / seconds : 0.0);
  return int(Exit::kFinished);
}

}  // namespace zero::commands
