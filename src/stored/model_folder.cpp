#include "zero/stored/model_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/stored/fresh_parameters.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/interop/json.hpp"
#include "zero/io/interop/torch_file.hpp"
#include "zero/model/recipe.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kIndexBytesMax = int64_t(16) << 20;
constexpr size_t kFilesMax = 1000;
constexpr size_t kShownMismatches = 5;
constexpr int64_t kPieceNumel = 1 << 20;

/// The file of each tensor in an index, such as model.safetensors.index.json.
class Index : public JsonSink {
 public:
  explicit Index(const std::string& path) : path_(path) {
    read_json(read_whole(path, kIndexBytesMax), path, {.depth = 3}, *this);
    if (files_.empty()) refuse(Exit::kInput, path, ": has no weight_map");
  }
  void open(Path, bool) override {}
  void value(Path path, const JsonScalar& value) override {
    if (path.size() != 2 || path[0] != "weight_map") return;
    const std::string* file = std::get_if<std::string>(&value);
    // A path out of the folder could open a file that its owner did not share.
    if (!file || file->empty() || file->find('/') != file->npos || file->starts_with('.')) {
      refuse(Exit::kInput, path_, ": \"", shown(path[1]), "\": names no file of this folder");
    }
    files_[*file].push_back(path[1]);
    if (files_.size() > kFilesMax) refuse(Exit::kInput, path_, ": more than ", kFilesMax, " files");
  }
  const std::map<std::string, std::vector<std::string>>& files() const { return files_; }

 private:
  const std::string& path_;
  std::map<std::string, std::vector<std::string>> files_;
};

/// A kind of files of weights: one file of this name, or those in its index.
struct WeightFiles {
  const char* name;
  TensorFile (*open)(const std::string& path);
};
/// Kinds in the order in which a folder's are looked for, as in Transformers.
constexpr WeightFiles kWeightFiles[] = {{"model.safetensors", open_safetensors},
                                        {"pytorch_model.bin", open_torch_file}};

/// True if both are one tensor, or entries of one storage, as torch.save has tied weights.
bool lie_together(const FileTensor& a, const FileTensor& b) {
  return a.begin == b.begin && a.end == b.end && a.dtype == b.dtype && a.shape == b.shape &&
         a.strides == b.strides;
}

std::string described(const FileTensor& tensor) {
  return tensor.dtype + " " + shape_text(tensor.shape);
}

}  // namespace

graph::Graph stored_graph(const model::Recipe& recipe) {
  return model::graph_of(recipe, model::Purpose::store);
}

std::vector<SafetensorsWriter::Tensor> stored_tensors(const graph::Graph& graph) {
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    tensors.push_back(
        {graph[graph.parameters[p].tensor].name, state::stored_shape(graph, int32_t(p))});
  }
  return tensors;
}

std::vector<StoredParameter> stored_parameters(const model::Recipe& recipe) {
  const graph::Graph graph = stored_graph(recipe);
  std::vector<StoredParameter> parameters;
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    if (parameter.borrowed) continue;
    parameters.push_back(
        {graph[parameter.tensor].name, state::stored_shape(graph, int32_t(p)), parameter.stored});
  }
  return parameters;
}

std::string saved_weights_prefix(const model::Architecture& model) {
  return text("model/", model.family->stored.prefix);
}

ModelFolder::ModelFolder(const model::Catalogue& catalogue, const std::string& path,
                         const RunConfig* training)
    : path_(path), description_(read_description(catalogue, path)) {
  expect(training);
  const Found found = open_files();
  take(found);
  if (const auto settle = description_.model.family->settle) {
    settle(description_.model.numbers, [&](std::string_view name) {
      const auto stored = tensors_.find(name);
      return stored != tensors_.end() && stored->second.tensor->name.ends_with(name);
    });
    expect(training);
  }
  find_shared();
  match(training != nullptr);
  match_copies();
}

ModelFolder::Found ModelFolder::open_files() {
  for (const auto& [name, open] : kWeightFiles) {
    weights_ = path_ + "/" + name;
    if (is_there(weights_)) {
      Found found;
      const TensorFile& file = *files_.emplace_back(std::make_unique<TensorFile>(open(weights_)));
      for (const FileTensor& tensor : file.tensors())
        found.emplace_back(tensor.name, FoundTensor{&file, &tensor});
      return found;
    }
    weights_ += ".index.json";
    if (is_there(weights_)) return open_indexed(open);
  }
  if (is_there(path_ + "/model.h5")) {
    refuse(Exit::kInput, path_, ": holds model.h5, which is for h5py and is not read here; export ",
           "the model again without --format hdf5, which writes model.safetensors");
  }
  refuse(Exit::kInput, path_, ": holds neither model.safetensors nor pytorch_model.bin beside its ",
         "config.json; fetch the folder again");
}

ModelFolder::Found ModelFolder::open_indexed(TensorFile (*open)(const std::string&)) {
  Found found;
  const Index parts(weights_);
  for (const auto& [name, tensors] : parts.files()) {
    const TensorFile& file =
        *files_.emplace_back(std::make_unique<TensorFile>(open(path_ + "/" + name)));
    for (const std::string& tensor : tensors) {
      found.emplace_back(tensor, FoundTensor{&file, file.find(tensor)});
      if (found.back().second.tensor) continue;
      refuse(Exit::kInput, file.path(), ": lacks \"", shown(tensor), "\" of the index");
    }
  }
  return found;
}

std::vector<std::string> ModelFolder::faults_of(const StoredParameter& as) const {
  std::vector<std::string> faults;
  for (size_t t = 0; t < as.form.names.size(); ++t) {
    const std::string& name = as.form.names[t];
    const std::vector<int64_t> shape = graph::stored_extents(as.form, as.shape, t);
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      faults.push_back(text(name, ": expected ", shape_text(shape), ", found nothing"));
    } else if (found->second.tensor->shape != shape || !found->second.tensor->usable) {
      faults.push_back(text(name, ": expected F32, F16 or BF16 ", shape_text(shape), ", found ",
                            described(*found->second.tensor)));
    }
  }
  return faults;
}

bool ModelFolder::is_of_other_type(const StoredParameter& as) const {
  return std::ranges::any_of(as.form.names, [&](const std::string& name) {
    const auto found = tensors_.find(name);
    return found != tensors_.end() && !found->second.tensor->usable;
  });
}

void ModelFolder::match(bool may_draw) const {
  std::vector<std::string> wrong, names, drawn;
  for (const StoredParameter& as : expected_) {
    names.push_back(as.name);
    const std::vector<std::string> faults =
        is_anew(as.name) ? std::vector<std::string>() : faults_of(as);
    // The advice stands in place of model.reinit, so it repeats what that draws.
    if (!faults.empty() || is_anew(as.name)) drawn.push_back(as.name);
    wrong.insert(wrong.end(), faults.begin(), faults.end());
  }
  const size_t lacked = wrong.size();
  for (const auto& [name, entry] : tensors_) {
    if (known_.contains(name)) continue;
    wrong.push_back(text(shown(name), ": expected nothing, found ", described(*entry.tensor)));
  }
  if (wrong.empty()) return;
  // A draw removes no unknown tensor, and needs none of another type.
  const bool has_others = std::ranges::any_of(expected_, [&](const StoredParameter& as) {
    return !is_anew(as.name) && is_of_other_type(as);
  });
  const bool helps = may_draw && wrong.size() == lacked && !has_others;
  std::string list;
  for (size_t i = 0; i < std::min(wrong.size(), kShownMismatches); ++i) list += "\n  " + wrong[i];
  const std::string_view advice =
      has_others ? "save the model's weights as float32, for which Transformers has "
                   "model.float().save_pretrained(\"NEW\")"
                 : "take both from one place";
  refuse(Exit::kInput, path_, ": ", wrong.size(), " tensors are not as ", said_, "; ", advice,
         helps ? ", or " + reinit_advice(names, drawn) : "", ". The first of them:", list);
}

void ModelFolder::match(const model::StoredCopy& stored) const {
  const auto copy = tensors_.find(stored.copy);
  if (copy == tensors_.end()) return;
  const FoundTensor& original = found_tensor(stored.original);
  if (lie_together(*copy->second.tensor, *original.tensor) && copy->second.file == original.file)
    return;
  const int64_t numel = original.tensor->numel();
  bool same = copy->second.tensor->shape == original.tensor->shape && copy->second.tensor->usable;
  std::vector<float> a, b;
  for (int64_t first = 0; same && first < numel; first += kPieceNumel) {
    a.resize(size_t(std::min(kPieceNumel, numel - first)));
    b.resize(a.size());
    original.file->read(*original.tensor, first, a);
    copy->second.file->read(*copy->second.tensor, first, b);
    same = a == b;
  }
  if (same) return;
  refuse(Exit::kInput, path_, ": ", stored.copy, " differs from ", stored.original, ": ",
         stored.why);
}

const StoredParameter& ModelFolder::expected(std::string_view parameter) const {
  const auto found = by_parameter_.find(parameter);
  ZERO_REQUIRE(found != by_parameter_.end(), "no parameter ", parameter, " in ", path_);
  return expected_[found->second];
}

const ModelFolder::FoundTensor& ModelFolder::found_tensor(std::string_view stored) const {
  const auto found = tensors_.find(stored);
  ZERO_REQUIRE(found != tensors_.end(), "no tensor ", stored, " in ", path_);
  return found->second;
}

StoredModel::Settings ModelFolder::settings() const {
  // Only a run's model has this name; settings beside another folder may be a stranger's.
  std::error_code unknown;
  fs::path folder = fs::path(path_ + "/").lexically_normal().parent_path();
  // "." and ".." are not names.
  if (folder.empty() || folder.filename() == "." || folder.filename() == "..")
    folder = fs::weakly_canonical(path_, unknown);
  const fs::path run = (folder / "..").lexically_normal();
  const std::string file = (run / "effective.toml").string();
  const GenerationConfig& generation = description_.generation;
  const bool is_of_run =
      folder.filename() == "model" && is_there((run / "launches.jsonl").string()) && is_there(file);
  if (!is_of_run) return {.name = "", .text = "", .generation = generation};
  return {.name = file, .text = read_whole(file, int64_t(kTomlMaxBytes)), .generation = generation};
}

Dtype ModelFolder::dtype_of(std::string_view parameter) const {
  const std::vector<std::string>& names = expected(parameter).form.names;
  const Dtype first = *found_tensor(names[0]).tensor->usable;
  // fp32 holds the values of both 16-bit types.
  const bool same = std::ranges::all_of(
      names, [&](const std::string& name) { return *found_tensor(name).tensor->usable == first; });
  return same ? first : Dtype::f32;
}

void ModelFolder::read(std::string_view parameter, int64_t first, std::span<float> out) const {
  const StoredParameter& as = expected(parameter);
  if (as.form.is_plain()) {
    const FoundTensor& entry = found_tensor(as.form.names[0]);
    // A piece of a tensor with strides may lie all over it.
    if (entry.tensor->strides.empty()) return entry.file->read(*entry.tensor, first, out);
  }
  if (whole_name_ != parameter) read_whole_parameter(as);
  std::copy_n(whole_.begin() + first, out.size(), out.begin());
}

void ModelFolder::read_whole_parameter(const StoredParameter& as) const {
  std::vector<float> stored;
  whole_name_.clear();
  for (const std::string& name : as.form.names) {
    const FoundTensor& entry = found_tensor(name);
    const size_t begin = stored.size();
    stored.resize(begin + size_t(entry.tensor->numel()));
    entry.file->read(*entry.tensor, 0, std::span(stored).subspan(begin));
  }
  whole_.resize(stored.size());
  graph::from_stored(as.form, as.shape, stored, whole_);
  whole_name_ = as.name;
}

}  // namespace zero::stored
