#pragma once
/// Curves over steps, thinned to what a screen can show.

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zero::report {

/// A curve. Values that are not finite are gaps.
struct Curve {
  std::string name;
  std::vector<double> steps, values;  ///< of equal length; steps ascend
  int colour = 0;                     ///< index of the run; dashed from 6 on
  bool has_dots = false;              ///< few values, as of evaluations
};

struct Chart {
  std::string title, unit = {};
  std::vector<Curve> curves = {};
  std::vector<double> skipped = {};   ///< steps that are marked at the foot
  std::vector<double> launches = {};  ///< steps after which another launch went on
  bool from_zero = false;             ///< the scale begins at 0
  std::string note = {};              ///< a line below
};

/// Stretches of a curve: the mean, the least and the most of each, in order of steps. Parts between
/// gaps are apart.
struct Stretch {
  double step = 0, mean = 0, least = 0, most = 0;
};
std::vector<std::vector<Stretch>> thinned(const Curve& curve, size_t most);

/// A scale with its marks.
struct Scale {
  double low = 0, high = 1;
  std::vector<double> marks = {};
};
/// Returns a scale that holds the values, with some `count` round marks.
Scale scale_of(std::span<const double> values, bool from_zero, int count);

/// Returns a number in few digits: "0.001", "12.5", "1.2e+06".
std::string short_number(double value);

/// Returns the chart as a part of a page. Its labels are text of the page, so that the curves
/// stretch with the window and the labels do not.
std::string chart_html(const Chart& chart);

/// Returns the chart as a picture of its own, for a light background.
std::string chart_svg(const Chart& chart);

}  // namespace zero::report
