#include "zero/model/hub_wrappers.hpp"

#include <algorithm>

#include "zero/base/text.hpp"

namespace zero::model {
namespace {

/// Prefixes by DataParallel, torch.compile, PEFT and a member that holds the model.
constexpr std::string_view kWrappers[] = {"module.", "_orig_mod.", "base_model.model.", "model.",
                                          "transformer."};
constexpr int kMostWrappers = 3;  // maximum nesting

using Known = std::function<bool(std::string_view)>;

std::string wrapper_from(std::span<const std::string_view> names, const Known& known,
                         const std::string& front, int depth) {
  const auto is_wrapped = [&](std::string_view name) { return name.starts_with(front); };
  const auto is_known = [&](std::string_view name) { return known(name.substr(front.size())); };
  if (names.empty() || !std::ranges::all_of(names, is_wrapped)) return "";
  if (std::ranges::any_of(names, is_known)) return front;
  for (const std::string_view wrapper : kWrappers) {
    if (depth == kMostWrappers) break;
    const std::string found = wrapper_from(names, known, text(front, wrapper), depth + 1);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

std::string wrapper_of(std::span<const std::string_view> names, const Known& known) {
  return wrapper_from(names, known, "", 0);
}

}  // namespace zero::model
