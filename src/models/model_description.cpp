#include <algorithm>
#include <nlohmann/json.hpp>

#include "zero/base/path.hpp"
#include "zero/io/data/tokenizer.hpp"
#include "zero/io/files/files.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kConfigBytesMax = int64_t(1) << 20;
constexpr int64_t kDefaultSequence = 1024;

struct TorchName {
  Dtype dtype;
  const char* name;
};
constexpr TorchName kTorchNames[] = {
    {Dtype::f32, "float32"}, {Dtype::bf16, "bfloat16"}, {Dtype::f16, "float16"}};

Dtype dtype_of_torch(const std::string& name) {
  for (const TorchName& known : kTorchNames) {
    if (known.name == name) return known.dtype;
  }
  return Dtype::f32;
}

}  // namespace

ModelDescription parse_description(const model::Catalogue& catalogue, std::string_view content,
                                   const std::string& name) {
  model::HubConfig settings(content, name);
  const model::Architecture model = model::architecture_in(catalogue, settings);
  const int64_t positions = model::data_form(model).positions;
  const std::string dtype = settings.word_or("dtype", settings.word_or("torch_dtype", "float32"));
  const bool bytes = settings.word_or("zeroapp.tokenizer", "") == "bytes";
  return {
      .model = model,
      .compute = dtype_of_torch(dtype),
      .tokenizer = bytes ? "bytes" : "",
      .sequence_length = settings.count_or("zeroapp.sequence_length", positions,
                                           std::min(positions, kDefaultSequence)),
      .evaluation_micro = settings.count_or("zeroapp.evaluation_micro_batch_size", 1'000'000, 0)};
}

ModelDescription read_description(const model::Catalogue& catalogue, const std::string& folder) {
  const std::string path = folder + "/config.json";
  ModelDescription description =
      parse_description(catalogue, read_whole(path, kConfigBytesMax), path);
  if (description.tokenizer.empty() && holds_tokenizer(folder)) description.tokenizer = folder;
  const std::string generation = folder + "/generation_config.json";
  if (is_there(generation)) {
    description.generation =
        parse_generation(description.model, read_whole(generation, kConfigBytesMax), generation);
  }
  return description;
}

std::string description_json(const ModelDescription& description) {
  const auto* torch =
      std::find_if(std::begin(kTorchNames), std::end(kTorchNames),
                   [&](const TorchName& known) { return known.dtype == description.compute; });
  const model::Architecture& model = description.model;
  Json json;
  for (const auto& [key, value] : model.family->to_hub(model, torch->name)) {
    json[key] = Json::parse(value);
  }
  Json ours = {{"sequence_length", description.sequence_length}};
  if (description.tokenizer == "bytes") ours["tokenizer"] = "bytes";
  if (description.evaluation_micro > 0) {
    ours["evaluation_micro_batch_size"] = description.evaluation_micro;
  }
  json["zeroapp"] = ours;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace zero::models
