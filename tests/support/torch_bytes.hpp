#pragma once
/// Makes the bytes of zip archives and of pickles, as torch.save writes them or as nobody should.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zero::testing_support {

/// Appends a number, little-endian.
template <class T>
void append(std::string& out, uint64_t value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += char(value >> (8 * i));
}

/// An entry of a zip archive. Its optional members are told in place of what is true.
struct ZipPart {
  std::string name, bytes;
  uint16_t method = 0, flags = 0;
  std::optional<uint64_t> size = {}, header = {};
  std::optional<std::string> local_name = {};
  uint32_t crc = 0;  ///< as the directory states it; 0: none
};

struct ZipForm {
  bool zip64 = false;       ///< sizes and places are 64 bits long
  bool descriptors = true;  ///< sizes follow the bytes, as in PyTorch's files
  std::string comment = {};
  uint64_t more_entries = 0;  ///< that the end of the directory counts and nobody wrote
};

inline std::string local_part(const ZipPart& part, const ZipForm& form) {
  const uint64_t size = form.descriptors ? 0 : form.zip64 ? UINT32_MAX : part.bytes.size();
  const std::string& name = part.local_name ? *part.local_name : part.name;
  std::string out = "PK\3\4", extra = form.zip64 || !form.descriptors ? "" : "FB\2";
  if (!extra.empty()) extra += std::string("\0ZZ", 3);
  if (form.zip64 && !form.descriptors) {
    append<uint16_t>(extra, 1);
    append<uint16_t>(extra, 16);
    for (int i = 0; i < 2; ++i) append<uint64_t>(extra, part.bytes.size());
  }
  append<uint16_t>(out, 0);
  append<uint16_t>(out, part.flags | (form.descriptors ? 8 : 0));
  append<uint16_t>(out, part.method);
  append<uint64_t>(out, 0);  // a time of day, and the CRC, which counts in the directory
  append<uint32_t>(out, size);
  append<uint32_t>(out, size);
  append<uint16_t>(out, name.size());
  append<uint16_t>(out, extra.size());
  out += name + extra + part.bytes;
  if (!form.descriptors) return out;
  append<uint64_t>(out += "PK\7\b", part.bytes.size() << 32);
  append<uint32_t>(out, part.bytes.size());
  return out;
}

inline std::string directory_part(const ZipPart& part, const ZipForm& form, uint64_t header) {
  const uint64_t size = part.size.value_or(part.bytes.size()), place = part.header.value_or(header);
  std::string out = "PK\1\2", extra;
  if (form.zip64) {
    append<uint16_t>(extra, 0x4242);  // of another kind, to be passed over
    append<uint16_t>(extra, 1);
    extra += '?';
    append<uint16_t>(extra, 1);
    append<uint16_t>(extra, 24);
    for (const uint64_t value : {size, size, place}) append<uint64_t>(extra, value);
  }
  append<uint32_t>(out, 0);
  append<uint16_t>(out, part.flags | (form.descriptors ? 8 : 0));
  append<uint16_t>(out, part.method);
  append<uint32_t>(out, 0);
  append<uint32_t>(out, part.crc);
  append<uint32_t>(out, form.zip64 ? UINT32_MAX : size);
  append<uint32_t>(out, form.zip64 ? UINT32_MAX : size);
  append<uint16_t>(out, part.name.size());
  append<uint16_t>(out, extra.size());
  out += std::string(10, '\0');
  append<uint32_t>(out, form.zip64 ? UINT32_MAX : place);
  return out + part.name + extra;
}

/// Returns the end of an archive whose directory begins at `begin`.
inline std::string end_part(uint64_t begin, uint64_t bytes, uint64_t count, const ZipForm& form) {
  std::string out;
  if (form.zip64) {
    append<uint64_t>(out += "PK\6\6", 44);
    append<uint32_t>(out, 0);
    append<uint64_t>(out, 0);
    for (const uint64_t value : {count, count, bytes, begin}) append<uint64_t>(out, value);
    append<uint32_t>(out += "PK\6\7", 0);
    append<uint64_t>(out, begin + bytes);
    append<uint32_t>(out, 1);
  }
  append<uint32_t>(out += "PK\5\6", 0);
  for (int i = 0; i < 2; ++i) append<uint16_t>(out, form.zip64 ? UINT16_MAX : count);
  append<uint32_t>(out, form.zip64 ? UINT32_MAX : bytes);
  append<uint32_t>(out, form.zip64 ? UINT32_MAX : begin);
  append<uint16_t>(out, form.comment.size());
  return out + form.comment;
}

inline std::string zip_of(const std::vector<ZipPart>& parts, const ZipForm& form = {}) {
  std::string out, directory;
  for (const ZipPart& part : parts) {
    directory += directory_part(part, form, out.size());
    out += local_part(part, form);
  }
  const uint64_t begin = out.size(), count = parts.size() + form.more_entries;
  return out + directory + end_part(begin, directory.size(), count, form);
}

/// Returns the bytes of an archive that states no CRC, so that damage reaches what reads entries.
inline std::string without_crcs(std::string archive) {
  for (size_t at = 0; (at = archive.find("PK\1\2", at)) != archive.npos; at += 4)
    if (at + 20 <= archive.size()) archive.replace(at + 16, 4, 4, '\0');
  return archive;
}

/// Parts of a pickle of protocol 2: each pushes a value.
inline std::string word_op(const std::string& word) {
  std::string out = "X";
  append<uint32_t>(out, word.size());
  return out + word;
}
inline std::string number_op(int64_t number) {
  std::string out = "\x8a\b";
  append<uint64_t>(out, uint64_t(number));
  return out;
}
inline std::string name_op(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple_op(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string numbers_op(const std::vector<int64_t>& numbers) {
  std::vector<std::string> items;
  for (const int64_t number : numbers) items.push_back(number_op(number));
  return tuple_op(items);
}
inline std::string empty_dictionary_op() { return name_op("collections", "OrderedDict") + ")R"; }

/// A tensor of a pickle and its place in a storage.
struct TorchTensor {
  std::string name;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
  std::string key = "0";
  int64_t storage_numel = 6;
  std::string storage = "FloatStorage";
};

inline std::string tensor_op(const TorchTensor& tensor) {
  const std::string storage =
      tuple_op({word_op("storage"), name_op("torch", tensor.storage), word_op(tensor.key),
                word_op("cpu"), number_op(tensor.storage_numel)}) +
      "Q";
  return name_op("torch._utils", "_rebuild_tensor_v2") +
         tuple_op({storage, number_op(tensor.offset), numbers_op(tensor.shape),
                   numbers_op(tensor.strides), "\x89", empty_dictionary_op()}) +
         "R";
}

/// Returns a pickle of a dictionary: `items` push its keys and values in turn.
inline std::string pickle_of(const std::string& items) {
  return "\x80\2" + empty_dictionary_op() + "(" + items + "u.";
}
inline std::string pickle_of(const std::vector<TorchTensor>& tensors) {
  std::string items;
  for (const TorchTensor& tensor : tensors) items += word_op(tensor.name) + tensor_op(tensor);
  return pickle_of(items);
}

/// Returns a file of torch.save whose storages have the keys "0", "1", ...
inline std::string torch_file_of(const std::string& pickle,
                                 const std::vector<std::string>& storages,
                                 const ZipForm& form = {}) {
  std::vector<ZipPart> parts = {{.name = "any/data.pkl", .bytes = pickle},
                                {.name = "any/byteorder", .bytes = "little"}};
  for (size_t i = 0; i < storages.size(); ++i)
    parts.push_back({.name = "any/data/" + std::to_string(i), .bytes = storages[i]});
  return zip_of(parts, form);
}

/// Returns the numbers' bytes.
template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
}

}  // namespace zero::testing_support
