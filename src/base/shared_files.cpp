#include "zero/base/shared_files.hpp"

#include <filesystem>

#include "zero/base/path.hpp"

namespace zero {

std::string shared_folder(const std::string& program) {
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::canonical(program, unknown);
  if (unknown) return "";
  const std::string folder = file.parent_path().parent_path() / "share/zeroapp";
  return look_at(folder).kind == PathKind::folder ? folder : "";
}

std::string shared_file(std::string_view name, const std::string& program) {
  const std::string folder = shared_folder(program);
  const std::string installed = text(folder, "/", name);
  const bool is_installed = !folder.empty() && look_at(installed).kind != PathKind::nothing;
  return is_installed ? installed : std::string(name);
}

}  // namespace zero
