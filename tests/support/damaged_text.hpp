#pragma once

#include <random>
#include <string>

namespace zero::testing_support {

/// Calls `read` with 20,000 damaged copies of `text`, the same ones every time: a few bytes are
/// others, and up to seven are cut off at the end.
template <class Read>
void read_damaged(const std::string& text, Read read) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = text;
    for (int edits = int(random() % 4); edits >= 0; --edits) {
      damaged[random() % damaged.size()] = char(random());
    }
    damaged.resize(damaged.size() - random() % 8);
    read(damaged);
  }
}

}  // namespace zero::testing_support
