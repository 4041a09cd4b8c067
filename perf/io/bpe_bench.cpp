// Encoding and decoding by a byte-level BPE on one thread, in MB/s of text, beside a copy of the
// text.
//   perf_io_bpe FOLDER TEXT [MB/s]      ends with status 1 where encoding is below MB/s

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "perf/support/timing.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero::perf {
namespace {

constexpr int kRepeats = 5;
constexpr int64_t kMaxTextBytes = int64_t(1) << 30;

double megabytes_per_second(const std::string& text, double seconds) {
  return double(text.size()) / seconds / 1e6;
}

/// The rate of encoding, in MB/s.
double measure(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  std::string decoded(text.size(), '\0');
  const double copy =
      best_seconds(kRepeats, [&] { memcpy(decoded.data(), text.data(), text.size()); });
  const double encode = best_seconds(kRepeats, [&] { ids = tokenizer.encode(text); });
  const double decode = best_seconds(kRepeats, [&] { decoded = tokenizer.decode(ids); });
  ZERO_REQUIRE(decoded == text, "decoded to another text");
  const double rate = megabytes_per_second(text, encode);
  std::printf("%.1f MB, %zu ids: encode %.1f MB/s, decode %.1f MB/s, copy %.1f MB/s (%.4f)\n",
              double(text.size()) / 1e6, ids.size(), rate, megabytes_per_second(text, decode),
              megabytes_per_second(text, copy), copy / encode);
  return rate;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: perf_io_bpe FOLDER TEXT [MB/s]\n"), 2;
  try {
    const auto tokenizer = zero::open_tokenizer(argv[1]);
    const std::string text = zero::read_whole(argv[2], zero::perf::kMaxTextBytes);
    const double least = argc > 3 ? std::atof(argv[3]) : 0;
    return zero::perf::measure(*tokenizer, text) >= least ? 0 : 1;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
