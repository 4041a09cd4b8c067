#include "src/config/import/input_file.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero {
namespace {

/// read_config() says what belongs there if these are missing.
bool is_required(std::string_view key) {
  return key == "model.name" || key == "data.train" || key == "run.steps";
}

/// An origin may be a path, with folders and with anything in its name.
std::string comment(const std::string& origin) {
  std::string words = origin.substr(origin.rfind('/') + 1);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "  # " + words;
}

std::string line_of(const std::string& key, std::string_view name, const Setting& setting) {
  const std::string origin = comment(setting.origin) + "\n";
  if (setting.open && is_required(key)) return text("# ", name, " = ...", origin);
  if (setting.open) return text(name, " = \"needs a value\"", origin);
  return text(name, " = ", to_text(setting.value), origin);
}

}  // namespace

std::string input_file(std::span<const Field> fields, const Settings& settings) {
  std::string out =
      "# Translated by zeroapp import-deepspeed; behind each value where it is from.\n";
  std::string_view section;
  for (const Field& field : fields) {
    const auto found = settings.find(field.key);
    if (found == settings.end()) continue;
    const std::string_view here = section_of(field.key);
    if (here != section) out += text("\n[", here, "]\n");
    section = here;
    const std::string name = field.key.substr(here.empty() ? 0 : here.size() + 1);
    out += line_of(field.key, name, found->second);
  }
  return out;
}

}  // namespace zero
