/// The body of a fuzz target under mutations that are the same every time, for any compiler: what
/// stands in where there is no libFuzzer. In the environment, ZERO_FUZZ_SEEDS is a folder of good
/// inputs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace zero {
namespace {

std::vector<std::string> read_seeds() {
  const char* const folder = std::getenv("ZERO_FUZZ_SEEDS");
  if (!folder) return {};
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    seeds.push_back(bytes.str());
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (size_t edits = below(5); edits > 0; --edits) edit(input);
    return input;
  }

 private:
  size_t below(size_t n) { return n ? size_t(random_() % n) : 0; }

  void edit(std::string& input) {
    const size_t at = below(input.size() + 1), length = below(40);
    const std::string& other = seeds_[below(seeds_.size())];
    switch (below(4)) {
      case 0:
        input.erase(at, length);
        break;
      case 1:
        input.insert(at, 1, char(below(256)));
        break;
      case 2:
        input.insert(at, input.substr(below(input.size() + 1), length));
        break;
      default:
        input.replace(at, length, other.substr(below(other.size() + 1), length));
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{1};
};

TEST(Mutations, EndAsTheTargetAllows) {
  constexpr int kRuns = 2000;
  const std::vector<std::string> seeds = read_seeds();
  ASSERT_FALSE(seeds.empty()) << "ZERO_FUZZ_SEEDS names no folder with files";
  Mutator mutator(seeds);
  for (int run = 0; run < kRuns; ++run) {
    const std::string input = mutator.next();
    ASSERT_NO_THROW(
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()))
        << "run " << run << ":\n"
        << input;
  }
}

}  // namespace
}  // namespace zero
