#include "zero/save/missing_checkpoint.hpp"

#include <filesystem>
#include <set>

#include "zero/base/error.hpp"

namespace zero::save {
namespace {

namespace fs = std::filesystem;

/// Returns "a, b, c and 2 more" for the folders in `place`. "" if there are none.
std::string folders_in(const fs::path& place) {
  constexpr size_t kNamed = 5;
  std::set<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(place, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_directory(ignored)) names.insert(name);
  }
  std::string out;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named++ < kNamed) out += (out.empty() ? "" : ", ") + name;
  }
  return named > kNamed ? text(out, " and ", named - kNamed, " more") : out;
}

}  // namespace

std::string no_folder_text(const std::string& path) {
  constexpr const char* kWanted =
      "the folder of a run, of checkpoints, of one of them or a model's";
  std::error_code ignored;
  if (fs::exists(path, ignored)) return text(path, ": is a file; name ", kWanted);
  const std::string in_runs = "runs/" + path;
  if (fs::is_directory(in_runs, ignored)) {
    return text(path, ": is not there; did you mean ", in_runs, "?");
  }
  const fs::path place = fs::path(path + "/").lexically_normal().parent_path().parent_path();
  const std::string beside = place.empty() ? "" : folders_in(place);
  return text(path, ": is not there; name ", kWanted,
              beside.empty() ? "" : text(" (", place.string(), " holds ", beside, ")"));
}

}  // namespace zero::save
