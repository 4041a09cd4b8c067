// Ranks: 1
#include "io/interop/torch_pickle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "tests/support/refusal.hpp"
#include "tests/support/torch_bytes.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using namespace testing_support;  // of all ops that make a pickle
using ::testing::HasSubstr;

const TorchTensor kGood{.name = "a", .shape = {2, 3}, .strides = {3, 1}, .offset = 0};
const std::string kTensor = tensor_op(kGood), kEntry = word_op("a") + kTensor;

std::string refusal_of_pickle(const std::string& pickle) {
  return refusal_of(Exit::kInput, [&] { read_torch_pickle(pickle, "x.bin: data.pkl"); });
}

TEST(TorchPickle, NamesTensorsWithTheirStorages) {
  const auto tensors = read_torch_pickle(pickle_of({kGood,
                                                    {.name = "b",
                                                     .shape = {},
                                                     .strides = {},
                                                     .offset = 5,
                                                     .key = "k",
                                                     .storage_numel = 9,
                                                     .storage = "BoolStorage"}}),
                                         "x");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, "F32");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors[0].strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(tensors[1].dtype, "BOOL");
  EXPECT_EQ(tensors[1].storage, "k");
  EXPECT_EQ(tensors[1].storage_numel, 9);
  EXPECT_EQ(tensors[1].offset, 5);
  EXPECT_TRUE(tensors[1].shape.empty());
  EXPECT_TRUE(read_torch_pickle("\x80\2}.", "x").empty());
}

TEST(TorchPickle, KnowsNumbersOfEveryLength) {
  const auto offset_of = [](const std::string& number) {
    const std::string good = number_op(77);
    std::string pickle = pickle_of({{.name = "a", .shape = {}, .strides = {}, .offset = 77}});
    pickle.replace(pickle.find(good), good.size(), number);
    return read_torch_pickle(pickle, "x")[0].offset;
  };
  EXPECT_EQ(offset_of("K\xff"), 255);
  EXPECT_EQ(offset_of("M\xff\xfe"), 0xfeff);
  EXPECT_EQ(offset_of("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(offset_of(std::string("\x8a\0", 2)), 0);
  EXPECT_EQ(offset_of("\x8a\1\xff"), -1);
  EXPECT_EQ(offset_of(std::string("\x8a\5\0\0\0\0\2", 7)), int64_t(2) << 32);
  EXPECT_EQ(offset_of(number_op(INT64_MIN)), INT64_MIN);
  EXPECT_THAT(refusal_of_pickle("\x80\2\x8a\t123456789."), HasSubstr("a number of 9 bytes"));
}

TEST(TorchPickle, RunsNothingThatItDoesNotKnow) {
  const auto refused = [](const std::string& value) {
    return refusal_of_pickle(pickle_of(word_op("a") + value));
  };
  EXPECT_THAT(refused(name_op("os", "system") + tuple_op({word_op("echo")}) + "R"),
              HasSubstr("calls \"os.system\", so the file runs code where Python loads it"));
  EXPECT_THAT(refused(name_op("argparse", "Namespace")),
              HasSubstr("names \"argparse.Namespace\", which no file of weights needs"));
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"builtins", "eval"},
           {"posix", "system"},
           {"torch._utils", "_rebuild_tensor"},
           {"torch", "load"},
           {"collections", "defaultdict"},
           {"torch.FloatStorage", "__init__"},
           {"torch.storage", "UntypedStorage"},
           {"torch", "ComplexFloatStorage"},
           {"", ""},
           {"numpy.core.multiarray", "_reconstruct"}}) {
    EXPECT_THAT(refused(name_op(module, name)), HasSubstr("\"" + module + "." + name + "\", "));
  }
  EXPECT_THAT(refused(name_op("torch", "FloatStorage") + ")R"),
              HasSubstr("calls torch.FloatStorage with 0 arguments"));
  EXPECT_THAT(refused(name_op("collections", "OrderedDict") + tuple_op({"N"}) + "R"),
              HasSubstr("calls collections.OrderedDict with 1 arguments"));
  EXPECT_THAT(refused(name_op("torch._utils", "_rebuild_tensor_v2") + ")R"), HasSubstr("calls"));
  EXPECT_THAT(refused(kTensor + ")R"), HasSubstr("another kind"));
  EXPECT_THAT(refused(kTensor + "}b"), HasSubstr("another kind")) << "a state of a tensor";
  for (int opcode = 1; opcode < 256; ++opcode) {
    if (std::string(".(JKMNQRXbchjqrstu})\x80\x85\x86\x87\x88\x89\x8a").find(char(opcode)) !=
        std::string::npos)
      continue;
    EXPECT_THAT(refused(std::string(1, char(opcode))),
                HasSubstr(text("opcode ", opcode, " makes")));
  }
}

TEST(TorchPickle, RefusesOtherValuesThanADictionaryOfTensors) {
  EXPECT_THAT(refusal_of_pickle("\x80\2N."), HasSubstr("another kind"));
  EXPECT_THAT(refusal_of_pickle("\x80\2."), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal_of_pickle("\x80\2(."), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal_of_pickle("\x80\2N}."), HasSubstr("goes on"));
  EXPECT_THAT(refusal_of_pickle("\x80\2}.}."), HasSubstr("goes on"));
  EXPECT_THAT(refusal_of_pickle("\x80\4}."), HasSubstr("pickle protocol 4"));
  EXPECT_THAT(refusal_of_pickle("\x80\1}."), HasSubstr("pickle protocol 1"));
  EXPECT_THAT(refusal_of_pickle(pickle_of(word_op("epoch") + number_op(3))),
              HasSubstr("\"epoch\" is no tensor; load the file where you trust it"));
  EXPECT_THAT(refusal_of_pickle(pickle_of(number_op(3) + kTensor)), HasSubstr("is no text"));
  EXPECT_THAT(refusal_of_pickle(pickle_of(kEntry + kEntry)), HasSubstr("\"a\" stands there twice"));
  EXPECT_THAT(refusal_of_pickle(pickle_of(word_op("a"))), HasSubstr("a key without a value"));
  EXPECT_THAT(refusal_of_pickle("\x80\2}u."), HasSubstr("a mark is missing"));
  EXPECT_THAT(refusal_of_pickle("\x80\2}(X"), HasSubstr("the pickle is cut off"));
  EXPECT_THAT(refusal_of_pickle(""), HasSubstr("the pickle is cut off"));
  const std::string itself = "\x80\2}q\1(" + word_op("a") + "h\1u.";
  EXPECT_THAT(refusal_of_pickle(itself), HasSubstr("\"a\" is no tensor"));
}

TEST(TorchPickle, RefusesEveryTruncation) {
  const std::string good = pickle_of({kGood});
  EXPECT_EQ(refusal_of_pickle(good), "");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal_of_pickle(good.substr(0, length)), "") << length;
}

TEST(TorchPickle, RefusesTensorsThatLackAPart) {
  const std::string maker = name_op("torch._utils", "_rebuild_tensor_v2"), one = number_op(1);
  const std::string type = name_op("torch", "FloatStorage"), words = word_op("0") + word_op("cpu");
  const std::string storage = "(" + word_op("storage") + type + words + one + "tQ";
  const auto refused = [&](const std::vector<std::string>& arguments) {
    return refusal_of_pickle(pickle_of(word_op("a") + maker + tuple_op(arguments) + "R"));
  };
  EXPECT_EQ(refused({storage, one, ")", ")", "N", "N"}), "");
  EXPECT_THAT(refused({one, one, ")", ")", "N", "N"}), HasSubstr("another kind"));
  EXPECT_THAT(refused({storage, "N", ")", ")", "N", "N"}), HasSubstr("another kind"));
  EXPECT_THAT(refused({storage, one, "N", ")", "N", "N"}), HasSubstr("another kind"));
  EXPECT_THAT(refused({storage, one, tuple_op({"N"}), ")", "N", "N"}), HasSubstr("another kind"));
  EXPECT_THAT(refused({storage, one, numbers_op({1}), ")", "N", "N"}), HasSubstr("extents than"));
  EXPECT_THAT(refused({storage, one, ")", ")", "N"}), HasSubstr("with 5 arguments"));
  EXPECT_THAT(refused({storage, one, ")", ")", "N", "N", "}"}), HasSubstr("with 7 arguments"));
  const std::vector<int64_t> nine(9, 1);
  EXPECT_THAT(refused({storage, one, numbers_op(nine), numbers_op(nine), "N", "N"}),
              HasSubstr("more than 8 extents"));
  for (const std::string& id :
       {"(" + words + "tQ", "(" + word_op("module") + type + words + one + "tQ"})
    EXPECT_THAT(refused({id, one, ")", ")", "N", "N"}), HasSubstr("no storage of tensors"));
  const std::string untyped =
      "(" + word_op("storage") + name_op("collections", "OrderedDict") + words + one + "tQ";
  EXPECT_THAT(refused({untyped, one, ")", ")", "N", "N"}), HasSubstr("a storage without a type"));
}

std::string repeated(const std::string& part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

TEST(TorchPickle, HasLimitsThatBombsMeet) {
  const std::clock_t before = std::clock();
  const std::string doubled = "h\1h\1\x86q\1";
  EXPECT_THAT(refusal_of_pickle("\x80\2)q\1" + repeated(doubled, 1000) + "."),
              HasSubstr("another kind"))
      << "2^1000 values by their memo";
  EXPECT_THAT(refusal_of_pickle("\x80\2" + repeated("}", kPickledValuesMax)),
              HasSubstr("more than"));
  EXPECT_THAT(refusal_of_pickle("\x80\2" + repeated("(", 1 << 20)), HasSubstr("values at once"));
  EXPECT_THAT(refusal_of_pickle("\x80\2)" + repeated("\x85", 1 << 20)), HasSubstr("more than"));
  EXPECT_THAT(refusal_of_pickle("\x80\2)r\xff\xff\xff\xff."), HasSubstr("memo 4294967295 of"));
  EXPECT_THAT(refusal_of_pickle("\x80\2)j\xff\xff\xff\xff."), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_pickle("\x80\2(q\1."), HasSubstr("a value is missing"));
  EXPECT_THAT(refusal_of_pickle("\x80\2X\xff\xff\xff\xff"),
              HasSubstr("a text of 4294967295 bytes"));
  EXPECT_THAT(refusal_of_pickle("\x80\2c" + std::string(5000, 'a')), HasSubstr("without an end"));
  const std::string long_name(kPickledNameBytesMax + 1, 'a');
  EXPECT_THAT(refusal_of_pickle(pickle_of(word_op(long_name) + kTensor)),
              HasSubstr("a text of 1025"));
  std::string many = word_op("a") + kTensor + "q\1";
  for (size_t i = 1; i < kPickledTensorsMax; ++i) many += word_op(std::to_string(i)) + "h\1";
  EXPECT_EQ(refusal_of_pickle(pickle_of(many)), "");
  EXPECT_THAT(refusal_of_pickle(pickle_of(many + word_op("b") + "h\1")),
              HasSubstr("more than 32768 tensors"));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace zero
