// Our side of tests/runs/tokenizer_json.py: tokenizer_json_ids FOLDER reads texts from
// stdin, each behind its bytes as u32. It writes rows, each behind its count as u32, all
// little-endian: first the ids before and after a text, then five rows a text. They are the ids,
// those with special names as text, the bytes of each word of the normalised text, and the text of
// the ids with special tokens and without.

#include "io/text/json_words.hpp"
#include "tests/support/id_rows.hpp"

namespace zero {
namespace {

using testing_support::read_text;
using testing_support::write_row;

void encode_all(const std::string& folder) {
  const auto tokenizer = open_tokenizer(folder);
  const TokenizerJson json = read_tokenizer_json(parse_tokenizer_json(folder + "/tokenizer.json"));
  write_row(tokenizer->text_frame().before);
  write_row(tokenizer->text_frame().after);
  std::string text;
  while (read_text(text)) {
    const std::vector<int32_t> ids = tokenizer->encode(text);
    write_row(ids);
    write_row(tokenizer->encode(text, SpecialNames::kText));
    std::vector<int32_t> words;
    cut_words(normalize(text, json.rules.normal), true, json.rules,
              [&](std::string_view word) { words.push_back(int32_t(word.size())); });
    write_row(words);
    write_row(tokenizer->decode(ids, SpecialTokens::kShown));
    write_row(tokenizer->decode(ids, SpecialTokens::kSkipped));
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: tokenizer_json_ids FOLDER\n"), 2;
  try {
    zero::encode_all(argv[1]);
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "tokenizer_json_ids: %s\n", error.what()), 1;
  }
}
