#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "src/usage/help_columns.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/usage/help.hpp"

namespace zero::usage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".toml";

/// Returns the folder of input files: the installed one, else that of the current folder.
std::string folder_of_inputs() {
  const std::string folder = shared_file("inputs");
  if (look_at(folder).kind == PathKind::folder) return folder;
  refuse(Exit::kInput, "inputs: no such folder beside the program or here; install it with ",
         "cmake --install, or go to the top folder of the source tree");
}

/// Returns the name that is meant by mine, mine.toml or a path of it.
std::string name_in(std::string_view word) {
  word.remove_prefix(word.rfind('/') + 1);
  if (word.ends_with(kEnding)) word.remove_suffix(kEnding.size());
  return std::string(word);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.ends_with(kEnding)) names.push_back(name_in(name));
  }
  if (error) refuse(Exit::kInput, folder, ": ", path_advice(error.value()));
  std::ranges::sort(names);
  return names;
}

/// Returns the first comment of a file, up to the end of its sentence.
std::string heading_of(const std::string& content) {
  std::string words;
  std::string_view rest = content;
  while (rest.starts_with("# ")) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    words += text(words.empty() ? "" : " ", rest.substr(2, end - 2));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const size_t end = words.find(". ");
  return words.substr(0, end == words.npos ? end : end + 1);
}

std::string content_of(const std::string& folder, const std::string& name) {
  const std::string path = text(folder, "/", name, kEnding);
  const FileStart file = read_start(path, kTomlMaxBytes);
  if (file.reason != 0) refuse(Exit::kInput, path, ": ", path_advice(file.reason));
  return file.bytes;
}

/// Puts the installed paths into a file's comments, which name those of the source tree.
std::string with_installed_paths(std::string content) {
  const std::string folder = shared_folder();
  if (folder.empty()) return content;
  for (const auto& [name, installed] : {std::pair<std::string, std::string>("./zeroapp", "zeroapp"),
                                        {" inputs/", text(" ", folder, "/inputs/")},
                                        {" tools/data/", text(" ", folder, "/tools/data/")}}) {
    for (size_t at = 0; (at = content.find(name, at)) != content.npos; at += installed.size())
      content.replace(at, name.size(), installed);
  }
  return content;
}

std::string list_of(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& name : names_in(folder)) {
    rows.emplace_back(name, heading_of(content_of(folder, name)));
  }
  return two_columns(rows);
}

}  // namespace

int inputs(const CommandLine& line) {
  const std::string folder = folder_of_inputs();
  std::string out = line.input.empty() ? list_of(folder) : "";
  if (!line.input.empty()) {
    const std::string name = name_in(line.input);
    const std::vector<std::string> names = names_in(folder);
    if (std::ranges::find(names, name) == names.end()) {
      const std::string near = nearest_key(name, names);
      refuse(Exit::kInput, line.input, ": no input file in ", folder, "; ",
             near.empty() ? "zeroapp inputs lists them" : "did you mean " + near + "?");
    }
    out = with_installed_paths(content_of(folder, name));
  }
  return std::fputs(out.c_str(), stdout) < 0 ? int(Exit::kIo) : 0;
}

}  // namespace zero::usage
