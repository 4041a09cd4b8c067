// The program of tests/runs/class_ids.py: class_ids TOKENIZER FILE TOKENS writes a line for each
// labelled sample of FILE, of at most TOKENS: its class and its ids.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

void write_all(const char* tokenizer, const char* file, int64_t tokens) {
  DataOptions options;
  options.data.train = options.data.validation = file;
  options.data.tokenizer = tokenizer;
  options.data.sequence_length = tokens;
  options.vocab_size = 1 << 20;
  options.model = {{"labels", 3}};
  const DataSets sets = label_data().open(options);
  for (int64_t i = 0; i < sets.validation->samples(); ++i) {
    std::printf("%d", int(sets.validation->label(i)));
    const std::vector<ShownIds> shown = sets.validation->shown(i);
    for (const int32_t id : shown[0].ids) std::printf(" %d", int(id));
    std::printf("\n");
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: class_ids TOKENIZER FILE TOKENS\n", stderr);
    return 2;
  }
  try {
    zero::write_all(argv[1], argv[2], std::atoll(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}
