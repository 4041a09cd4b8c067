// Ranks: 1
#include "zero/graph/stored_form.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace zero::graph {
namespace {

using testing_support::refusal_of;
using Extents = std::vector<int64_t>;

/// What a file holds of a parameter whose elements are 0, 1, 2, ...; the way back is tried too.
std::vector<float> stored(const StoredForm& form, const Extents& shape) {
  size_t numel = 1;
  for (const int64_t extent : shape) numel *= size_t(extent);
  std::vector<float> parameter(numel), tensors(numel), back(numel);
  for (size_t i = 0; i < numel; ++i) parameter[i] = float(i);
  to_stored(form, shape, parameter, tensors);
  from_stored(form, shape, tensors, back);
  EXPECT_EQ(back, parameter);
  return tensors;
}

TEST(StoredForms, ThePlainOneIsTheParameter) {
  const StoredForm form{.names = {"w"}};
  EXPECT_TRUE(form.is_plain());
  EXPECT_EQ(stored(form, {2, 2}), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(stored_extents(form, Extents{2, 3, 4}, 0), (Extents{2, 3, 4}));
}

TEST(StoredForms, ATransposedTensorHoldsColumnByColumn) {
  const StoredForm form{.names = {"w"}, .transposed = true};
  EXPECT_FALSE(form.is_plain());
  EXPECT_EQ(stored_extents(form, Extents{2, 3}, 0), (Extents{3, 2}));
  EXPECT_EQ(stored(form, {2, 3}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(StoredForms, SeveralTensorsStandSideBySide) {
  const StoredForm rows{.names = {"q", "k"}};
  EXPECT_EQ(stored_extents(rows, Extents{2, 4}, 1), (Extents{2, 2}));
  EXPECT_EQ(stored(rows, {2, 4}), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  const StoredForm columns{.names = {"q", "k"}, .transposed = true};
  EXPECT_EQ(stored_extents(columns, Extents{3, 4}, 1), (Extents{2, 3}));
  EXPECT_EQ(stored(columns, {3, 4}), (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(StoredForms, AVectorIsCutIntoParts) {
  const StoredForm form{.names = {"q", "k", "v"}};
  EXPECT_EQ(stored_extents(form, Extents{6}, 2), (Extents{2}));
  EXPECT_EQ(stored(form, {6}), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(StoredForms, TensorsHaveWidthsOfTheirOwn) {
  const StoredForm rows{.names = {"q", "k", "v"}, .widths = {2, 1, 1}};
  EXPECT_EQ(stored_extents(rows, Extents{2, 4}, 0), (Extents{2, 2}));
  EXPECT_EQ(stored_extents(rows, Extents{2, 4}, 2), (Extents{2, 1}));
  EXPECT_EQ(stored(rows, {2, 4}), (std::vector<float>{0, 1, 4, 5, 2, 6, 3, 7}));
  const StoredForm columns{.names = {"q", "k"}, .transposed = true, .widths = {1, 2}};
  EXPECT_EQ(stored_extents(columns, Extents{2, 3}, 1), (Extents{2, 2}));
  EXPECT_EQ(stored(columns, {2, 3}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(column_ends(rows, 4), (Extents{2, 3, 4}));
}

TEST(StoredForms, AConvolutionHoldsThePlacesOfEachPairSideBySide) {
  const StoredForm form{.names = {"conv"}, .places = 3};
  EXPECT_FALSE(form.is_plain());
  EXPECT_EQ(stored_extents(form, Extents{6, 2}, 0), (Extents{2, 2, 3})) << "out, in, places";
  // Rows 0 and 1 are the inputs of the first place, rows 2 and 3 of the second.
  EXPECT_EQ(stored(form, {6, 2}), (std::vector<float>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
}

TEST(StoredForms, ThatCannotBeAreDefectsOfAFamily) {
  const auto extents = [](const StoredForm& form, const Extents& shape) {
    return refusal_of(Exit::kInternal, [&] { stored_extents(form, shape, 0); });
  };
  EXPECT_NE(extents({.names = {"q", "k"}}, {3}).find("3 columns of 2 tensors"), std::string::npos);
  EXPECT_NE(extents({.names = {"q"}, .transposed = true}, {3}).find("transposed vector"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q", "k"}, .widths = {2, 1}}, {4})
                .find("q: widths that add to 3 of 4 columns"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q", "k"}, .widths = {4}}, {4}).find("2 tensors of 1 widths"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q", "k"}, .widths = {4, 0}}, {4}).find("q: widths"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q"}, .places = 3}, {4, 2}).find("q: 3 places of 4 rows"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q"}, .places = 3}, {3}).find("q: 3 places of 1 rows"),
            std::string::npos);
  EXPECT_NE(extents({.names = {"q", "k"}}, {2, 2, 2}).find("3 extents"), std::string::npos);
}

}  // namespace
}  // namespace zero::graph
