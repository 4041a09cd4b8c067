/// Any members of a manifest and any bytes as its ranks' files, under digests that hold: slices are
/// read as the bytes at their places, whatever an HDF5 library would take from the files, or one
/// error of an input says what is wrong.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "io/checkpoint/manifest_rules.hpp"
#include "tests/support/older_digests.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {
namespace {

/// Files in a row, of one name each, in a folder that goes away with the program.
class Folder {
 public:
  Folder() : folder_(mkdtemp(path_) ? open(path_, O_RDONLY | O_DIRECTORY) : -1) {
    ZERO_REQUIRE(bool(folder_), "no folder in /tmp");
  }
  ~Folder() { rmdir(path_); }
  int descriptor() const { return folder_.descriptor(); }

  void put(const std::string& name, const std::string& content) const {
    const OpenFile file(openat(descriptor(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    ZERO_REQUIRE(file && write_all(file, content) == 0, "cannot write ", name);
  }
  void remove(const std::string& name) const { unlinkat(descriptor(), name.c_str(), 0); }

 private:
  char path_[32] = "/tmp/fuzz-shard-XXXXXX";
  OpenFile folder_;
};

File entry_of(const DigestForm& form, const std::string& name, const std::string& content) {
  if (form.is_crc32c) return testing_support::older_entry(name, content, form);
  File entry{.name = name, .digests = "", .xxh3 = ""};
  add_blocks(std::as_bytes(std::span(content)), form, entry);
  return entry;
}

void read_slices(const Folder& folder, const Manifest& manifest, const std::string& content) {
  for (const Slice& slice : manifest.slices) {
    ShardReader reader(folder.descriptor(), "folder", manifest.files[size_t(slice.file)],
                       digest_form(manifest));
    reader.verify();
    const size_t element = bytes_of(manifest.tensors[size_t(slice.tensor)].dtype);
    std::string read(size_t(slice.numel) * element, '\0');
    reader.read(slice.offset, std::as_writable_bytes(std::span(read)));
    ZERO_REQUIRE(read == content.substr(size_t(slice.offset), read.size()), "other bytes");
  }
}

void check(const Folder& folder, const std::string& members, const std::string& content) {
  Manifest manifest = parse_manifest(sealed(members), "manifest");
  // An attacker who forges a file forges its digests too.
  for (File& file : manifest.files) file = entry_of(digest_form(manifest), file.name, content);
  manifest = parse_manifest(to_text(manifest), "forged");
  for (const File& file : manifest.files) folder.put(file.name, content);
  try {
    read_slices(folder, manifest, content);
  } catch (const Error& error) {
    ZERO_REQUIRE(false, "nothing is wrong, and yet: ", error.what());
  }
  for (const File& file : manifest.files) folder.remove(file.name);
}

}  // namespace
}  // namespace zero::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const zero::checkpoint::Folder folder;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), size);
  try {
    zero::checkpoint::check(folder, input.substr(0, end), input.substr(std::min(end + 1, size)));
  } catch (const zero::Error& error) {
    const zero::Exit exit = error.exit();
    ZERO_REQUIRE(exit == zero::Exit::kInput || exit == zero::Exit::kNoCheckpoint, error.what());
  }
  return 0;
}
