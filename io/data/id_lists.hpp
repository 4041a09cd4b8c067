#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/io/interop/json.hpp"

namespace zero {

inline constexpr const char *kIdsField = "input_ids", *kLabelsField = "labels";

/// A receiver of a record's "input_ids" and "labels", two arrays at its top.
class IdLists : public JsonSink {
 public:
  /// `place` is that of the record, for messages.
  explicit IdLists(const std::string& place) : place_(place) {}

  void open(Path path, bool is_array) override;
  /// Throws Error(kInput) for what is no id or no label.
  void value(Path path, const JsonScalar& value) override;

  /// Checks the record as a whole. Throws Error(kInput) if ids are missing, labels are more or
  /// fewer, or one is another id.
  void finish();
  /// True if the record has labels.
  bool has_labels() const { return labels_.is_there; }

  std::vector<int32_t> ids;
  std::vector<bool> learnt;  ///< [ids], after finish()

 private:
  struct Array {
    const char* name;
    std::vector<int64_t> values = {};
    bool is_there = false;
  };
  Array* array_of(Path path);

  const std::string& place_;
  Array ids_{.name = kIdsField}, labels_{.name = kLabelsField};
};

}  // namespace zero
