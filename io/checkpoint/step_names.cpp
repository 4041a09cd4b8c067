#include "io/checkpoint/step_names.hpp"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kIdBytes = 16;
constexpr std::string_view kStep = "step";

std::string random_id() {
  uint8_t bytes[kIdBytes];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) {
    refuse(Exit::kIo, "random bytes for a folder's name: ", std::strerror(errno));
  }
  return hex_of(bytes);
}

}  // namespace

std::optional<int64_t> step_in(std::string_view name) {
  if (!name.starts_with(kStep)) return {};
  int64_t step = 0;
  const auto end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kStep.size(), end, step);
  if (error != std::errc() || stop != end || Store::folder_of(step) != name) return {};
  return step;
}

std::string unique_name(std::string_view prefix, const std::string& name) {
  return text(prefix, name, "-", random_id());
}

bool is_unique_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const size_t dash = name.rfind('-');
  if (dash == name.npos || name.size() - dash - 1 != 2 * kIdBytes) return false;
  return name.substr(0, dash) == kLatest || step_in(name.substr(0, dash));
}

}  // namespace zero::checkpoint
