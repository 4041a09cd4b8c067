#include "zero/stored/tensor_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "zero/base/path.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

using checkpoint::Tensor;

constexpr int64_t kPieceNumel = 1 << 20;

void sort_by_name(std::vector<Tensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

class CheckpointTensors : public TensorSource {
 public:
  explicit CheckpointTensors(const std::string& folder)
      : checkpoint_(folder), tensors_(checkpoint_.manifest().tensors) {
    sort_by_name(tensors_);
  }
  const std::string& path() const override { return checkpoint_.folder(); }
  const std::vector<Tensor>& tensors() const override { return tensors_; }
  std::map<std::string, std::string> facts() const override {
    const checkpoint::Manifest& manifest = checkpoint_.manifest();
    std::map<std::string, std::string> facts = manifest.facts;
    facts["step"] = std::to_string(manifest.step);
    facts["ranks"] = std::to_string(manifest.ranks);
    if (const auto data = facts.find("data"); data != facts.end())
      data->second = save::fingerprint_text(data->second);
    return facts;
  }
  void read(const Tensor& tensor, int64_t begin, std::span<float> out) const override {
    checkpoint_.tensors().read(tensor, begin, out);
  }

 private:
  save::StoredCheckpoint checkpoint_;
  std::vector<Tensor> tensors_;
};

class ModelTensors : public TensorSource {
 public:
  ModelTensors(const model::Catalogue& catalogue, const std::string& folder)
      : model_(catalogue, folder), prefix_(saved_weights_prefix(model_.description().model)) {
    for (const auto& [name, shape] : stored_tensors(stored_graph(model_.description().recipe()))) {
      tensors_.push_back({prefix_ + name, model_.dtype_of(name), shape});
    }
    sort_by_name(tensors_);
  }
  const std::string& path() const override { return model_.path(); }
  const std::vector<Tensor>& tensors() const override { return tensors_; }
  std::map<std::string, std::string> facts() const override {
    const ModelDescription& description = model_.description();
    return {{"architecture", model::fact(description.recipe())},
            {"compute", std::string(name_of(description.compute))},
            {save::kTokenizerFact, description.tokenizer}};
  }
  void read(const Tensor& tensor, int64_t begin, std::span<float> out) const override {
    model_.read(std::string_view(tensor.name).substr(prefix_.size()), begin, out);
  }

 private:
  ModelFolder model_;
  std::string prefix_;
  std::vector<Tensor> tensors_;
};

int64_t numel_of(const Tensor& tensor) {
  int64_t numel = 1;
  for (const int64_t extent : tensor.shape) numel *= extent;
  return numel;
}

/// Calls `visit` with the first element and the length of each piece of a tensor.
template <class Visit>
void for_pieces(const Tensor& tensor, const Visit& visit) {
  const int64_t numel = numel_of(tensor);
  for (int64_t begin = 0; begin < numel; begin += kPieceNumel) {
    visit(begin, size_t(std::min(kPieceNumel, numel - begin)));
  }
}

/// The count, mean and sum of squared deviations of values. join() adds another's.
struct Moments {
  int64_t count = 0;
  double mean = 0, squares = 0;

  void join(const Moments& other) {
    if (other.count == 0) return;
    const double both = double(count + other.count), apart = other.mean - mean;
    squares += other.squares + apart * apart * double(count) * double(other.count) / both;
    mean += apart * double(other.count) / both;
    count += other.count;
  }
};

Moments moments_of(std::span<const float> values) {
  Moments moments;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    ++moments.count;
    moments.mean += double(value);
  }
  if (moments.count > 0) moments.mean /= double(moments.count);
  for (const float value : values) {
    const double apart = double(value) - moments.mean;
    if (std::isfinite(value)) moments.squares += apart * apart;
  }
  return moments;
}

std::vector<int64_t> place_of(int64_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= shape[i]) place[i] = element % shape[i];
  return place;
}

/// Returns the distance of two values that differ.
double distance(float one, float other) {
  if (std::isfinite(one) && std::isfinite(other)) return std::abs(double(one) - double(other));
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::unique_ptr<TensorSource> open_tensors(const model::Catalogue& catalogue,
                                           const std::string& folder) {
  if (is_there(folder + "/config.json")) {
    return std::make_unique<ModelTensors>(catalogue, folder);
  }
  if (save::holds_checkpoints(folder)) return std::make_unique<CheckpointTensors>(folder);
  return std::make_unique<ModelTensors>(catalogue, find_model(catalogue, folder));
}

TensorStatistics statistics_of(const TensorSource& source, const Tensor& tensor) {
  TensorStatistics found{.least = std::numeric_limits<double>::infinity(),
                         .largest = -std::numeric_limits<double>::infinity()};
  Moments all;
  std::vector<float> values;
  for_pieces(tensor, [&](int64_t begin, size_t count) {
    values.resize(count);
    source.read(tensor, begin, values);
    all.join(moments_of(values));
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      found.least = std::min(found.least, double(value));
      found.largest = std::max(found.largest, double(value));
    }
  });
  found.non_finite = numel_of(tensor) - all.count;
  if (all.count == 0) return {.non_finite = found.non_finite};
  found.mean = all.mean;
  found.deviation = std::sqrt(all.squares / double(all.count));
  return found;
}

TensorDifference difference_of(const TensorSource& one, const TensorSource& other,
                               const Tensor& in_one, const Tensor& in_other) {
  TensorDifference found;
  std::vector<float> a, b;
  for_pieces(in_one, [&](int64_t begin, size_t count) {
    a.resize(count);
    b.resize(count);
    one.read(in_one, begin, a);
    other.read(in_other, begin, b);
    for (size_t i = 0; i < count; ++i) {
      if (std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i])) continue;
      if (found.differing++ == 0) {
        found.first = place_of(begin + int64_t(i), in_one.shape);
        found.one = a[i];
        found.other = b[i];
      }
      found.largest = std::max(found.largest, distance(a[i], b[i]));
    }
  });
  return found;
}

}  // namespace zero::stored
