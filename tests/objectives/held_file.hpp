#pragma once

#include <span>
#include <string>

#include "zero/base/digests.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {

/// A file of lines of bytes, held whole.
class HeldFile : public DataSource {
 public:
  std::string_view item() const override { return "line"; }
  int64_t vocab_size() const override { return 256; }
  uint64_t fingerprint() const override {
    const Xxh3Digest digest = xxh3_of(std::as_bytes(std::span(content_)));
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
    return number;
  }

 protected:
  explicit HeldFile(const std::string& path) : content_(read_whole(path, int64_t(1) << 20)) {}
  const std::string& content() const { return content_; }

 private:
  std::string content_;
};

}  // namespace zero
