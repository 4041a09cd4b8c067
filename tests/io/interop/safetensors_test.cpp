// Ranks: 1
#include "zero/io/interop/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <ctime>
#include <filesystem>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::TempFile;

std::string little(uint64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}

/// A file of a header and this many bytes of data.
std::string file_of(const std::string& header, size_t data_bytes) {
  return little(header.size()) + header + std::string(data_bytes, '\x01');
}

/// One tensor of 4 fp32 with its fields written as `fields`.
std::string file_with(const std::string& fields, size_t data_bytes = 16) {
  return file_of("{\"a\":{" + fields + "}}", data_bytes);
}

std::string refusal_of_file(const std::string& content) {
  const TempFile file("damaged.safetensors", content);
  try {
    const TensorFile opened = open_safetensors(file.path());
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    EXPECT_NE(std::string(error.what()).find(file.path()), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

struct Damage {
  std::string content;
  std::string word;  ///< of the message
};

const std::string kGood = R"("dtype":"F32","shape":[4],"data_offsets":[0,16])";
const std::string kTwo = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"F16","shape":[2,2],"data_offsets":[%]}})";

std::string two(const std::string& offsets, size_t data_bytes = 16) {
  std::string header = kTwo;
  header.replace(header.find('%'), 1, offsets);
  return file_of(header, data_bytes);
}

std::string nested(size_t depth) {
  return file_of("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}", 0);
}

const std::vector<Damage> kLengths = {
    {"", "0 bytes are no safetensors"},
    {"\x01", "1 bytes are no"},
    {little(2), "8 bytes are no"},
    {little(2) + "{", "9 bytes are no"},
    {little(0) + "{}", "header of 0 bytes"},
    {little(1) + "{}", "header of 1 bytes"},
    {little(3) + "{}", "header of 3 bytes, not 2 to 2"},
    {little(uint64_t(1) << 63) + "{}", "header of 9223372036854775808 bytes"},
    {little(UINT64_MAX) + "{}", "header of 18446744073709551615"},
    {little((uint64_t(16) << 20) + 1) + std::string((size_t(16) << 20) + 1, ' '),
     "not 2 to 16777216"},
    {little(INT64_MAX) + std::string(100, ' '), "header of"},
};

const std::vector<Damage> kTexts = {
    {file_of("[]", 0), "no { begins"},
    {file_of(" {}", 0), "no { begins"},
    {file_of("null", 0), "no { begins"},
    {file_of("{", 4), "header of 1"},
    {file_of("{\"a\"", 0), "is no JSON"},
    {file_of("{\"a\":}", 0), "is no JSON"},
    {file_of("{} {}", 0), "is no JSON"},
    {file_of("{}x", 0), "is no JSON"},
    {file_of("{\"a\":1}", 0), "is no object"},
    {file_of("{\"a\":null}", 0), "is no object"},
    {file_of("{\"a\":[]}", 0), "is no object"},
    {file_of("{\"a\":\"\xff\"}", 0), "is no JSON"},
    {file_of("{/* no */}", 0), "is no JSON"},
    {file_of("{\"a\":{" + kGood + "},}", 16), "is no JSON"},
    {file_of("{\"a\":{" + kGood + "},\"a\":{" + kGood + "}}", 16), "stands twice"},
    {file_of("{\"a\":{" + kGood + "},\"\\u0061\":{" + kGood + "}}", 16), "stands twice"},
    {file_of("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "stands twice"},
    {file_of("{\"__metadata__\":[]}", 0), "is no object"},
    {file_of("{\"__metadata__\":{\"format\":1}}", 0), "is no string"},
    {file_of("{\"__metadata__\":{\"format\":[]}}", 0), "is no string"},
    {file_of("{\"__metadata__\":{\"format\":{}}}", 0), "is no string"},
    {nested(2), "is no object"},
    {nested(100'000), "is no object"},
    {file_with(R"("dtype":"F32","shape":[[4]],"data_offsets":[0,16])"), "nested deeper"},
};

const std::vector<Damage> kFields = {
    {file_with(""), "lacks a dtype"},
    {file_with(R"("shape":[4],"data_offsets":[0,16])"), "lacks a dtype"},
    {file_with(R"("dtype":"F32","data_offsets":[0,16])"), "lacks a dtype"},
    {file_with(R"("dtype":"F32","shape":[4])"), "lacks a dtype"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[])"), "lacks a dtype"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[0])"), "lacks a dtype"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[0,16,16])"), "more than 2"},
    {file_with(R"("dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16])"), "stands twice"},
    {file_with(R"("dtype":"F33","shape":[4],"data_offsets":[0,16])"), "\"F33\" is not known"},
    {file_with(R"("dtype":"f32","shape":[4],"data_offsets":[0,16])"), "is not known"},
    {file_with(R"("dtype":32,"shape":[4],"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":["F32"],"shape":[4],"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":4,"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":{"x":4},"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":["4"],"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":[4.0],"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[-16,0])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[0,1e1])"), "no field of a tensor"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[0,18446744073709551615])"),
     "no field of a tensor"},
    {file_with(kGood + R"(,"strides":[1])"), "\"strides\" is no field"},
    {file_with(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16])"),
     "more than 8"},
};

const std::vector<Damage> kOffsets = {
    {file_with(kGood, 15), "leave the 15 bytes"},
    {file_with(kGood, 17), "the tensors end at offset"},
    {file_with(kGood, 0), "leave the 0 bytes"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[16,0])"), "leave the 16 bytes"},
    {file_with(R"("dtype":"F32","shape":[4],"data_offsets":[0,9223372036854775807])"),
     "leave the 16 bytes"},
    {file_with(R"("dtype":"F32","shape":[3],"data_offsets":[0,16])"), "takes 12 bytes"},
    {file_with(R"("dtype":"F16","shape":[4],"data_offsets":[0,16])"), "takes 8 bytes"},
    {file_with(R"("dtype":"F32","shape":[],"data_offsets":[0,16])"), "takes 4 bytes"},
    {file_with(R"("dtype":"F32","shape":[4,0],"data_offsets":[0,16])"), "takes 0 bytes"},
    {file_with(R"("dtype":"F32","shape":[4611686018427387908],"data_offsets":[0,16])"), "2^63"},
    {file_with(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16])"), "2^63"},
    {two("8,16", 15), "leave the 15 bytes"},
    {two("7,15"), "begins at offset"},
    {two("0,8", 8), "begins at offset"},
    {two("10,18", 18), "tensors before it end at"},
    {two("8,16", 20), "the tensors end at offset"},
    {two("16,8"), "leave the 16 bytes"},
};

TEST(SafetensorsFile, RefusesEveryDamagedFileNamingThePlace) {
  int refused = 0;
  for (const auto* group : {&kLengths, &kTexts, &kFields, &kOffsets}) {
    for (const Damage& damage : *group) {
      const std::string message = refusal_of_file(damage.content);
      EXPECT_NE(message.find(damage.word), std::string::npos)
          << "wanted: " << damage.word << "\nmessage: " << message
          << "\nfile: " << damage.content.substr(0, 200);
      ++refused;
    }
  }
  EXPECT_GE(refused, 60);
}

TEST(SafetensorsFile, RefusesEveryTruncationOfAGoodFile) {
  const std::string good = two("8,16");
  EXPECT_EQ(refusal_of_file(good), "");
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_NE(refusal_of_file(good.substr(0, bytes)), "") << bytes;
  }
}

TEST(SafetensorsFile, SaysThatAFileIsCutOffOrOfAnotherKind) {
  const std::string good = two("8,16");
  EXPECT_THAT(refusal_of_file(good.substr(0, good.size() - 1)),
              HasSubstr("; the file is cut off, so fetch it again"));
  EXPECT_THAT(refusal_of_file(good.substr(0, 20)), HasSubstr("cut off or damaged, so fetch it"));
  EXPECT_THAT(refusal_of_file("PK\x03\x04 a zip archive of tensors"),
              HasSubstr("is a zip archive"));
  EXPECT_THAT(
      refusal_of_file("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
      HasSubstr(": it is what Git LFS keeps in place of the file; fetch the file: git lfs"));
}

TEST(SafetensorsFile, AnswersTheLargestHeadersInASecondAnd64MiB) {
  const size_t most = size_t(kSafetensorsHeaderBytesMax);
  std::string deep(most, '['), keys = "{", numbers = "{\"a\":{\"shape\":[";
  deep[0] = '{';
  for (int i = 0; keys.size() < most - 32; ++i) keys += "\"" + std::to_string(i) + "\":{},";
  keys += "\"\":{}}";
  while (numbers.size() < most - 32) numbers += "1,";
  numbers += "1]}}";
  for (const std::string& header : {deep, keys, numbers}) {
    const TempFile file("large.safetensors", file_of(header, 0));
    const std::clock_t start = std::clock();
    struct rusage before {
    }, after{};
    getrusage(RUSAGE_SELF, &before);
    EXPECT_THROW(open_safetensors(file.path()), Error);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 80 * 1024) << "KiB: 64 MiB and the file's 16";
  }
}

TEST(SafetensorsFile, RefusesWhatIsNoRegularFile) {
  EXPECT_THROW(open_safetensors("/nowhere/model.safetensors"), Error);
  EXPECT_THROW(open_safetensors("/tmp"), Error);
  EXPECT_THROW(open_safetensors("/dev/zero"), Error);
}

TEST(SafetensorsFile, ReadsSlicesOfEveryUsableType) {
  const std::string header = R"({"b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},)"
                             R"("h":{"dtype":"F16","shape":[1,2],"data_offsets":[14,18]},)"
                             R"("f":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("i":{"dtype":"I16","shape":[1],"data_offsets":[18,20]},)"
                             R"("__metadata__":{"format":"pt"}}   )";
  const float f[] = {1.5f, -2.0f};
  const bf16 b[] = {bf16(3.0f), bf16(-0.5f), bf16(256.0f)};
  const f16 h[] = {f16(0.25f), f16(-8.0f)};
  std::string content = little(header.size()) + header;
  content.append(reinterpret_cast<const char*>(f), sizeof f);
  content.append(reinterpret_cast<const char*>(b), sizeof b);
  content.append(reinterpret_cast<const char*>(h), sizeof h);
  content += "\1\2";
  const TempFile written("types.safetensors", content);
  const TensorFile file = open_safetensors(written.path());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.tensors()[0].name, "f") << "in the order of bytes, not of the header";
  EXPECT_EQ(file.find("h")->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file.find("x"), nullptr);
  std::vector<float> out(2);
  file.read(*file.find("f"), 0, out);
  EXPECT_EQ(out, (std::vector<float>{1.5f, -2.0f}));
  file.read(*file.find("b"), 1, out);
  EXPECT_EQ(out, (std::vector<float>{-0.5f, 256.0f}));
  file.read(*file.find("h"), 0, out);
  EXPECT_EQ(out, (std::vector<float>{0.25f, -8.0f}));
  EXPECT_THROW(file.read(*file.find("f"), 1, out), Error) << "beyond the tensor";
  EXPECT_THROW(file.read(*file.find("i"), 0, std::span(out).first(1)), Error) << "no such type";
}

TEST(SafetensorsFile, AFileThatShrinksIsAnError) {
  const TempFile written("shrinks.safetensors", file_with(kGood));
  const TensorFile file = open_safetensors(written.path());
  std::filesystem::resize_file(written.path(), 60);
  std::vector<float> out(4);
  EXPECT_THROW(file.read(file.tensors()[0], 0, out), Error);
}

class SafetensorsWriting : public ::testing::Test {
 protected:
  SafetensorsWriting()
      : folder_(std::filesystem::temp_directory_path() /
                ("zero-writer-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~SafetensorsWriting() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "model.safetensors").string(); }
  size_t files() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const SafetensorsWriter::Content content_{
      .dtype = Dtype::bf16,
      .tensors = {{"w \"1\"", {2, 3}}, {"none", {0}}, {"s", {}}},
      .metadata = {{"format", "pt"}}};
  std::filesystem::path folder_;
};

TEST_F(SafetensorsWriting, IsReadBackAsItWas) {
  SafetensorsWriter writer(path(), content_);
  std::vector<bf16> values;
  for (int i = 0; i < 7; ++i) values.push_back(bf16(float(i)));
  writer.write(std::as_bytes(std::span(values).first(5)));
  writer.write(std::as_bytes(std::span(values).subspan(5)));
  EXPECT_FALSE(std::filesystem::exists(path())) << "no half a file under the name";
  writer.publish();
  EXPECT_EQ(files(), 1u);
  const TensorFile file = open_safetensors(path());
  EXPECT_EQ(file.find("none")->numel(), 0);
  EXPECT_EQ(file.find("w \"1\"")->begin % 8, 0) << "data are aligned";
  std::vector<float> out(6);
  file.read(*file.find("w \"1\""), 0, out);
  EXPECT_EQ(out, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  file.read(*file.find("s"), 0, std::span(out).first(1));
  EXPECT_EQ(out[0], 6);
}

TEST_F(SafetensorsWriting, NeverOverwritesAndLeavesNothingBehind) {
  {
    SafetensorsWriter unfinished(path(), content_);
    EXPECT_THROW(unfinished.publish(), Error) << "bytes are missing";
    const std::vector<std::byte> many(15);
    EXPECT_THROW(unfinished.write(many), Error) << "14 are expected";
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
  SafetensorsWriter late(path(), content_);
  late.write(std::vector<std::byte>(14));
  std::ofstream(path()) << "precious";
  EXPECT_THROW(late.publish(), Error);
  EXPECT_THROW(SafetensorsWriter(path(), content_), Error);
  EXPECT_EQ(std::filesystem::file_size(path()), 8u);
}

}  // namespace
}  // namespace zero
