#include <algorithm>

#include "src/stored/fresh_parameters.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/json.hpp"
#include "zero/launch/launch.hpp"
#include "zero/model/hub_wrappers.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

bool is_buffer(const model::StoredNames& stored, std::string_view name) {
  return std::ranges::any_of(stored.ends,
                             [&](std::string_view end) { return name.ends_with(end); });
}
bool is_other_head(const model::StoredNames& stored, std::string_view name) {
  return std::ranges::any_of(stored.other_heads,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

/// True if a name begins with the same word, up to a dot, as one of `others`.
bool stands_beside(std::string_view name, const auto& others) {
  const std::string_view begin = name.substr(0, name.find('.') + 1);
  return std::ranges::any_of(others,
                             [&](std::string_view other) { return other.starts_with(begin); });
}

/// Returns the name without the family's prefix.
std::string_view short_name(const model::StoredNames& stored, std::string_view name) {
  return name.starts_with(stored.prefix) ? name.substr(stored.prefix.size()) : name;
}

}  // namespace

void ModelFolder::expect(const RunConfig* training) {
  if (training) {
    if (take_task(*training, description_)) said_ = "the settings say";
    description_.objective = training_head(*training, description_.model);
  }
  expected_ = stored_parameters(description_.recipe());
  anew_ = fresh_parameters(description_.model, training);
  by_parameter_.clear();
  known_.clear();
  for (size_t i = 0; i < expected_.size(); ++i) {
    by_parameter_[expected_[i].name] = i;
    known_.insert(expected_[i].form.names.begin(), expected_[i].form.names.end());
  }
  for (const model::StoredCopy& stored : description_.model.family->stored.copies)
    known_.insert(std::string(stored.copy));
}

/// Takes the tensors by their short names, and those that the files' metadata call aliases.
void ModelFolder::take(const Found& found) {
  const model::StoredNames& stored = description_.model.family->stored;
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : found) {
    // A wrapper of the trunk does not hold a head beside it.
    if (!is_other_head(stored, name)) names.push_back(name);
  }
  const std::string wrapper = model::wrapper_of(
      names, [&](std::string_view name) { return known_.contains(short_name(stored, name)); });
  // All ranks read the same file, so one warns.
  if (!wrapper.empty() && launch::current_launch().task <= 0) {
    warn(path_, ": the names of its tensors begin with \"", wrapper,
         "\", which is a wrapper's, and are read without it");
  }
  const auto without = [&](std::string_view name) {
    const bool is_wrapped = name.starts_with(wrapper);
    return std::string(short_name(stored, is_wrapped ? name.substr(wrapper.size()) : name));
  };
  // The names of a copied head are another task's if a head of an objective is read.
  std::vector<std::string> own_names;
  for (const StoredParameter& as : expected_)
    own_names.insert(own_names.end(), as.form.names.begin(), as.form.names.end());
  if (!description_.objective) own_names.insert(own_names.end(), known_.begin(), known_.end());
  for (const auto& [name, entry] : found) {
    const std::string own = without(name);
    if (is_buffer(stored, own)) continue;
    if (is_other_head(stored, own) && !known_.contains(own) && !stands_beside(own, own_names)) {
      other_heads_.push_back(own);
      continue;
    }
    if (tensors_.emplace(own, entry).second) continue;
    refuse(Exit::kInput, entry.file->path(), ": \"", shown(name),
           "\" stands there with and without ", stored.prefix);
  }
  for (const auto& file : files_) {
    for (const auto& [alias, name] : file->metadata()) {
      const FileTensor* tensor = file->find(name);
      if (tensor && alias.starts_with(wrapper) && known_.contains(without(alias)))
        tensors_.emplace(without(alias), FoundTensor{file.get(), tensor});
    }
  }
}

/// Compares the copies, except those of a head that another objective does without.
void ModelFolder::match_copies() {
  const model::StoredNames& stored = description_.model.family->stored;
  for (const model::StoredCopy& copy : stored.copies) {
    // A copy in other models of the family may be a parameter of this one.
    if (by_parameter_.contains(copy.copy) || is_anew(copy.original)) continue;
    if (!description_.objective || !is_other_head(stored, copy.copy)) {
      match(copy);
    } else if (tensors_.contains(copy.copy) &&
               found_tensor(copy.copy).tensor != found_tensor(copy.original).tensor) {
      other_heads_.emplace_back(copy.copy);
    }
  }
}

/// Finds each shared table under any of its names.
void ModelFolder::find_shared() {
  for (const model::StoredCopy& stored : description_.model.family->stored.copies) {
    const auto copy = tensors_.find(stored.copy);
    if (copy == tensors_.end() || by_parameter_.contains(stored.copy)) continue;
    tensors_.emplace(stored.original, copy->second);
  }
}

}  // namespace zero::stored
