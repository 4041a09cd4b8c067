// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/model/deberta.hpp"
#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/model/objective.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::content_of;
using testing_support::refusal_of;

class ModelWriters : public ::testing::Test {
 protected:
  std::string folder(const std::string& name) const { return place_.path() + "/" + name; }
  TempFolder place_{"model-writer"};
};

TEST_F(ModelWriters, WriteWhatModelFolderReads) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const std::string path = folder(std::string(name_of(compute)));
    write_small_model(small_options(path, compute));
    const ModelFolder read(testing_support::catalogue(), path);
    EXPECT_EQ(read.description().compute, compute);
    EXPECT_EQ(read.dtype_of("wte.weight"), compute);
    EXPECT_EQ(weights_of(read), small_weights());
  }
}

TEST_F(ModelWriters, CutLargeModelsIntoFilesBehindAnIndex) {
  ModelWriter::Options options = small_options(folder("cut"), Dtype::f32);
  options.file_bytes = 1000;  // less than one tensor of the block has
  write_small_model(options);
  EXPECT_FALSE(fs::exists(folder("cut/model.safetensors")));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder("cut"))) {
    if (entry.path().extension() == ".safetensors") ++files;
  }
  EXPECT_GT(files, 3);
  EXPECT_TRUE(fs::exists(folder(text("cut/model-00001-of-0000", files, ".safetensors"))));
  EXPECT_THAT(content_of(folder("cut/model.safetensors.index.json")),
              HasSubstr(text("\"total_size\": ", 4 * small_model_numel())));
  EXPECT_EQ(weights_of(ModelFolder(testing_support::catalogue(), folder("cut"))), small_weights());
}

TEST_F(ModelWriters, KeepWithinTheSizeWhereATensorAllowsIt) {
  ModelWriter::Options options = small_options(folder("cut"), Dtype::f32);
  options.file_bytes = 2000;
  write_small_model(options);
  for (const auto& entry : fs::directory_iterator(folder("cut"))) {
    if (entry.path().extension() != ".safetensors") continue;
    const TensorFile file = open_safetensors(entry.path());
    int64_t bytes = 0;
    for (const FileTensor& tensor : file.tensors()) bytes += tensor.end - tensor.begin;
    EXPECT_TRUE(bytes <= 2000 || file.tensors().size() == 1) << entry.path();
  }
}

TEST_F(ModelWriters, OverwriteNothingAndLeaveNothingHalfMade) {
  const ModelWriter::Options options = small_options(folder("once"), Dtype::f32);
  write_small_model(options);
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { write_small_model(options); }),
              HasSubstr("never overwritten"));
  {
    ModelWriter given_up(small_options(folder("other"), Dtype::f32));
    given_up.add(std::vector<float>(5));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.path()), fs::directory_iterator()), 1);
}

TEST_F(ModelWriters, WantTheWholeModelAndNoMore) {
  ModelWriter writer(small_options(folder("whole"), Dtype::f32));
  writer.add(std::vector<float>(size_t(small_model_numel() - 1)));
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { writer.publish(); }), HasSubstr("not come"));
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { writer.add(std::vector<float>(2)); }),
              HasSubstr("more than the model has"));
}

TEST_F(ModelWriters, WriteHdf5AsOneFile) {
  ModelWriter::Options options = small_options(folder("h5"), Dtype::bf16);
  options.format = ModelWriter::Format::hdf5;
  options.file_bytes = 1000;
  write_small_model(options);
  EXPECT_GT(fs::file_size(folder("h5/model.h5")), size_t(2 * small_model_numel()));
  EXPECT_FALSE(fs::exists(folder("h5/model.safetensors")));
  EXPECT_TRUE(fs::exists(folder("h5/config.json")));
}

TEST_F(ModelWriters, CopyTheFilesOfTheTokenizer) {
  const std::vector<std::string> names = {"vocab.json",
                                          "merges.txt",
                                          "spiece.model",
                                          "tokenizer_config.json",
                                          "special_tokens_map.json",
                                          "added_tokens.json",
                                          "tokenizer.json",
                                          "chat_template.jinja"};
  fs::create_directory(folder("tokenizer"));
  for (const std::string& name : names) std::ofstream(folder("tokenizer/" + name)) << "of " << name;
  std::ofstream(folder("tokenizer/other")) << "which nothing reads";
  ModelWriter::Options options = small_options(folder("copied"), Dtype::f32);
  options.description.tokenizer = folder("tokenizer");
  write_small_model(options);
  for (const std::string& name : names)
    EXPECT_EQ(content_of(folder("copied/" + name)), "of " + name);
  EXPECT_FALSE(fs::exists(folder("copied/other")));
  EXPECT_EQ(ModelFolder(testing_support::catalogue(), folder("copied")).description().tokenizer,
            folder("copied"));

  options.folder = folder("alone");
  options.description.tokenizer = folder("tokenizer/spiece.model");
  write_small_model(options);
  EXPECT_EQ(content_of(folder("alone/spiece.model")), "of spiece.model");
  EXPECT_FALSE(fs::exists(folder("alone/vocab.json")));
}

/// The warning of a model in `out` whose tokenizer is `tokenizer`.
std::string warning_of(const std::string& out, const std::string& tokenizer) {
  ModelWriter::Options options = small_options(out, Dtype::f32);
  options.description.tokenizer = tokenizer;
  ::testing::internal::CaptureStderr();
  write_small_model(options);
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(ModelWriters, CopyNothingThroughALinkThatLeavesTheFolder) {
  fs::create_directory(folder("tokenizer"));
  std::ofstream(folder("private")) << "a key";
  std::ofstream(folder("tokenizer/merges.txt")) << "merges";
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    fs::create_symlink(folder("private"), folder(text("tokenizer/", name)));
  fs::create_symlink("../private", folder("tokenizer/vocab.json"));
  fs::create_symlink("merges.txt", folder("tokenizer/added_tokens.json"));
  const std::string said = warning_of(folder("out"), folder("tokenizer"));
  EXPECT_THAT(said, HasSubstr("tokenizer/vocab.json: is a link that leads out of its folder"));
  EXPECT_THAT(said, HasSubstr("tokenizer/tokenizer_config.json: is a link"));
  for (const char* name : {"vocab.json", "tokenizer_config.json", "tokenizer.json"})
    EXPECT_FALSE(fs::exists(folder(text("out/", name)))) << name;
  for (const char* name : {"merges.txt", "added_tokens.json"})
    EXPECT_EQ(content_of(folder(text("out/", name))), "merges") << name;
  EXPECT_EQ(tokenizer_left_out(folder("tokenizer"), folder("out")),
            text("copy ", folder("tokenizer/vocab.json"), ", ", folder("tokenizer/tokenizer.json"),
                 ", ", folder("tokenizer/tokenizer_config.json"), " to ", folder("out")));
  EXPECT_EQ(tokenizer_left_out("bytes", folder("out")), "");
  EXPECT_EQ(tokenizer_left_out(folder("tokenizer"), folder("tokenizer")), "");
  EXPECT_THAT(tokenizer_left_out(folder("gone"), folder("out")), HasSubstr("gone, which is gone"));
}

TEST_F(ModelWriters, CopyTheBlobsOfAHubsCache) {
  const std::string snapshot = folder("models--a--b/snapshots/0123");
  fs::create_directories(snapshot);
  fs::create_directory(folder("models--a--b/blobs"));
  fs::create_directory(folder("models--a--b/others"));
  std::ofstream(folder("models--a--b/blobs/abc")) << "pieces";
  std::ofstream(folder("models--a--b/others/abc")) << "a key";
  fs::create_symlink("../../blobs/abc", snapshot + "/spiece.model");
  fs::create_symlink("../../others/abc", snapshot + "/added_tokens.json");
  fs::create_directory_symlink(snapshot, folder("main"));
  EXPECT_THAT(warning_of(folder("out"), folder("main")), HasSubstr("main/added_tokens.json: is a"));
  EXPECT_EQ(content_of(folder("out/spiece.model")), "pieces");
  EXPECT_FALSE(fs::exists(folder("out/added_tokens.json")));
  EXPECT_EQ(warning_of(folder("alone"), snapshot + "/spiece.model"), "");
  EXPECT_EQ(content_of(folder("alone/spiece.model")), "pieces") << "the file that is named";
}

/// GPT-2 whose files hold weights of attention as torch.nn.Linear has them, one for queries, one
/// for keys and one for values, and their biases in three parts. Their widths differ.
const model::Family& family_in_parts() {
  static const model::Family kParts = [] {
    model::Family family = model::gpt2_family();
    family.stored.form = [](const model::Architecture&,
                            std::string_view parameter) -> graph::StoredForm {
      const std::string name(parameter);
      if (name.find("c_attn") == name.npos) return {.names = {name}};
      return {.names = {name + ".q", name + ".k", name + ".v"},
              .transposed = name.ends_with(".weight"),
              .widths = {14, 6, 4}};
    };
    return family;
  }();
  return kParts;
}

TEST_F(ModelWriters, TakeParametersApartAsTheFamilySays) {
  const model::Catalogue catalogue({&family_in_parts()}, model::objectives());
  for (const int64_t file_bytes : {int64_t(200), kModelFileBytesMax}) {
    const std::string path = folder(std::to_string(file_bytes));
    ModelWriter::Options options = small_options(path, Dtype::bf16);
    options.description.model.family = &family_in_parts();
    options.file_bytes = file_bytes;
    write_small_model(options);
    EXPECT_EQ(weights_of(ModelFolder(catalogue, path)), small_weights());
  }
  const std::string path = folder(std::to_string(kModelFileBytesMax));
  const TensorFile file = open_safetensors(path + "/model.safetensors");
  const FileTensor* keys = file.find("transformer.h.0.attn.c_attn.weight.k");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->shape, (std::vector<int64_t>{6, 8}));
  std::vector<float> whole(8 * 24), stored(6 * 8);
  ModelFolder(catalogue, path).read("h.0.attn.c_attn.weight", 0, whole);
  file.read(*keys, 0, stored);
  EXPECT_EQ(stored[8 * 3 + 5], whole[24 * 5 + 14 + 3]) << "row 5 of column 3 of the keys";
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { ModelFolder(testing_support::catalogue(), path); }),
              HasSubstr("c_attn.weight: expected [8, 24], found nothing"));
}

TEST_F(ModelWriters, WriteAConvolutionAsTorchHasIt) {
  const model::Architecture model = model::Deberta{.layers = 1,
                                                   .width = 4,
                                                   .heads = 2,
                                                   .inner = 8,
                                                   .vocabulary = 10,
                                                   .buckets = 4,
                                                   .distance = 8,
                                                   .convolves = true};
  const std::string path = folder("convolution"), name = "encoder.conv.conv.weight";
  ModelWriter writer({.folder = path,
                      .description = {.model = model, .sequence_length = 4},
                      .file_bytes = kModelFileBytesMax});
  std::vector<float> masters(size_t(model::parameter_count({.model = model})));
  for (size_t i = 0; i < masters.size(); ++i) masters[i] = float(i);
  writer.add(masters);
  writer.publish();
  const TensorFile file = open_safetensors(path + "/model.safetensors");
  const FileTensor* tensor = file.find("deberta." + name);
  ASSERT_TRUE(tensor && file.find("pooler.dense.weight") && file.find("classifier.bias"));
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{4, 4, 3}));
  std::vector<float> own(48), stored(48);
  const ModelFolder read(catalogue(), path);
  read.read(name, 0, own);
  file.read(*tensor, 0, stored);
  EXPECT_EQ(own[1], own[0] + 1) << "as they were added";
  EXPECT_EQ(stored[12 + 3 * 2 + 1], own[size_t((4 + 2) * 4 + 1)])
      << "output 1 of input 2 at the middle place";
  EXPECT_FALSE(fs::exists(path + "/generation_config.json"));
}

}  // namespace
}  // namespace zero::stored
