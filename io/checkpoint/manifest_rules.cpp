#include "io/checkpoint/manifest_rules.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kNameBytesMax = 1024;
constexpr int64_t kXxh3Digits = 32;
constexpr int32_t kRanksMax = 1 << 20;
constexpr size_t kFactNameBytesMax = 128;

bool is_printable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// Most parts of a tensor's name, which has a few. HDF5 looks up each of them.
constexpr int kNamePartsMost = 16;

/// True if the name is a dataset's path inside model/ or optimizer/.
bool is_tensor_name(std::string_view name) {
  if (name.size() > kNameBytesMax || !is_printable(name) || name.find('@') != name.npos) {
    return false;
  }
  if (!name.starts_with("model/") && !name.starts_with("optimizer/")) return false;
  for (int parts = 1; parts <= kNamePartsMost; ++parts) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
  return false;
}

/// Returns the element count of a tensor. None if an extent is not positive or the bytes exceed an
/// int64.
std::optional<int64_t> numel_of(const Tensor& tensor) {
  int64_t numel = 1, bytes = 0;
  for (const int64_t extent : tensor.shape) {
    if (extent < 1 || __builtin_mul_overflow(numel, extent, &numel)) return {};
  }
  const int64_t element = int64_t(bytes_of(tensor.dtype));
  if (tensor.shape.empty() || __builtin_mul_overflow(numel, element, &bytes)) return {};
  return numel;
}

class Rules {
 public:
  Rules(const Manifest& manifest, const std::string& path) : manifest_(manifest), path_(path) {}

  void require_all() {
    if (manifest_.ranks < 1 || manifest_.ranks > kRanksMax) fail("ranks: ", manifest_.ranks);
    for (const auto& [name, value] : manifest_.facts) {
      const bool taken = name == "format_version" || name == "step" || name == "ranks";
      if (name.empty() || name.size() > kFactNameBytesMax || !is_printable(name) || taken) {
        fail("facts: \"", shown(name), "\" is no name");
      }
    }
    require_tensors();
    require_files();
    for (size_t i = 0; i < manifest_.slices.size(); ++i) require_slice(i);
    require_cover();
    require_apart();
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(Exit::kInput, path_, ": ", parts...);
  }

  bool is_file_name(const std::string& name) const {
    if (name == kIndexName) return true;
    // Compares with the name made for the rank, so no other text is equal.
    constexpr size_t kPrefixBytes = 4;
    int rank = 0;
    for (const char c : std::string_view(name).substr(std::min(kPrefixBytes, name.size()))) {
      if (c < '0' || c > '9' || rank > kRanksMax) break;
      rank = 10 * rank + (c - '0');
    }
    return rank < manifest_.ranks && name == rank_file_name(rank);
  }

  void require_files() const {
    std::unordered_set<std::string_view, KeyedHash> names;
    const DigestForm form = digest_form(manifest_);
    for (const File& file : manifest_.files) {
      if (!is_file_name(file.name)) {
        fail("files: \"", shown(file.name), "\" is no rank%05d.h5 of ", manifest_.ranks,
             " ranks and not ", kIndexName);
      }
      if (!names.insert(file.name).second) fail("files: ", file.name, " stands twice");
      const int64_t blocks = form.blocks_of(file);
      require_digits(file.digests, form.digits() * blocks,
                     text(form.is_crc32c ? "crc32c of " : "xxh3 of ", blocks, " blocks"), file);
      require_digits(file.xxh3, form.is_crc32c ? kXxh3Digits : 0, "xxh3", file);
    }
  }

  void require_digits(const std::string& digits, int64_t expected, const std::string& what,
                      const File& file) const {
    const bool hex = std::ranges::all_of(
        digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (int64_t(digits.size()) == expected && hex) return;
    fail("files: ", file.name, ": ", what, " is not of ", expected, " hexadecimal digits");
  }

  void require_tensors() {
    std::unordered_set<std::string_view, KeyedHash> names;
    for (const Tensor& tensor : manifest_.tensors) {
      const std::string name = shown(tensor.name);
      if (!is_tensor_name(tensor.name)) fail("tensors: \"", name, "\" is no name of a tensor");
      if (!names.insert(tensor.name).second) fail("tensors: ", name, " stands twice");
      const std::optional<int64_t> numel = numel_of(tensor);
      if (!numel) fail("tensors: ", name, ": its shape is empty, has a 0 or is too large");
      numel_.push_back(*numel);
    }
    // HDF5 has either a group or a dataset of a name.
    for (const std::string_view name : names) {
      for (size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
        if (!names.contains(name.substr(0, end))) continue;
        fail("tensors: ", shown(name), " lies in another tensor");
      }
    }
  }

  void require_slice(size_t index) const {
    const Slice& slice = manifest_.slices[index];
    if (size_t(slice.tensor) >= numel_.size()) fail("slices: entry ", index, ": no such tensor");
    const Tensor& tensor = manifest_.tensors[size_t(slice.tensor)];
    if (size_t(slice.file) >= manifest_.files.size()) {
      fail("slices: ", tensor.name, ": entry ", index, ": no such file");
    }
    const int64_t numel = numel_[size_t(slice.tensor)];
    if (slice.numel < 1 || slice.begin > numel || slice.numel > numel - slice.begin) {
      fail("slices: ", tensor.name, ": elements [", slice.begin, ", +", slice.numel, ") of ",
           numel);
    }
    const File& file = manifest_.files[size_t(slice.file)];
    if (file.name == kIndexName) fail("slices: ", tensor.name, ": lies in ", kIndexName);
    // This cannot overflow: an int64 counts the bytes of the whole tensor.
    if (slice.offset > file.bytes || bytes(slice) > file.bytes - slice.offset) {
      fail("slices: ", tensor.name, ": bytes [", slice.offset, ", +", bytes(slice), ") of ",
           file.bytes, " in ", file.name);
    }
  }

  int64_t bytes(const Slice& slice) const {
    return slice.numel * int64_t(bytes_of(manifest_.tensors[size_t(slice.tensor)].dtype));
  }

  template <class Order>
  std::vector<const Slice*> sorted(Order order) const {
    std::vector<const Slice*> slices;
    for (const Slice& slice : manifest_.slices) slices.push_back(&slice);
    std::sort(slices.begin(), slices.end(),
              [&](const Slice* a, const Slice* b) { return order(*a) < order(*b); });
    return slices;
  }

  void require_cover() const {
    std::vector<int64_t> covered(numel_.size(), 0);
    const auto order = [](const Slice& slice) { return std::pair(slice.tensor, slice.begin); };
    for (const Slice* slice : sorted(order)) {
      int64_t& end = covered[size_t(slice->tensor)];
      if (slice->begin != end) {
        fail("slices: ", manifest_.tensors[size_t(slice->tensor)].name, ": one begins at element ",
             slice->begin, ", those before end at ", end);
      }
      end += slice->numel;
    }
    for (size_t i = 0; i < covered.size(); ++i) {
      if (covered[i] == numel_[i]) continue;
      fail("slices: ", manifest_.tensors[i].name, ": ", covered[i], " of ", numel_[i],
           " elements are covered");
    }
  }

  void require_apart() const {
    const Slice* before = nullptr;
    const auto order = [](const Slice& slice) { return std::pair(slice.file, slice.offset); };
    for (const Slice* slice : sorted(order)) {
      if (before && before->file == slice->file &&
          slice->offset - before->offset < bytes(*before)) {
        fail("slices: ", manifest_.tensors[size_t(slice->tensor)].name, " and ",
             manifest_.tensors[size_t(before->tensor)].name, " lie over each other in ",
             manifest_.files[size_t(slice->file)].name);
      }
      before = slice;
    }
  }

  const Manifest& manifest_;
  const std::string& path_;
  std::vector<int64_t> numel_;  // [tensors]
};

}  // namespace

void require_rules(const Manifest& manifest, const std::string& path) {
  Rules(manifest, path).require_all();
}

namespace {

std::string seal_of(std::string_view members) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(members)));
  return ",\n\"sha256\": \"" + hash.digest() + "\"}\n";
}

}  // namespace

std::string sealed(const std::string& members) { return members + seal_of(members); }

void require_seal(std::string_view text, const std::string& path) {
  const size_t seal_bytes = seal_of("").size();
  const size_t members = text.size() < seal_bytes ? 0 : text.size() - seal_bytes;
  if (text.substr(members) != seal_of(text.substr(0, members))) {
    refuse(Exit::kInput, path,
           ": does not end with the SHA-256 of what stands before: it is damaged or cut off");
  }
}

}  // namespace zero::checkpoint
