// Ranks: 1

#include "io/text/json_section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using ::testing::HasSubstr;

const std::string kFile = "f";

/// A receiver that passes all on to a tree.
class Whole : public JsonSink {
 public:
  explicit Whole(const std::string& file) : tree(file) {}
  void open(Path path, bool is_array) override { tree.open(path, is_array); }
  void value(Path path, const JsonScalar& value) override { tree.value(path, value); }
  void close() override { tree.close(); }
  JsonTree tree;
};

JsonNode parsed(const std::string& json) {
  Whole whole(kFile);
  read_json(json, kFile, {.depth = 8}, whole);
  return whole.tree.root();
}

template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

TEST(JsonSection, FindsNestedValues) {
  const JsonNode root = parsed(R"({"a": [{"b": 5}, {"b": "x"}, [true, []]], "c": null})");
  JsonSection section(root, kFile, "");
  auto elements = section.at("a").elements();
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0].at("b").integer(), 5);
  EXPECT_EQ(elements[1].at("b").string(), "x");
  EXPECT_TRUE(elements[2].elements()[0].boolean());
  EXPECT_TRUE(elements[2].elements()[1].elements().empty());
  EXPECT_TRUE(section.at("c").is_null());
  EXPECT_TRUE(section.at("d").is_null());
  EXPECT_TRUE(section.boolean_at("d", true));
  section.require_all_known();
}

TEST(JsonSection, NamesThePlaceOfAWrongValue) {
  const JsonNode root = parsed(R"({"a": [{"b": 5}], "z": 1})");
  JsonSection section(root, kFile, "");
  auto elements = section.at("a").elements();
  EXPECT_EQ(error_of([&] { elements[0].at("b").string(); }), "f: a[0].b: is no text");
  EXPECT_EQ(error_of([&] { elements[0].at("b").boolean(); }), "f: a[0].b: is not true or false");
  EXPECT_EQ(error_of([&] { section.at("a").integer(); }), "f: a: is no integer");
  EXPECT_EQ(error_of([&] { section.at("a").at("b"); }), "f: a: is no object");
  EXPECT_EQ(error_of([&] { section.at("z").elements(); }), "f: z: is no array");
}

TEST(JsonSection, RefusesAKeyThatNobodyAskedFor) {
  const JsonNode root = parsed(R"({"a": 1, "more": 2})");
  JsonSection section(root, kFile, "");
  section.at("a");
  EXPECT_THAT(error_of([&] { section.require_all_known(); }),
              HasSubstr("\"more\" is not supported"));
}

}  // namespace
}  // namespace zero
