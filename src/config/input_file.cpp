#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"
#include "zero/config/model_keys.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

/// Returns the error text for an unreadable file by its errno, with a likely file if one exists.
std::string why_unread(const ModelTable& models, const std::filesystem::path& path, int reason) {
  namespace fs = std::filesystem;
  constexpr size_t kLongestName = 80;
  if (reason == EISDIR) return "is a folder; name an input file in it";
  if (reason != ENOENT) return path_advice(reason);
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> stems;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string stem = entry->path().stem().string();
    const bool meant = entry->path().extension() == ".toml" && stem.size() <= kLongestName;
    if (meant) stems.push_back(stem);
  }
  const std::string installed = shared_file(path.string());
  if (installed != path && path.extension() == ".toml")
    return text("is not there; did you mean ", installed, "?");
  std::sort(stems.begin(), stems.end());
  const std::string near = nearest_key(path.stem().string(), stems);
  if (near.empty()) {
    return text("is not there; the first argument is an input file such as ",
                shared_file(models.front().example_input));
  }
  return text("is not there; did you mean ", (path.parent_path() / (near + ".toml")).string(), "?");
}

}  // namespace

std::string read_input_text(const ModelTable& models, const std::string& path) {
  const FileStart file = read_start(path, kTomlMaxBytes + 1);
  if (file.reason != 0) refuse(Exit::kUsage, path, ": ", why_unread(models, path, file.reason));
  return file.bytes;
}

ConfigInput read_config_file(const ModelTable& models, const std::string& path,
                             std::span<const std::string> overrides, Writer writer,
                             const StartReader& start) {
  return read_config(models, read_input_text(models, path), path, overrides, writer, start);
}

}  // namespace zero
