#include "src/usage/command_table.hpp"

namespace zero::usage {
namespace {

using Rules = GenerationConfig;
using Line = CommandLine;

Count tokens(Rule<int64_t> place, int64_t low) {
  return {place, low, 1'000'000'000, "number of tokens"};
}

/// Returns the options of lengths and of a search, by Hugging Face's names. A 0 cancels what the
/// model's file asks for.
std::vector<Option> search_options() {
  return {
      {"--tokens", "N", tokens(&Rules::max_new_tokens, 1), "how many at most", "200"},
      {"--max-length", "N", tokens(&Rules::max_length, 1), "likewise, with what was there before"},
      {"--min-length", "N", tokens(&Rules::min_length, 0), "no end before, with what was there"},
      {"--min-new-tokens", "N", tokens(&Rules::min_new_tokens, 0),
       "no end before so many new ones"},
      {"--num-beams", "N", Count{&Rules::num_beams, 1, 1000, "number of beams"},
       "search with N beams", "1"},
      {"--length-penalty", "P", Real{&Rules::length_penalty, -100, 100},
       "of beams: above 0 longer texts are better", "1"},
      {"--early-stopping", "W", &Rules::early_stopping, "of beams: no, yes or never", "no"},
      {"--repetition-penalty", "R", Real{&Rules::repetition_penalty, 0.01, 100},
       "tokens that are there already become less likely above 1"},
      {"--no-repeat-ngram-size", "N", tokens(&Rules::no_repeat_ngram_size, 0),
       "no N tokens in a row come twice"},
      {"--encoder-no-repeat-ngram-size", "N", tokens(&Rules::encoder_no_repeat_ngram_size, 0),
       "nor once if the source has them"},
      {"--forced-bos-token-id", "I", Count{&Rules::forced_bos_token_id, 0, INT32_MAX, "id"},
       "the first token"},
      {"--forced-eos-token-id", "I", &Rules::forced_eos_token_id, "the last possible token"},
      {"--suppress-tokens", "I,J,...", &Rules::suppress_tokens, "never these"},
      {"--begin-suppress-tokens", "I,J,...", &Rules::begin_suppress_tokens,
       "not these at the beginning"},
  };
}

/// Returns the options by which tokens are drawn.
std::vector<Option> draw_options() {
  return {
      {"--temperature", "T", Real{&Rules::temperature, 0, 100}, "0 takes the likeliest, 0.8 draws",
       "0"},
      {"--top-k", "K", tokens(&Rules::top_k, 0), "draw among the K likeliest, 0: all", "all"},
      {"--top-p", "P", Real{&Rules::top_p, 0, 1},
       "draw among the likeliest that together have probability P"},
      {"--seed", "S", Count{&Line::seed, 1, INT64_MAX, "seed"}, "draw others"},
  };
}

std::vector<Option> text_options() {
  return {
      {"--prompt", "TEXT", &Line::prompt, "the text"},
      {"--prompt-file", "FILE", &Line::prompt_file, "instead of --prompt"},
      {"--input", "FILE", &Line::lines, "a text for each line of it"},
      {"--output", "FILE", &Line::output, "a new file of them", "standard output"},
      {"--batch", "N", Count{&Line::batch, 1, 100'000, "number of texts"},
       "lines that are worked on at a time", "8"},
      {"--first-line", "N", Count{&Line::first_line, 1, INT64_MAX, "number of a line"},
       "of the input, to go on behind texts that are there"},
      {"--ids", "", &Line::ids, "ids of tokens in place of texts"},
      {"--chat", "", &Line::chat, "talk with a model that answers"},
      {"--persona", "TEXT", &Line::persona,
       "who it is; \"your persona: \" is put in front if training had that"},
  };
}

}  // namespace

std::vector<Option> generate_options() {
  std::vector<Option> all = text_options();
  for (const auto& more : {search_options(), draw_options()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace zero::usage
