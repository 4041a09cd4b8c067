#include "io/data/pair_file.hpp"

namespace zero {
namespace {

/// Two files, line by line.
class LinePairs : public PairFile {
 public:
  explicit LinePairs(const std::string& path)
      : source_(path, kPairFileAdvice, RecordEnd::line),
        target_(target_path(path), text("its lines are the targets of ", path), RecordEnd::line) {
    if (source_.records() == target_.records()) return;
    refuse(Exit::kInput, path, ": has ", counted(source_.records(), "line"), ", but ",
           target_.path(), " beside it has ", target_.records(),
           "; lines of the same number are pairs");
  }

  std::string format() const override { return "lines, whose targets are those of .target"; }
  int64_t pairs() const override { return source_.records(); }
  TextPair read(int64_t pair) const override {
    std::string source, target;
    return {.source = std::string(source_.read(pair, source)),
            .target = std::string(target_.read(pair, target))};
  }
  std::string place(int64_t pair) const override { return source_.place(pair); }
  uint64_t fingerprint() const override {
    // Multiplying by an odd number keeps every bit, and tells which of the two is the source.
    return (source_.fingerprint() * 0x9E3779B97F4A7C15u) ^ target_.fingerprint();
  }

 private:
  RecordFile source_, target_;
};

}  // namespace

std::unique_ptr<PairFile> open_line_pairs(const std::string& path) {
  return std::make_unique<LinePairs>(path);
}

}  // namespace zero
