// What tests/runs/hostile.py forges manifests with: reseal FOLDER... takes the lengths and digests
// of each folder's files as they are now into its manifest, as whoever forges a checkpoint would.

#include <fcntl.h>

#include <cstdio>
#include <fstream>
#include <span>
#include <string>

#include "zero/base/error.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr int64_t kManifestBytesMax = int64_t(1) << 20;

File entry_of(const DigestForm& form, const std::string& folder, const std::string& name) {
  const InputFile file(folder + "/" + name);
  const std::string content = read_whole(file, file.bytes());
  File entry{.name = name, .digests = "", .xxh3 = ""};
  add_blocks(std::as_bytes(std::span(content)), form, entry);
  return entry;
}

void reseal(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  Manifest manifest = parse_manifest(read_whole(path, kManifestBytesMax), path);
  const DigestForm form = digest_form(manifest);
  for (File& file : manifest.files) file = entry_of(form, folder, file.name);
  std::ofstream(path) << to_text(manifest);
}

}  // namespace
}  // namespace zero::checkpoint

int main(int argc, char** argv) try {
  for (int i = 1; i < argc; ++i) zero::checkpoint::reseal(argv[i]);
  return 0;
} catch (const zero::Error& error) {
  std::fprintf(stderr, "reseal: %s\n", error.what());
  return int(error.exit());
}
