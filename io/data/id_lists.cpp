#include "io/data/id_lists.hpp"

#include <limits>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr int64_t kLeastLabel = -100;  ///< PyTorch's mark of a place that is not learnt

}  // namespace

IdLists::Array* IdLists::array_of(Path path) {
  if (path.empty()) return nullptr;
  if (path[0] == kIdsField) return &ids_;
  return path[0] == kLabelsField ? &labels_ : nullptr;
}

void IdLists::open(Path path, bool is_array) {
  Array* array = array_of(path);
  if (!array) return;
  if (!is_array || array->is_there || path.size() > 1) {
    refuse(Exit::kInput, place_, ": \"", array->name, "\" is no array of numbers; write one ",
           "document a line");
  }
  array->is_there = true;
}

void IdLists::value(Path path, const JsonScalar& value) {
  Array* array = array_of(path);
  if (!array) return;
  const auto* number = std::get_if<int64_t>(&value);
  const int64_t least = array == &labels_ ? kLeastLabel : 0;
  const bool is_in_array = array->is_there && path.size() == 1;
  if (!is_in_array || !number || *number < least || *number > std::numeric_limits<int32_t>::max()) {
    refuse(Exit::kInput, place_, ": \"", array->name,
           is_in_array ? "\" holds what is no " : "\" is no ",
           !is_in_array        ? "array"
           : array == &labels_ ? "label"
                               : "id",
           "; write whole numbers in brackets, [1, 2]");
  }
  array->values.push_back(*number);
}

void IdLists::finish() {
  if (!ids_.is_there) {
    refuse(Exit::kInput, place_, ": has no \"", kIdsField,
           "\", as the first record of the file; write records of one form");
  }
  ids.assign(ids_.values.begin(), ids_.values.end());
  learnt.assign(ids.size(), true);
  if (!labels_.is_there) return;
  const std::vector<int64_t>& labels = labels_.values;
  if (labels.size() != ids.size()) {
    refuse(Exit::kInput, place_, ": has ", counted(int64_t(ids.size()), "id"), " and ",
           counted(int64_t(labels.size()), "label"), "; write a label for each, -100 or the id");
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    learnt[i] = labels[i] != kLeastLabel && labels[i] != -1;
    if (!learnt[i] || labels[i] == ids[i]) continue;
    refuse(Exit::kInput, place_, ": label ", i, " is ", labels[i], ", and id ", i, " is ", ids[i],
           "; write that, or -100 where nothing is learnt");
  }
}

}  // namespace zero
