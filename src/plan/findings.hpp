#pragma once

#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::plan {

/// What verify has found, up to a limit.
class Findings {
 public:
  explicit Findings(int limit) : limit_(size_t(limit)) {}
  template <class... Parts>
  void add(const Parts&... parts) {
    if (list_.size() < limit_) list_.push_back(text(parts...));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  size_t limit_;
  std::vector<std::string> list_;
};

}  // namespace zero::plan
