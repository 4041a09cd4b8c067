#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace zero::kernels::vendor {

/// What was made for each key at its first use. Few keys: they are looked through one by one. One
/// thread's.
template <class Key, class Value>
class MadeOnce {
 public:
  /// make(key) gives a Value. The reference holds until kMost keys are there and another comes:
  /// then all are made afresh.
  template <class Make>
  Value& get(const Key& key, const Make& make) {
    for (const auto& entry : entries_)
      if (entry->key == key) return entry->value;
    if (entries_.size() == kMost) entries_.clear();
    entries_.push_back(std::make_unique<Entry>(Entry{key, make(key)}));
    return entries_.back()->value;
  }

  size_t size() const { return entries_.size(); }

  /// More than any model here has of them.
  static constexpr size_t kMost = 256;

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace zero::kernels::vendor
