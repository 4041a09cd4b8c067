#include "zero/train/model_description.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "zero/base/path.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::train {
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

/// The scalars of a configuration by their keys joined by dots. Of a list the last one stays, which
/// nobody asks for.
class Settings : public JsonSink {
 public:
  Settings(std::string_view content, const std::string& name) : name_(name) {
    read_json(content, name, {.depth = 8, .keys = 1000}, *this);
  }

  void open(Path, bool) override {}
  void value(Path path, const JsonScalar& value) override {
    std::string key;
    for (const std::string& part : path) key += (key.empty() ? "" : ".") + part;
    values_[key] = value;
  }

  int64_t count(const std::string& key, int64_t most) const {
    const int64_t* number = find<int64_t>(key);
    if (!number || *number < 1 || *number > most) fail(key, text("write 1 to ", most));
    return *number;
  }
  int64_t count_or(const std::string& key, int64_t most, int64_t otherwise) const {
    return has(key) ? count(key, most) : otherwise;
  }
  std::string word_or(const std::string& key, const std::string& otherwise) const {
    const std::string* word = find<std::string>(key);
    if (has(key) && !word) fail(key, "write a string");
    return word ? *word : otherwise;
  }
  double real_or(const std::string& key, double otherwise) const {
    if (!has(key)) return otherwise;
    if (const int64_t* whole = find<int64_t>(key)) return double(*whole);
    const double* number = find<double>(key);
    if (!number) fail(key, "write a number");
    return *number;
  }
  /// Of which an fp32 number is left that can be added to a variance.
  float epsilon_or(const std::string& key, double otherwise) const {
    const double epsilon = real_or(key, otherwise);
    if (!(float(epsilon) > 0 && epsilon <= 1)) fail(key, "write above 0 to 1");
    return float(epsilon);
  }
  float share_or(const std::string& key, double otherwise) const {
    const double share = real_or(key, otherwise);
    if (!(share >= 0 && float(share) < 1)) fail(key, "write 0 to below 1");
    return float(share);
  }
  /// A switch whose other value would be another network.
  void require(const std::string& key, bool wanted) const {
    const bool* flag = find<bool>(key);
    if (has(key) && (!flag || *flag != wanted)) fail(key, text("only ", wanted ? "true" : "false"));
  }
  [[noreturn]] void fail(const std::string& key, const std::string& advice) const {
    refuse(Exit::kInput, name_, ": ", key,
           has(key) ? ": is not readable: " : ": is missing: ", advice, " as in a GPT2LMHeadModel");
  }

 private:
  /// Null is as good as absent.
  bool has(const std::string& key) const {
    const auto found = values_.find(key);
    return found != values_.end() && !std::holds_alternative<std::nullptr_t>(found->second);
  }
  template <class T>
  const T* find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }

  const std::string& name_;
  std::map<std::string, JsonScalar> values_;
};

void require_same_network(const Settings& settings, int64_t width) {
  if (settings.word_or("model_type", "gpt2") != "gpt2") {
    settings.fail("model_type", "only \"gpt2\"");
  }
  const std::string activation = settings.word_or("activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh") {
    settings.fail("activation_function", "only \"gelu_new\"");
  }
  if (settings.count_or("n_inner", INT64_MAX, 4 * width) != 4 * width) {
    settings.fail("n_inner", text("only null or 4 x n_embd = ", 4 * width));
  }
  settings.require("scale_attn_weights", true);
  settings.require("scale_attn_by_inverse_layer_idx", false);
  settings.require("add_cross_attention", false);
  settings.require("tie_word_embeddings", true);
}

Dtype dtype_of_torch(const std::string& name) {
  for (const TorchName& known : kTorchNames) {
    if (known.name == name) return known.dtype;
  }
  return Dtype::f32;
}

std::string tokenizer_in(const std::string& folder) {
  const bool whole = is_there(folder + "/vocab.json") && is_there(folder + "/merges.txt");
  return whole ? folder : "";
}

}  // namespace

ModelDescription parse_description(std::string_view content, const std::string& name) {
  const Settings settings(content, name);
  const model::Gpt2 model{.layers = settings.count("n_layer", 10'000),
                          .width = settings.count("n_embd", 1'000'000),
                          .heads = settings.count("n_head", 1'000'000),
                          .vocabulary = settings.count("vocab_size", 100'000'000),
                          .positions = settings.count("n_positions", 100'000'000),
                          .dropout = settings.share_or("resid_pdrop", 0),
                          .epsilon = settings.epsilon_or("layer_norm_epsilon", 1e-5)};
  if (model.width % model.heads != 0) settings.fail("n_head", "a divisor of n_embd");
  require_same_network(settings, model.width);
  const std::string dtype = settings.word_or("dtype", settings.word_or("torch_dtype", "float32"));
  const bool bytes = settings.word_or("zeroapp.tokenizer", "") == "bytes";
  return {
      .model = model,
      .compute = dtype_of_torch(dtype),
      .tokenizer = bytes ? "bytes" : "",
      .sequence_length = settings.count_or("zeroapp.sequence_length", model.positions,
                                           std::min(model.positions, kDefaultSequence)),
      .evaluation_micro = settings.count_or("zeroapp.evaluation_micro_batch_size", 1'000'000, 0)};
}

ModelDescription read_description(const std::string& folder) {
  const std::string path = folder + "/config.json";
  ModelDescription description = parse_description(read_whole(path, kConfigBytesMax), path);
  if (description.tokenizer.empty()) description.tokenizer = tokenizer_in(folder);
  return description;
}

std::string description_json(const ModelDescription& description) {
  const model::Gpt2& model = description.model;
  const auto* torch =
      std::find_if(std::begin(kTorchNames), std::end(kTorchNames),
                   [&](const TorchName& known) { return known.dtype == description.compute; });
  Json json = {{"architectures", {"GPT2LMHeadModel"}},
               {"model_type", "gpt2"},
               {"n_layer", model.layers},
               {"n_embd", model.width},
               {"n_head", model.heads},
               {"n_positions", model.positions},
               {"n_ctx", model.positions},
               {"vocab_size", model.vocabulary},
               {"activation_function", "gelu_new"},
               {"tie_word_embeddings", true},
               {"bos_token_id", nullptr},
               {"eos_token_id", nullptr},
               {"torch_dtype", torch->name}};
  // fp32 numbers as they were written: 1e-05 and not 9.99999974e-06.
  json["layer_norm_epsilon"] = Json::parse(text(model.epsilon));
  for (const char* place : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) {
    json[place] = Json::parse(text(model.dropout));
  }
  Json ours = {{"sequence_length", description.sequence_length}};
  if (description.tokenizer == "bytes") ours["tokenizer"] = "bytes";
  if (description.evaluation_micro > 0) {
    ours["evaluation_micro_batch_size"] = description.evaluation_micro;
  }
  json["zeroapp"] = ours;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace zero::train
