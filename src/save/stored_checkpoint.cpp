#include "zero/save/stored_checkpoint.hpp"

#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/launch/files.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {
namespace {

using checkpoint::Store;

}  // namespace

void warn_passed_over(int64_t step, const std::string& problem) {
  warn("step ", step, " does not verify and is passed over: ", problem);
}

bool holds_checkpoints(const std::string& folder) {
  const CheckpointFolder place = find_checkpoints(folder);
  if (!is_folder(place.root)) return false;
  return place.step || !Store({.root = place.root}).steps().empty();
}

StoredCheckpoint::StoredCheckpoint(const std::string& folder) {
  const CheckpointFolder place = find_checkpoints(folder);
  if (!is_folder(place.step ? folder : place.root)) {
    refuse(Exit::kInput, launch::no_folder_text(folder));
  }
  store_ = std::make_unique<Store>(Store::Options{.root = place.root});
  if (place.step) {
    manifest_ = store_->verify(*place.step, false);
  } else {
    open_newest(folder);
  }
  folder_ = place.root + "/" + Store::folder_of(manifest_.step);
  tensors_ = std::make_unique<checkpoint::TensorReader>(*store_, manifest_);
}

void StoredCheckpoint::open_newest(const std::string& folder) {
  const std::vector<int64_t> steps = store_->steps();
  if (steps.empty()) {
    refuse(Exit::kInput, folder, ": holds no checkpoint - name a run that has saved one, a folder ",
           "of checkpoints, or one of them");
  }
  std::string problem;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      manifest_ = store_->verify(*step, false);
      return;
    } catch (const Error& error) {
      if (error.exit() != Exit::kInput) throw;
      warn_passed_over(*step, error.what());
      if (step == steps.rbegin()) problem = error.what();
    }
  }
  refuse(Exit::kInput, folder, ": holds no whole checkpoint: ", problem);
}

const std::string& StoredCheckpoint::fact(const std::string& name) const {
  static const std::string kNothing;
  const auto found = manifest_.facts.find(name);
  return found == manifest_.facts.end() ? kNothing : found->second;
}

}  // namespace zero::save
