#include "zero/config/read_config.hpp"

#include <filesystem>
#include <fstream>

#include "src/config/fields.hpp"
#include "src/config/nearest.hpp"
#include "src/config/report.hpp"
#include "src/config/rules.hpp"
#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

class Reader {
 public:
  Reader(RunConfig& config, Report& report) : fields_(fields_of(config)), report_(report) {}

  void read_text(std::string_view text) {
    const TomlDocument document = parse_toml(text);
    for (const TomlProblem& problem : document.problems) {
      report_.error({Place::Origin::file, problem.line}, problem.key, problem.what);
    }
    for (const TomlEntry& entry : document.entries) {
      set({Place::Origin::file, entry.line}, entry.key, entry.value);
    }
  }

  /// An override replaces what the file says; two of the same key contradict each other.
  void read_override(const std::string& argument, int position) {
    const Place place{Place::Origin::command, position};
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    if (equals == argument.npos || !is_toml_key(key)) {
      report_.error(place, "", "\"" + argument + "\" is not section.key=value");
    } else if (report_.place_of(key).origin == Place::Origin::command) {
      report_.error(place, key, "stands twice on the command line; keep one");
    } else {
      read_value(place, key, argument.substr(equals + 1));
    }
  }

 private:
  void read_value(Place place, const std::string& key, const std::string& word) {
    TomlValue value;
    std::string what;
    const bool parsed = parse_toml_value(word, value, what);
    const bool meant =
        !word.empty() && std::string_view("\"'[{").find(word[0]) != std::string_view::npos;
    if (!parsed && meant) {
      report_.error(place, key, what);
    } else {
      set(place, key, parsed ? value : TomlValue(word));
    }
  }

  void set(Place place, const std::string& key, const TomlValue& value) {
    report_.written(key, place);
    for (const Field& field : fields_) {
      if (field.key != key) continue;
      const std::string wrong = assign(field, value);
      if (!wrong.empty()) report_.error(place, key, wrong);
      return;
    }
    report_.error(place, key, unknown(key));
  }

  std::string unknown(const std::string& key) {
    constexpr int kMostSearches = 50;  // a file of nothing else must not take long
    if (++searches_ > kMostSearches) return "no such key";
    std::vector<std::string> keys;
    for (const Field& field : fields_) keys.push_back(field.key);
    const std::string near = nearest_key(key, keys);
    if (near.empty()) return "no such key; inputs/reference.toml lists every key";
    return "no such key; did you mean " + near + "?";
  }

  std::vector<Field> fields_;
  Report& report_;
  int searches_ = 0;
};

}  // namespace

ConfigInput read_config(std::string_view text, const std::string& file,
                        std::span<const std::string> overrides) {
  ConfigInput input;
  Report report(file);
  Reader reader(input.config, report);
  reader.read_text(text);
  int position = 0;
  for (const std::string& argument : overrides) reader.read_override(argument, ++position);
  check_rules(input.config, report);
  report.finish();
  input.warnings = report.take_warnings();
  std::string& output = input.config.run.output;
  if (output.empty()) output = "runs/" + std::filesystem::path(file).stem().string();
  return input;
}

ConfigInput read_config_file(const std::string& path, std::span<const std::string> overrides) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kTomlMaxBytes + 1, '\0');
  if (file) file.read(bytes.data(), std::streamsize(bytes.size()));
  if (!file.eof() && !file.good()) {
    refuse(Exit::kUsage, path,
           ": cannot be read; the first argument is an input file such as "
           "inputs/gpt2_nano.toml");
  }
  bytes.resize(size_t(file.gcount()));
  return read_config(bytes, path, overrides);
}

}  // namespace zero
