#include "io/interop/torch_pickle.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"
#include "zero/io/interop/json.hpp"
#include "zero/io/interop/tensor_file.hpp"

namespace zero {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kDictionary = "collections.OrderedDict",
                           kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";
constexpr const char* kAdvice =
    "; load the file where you trust it, and save the model's state_dict() alone";

/// Modules that no data need. A pickle that names one runs commands where Python loads it.
constexpr std::string_view kRunners[] = {"__builtin__", "builtins", "importlib", "nt",
                                         "os",          "posix",    "pty",       "runpy",
                                         "sys",         "socket",   "shutil",    "subprocess"};

struct Storage {
  std::string_view name, dtype;
};
constexpr Storage kStorages[] = {
    {"torch.FloatStorage", "F32"},  {"torch.HalfStorage", "F16"}, {"torch.BFloat16Storage", "BF16"},
    {"torch.DoubleStorage", "F64"}, {"torch.LongStorage", "I64"}, {"torch.IntStorage", "I32"},
    {"torch.ShortStorage", "I16"},  {"torch.CharStorage", "I8"},  {"torch.ByteStorage", "U8"},
    {"torch.BoolStorage", "BOOL"},
};

const Storage* storage_named(std::string_view name) {
  const auto found = std::ranges::find(kStorages, name, &Storage::name);
  return found == std::end(kStorages) ? nullptr : found;
}

/// Opcodes of protocol 2, by pickletools' names.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kBuild = 'b',
  kGlobal = 'c',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

enum class Kind : uint8_t {
  mark,
  none,
  truth,
  number,
  word,
  name,
  tuple,
  dictionary,
  storage,
  tensor
};

using Place = uint32_t;  // of a value, among all

/// A value. Others refer to it by its place, so none is ever copied.
struct Value {
  Kind kind;
  int64_t number = 0;
  std::string_view word = {};  ///< in the pickle, or of kStorages
  /// A tuple's values; a dictionary's keys and values in turn; a storage's key; a tensor's storage,
  /// offset, shape and strides.
  std::vector<Place> items = {};
};

/// A pickle machine. Its stack and its memo hold places of values.
class Machine {
 public:
  Machine(std::string_view pickle, const std::string& name) : pickle_(pickle), name_(name) {
    for (const Kind kind : {Kind::mark, Kind::none, Kind::truth, Kind::tuple})
      values_.push_back({.kind = kind});
  }

  std::vector<PickledTensor> run() {
    while (step(Opcode(number<uint8_t>()))) {
    }
    const Value& all = pop(Kind::dictionary);
    if (!stack_.empty() || at_ != pickle_.size()) fail("the pickle goes on after its end");
    std::vector<PickledTensor> tensors;
    std::unordered_set<std::string_view, KeyedHash> names;
    for (size_t i = 0; i < all.items.size(); i += 2) {
      const Value &key = values_[all.items[i]], &value = values_[all.items[i + 1]];
      if (key.kind != Kind::word) fail("a key of the dictionary is no text", kAdvice);
      if (value.kind != Kind::tensor) fail("\"", shown(key.word), "\" is no tensor", kAdvice);
      if (!names.insert(key.word).second) fail("\"", shown(key.word), "\" stands there twice");
      if (names.size() > kPickledTensorsMax) fail("more than ", kPickledTensorsMax, " tensors");
      tensors.push_back(described(key.word, value));
    }
    return tensors;
  }

 private:
  // Values that all pickles share; they take no room.
  static constexpr Place kMarkPlace = 0, kNonePlace = 1, kTruthPlace = 2, kEmptyPlace = 3;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(Exit::kInput, name_, ": byte ", at_, ": ", parts...);
  }

  std::string_view bytes(uint64_t count) {
    if (count > pickle_.size() - at_) fail("the pickle is cut off; fetch the file again");
    at_ += size_t(count);
    return pickle_.substr(at_ - size_t(count), size_t(count));
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  int64_t long_number() {
    const std::string_view digits = bytes(number<uint8_t>());
    int64_t value = 0;
    if (digits.size() > sizeof value) fail("a number of ", digits.size(), " bytes");
    // The last byte has the sign.
    if (!digits.empty() && int8_t(digits.back()) < 0) value = -1;
    std::memcpy(&value, digits.data(), digits.size());
    return value;
  }
  std::string_view line() {
    const size_t length = pickle_.substr(at_, kPickledNameBytesMax).find('\n');
    if (length == pickle_.npos) fail("a name without an end");
    return bytes(length + 1).substr(0, length);
  }
  std::string_view word() {
    const uint32_t length = number<uint32_t>();
    if (length > kPickledNameBytesMax) {
      fail("a text of ", length, " bytes; tensors' names have at most ", kPickledNameBytesMax);
    }
    return bytes(length);
  }

  void push(Value value) {
    if (values_.size() == kPickledValuesMax) fail("more than ", kPickledValuesMax, " values");
    push(Place(values_.size()));
    values_.push_back(std::move(value));
  }
  void push(Place place) {
    if (stack_.size() == kPickledValuesMax)
      fail("more than ", kPickledValuesMax, " values at once");
    stack_.push_back(place);
  }
  Place pop() {
    if (stack_.empty() || stack_.back() == kMarkPlace) fail("a value is missing");
    const Place place = stack_.back();
    stack_.pop_back();
    return place;
  }
  const Value& pop(Kind kind) { return of_kind(pop(), kind); }
  const Value& of_kind(Place place, Kind kind) const {
    if (values_[place].kind != kind) fail("a value of another kind than tensors need", kAdvice);
    return values_[place];
  }
  /// Pops the values above the last mark, and the mark.
  std::vector<Place> pop_marked() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMarkPlace);
    if (mark == stack_.rend()) fail("a mark is missing");
    const std::vector<Place> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }
  void push_tuple(size_t count) {
    std::vector<Place> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push({.kind = Kind::tuple, .items = std::move(items)});
  }

  void put(uint32_t index) {
    if (index >= kPickledValuesMax) fail("memo ", index, " of at most ", kPickledValuesMax);
    if (memo_.size() <= index) memo_.resize(index + 1, kMarkPlace);
    memo_[index] = pop();
    push(memo_[index]);
  }
  void get(uint32_t index) {
    if (index >= memo_.size() || memo_[index] == kMarkPlace) fail("memo ", index, " is empty");
    push(memo_[index]);
  }

  /// Adds keys and values in turn to the dictionary on the stack.
  void set_items(const std::vector<Place>& items) {
    if (items.size() % 2 != 0) fail("a key without a value");
    const Place place = pop();
    of_kind(place, Kind::dictionary);
    std::vector<Place>& all = values_[place].items;
    all.insert(all.end(), items.begin(), items.end());
    push(place);
  }

  void push_name() {
    const std::string_view module = line(), member = line();
    const std::string name = text(module, ".", member);
    for (const std::string_view known : {kDictionary, kTensor, kParameter})
      if (name == known) return push({.kind = Kind::name, .word = known});
    const Storage* storage = storage_named(name);
    if (!storage) {
      if (std::ranges::find(kRunners, module) != std::end(kRunners)) {
        fail("the pickle calls \"", shown(name),
             "\", so the file runs code where Python loads it; ",
             "nothing was run here. Take the model from elsewhere, or its model.safetensors");
      }
      fail("the pickle names \"", shown(name), "\", which no file of weights needs; it was not run",
           kAdvice);
    }
    push({.kind = Kind::name, .word = storage->name});
  }

  void push_storage() {
    const Value& id = pop(Kind::tuple);
    if (id.items.size() != 5 || of_kind(id.items[0], Kind::word).word != "storage")
      fail("an object that is no storage of tensors", kAdvice);
    const Storage* type = storage_named(of_kind(id.items[1], Kind::name).word);
    if (!type) fail("a storage without a type", kAdvice);
    of_kind(id.items[2], Kind::word);
    push({.kind = Kind::storage,
          .number = of_kind(id.items[4], Kind::number).number,
          .word = type->dtype,
          .items = {id.items[2]}});
  }

  void call() {
    const Value& arguments = pop(Kind::tuple);
    const std::string_view name = pop(Kind::name).word;
    const std::vector<Place>& items = arguments.items;
    if (name == kDictionary && items.empty()) return push({.kind = Kind::dictionary});
    if (name == kParameter && items.size() == 3) {
      of_kind(items[0], Kind::tensor);
      return push(items[0]);
    }
    if (name != kTensor || items.size() != 6) {
      fail("calls ", name, " with ", items.size(), " arguments, which weights do not", kAdvice);
    }
    of_kind(items[0], Kind::storage);
    of_kind(items[1], Kind::number);
    if (require_numbers(items[2]) != require_numbers(items[3]))
      fail("a tensor has more extents than strides, or fewer");
    push({.kind = Kind::tensor, .items = {items.begin(), items.begin() + 4}});
  }
  size_t require_numbers(Place tuple) const {
    const std::vector<Place>& items = of_kind(tuple, Kind::tuple).items;
    if (items.size() > kFileRankMax) fail("a tensor of more than ", kFileRankMax, " extents");
    for (const Place item : items) of_kind(item, Kind::number);
    return items.size();
  }

  /// Runs an opcode. False at the end of the pickle.
  bool step(Opcode opcode) {
    switch (opcode) {
      case kProto:
        if (const int version = number<uint8_t>(); version < 2 || version > 3)
          fail("pickle protocol ", version, "; save the file by torch.save with pickle_protocol=2");
        return true;
      case kStop:
        return false;
      case kGlobal:
        return push_name(), true;
      case kBinPersId:
        return push_storage(), true;
      case kReduce:
        return call(), true;
      case kBuild:
        // A state_dict's versions of modules, which change no tensor.
        pop(Kind::dictionary);
        return set_items({}), true;
      case kSetItem: {
        const Place value = pop(), key = pop();
        return set_items({key, value}), true;
      }
      case kSetItems:
        return set_items(pop_marked()), true;
      case kTuple:
        return push({.kind = Kind::tuple, .items = pop_marked()}), true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push_tuple(size_t(opcode - kTuple1) + 1), true;
      case kEmptyDict:
        return push({.kind = Kind::dictionary}), true;
      default:
        return step_plain(opcode), true;
    }
  }

  /// Runs an opcode that pushes a constant or uses the memo.
  void step_plain(Opcode opcode) {
    switch (opcode) {
      case kMark:
        return push(kMarkPlace);
      case kNone:
        return push(kNonePlace);
      case kNewTrue:
      case kNewFalse:
        return push(kTruthPlace);
      case kEmptyTuple:
        return push(kEmptyPlace);
      case kBinInt:
        return push({.kind = Kind::number, .number = number<int32_t>()});
      case kBinInt1:
        return push({.kind = Kind::number, .number = number<uint8_t>()});
      case kBinInt2:
        return push({.kind = Kind::number, .number = number<uint16_t>()});
      case kLong1:
        return push({.kind = Kind::number, .number = long_number()});
      case kBinUnicode:
        return push({.kind = Kind::word, .word = word()});
      case kBinPut:
        return put(number<uint8_t>());
      case kLongBinPut:
        return put(number<uint32_t>());
      case kBinGet:
        return get(number<uint8_t>());
      case kLongBinGet:
        return get(number<uint32_t>());
      default:
        fail("opcode ", int(opcode), " makes no tensor", kAdvice);
    }
  }

  std::vector<int64_t> numbers(Place tuple) const {
    std::vector<int64_t> out;
    for (const Place item : values_[tuple].items) out.push_back(values_[item].number);
    return out;
  }
  PickledTensor described(std::string_view name, const Value& tensor) const {
    const Value& storage = values_[tensor.items[0]];
    return {.name = std::string(name),
            .dtype = storage.word,
            .storage = std::string(values_[storage.items[0]].word),
            .storage_numel = storage.number,
            .offset = values_[tensor.items[1]].number,
            .shape = numbers(tensor.items[2]),
            .strides = numbers(tensor.items[3])};
  }

  std::string_view pickle_;
  const std::string& name_;
  size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<Place> stack_;
  std::vector<Place> memo_;  // kMarkPlace where it is empty
};

}  // namespace

std::vector<PickledTensor> read_torch_pickle(std::string_view pickle, const std::string& name) {
  return Machine(pickle, name).run();
}

}  // namespace zero
