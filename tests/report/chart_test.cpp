// Ranks: 1
#include "src/report/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace zero::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Thinned, TakesMeanLeastAndMostOfEachStretch) {
  const Curve curve{.name = "c", .steps = {1, 2, 3, 4}, .values = {1, 3, 5, 11}};
  const auto parts = thinned(curve, 2);
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].size(), 2u);
  EXPECT_EQ(parts[0][0].step, 1.5);
  EXPECT_EQ(parts[0][0].mean, 2);
  EXPECT_EQ(parts[0][1].mean, 8);
  EXPECT_EQ(parts[0][1].least, 5);
  EXPECT_EQ(parts[0][1].most, 11);
}

TEST(Thinned, LeavesAGapWhereNothingIsFinite) {
  const Curve curve{.name = "c", .steps = {1, 2, 3}, .values = {1, NAN, INFINITY}};
  EXPECT_EQ(thinned(curve, 9).size(), 1u);
  const Curve split{.name = "c", .steps = {1, 2, 3}, .values = {1, NAN, 3}};
  const auto parts = thinned(split, 9);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1][0].mean, 3);
  EXPECT_TRUE(thinned({.name = "c", .steps = {1}, .values = {NAN}}, 9).empty());
}

TEST(ScaleOf, HoldsTheValuesWithRoundMarks) {
  const std::vector<double> values = {2.1, 7.9};
  const Scale scale = scale_of(values, false, 3);
  EXPECT_EQ(scale.low, 2);
  EXPECT_EQ(scale.high, 8);
  EXPECT_THAT(scale.marks, ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(scale_of(values, true, 4).low, 0);
  const std::vector<double> same = {5, 5};
  EXPECT_LT(scale_of(same, false, 4).low, 5);
  EXPECT_GT(scale_of(same, false, 4).high, 5);
}

TEST(ShortNumber, IsShort) {
  EXPECT_EQ(short_number(1234567), "1,234,567");
  EXPECT_EQ(short_number(-12345), "-12,345");
  EXPECT_EQ(short_number(2.5), "2.5");
  EXPECT_EQ(short_number(0.00012345), "0.0001234");
}

Chart chart_of(std::vector<double> values) {
  std::vector<double> steps(values.size());
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = double(i + 1);
  return {.title = "a <b>", .curves = {{.name = "c", .steps = steps, .values = std::move(values)}}};
}

TEST(ChartHtml, DrawsInAFrameOfAThousand) {
  EXPECT_THAT(chart_html(chart_of({0, 10})),
              AllOf(HasSubstr("d=\"M500 300L1000 0\""), HasSubstr("a &lt;b&gt;"),
                    HasSubstr("top:0%\">10<"), Not(HasSubstr("Above"))));
  EXPECT_THAT(chart_html(chart_of({4})), HasSubstr("h0\""));
  EXPECT_THAT(chart_html(chart_of({NAN})), HasSubstr("No finite value"));
  EXPECT_THAT(chart_html(chart_of({})), HasSubstr("No finite value"));
}

TEST(ChartHtml, LetsAFewHighValuesLeaveTheFrame) {
  std::vector<double> values(200, 1);
  values[0] = 2;
  values[100] = 1e6;
  EXPECT_THAT(chart_html(chart_of(values)), HasSubstr("Above the frame: up to 1,000,000."));
}

TEST(ChartHtml, MarksSkippedStepsAndLaunches) {
  Chart chart = chart_of({0, 10});
  chart.skipped = {1, 1};
  chart.launches = {2};
  EXPECT_THAT(chart_html(chart), AllOf(HasSubstr("class=\"sk\" d=\"M500 300v-14\""),
                                       HasSubstr("class=\"la\" d=\"M1000 300v-300\"")));
}

TEST(ChartHtml, DashesRunsThatHaveTheColoursOfEarlierOnes) {
  Chart chart = chart_of({0, 10});
  chart.curves.push_back(chart.curves[0]);
  chart.curves.push_back(chart.curves[0]);
  chart.curves[1].colour = 6;
  chart.curves[2].colour = 11;
  chart.curves[2].has_dots = true;
  EXPECT_THAT(chart_html(chart),
              AllOf(HasSubstr("<path class=\"l s0\" d=\"M500 300L1000 0\"/>"),
                    HasSubstr("<path class=\"l t s0\" d=\"M500 300L1000 0\"/>"),
                    HasSubstr("<path class=\"l d t s5\" d=\"M500 300L1000 0\"/>"),
                    HasSubstr("<path class=\"l t s0\" d=\"M0 4h32\"/></svg>c "),
                    HasSubstr("<path class=\"o t s5\" d=\"M16 4h0\"/></svg>c ")));
  EXPECT_THAT(chart_svg(chart), AllOf(HasSubstr("<path class=\"l t s0\" d=\"M500 300L1000 0\"/>"),
                                      HasSubstr("<path class=\"l t s0\" d=\"M935 84h18\"/>"),
                                      Not(HasSubstr("<path class=\"l s0\" d=\"M935"))));
}

TEST(ChartSvg, HasRoomForTheNamesOfManyCurves) {
  Chart chart = chart_of({0, 10});
  chart.curves.resize(24, chart.curves[0]);
  EXPECT_THAT(chart_svg(chart), HasSubstr("y=\"338.3\"")) << "the last name is in the frame";
}

}  // namespace
}  // namespace zero::report
