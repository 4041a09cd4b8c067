// Ranks: 1
#include "zero/stored/model_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/model/gpt2.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/models.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/error.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<SafetensorsWriter::Tensor>;

constexpr model::Gpt2 kModel{.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .positions = 4};

graph::Graph graph_of(const model::Gpt2& model = kModel) {
  return model::forward_of(model, {.micro = {1, 4}, .compute = Dtype::f32, .training = false});
}

Tensors tensors_of(const std::string& prefix, const model::Gpt2& model = kModel) {
  Tensors tensors = stored_tensors(graph_of(model));
  for (SafetensorsWriter::Tensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

int64_t numel(const SafetensorsWriter::Tensor& tensor) {
  int64_t product = 1;
  for (int64_t extent : tensor.shape) product *= extent;
  return product;
}

class ModelFolders : public ::testing::Test {
 protected:
  ModelFolders() : folder_(fs::temp_directory_path() / ("zero-model-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    std::ofstream(file("config.json")) << description_json({.model = kModel, .sequence_length = 4});
  }
  ~ModelFolders() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  /// Element i of each tensor is i, or what `value` makes of it.
  void write(const Tensors& tensors, const std::string& name = "model.safetensors",
             float scale = 1) const {
    fs::remove(file(name));
    SafetensorsWriter writer(file(name), {.tensors = tensors});
    for (const SafetensorsWriter::Tensor& tensor : tensors) {
      std::vector<float> values(size_t(numel(tensor)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = scale * float(i);
      writer.write(std::as_bytes(std::span(values)));
    }
    writer.publish();
  }

  /// The same numbers as a file of torch.save. If `turned`, matrices lie there column by column.
  void write_torch(const Tensors& tensors, const std::string& name = "pytorch_model.bin",
                   bool turned = false) const {
    std::vector<testing_support::TorchTensor> pickled;
    std::vector<std::string> storages;
    for (const SafetensorsWriter::Tensor& tensor : tensors) {
      const int64_t count = numel(tensor), rows = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
      const int64_t columns = count / rows, down = turned ? 1 : columns, along = turned ? rows : 1;
      std::vector<float> values(size_t(count), 0.0f);
      for (int64_t i = 0; i < count; ++i)
        values[size_t(i / columns * down + i % columns * along)] = float(i);
      std::vector<int64_t> strides = {along};
      if (tensor.shape.size() == 2) strides = {down, along};
      pickled.push_back({.name = tensor.name,
                         .shape = tensor.shape,
                         .strides = strides,
                         .key = std::to_string(storages.size()),
                         .storage_numel = count});
      storages.push_back(testing_support::bytes_of_numbers(values));
    }
    std::ofstream(file(name), std::ios::binary)
        << testing_support::torch_file_of(testing_support::pickle_of(pickled), storages);
  }

  /// The bytes of all files of a checkpoint that the folder is imported as, but for their time.
  std::string imported() const {
    const std::string root = file("imported");
    import_model(ModelFolder(testing_support::catalogue(), folder_.string()), root, "test");
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) files[entry.path()] = timeless(entry.path());
    }
    fs::remove_all(root);
    std::string all;
    for (const auto& [name, content] : files) all += name + "\n" + content;
    return all;
  }

  /// The content of a file of a checkpoint without the time at which it was made. HDF5 keeps that
  /// in the extension of its superblock, and so it is in the digests at the manifest's end.
  static std::string timeless(const fs::path& path) {
    std::string content = testing_support::content_of(path);
    if (path.extension() == ".h5") content.erase(48, 60);
    if (path.extension() == ".json") content.erase(content.find("\"files\""));
    return content;
  }

  std::string weights() const {
    return fs::path(ModelFolder(testing_support::catalogue(), folder_.string()).weights())
        .filename();
  }

  std::string refusal(const RunConfig* training = nullptr) const {
    try {
      const ModelFolder opened(testing_support::catalogue(), folder_.string(), training);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInput);
      return error.what();
    }
    return "";
  }

  std::vector<float> read(const std::string& name, int64_t first, size_t count) const {
    std::vector<float> out(count);
    ModelFolder(testing_support::catalogue(), folder_.string()).read(name, first, out);
    return out;
  }

  fs::path folder_;
};

TEST_F(ModelFolders, AreReadWithAndWithoutThePrefix) {
  for (const char* prefix : {"", "transformer."}) {
    write(tensors_of(prefix));
    EXPECT_EQ(refusal(), "") << prefix;
    EXPECT_EQ(read("h.0.attn.c_attn.weight", 5, 3), (std::vector<float>{5, 6, 7}));
    EXPECT_EQ(read("wte.weight", 79, 1), (std::vector<float>{79})) << "10 rows of 8, no padding";
  }
}

TEST_F(ModelFolders, MayHoldMasksAndACopyOfTheTable) {
  Tensors tensors = tensors_of("transformer.");
  tensors.push_back({"transformer.h.0.attn.bias", {1, 1, 4, 4}});
  tensors.push_back({"transformer.h.0.attn.masked_bias", {}});
  tensors.push_back({"lm_head.weight", {10, 8}});
  write(tensors);
  EXPECT_EQ(refusal(), "") << "element i is i in both";
  tensors.back().shape = {8, 10};
  write(tensors);
  EXPECT_NE(refusal().find("lm_head.weight differs"), std::string::npos);
}

TEST_F(ModelFolders, ACopyOfALargeTableIsComparedToItsLastElement) {
  model::Gpt2 large = kModel;
  large.vocabulary = 140'000;  // more elements than are compared at a time
  std::ofstream(file("config.json")) << description_json({.model = large, .sequence_length = 4});
  Tensors tensors = tensors_of("", large);
  tensors.push_back({"lm_head.weight", {140'000, 8}});
  write(tensors);
  EXPECT_EQ(refusal(), "");
  const float other = -1;
  std::fstream last(file("model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  last.seekp(-int(sizeof other), std::ios::end);
  last.write(reinterpret_cast<const char*>(&other), sizeof other);
  last.close();
  EXPECT_NE(refusal().find("lm_head.weight differs"), std::string::npos);
}

TEST_F(ModelFolders, OfPyTorchsFilesAreWhatTheirTwinsAre) {
  write(tensors_of("transformer."));
  const std::string twin = imported();
  EXPECT_EQ(weights(), "model.safetensors");
  fs::remove(file("model.safetensors"));
  for (const bool turned : {false, true}) {
    write_torch(tensors_of("transformer."), "pytorch_model.bin", turned);
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(weights(), "pytorch_model.bin");
    EXPECT_EQ(read("h.0.attn.c_attn.weight", 5, 3), (std::vector<float>{5, 6, 7}));
    EXPECT_TRUE(imported() == twin) << "a checkpoint of other bytes";
  }
}

TEST_F(ModelFolders, TakeSafetensorsBeforePyTorchsFiles) {
  write_torch(tensors_of(""), "part.bin");
  std::ofstream index(file("pytorch_model.bin.index.json"));
  index << R"({"weight_map": {)";
  for (const auto& tensor : tensors_of("")) {
    index << (index.tellp() > 20 ? "," : "") << "\"" << tensor.name << "\": \"part.bin\"";
  }
  index << "}}";
  index.close();
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(weights(), "pytorch_model.bin.index.json");
  EXPECT_EQ(read("ln_f.bias", 7, 1), (std::vector<float>{7}));
  write_torch(tensors_of(""));
  EXPECT_EQ(weights(), "pytorch_model.bin");
  write(tensors_of(""), "model.safetensors", 2);
  EXPECT_EQ(read("ln_f.bias", 7, 1), (std::vector<float>{14}));
}

TEST_F(ModelFolders, RefuseAProgramAndNoWeightsAtAll) {
  EXPECT_NE(refusal().find("holds neither model.safetensors nor pytorch_model.bin"),
            std::string::npos);
  std::ofstream(file("pytorch_model.bin")) << testing_support::torch_file_of(
      testing_support::pickle_of(testing_support::name_op("os", "system")), {});
  EXPECT_NE(refusal().find("pytorch_model.bin: data.pkl: byte 41: the pickle calls \"os.system\""),
            std::string::npos)
      << refusal();
}

TEST_F(ModelFolders, OneForH5pyIsRefusedWithTheExportThatIsRead) {
  std::ofstream(file("model.h5")) << "any";
  EXPECT_NE(refusal().find("holds model.h5"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("without --format hdf5"), std::string::npos) << refusal();
}

TEST_F(ModelFolders, AnotherHeadThanTheTableIsRefused) {
  const Tensors head = {{"lm_head.weight", {10, 8}}};
  write(tensors_of(""), "model-1.safetensors");
  write(head, "model-2.safetensors", 2);
  std::ofstream index(file("model.safetensors.index.json"));
  index << R"({"metadata": {"total_size": 1}, "weight_map": {)"
        << R"("lm_head.weight": "model-2.safetensors")";
  for (const auto& tensor : tensors_of("")) {
    index << ",\"" << tensor.name << "\": \"model-1.safetensors\"";
  }
  index << "}}";
  index.close();
  EXPECT_NE(refusal().find("lm_head.weight differs"), std::string::npos);
  write(head, "model-2.safetensors", 1);
  EXPECT_EQ(refusal(), "") << "two files behind one index";
  EXPECT_EQ(read("ln_f.bias", 7, 1), (std::vector<float>{7}));
}

TEST_F(ModelFolders, AnIndexLeadsNowhereElse) {
  write(tensors_of(""), "part.safetensors");
  for (const char* name :
       {"../part.safetensors", "/etc/passwd", "", ".", "..", "absent.safetensors"}) {
    std::ofstream(file("model.safetensors.index.json"))
        << R"({"weight_map": {"wte.weight": ")" << name << "\"}}";
    EXPECT_NE(refusal(), "") << name;
  }
  std::ofstream(file("model.safetensors.index.json"))
      << R"({"weight_map": {"xte.weight": "part.safetensors"}})";
  EXPECT_NE(refusal().find("lacks \"xte.weight\""), std::string::npos);
  std::ofstream(file("model.safetensors.index.json")) << "{}";
  EXPECT_NE(refusal().find("no weight_map"), std::string::npos);
}

TEST_F(ModelFolders, ListTheFirstFiveThatDoNotFit) {
  Tensors tensors = tensors_of("transformer.");
  tensors[0].shape = {64, 8};
  tensors[1].name = "transformer.wpe.wight";
  write(tensors);
  const std::string few = refusal();
  EXPECT_NE(few.find("3 tensors are not"), std::string::npos) << few;
  EXPECT_NE(few.find("wte.weight: expected F32, F16 or BF16 [10, 8], found F32 [64, 8]"),
            std::string::npos)
      << few;
  EXPECT_NE(few.find("wpe.weight: expected [4, 8], found nothing"), std::string::npos) << few;
  EXPECT_NE(few.find("wpe.wight: expected nothing, found F32 [4, 8]"), std::string::npos) << few;
  write({{"other", {1}}});
  const std::string many = refusal();
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 5) << many;
}

TEST_F(ModelFolders, MayLackOrMisshapeWhatATrainingDrawsAnew) {
  Tensors tensors = tensors_of("transformer.");
  tensors[1].shape = {5, 8};
  tensors.erase(tensors.begin());
  ASSERT_EQ(tensors[0].name, "transformer.wpe.weight");
  write(tensors);
  RunConfig training = testing_support::unset_config();
  EXPECT_NE(refusal(&training).find("2 tensors are not as its config.json says; take both from one "
                                    "place, or write model.reinit = [\"wte.*\", \"wpe.*\"] to draw "
                                    "them anew. The first of them:\n  wte.weight: expected"),
            std::string::npos)
      << refusal(&training);
  EXPECT_EQ(refusal().find("reinit"), std::string::npos) << "which no other command reads";
  training.model.reinit = {"w?e.*", "h.0.ln_1.weight"};
  const ModelFolder opened(testing_support::catalogue(), folder_.string(), &training);
  EXPECT_EQ(opened.anew(),
            (std::vector<std::string>{"wte.weight", "wpe.weight", "h.0.ln_1.weight"}))
      << "also one that the folder holds";
  EXPECT_FALSE(opened.is_anew("h.0.ln_1.bias"));
  tensors.push_back({"transformer.wpe.wight", {4, 8}});
  write(tensors);
  training.model.reinit.clear();
  EXPECT_NE(refusal(&training).find("from one place. The first"), std::string::npos)
      << "a draw removes no unknown tensor: " << refusal(&training);
}

TEST_F(ModelFolders, WithTheSameTensorTwiceAreRefused) {
  Tensors tensors = tensors_of("transformer.");
  tensors.push_back({"wpe.weight", {4, 8}});
  write(tensors);
  EXPECT_NE(refusal().find("with and without"), std::string::npos);
}

}  // namespace
}  // namespace zero::stored
