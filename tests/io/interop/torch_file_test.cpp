// Ranks: 1
#include "zero/io/interop/torch_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>
#include <numeric>
#include <string>

#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using namespace testing_support;  // of all bytes of such files
using ::testing::HasSubstr;
using Shape = std::vector<int64_t>;

const std::string kGolden = ZERO_GOLDEN_FOLDER "/torch/";
const std::string kSix = bytes_of_numbers<float>({0, 1, 2, 3, 4, 5});

std::string refusal_of_file(const std::string& content) {
  const TempFile file("damaged.bin", content);
  const std::string refusal = refusal_of(Exit::kInput, [&] { open_torch_file(file.path()); });
  EXPECT_TRUE(refusal.empty() || refusal.find(file.path()) != refusal.npos) << refusal;
  return refusal;
}

/// The refusal of a file with this tensor and a storage of six fp32.
std::string refusal_of_tensor(const TorchTensor& tensor) {
  return refusal_of_file(torch_file_of(pickle_of({tensor}), {kSix}));
}

std::vector<float> values_of(const TensorFile& file, const std::string& name) {
  const FileTensor* tensor = file.find(name);
  if (!tensor) return {};
  std::vector<float> out(size_t(tensor->numel()));
  file.read(*tensor, 0, out);
  return out;
}

/// 0, 1, 2, ...
std::vector<float> ramp(size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

TEST(TorchFile, ReadsWhatPyTorchWrites) {
  const TensorFile file = open_torch_file(kGolden + "types.bin");
  EXPECT_EQ(file.tensors().size(), 11u);
  EXPECT_EQ(values_of(file, "fp32"), ramp(6));
  EXPECT_EQ(file.find("fp32")->shape, (Shape{2, 3}));
  EXPECT_EQ(values_of(file, "tied"), ramp(6));
  EXPECT_EQ(file.find("tied")->begin, file.find("fp32")->begin) << "their storage is shared";
  EXPECT_EQ(values_of(file, "row"), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(values_of(file, "fp16"), ramp(4));
  EXPECT_EQ(file.find("fp16")->usable, Dtype::f16);
  EXPECT_EQ(values_of(file, "bf16"), ramp(4));
  EXPECT_EQ(file.find("bf16")->usable, Dtype::bf16);
  EXPECT_EQ(file.find("transposed")->shape, (Shape{4, 3}));
  EXPECT_EQ(values_of(file, "transposed"),
            (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(values_of(file, "columns"), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(values_of(file, "parameter"), ramp(2));
  EXPECT_EQ(values_of(file, "number"), (std::vector<float>{3}));
  EXPECT_EQ(file.find("empty")->numel(), 0);
  EXPECT_EQ(file.find("ids")->dtype, "I64");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { values_of(file, "ids"); }),
              HasSubstr("\"ids\": dtype I64 is not read"));
}

TEST(TorchFile, ReadsModulesAndManyTensors) {
  const TensorFile module = open_torch_file(kGolden + "module.bin");
  EXPECT_EQ(module.tensors().size(), 4u);
  EXPECT_EQ(values_of(module, "0.weight"), ramp(6));
  EXPECT_EQ(values_of(module, "1.weight"), (std::vector<float>{1, 1}));
  const TensorFile many = open_torch_file(kGolden + "large_keys.bin");
  EXPECT_EQ(many.tensors().size(), 1100u);
  EXPECT_EQ(values_of(many, "h.1099"), ramp(1));
}

TEST(TorchFile, SaysWhatItDoesNotRead) {
  const auto refused = [](const std::string& name) {
    return refusal_of(Exit::kInput, [&] { open_torch_file(kGolden + name); });
  };
  EXPECT_THAT(refused("legacy.bin"), HasSubstr("is of PyTorch before 1.6"));
  EXPECT_THAT(refused("legacy.bin"), HasSubstr("weights_only=True), 'NEW.bin')"));
  EXPECT_THAT(refused("protocol_4.bin"), HasSubstr("data.pkl: byte 2: pickle protocol 4"));
  EXPECT_THAT(refused("sequence.bin"), HasSubstr("opcode 93 makes no tensor"));
  EXPECT_THAT(refused("absent.bin"), HasSubstr("No such file"));
  EXPECT_THAT(refusal_of_file(""), HasSubstr("is no file of torch.save; the file is cut off"));
  EXPECT_THAT(refusal_of_file("\x1F\x8B\x08"), HasSubstr("it is compressed by gzip; unpack it"));
  EXPECT_THAT(refusal_of_file(zip_of({{.name = "a.txt", .bytes = "1"}})), HasSubstr("no data.pkl"));
  EXPECT_THAT(refusal_of_file(zip_of({})), HasSubstr("no data.pkl"));
  const ZipPart big{.name = "a/byteorder", .bytes = "big"};
  EXPECT_THAT(refusal_of_file(zip_of({{.name = "a/data.pkl", .bytes = "\x80\2}."}, big})),
              HasSubstr("its byteorder is not \"little\""));
}

TEST(TorchFile, IsReadInEveryFormOfAZip) {
  for (const bool zip64 : {false, true}) {
    for (const bool descriptors : {false, true}) {
      const TempFile written(
          "form.bin", torch_file_of(pickle_of({{.name = "a", .shape = {2, 3}, .strides = {3, 1}}}),
                                    {kSix}, {.zip64 = zip64, .descriptors = descriptors}));
      EXPECT_EQ(values_of(open_torch_file(written.path()), "a"), ramp(6));
    }
  }
  const std::string bare = zip_of(
      {{.name = "data.pkl", .bytes = pickle_of({{.name = "a", .shape = {6}, .strides = {1}}})},
       {.name = "data/0", .bytes = kSix}});
  const TempFile written("bare.bin", bare);
  EXPECT_EQ(values_of(open_torch_file(written.path()), "a"), ramp(6)) << "no folder, no byteorder";
}

TEST(TorchFile, RefusesTensorsThatLeaveTheirStorage) {
  const TorchTensor good{.name = "a", .shape = {2, 3}, .strides = {3, 1}};
  EXPECT_EQ(refusal_of_tensor(good), "");
  const auto with = [&](const Shape& shape, const Shape& strides, int64_t offset = 0) {
    TorchTensor tensor = good;
    tensor.shape = shape, tensor.strides = strides, tensor.offset = offset;
    return refusal_of_tensor(tensor);
  };
  EXPECT_THAT(with({2, 3}, {3, 1}, 1), HasSubstr("from element 1 on leaves a storage of 6"));
  EXPECT_THAT(with({7}, {1}), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({2}, {6}), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({}, {}, 6), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({}, {}, INT64_MAX), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({2}, {1}, INT64_MAX), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({0}, {1}, 7), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({INT64_MAX}, {1}), HasSubstr("leaves a storage of 6"));
  EXPECT_THAT(with({2}, {1}, -1), HasSubstr("from element -1 on"));
  EXPECT_THAT(with({-2}, {1}), HasSubstr("shape [-2]"));
  EXPECT_THAT(with({2, 3}, {3, -1}), HasSubstr("several elements at one place"));
  EXPECT_THAT(with({2, 3}, {0, 1}), HasSubstr("save its .contiguous()"));
  EXPECT_THAT(with({2, 3}, {1, 1}), HasSubstr("several elements at one place"));
  EXPECT_THAT(with({int64_t(1) << 62, 4}, {0, 0}), HasSubstr("several elements"));
  EXPECT_THAT(with({int64_t(1) << 32, int64_t(1) << 32}, {int64_t(1) << 32, 1}),
              HasSubstr("several elements at one place"))
      << "2^64 elements";
  EXPECT_EQ(with({1, 6, 1}, {-5, 1, INT64_MAX}), "") << "strides of one element do not count";
  EXPECT_EQ(with({0, INT64_MAX, INT64_MAX}, {-1, 0, 1}, 6), "") << "nothing anywhere";
}

TEST(TorchFile, RefusesStoragesOfAnotherSize) {
  const auto with = [&](const std::string& key, int64_t numel, const std::string& type) {
    return refusal_of_tensor({.name = "a",
                              .shape = {2},
                              .strides = {1},
                              .key = key,
                              .storage_numel = numel,
                              .storage = type});
  };
  EXPECT_THAT(with("1", 6, "FloatStorage"), HasSubstr("its storage data/1 is missing"));
  EXPECT_THAT(with("../data.pkl", 6, "FloatStorage"), HasSubstr("is missing"));
  EXPECT_THAT(with("0", 7, "FloatStorage"),
              HasSubstr("a storage of 7 elements of F32 has 24 bytes"));
  EXPECT_THAT(with("0", -6, "FloatStorage"), HasSubstr("a storage of -6 elements"));
  EXPECT_THAT(with("0", INT64_MAX, "FloatStorage"), HasSubstr("has 24 bytes"));
  EXPECT_THAT(with("0", 6, "HalfStorage"), HasSubstr("6 elements of F16 has 24 bytes"));
  EXPECT_EQ(with("0", 12, "HalfStorage"), "");
}

uint32_t crc_of_text(const std::string& bytes) {
  return crc32(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(TorchFile, ChecksTheBytesOfAStorageAtItsFirstRead) {
  const std::string pickle = pickle_of({{.name = "a", .shape = {6}, .strides = {1}},
                                        {.name = "b", .shape = {6}, .strides = {1}, .key = "1"}});
  const auto file_with = [&](uint32_t pickled, uint32_t second) {
    return zip_of({{.name = "any/data.pkl", .bytes = pickle, .crc = pickled},
                   {.name = "any/data/0", .bytes = kSix, .crc = crc_of_text(kSix)},
                   {.name = "any/data/1", .bytes = kSix, .crc = second}});
  };
  const TempFile damaged("damaged.bin", file_with(crc_of_text(pickle), 7));
  const TensorFile file = open_torch_file(damaged.path());
  EXPECT_EQ(values_of(file, "a"), ramp(6));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(refusal_of(Exit::kInput, [&] { values_of(file, "b"); }),
                HasSubstr("damaged.bin: \"any/data/1\": its bytes have the CRC-32 "));
  }
  EXPECT_THAT(refusal_of_file(file_with(1, 0)), HasSubstr("\"any/data.pkl\": its bytes have"));
}

TEST(TorchFile, EveryByteMayBeDamagedOrCutOff) {
  const std::string good = without_crcs(content_of(kGolden + "module.bin"));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal_of_file(good.substr(0, length)), "") << length;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = char(damaged[i] ^ 0xff);
    const TempFile file("flipped.bin", damaged);
    EXPECT_NO_FATAL_FAILURE(refusal_of(Exit::kInput, [&] {
      const TensorFile opened = open_torch_file(file.path());
      for (const FileTensor& tensor : opened.tensors()) values_of(opened, tensor.name);
    })) << i;
  }
}

TEST(TorchFile, AnswersTheLargestPicklesInASecondAnd64MiB) {
  const size_t most = size_t(kTorchPickleBytesMax);
  std::string numbers = "\x80\2(", names = numbers, memos = "\x80\2)q\1";
  while (numbers.size() + 3 < most) numbers += "K\1\x85";
  while (memos.size() + 2 < most) memos += "h\1";
  while (names.size() + 7 < most) names += word_op("a") + "\x85";
  for (const std::string& pickle : {numbers, names, memos, std::string(most + 1, '(')}) {
    const TempFile file("large.bin", torch_file_of(pickle, {}));
    const std::clock_t start = std::clock();
    struct rusage before {
    }, after{};
    getrusage(RUSAGE_SELF, &before);
    EXPECT_THROW(open_torch_file(file.path()), Error);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB, the file's 8 MiB included";
  }
}

TEST(TorchFile, AFileThatShrinksIsAnError) {
  const TempFile written("shrinks.bin", content_of(kGolden + "types.bin"));
  const TensorFile file = open_torch_file(written.path());
  std::filesystem::resize_file(written.path(), 60);
  EXPECT_THROW(values_of(file, "fp32"), Error);
  EXPECT_THROW(values_of(file, "transposed"), Error);
}

}  // namespace
}  // namespace zero
