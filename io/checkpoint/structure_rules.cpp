#include "io/checkpoint/structure_rules.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/checkpoint/row_major.hpp"
#include "io/checkpoint/structure_heap.hpp"
#include "io/checkpoint/structure_reader.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::checkpoint {
namespace {

using Message = StructureMessage;
using Messages = std::vector<StructureMessage>;

constexpr uint64_t kContiguous = 1, kVirtual = 3;

const char* name_of_layout(uint64_t layout) {
  constexpr const char* kNames[] = {"compact", "contiguous", "chunked", "virtual"};
  return layout < std::size(kNames) ? kNames[layout] : "of an unknown kind";
}

std::string name_of_message(int type) {
  if (type == Message::kExternalFiles) return "elements in external files";
  if (type == Message::kFilters) return "filtered elements";
  return text("message ", type);
}

/// How HDF5 writes a float of 16, 32 or 64 bits, but for the first byte's version.
std::vector<uint8_t> float_bytes(Dtype dtype) {
  struct Layout {
    uint8_t bytes, exponent_bits, mantissa_bits;
  };
  const Layout layout = dtype == Dtype::f64    ? Layout{8, 11, 52}
                        : dtype == Dtype::f32  ? Layout{4, 8, 23}
                        : dtype == Dtype::bf16 ? Layout{2, 8, 7}
                                               : Layout{2, 5, 10};
  const uint8_t bits = uint8_t(8 * layout.bytes);
  const uint16_t bias = uint16_t((1 << (layout.exponent_bits - 1)) - 1);
  constexpr uint8_t kFloatClass = 1, kImpliedOne = 0x20;
  return {kFloatClass,
          kImpliedOne,
          uint8_t(bits - 1),
          0,
          layout.bytes,
          0,
          0,
          0,
          0,
          0,
          bits,
          0,
          layout.mantissa_bits,
          layout.exponent_bits,
          0,
          layout.mantissa_bits,
          uint8_t(bias & 0xff),
          uint8_t(bias >> 8),
          0,
          0};
}

/// A little-endian number of 64 bits with a sign, likewise.
std::vector<uint8_t> integer_bytes() {
  constexpr uint8_t kIntegerClass = 0, kSigned = 0x08;
  return {kIntegerClass, kSigned, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0};
}

void require_type(StructureCursor at, const std::vector<uint8_t>& wanted) {
  constexpr uint64_t kClassBits = 0x0f;
  bool same = at.left() >= wanted.size() && (at.number(1) & kClassBits) == wanted[0];
  for (size_t i = 1; same && i < wanted.size(); ++i) same = at.number(1) == wanted[i];
  if (!same) at.fail("is of another type than in the manifest");
}

void require_shape(StructureCursor at, std::span<const int64_t> wanted) {
  at.expect(2, 1, "version of its shape");
  at.expect(wanted.size(), 1, "number of its extents");
  const uint64_t has_largest = at.number(1) & 1;
  at.expect(1, 1, "kind of its shape");
  for (uint64_t times = 0; times <= has_largest; ++times) {
    for (const int64_t extent : wanted) at.expect(uint64_t(extent), 8, "an extent");
  }
}

void require_layout(StructureCursor& at, uint64_t wanted) {
  const uint64_t version = at.number(1);
  if (version != 3 && version != 4) at.fail("its layout is of version ", version);
  const uint64_t layout = at.number(1);
  if (layout != wanted) {
    at.fail("is ", name_of_layout(layout), ", and must be ", name_of_layout(wanted));
  }
}

void require_place(StructureCursor at, int64_t offset, int64_t bytes) {
  require_layout(at, kContiguous);
  at.expect(uint64_t(offset), 8, "the place of its elements");
  at.expect(uint64_t(bytes), 8, "the number of its bytes");
}

/// Attributes, few and short, stand in a header.
void require_none_elsewhere(StructureCursor at) {
  at.expect(0, 1, "version of the attributes");
  if (at.number(1) & 1) at.take(2);
  at.expect(kNowhere, 8, "heap of the attributes");
}

/// Takes an attribute up to its numbers' type.
std::string take_name(StructureCursor& at) {
  at.expect(3, 1, "version of an attribute");
  at.expect(0, 1, "flags of an attribute");
  const uint64_t name_bytes = at.number(2);
  at.expect(integer_bytes().size(), 2, "length of an attribute's type");
  at.take(2 + 1);
  std::string name = at.text(name_bytes);
  if (!name.ends_with('\0')) at.fail("an attribute has no name");
  name.pop_back();
  return name;
}

void require_numbers(StructureCursor at, std::span<const int64_t> wanted) {
  const std::vector<uint8_t> type = integer_bytes();
  require_type(at, type);
  at.take(type.size());
  const int64_t count = int64_t(wanted.size());
  require_shape(at, {&count, 1});
  const size_t number_bytes = 8 * wanted.size();
  if (at.left() < number_bytes) at.fail("an attribute ends too early");
  at.take(at.left() - number_bytes);
  for (const int64_t number : wanted) at.expect(uint64_t(number), 8, "a number of an attribute");
}

/// One box of a virtual dataset: from which file and dataset; which elements of both people see.
void require_mapping(StructureCursor& at, std::initializer_list<std::string> file_and_dataset) {
  for (const std::string& wanted : file_and_dataset) {
    if (at.text(std::min(wanted.size(), at.left())) != wanted || at.number(1) != 0) {
      at.fail("looks elsewhere than in ", wanted);
    }
  }
  for (const char* selection : {"source", "place"}) {
    at.take(4);
    const uint64_t version = at.number(4);
    if (version != 1 && version != 2) at.fail("unknown selection of a ", selection);
    at.take(version == 1 ? 4 : 1);
    at.take(at.number(4));
  }
}

class Rules {
 public:
  Rules(const InputFile& input, const Manifest& manifest, const File& file)
      : reader_(input), manifest_(manifest), is_index_(file.name == kIndexName) {
    for (const Slice& slice : manifest.slices) {
      const Tensor& tensor = manifest.tensors[size_t(slice.tensor)];
      if (is_index_) {
        slices_[tensor.name].push_back(&slice);
      } else if (manifest.files[size_t(slice.file)].name == file.name) {
        slices_[dataset_name(tensor.name, slice.begin)].push_back(&slice);
      }
    }
    for (const auto& [name, slices] : slices_) add_groups_of(name);
  }

  void require_all() {
    const uint64_t root = reader_.root();
    visit_group("", root);
    for (const auto& [name, slices] : slices_) {
      if (!seen_.contains(name)) reader_.fail("/" + name, "is not there");
    }
  }

 private:
  void add_groups_of(const std::string& name) {
    for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      groups_.insert(name.substr(0, slash));
    }
  }

  void visit_group(const std::string& path, uint64_t address) {
    const std::string object = "/" + path;
    const Messages group = reader_.messages(address, object);
    require_kinds(
        group, {Message::kLinkInfo, Message::kGroupInfo, Message::kLink, Message::kAttributeInfo},
        object);
    for (const StructureLink& link : reader_.links(group, object, most_links())) {
      const std::string below = path.empty() ? link.name : path + "/" + link.name;
      if (!seen_.insert(below).second) reader_.fail("/" + below, "stands there twice");
      visit(below, link.address);
    }
  }

  /// No path is longer than the longest that is expected, so that no circle of links goes on.
  void visit(const std::string& path, uint64_t address) {
    if (const auto found = slices_.find(path); found != slices_.end()) {
      visit_dataset(path, address, found->second);
    } else if (groups_.contains(path)) {
      visit_group(path, address);
    } else if (is_index_ && path == "state") {
      visit_state(address);
    } else if (is_index_ && path == "config") {
      visit_text(address);
    } else {
      reader_.fail("/" + shown(path), "is not of this checkpoint");
    }
  }

  size_t most_links() const { return slices_.size() + groups_.size() + 2; }

  void visit_dataset(const std::string& path, uint64_t address,
                     const std::vector<const Slice*>& slices) {
    const std::string object = "/" + path;
    const Messages dataset = reader_.messages(address, object);
    require_kinds(dataset,
                  {Message::kSpace, Message::kDatatype, Message::kFillValue, Message::kLayout,
                   Message::kAttribute, Message::kAttributeInfo},
                  object);
    const Slice& first = *slices[0];
    const Tensor& tensor = manifest_.tensors[size_t(first.tensor)];
    require_type(only(dataset, Message::kDatatype, object), float_bytes(tensor.dtype));
    const StructureCursor layout = only(dataset, Message::kLayout, object);
    if (is_index_) {
      require_shape(only(dataset, Message::kSpace, object), tensor.shape);
      require_joined(layout, slices, object);
    } else {
      require_shape(only(dataset, Message::kSpace, object), {&first.numel, 1});
      require_place(layout, first.offset, first.numel * int64_t(bytes_of(tensor.dtype)));
      require_attributes(dataset, tensor, first.begin, object);
    }
  }

  /// The run's facts: attributes of any kind, which lead nowhere.
  void visit_state(uint64_t address) const {
    const std::string object = "/state";
    const Messages group = reader_.messages(address, object);
    require_kinds(
        group,
        {Message::kLinkInfo, Message::kGroupInfo, Message::kAttribute, Message::kAttributeInfo},
        object);
    if (!reader_.links(group, object, 0).empty()) reader_.fail(object, "holds links");
  }

  /// A text of fixed length.
  void visit_text(uint64_t address) const {
    const std::string object = "/config";
    const Messages dataset = reader_.messages(address, object);
    require_kinds(dataset,
                  {Message::kSpace, Message::kDatatype, Message::kFillValue, Message::kLayout,
                   Message::kAttributeInfo},
                  object);
    StructureCursor type = only(dataset, Message::kDatatype, object);
    constexpr uint64_t kTextClass = 3, kClassBits = 0x0f;
    if ((type.number(1) & kClassBits) != kTextClass) reader_.fail(object, "is no text");
    StructureCursor layout = only(dataset, Message::kLayout, object);
    require_layout(layout, kContiguous);
    const uint64_t offset = layout.number(8), bytes = layout.number(8);
    if (offset > reader_.bytes() || bytes > reader_.bytes() - offset) {
      reader_.fail(object, "its ", bytes, " bytes at ", offset, " are not in the file");
    }
  }

  void require_kinds(const Messages& messages, std::initializer_list<int> known,
                     const std::string& object) const {
    for (const Message& message : messages) {
      if (std::find(known.begin(), known.end(), message.type) != known.end()) continue;
      reader_.fail(object, "has ", name_of_message(message.type),
                   ", and none of a checkpoint's has");
    }
  }

  StructureCursor only(const Messages& messages, int type, const std::string& object) const {
    const auto is_it = [&](const Message& message) { return message.type == type; };
    const auto count = std::count_if(messages.begin(), messages.end(), is_it);
    if (count != 1) reader_.fail(object, "has ", count, " messages ", type, ", not 1");
    return reader_.cursor(std::find_if(messages.begin(), messages.end(), is_it)->content, object);
  }

  void require_attributes(const Messages& dataset, const Tensor& tensor, int64_t begin,
                          const std::string& object) const {
    int begins = 0, shapes = 0;
    for (const Message& message : dataset) {
      StructureCursor at = reader_.cursor(message.content, object);
      if (message.type == Message::kAttributeInfo) require_none_elsewhere(at);
      if (message.type != Message::kAttribute) continue;
      const std::string name = take_name(at);
      if (name == "begin") {
        ++begins;
        require_numbers(at, {&begin, 1});
      } else if (name == "shape") {
        ++shapes;
        require_numbers(at, tensor.shape);
      } else {
        at.fail("has an attribute that no slice has");
      }
    }
    if (begins != 1 || shapes != 1) {
      reader_.fail(object, begins, " attributes \"begin\" and ", shapes, " \"shape\", not 1 and 1");
    }
  }

  /// A virtual dataset names the slices' files and datasets in their order, as often as it takes
  /// boxes to describe each.
  void require_joined(StructureCursor at, const std::vector<const Slice*>& slices,
                      const std::string& object) {
    require_layout(at, kVirtual);
    const uint64_t collection = at.number(8), number = at.number(4);
    const std::vector<std::byte> block = heap_.find(collection, number, object);
    StructureCursor mappings = reader_.cursor(block, object);
    mappings.expect(0, 1, "version of its mappings");
    const uint64_t count = mappings.number(8);
    uint64_t wanted = 0;
    for (const Slice* slice : slices) {
      const Tensor& tensor = manifest_.tensors[size_t(slice->tensor)];
      const size_t boxes = boxes_of(tensor.shape, slice->begin, slice->numel).size();
      for (size_t i = 0; i < boxes; ++i) {
        require_mapping(mappings, {manifest_.files[size_t(slice->file)].name,
                                   dataset_name(tensor.name, slice->begin)});
      }
      wanted += boxes;
    }
    if (count != wanted) mappings.fail("joins ", count, " boxes, and not ", wanted);
  }

  StructureReader reader_;
  GlobalHeap heap_{reader_};
  const Manifest& manifest_;
  bool is_index_;
  std::map<std::string, std::vector<const Slice*>> slices_;  ///< by the path of a dataset
  std::set<std::string> groups_, seen_;
};

}  // namespace

void require_structure(const InputFile& input, const Manifest& manifest, const File& file) {
  Rules(input, manifest, file).require_all();
}

}  // namespace zero::checkpoint
