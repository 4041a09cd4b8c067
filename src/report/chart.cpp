#include "src/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/report/escaped_text.hpp"
#include "zero/base/text.hpp"

namespace zero::report {
namespace {

constexpr size_t kMostStretches = 600;
constexpr double kWidth = 1000, kHeight = 300;
constexpr double kFootHeight = 14;
constexpr const char* kColours[] = {"#1f6feb", "#b35900", "#1a7f37",
                                    "#8250df", "#bf3989", "#57606a"};
/// A curve may leave the frame if a few values lie so far above the others.
constexpr double kOutlier = 3;

/// The place of values in a frame of kWidth and kHeight.
struct Frame {
  Scale x, y;

  double left(double step) const { return kWidth * (step - x.low) / (x.high - x.low); }
  double top(double value) const { return kHeight * (1 - (value - y.low) / (y.high - y.low)); }
};

/// A curve as it is drawn.
struct Drawn {
  const Curve* curve;
  std::vector<std::vector<Stretch>> parts;
};

std::string path_number(double value) {
  std::string digits = format("%.1f", std::clamp(value, -1e5, 1e5));
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits == "-0" ? "0" : digits;
}

void append_point(std::string& path, char verb, double x, double y) {
  path += text(verb, path_number(x), " ", path_number(y));
}

std::string line_path(const Frame& frame, const Drawn& drawn) {
  std::string path;
  for (const std::vector<Stretch>& part : drawn.parts) {
    char verb = 'M';
    for (const Stretch& stretch : part) {
      append_point(path, verb, frame.left(stretch.step), frame.top(stretch.mean));
      verb = 'L';
    }
    // A lone point is drawn by the round ends of a line without length.
    if (part.size() == 1) path += "h0";
  }
  return path;
}

std::string dots_path(const Frame& frame, const Drawn& drawn) {
  std::string path;
  for (const std::vector<Stretch>& part : drawn.parts) {
    for (const Stretch& stretch : part) {
      append_point(path, 'M', frame.left(stretch.step), frame.top(stretch.mean));
      path += "h0";
    }
  }
  return path;
}

/// Returns the outline of all values between the least and the most.
std::string band_path(const Frame& frame, const Drawn& drawn) {
  std::string path;
  for (const std::vector<Stretch>& part : drawn.parts) {
    if (part.size() < 2) continue;
    char verb = 'M';
    for (const Stretch& stretch : part) {
      append_point(path, verb, frame.left(stretch.step), frame.top(stretch.most));
      verb = 'L';
    }
    for (auto stretch = part.rbegin(); stretch != part.rend(); ++stretch)
      append_point(path, 'L', frame.left(stretch->step), frame.top(stretch->least));
    path += "Z";
  }
  return path;
}

/// Returns vertical marks at distinct places.
std::string marks_path(const Frame& frame, const std::vector<double>& steps, double height) {
  std::string path;
  double last = -1;
  for (const double step : steps) {
    const double x = std::round(frame.left(step));
    if (x == last || x < 0 || x > kWidth) continue;
    last = x;
    path += text("M", path_number(x), " ", path_number(kHeight), "v-", path_number(height));
  }
  return path;
}

std::string path_element(std::string_view kind, const std::string& path) {
  return path.empty() ? "" : text("<path class=\"", kind, "\" d=\"", path, "\"/>");
}

/// Returns "s1", and for later runs, which have the colours of earlier ones, "t s1" for dashes.
std::string colour_class(const Curve& curve) {
  const int count = int(std::size(kColours));
  return text(curve.colour < count ? "" : "t ", "s", curve.colour % count);
}

/// Returns the line of a curve, and its dots.
std::string curve_elements(const Curve& curve, const std::string& line, const std::string& dots) {
  const std::string colour = colour_class(curve);
  return path_element((curve.has_dots ? "l d " : "l ") + colour, line) +
         (curve.has_dots ? path_element("o " + colour, dots) : "");
}

/// Returns the top of a frame: the highest value, or a little above the usual ones if the highest
/// are outliers.
double top_of(std::vector<double> values, double low) {
  std::ranges::sort(values);
  const double most = values.back(), usual = values[values.size() * 98 / 100];
  const double spread = std::max(usual - low, 0.5 * std::fabs(usual));
  return most > usual + kOutlier * spread ? usual + 0.5 * spread : most;
}

/// A chart with its curves thinned and its frame laid out.
class Layout {
 public:
  explicit Layout(const Chart& chart) : chart_(chart) {
    std::vector<double> steps, values;
    for (const Curve& curve : chart.curves) {
      drawn_.push_back({&curve, thinned(curve, kMostStretches)});
      if (!curve.steps.empty()) steps.push_back(curve.steps.back());
      for (const std::vector<Stretch>& part : drawn_.back().parts) {
        for (const Stretch& stretch : part) values.push_back(stretch.mean);
      }
    }
    is_empty_ = values.empty();
    frame_.x = scale_of(steps, true, 4);
    if (!steps.empty()) frame_.x.high = std::max(1.0, std::ranges::max(steps));
    std::erase_if(frame_.x.marks, [&](double mark) { return mark > frame_.x.high; });
    if (is_empty_) return;
    const double most = std::ranges::max(values);
    const double top = top_of(values, std::ranges::min(values));
    exceeds_ = top < most;
    most_ = most;
    std::erase_if(values, [&](double value) { return value > top; });
    values.push_back(top);
    frame_.y = scale_of(values, chart.from_zero, 5);
  }

  bool is_empty() const { return is_empty_; }
  const Frame& frame() const { return frame_; }
  /// Returns words on values above the frame, or "".
  std::string excess() const {
    return exceeds_ ? text("Above the frame: up to ", short_number(most_), ".") : "";
  }

  /// Returns all that is drawn in the frame, for a viewBox of kWidth and kHeight.
  std::string marks() const {
    std::string out;
    std::string grid;
    for (const double mark : frame_.y.marks)
      grid += text("M0 ", path_number(frame_.top(mark)), "h", path_number(kWidth));
    out += path_element("g", grid);
    out += path_element("la", marks_path(frame_, chart_.launches, kHeight));
    // Several bands over each other would hide the curves.
    const auto lines = std::ranges::count(chart_.curves, false, &Curve::has_dots);
    for (const Drawn& drawn : drawn_) {
      const bool has_band = !drawn.curve->has_dots && lines == 1;
      if (has_band)
        out += path_element("b " + colour_class(*drawn.curve), band_path(frame_, drawn));
    }
    for (const Drawn& drawn : drawn_)
      out += curve_elements(*drawn.curve, line_path(frame_, drawn), dots_path(frame_, drawn));
    return out + path_element("sk", marks_path(frame_, chart_.skipped, kFootHeight));
  }

 private:
  const Chart& chart_;
  std::vector<Drawn> drawn_;
  Frame frame_;
  bool is_empty_ = true, exceeds_ = false;
  double most_ = 0;
};

std::string caption(const Chart& chart) {
  return text(escaped(chart.title),
              chart.unit.empty() ? "" : text(" <small>", escaped(chart.unit), "</small>"));
}

/// Returns the names of the curves, each with a piece of its line; none for a single one.
std::string legend(const Chart& chart) {
  if (chart.curves.size() < 2) return "";
  std::string out = "<p class=\"k\">";
  for (const Curve& curve : chart.curves) {
    out += text("<svg viewBox=\"0 0 32 8\">", curve_elements(curve, "M0 4h32", "M16 4h0"), "</svg>",
                escaped(curve.name), " ");
  }
  return out + "</p>";
}

std::string note(const Chart& chart, const Layout& layout) {
  const std::string words = text(chart.note, chart.note.empty() ? "" : " ", layout.excess());
  return words.empty() || words == " " ? "" : text("<p class=\"q\">", escaped(words), "</p>");
}

std::string labels(const Frame& frame) {
  std::string out;
  for (const double mark : frame.y.marks) {
    out += text("<span class=\"y\" style=\"top:", path_number(frame.top(mark) / kHeight * 100),
                "%\">", short_number(mark), "</span>");
  }
  for (size_t i = 0; i < frame.x.marks.size(); ++i) {
    const double mark = frame.x.marks[i], left = frame.left(mark) / kWidth * 100;
    // On a narrow screen every second mark is left out.
    out += text("<span class=\"x", left > 90 ? " z" : "", i % 2 == 1 ? " m" : "",
                "\" style=\"left:", path_number(left), "%\">", short_number(mark), "</span>");
  }
  return out;
}

/// Returns the head of a picture, with its style and an empty background.
std::string picture_head() {
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 400\" width=\"960\" "
      "height=\"400\" font-family=\"DejaVu Sans, Arial, sans-serif\" font-size=\"12\">"
      "<!-- zeroapp report -->\n<style>path{fill:none;vector-effect:non-scaling-stroke}"
      ".g{stroke:#d8dee4}.la{stroke:#57606a;stroke-dasharray:4 3}.sk{stroke:#cf222e}"
      ".l{stroke-width:2;stroke-linejoin:round}.t{stroke-dasharray:7 4}"
      ".o{stroke-width:6;stroke-linecap:round;stroke-dasharray:none}"
      ".b{stroke:none;opacity:.2}text{fill:#1b1f24}";
  for (size_t i = 0; i < std::size(kColours); ++i)
    out += text(".s", i, "{stroke:", kColours[i], "}.b.s", i, "{fill:", kColours[i],
                ";stroke:none}text.s", i, "{fill:", kColours[i], ";stroke:none}");
  return out + "</style>\n<rect width=\"960\" height=\"400\" fill=\"#ffffff\"/>\n";
}

/// Returns the names of a picture's curves, one below the other, with a dash behind dashed ones.
std::string picture_legend(const Chart& chart, double top) {
  constexpr double kPace = 18, kRoom = 280;
  const double pace = std::min(kPace, kRoom / double(std::max<size_t>(1, chart.curves.size())));
  std::string out;
  double y = top;
  for (const Curve& curve : chart.curves) {
    const std::string colour = colour_class(curve);
    out += text("<text class=\"", colour, "\" x=\"930\" y=\"", path_number(y),
                "\" text-anchor=\"end\" font-weight=\"bold\">", escaped(curve.name), "</text>\n");
    if (colour.starts_with('t'))
      out += path_element("l " + colour, text("M935 ", path_number(y - 4), "h18")) + "\n";
    y += pace;
  }
  return out;
}

}  // namespace

std::vector<std::vector<Stretch>> thinned(const Curve& curve, size_t most) {
  std::vector<std::vector<Stretch>> parts(1);
  const size_t count = curve.values.size(), stretches = std::min(most, count);
  for (size_t i = 0; i < stretches; ++i) {
    const size_t begin = count * i / stretches, end = count * (i + 1) / stretches;
    Stretch stretch{.least = INFINITY, .most = -INFINITY};
    double number = 0;
    for (size_t at = begin; at < end; ++at) {
      const double value = curve.values[at];
      if (!std::isfinite(value)) continue;
      stretch.step += curve.steps[at];
      stretch.mean += value;
      stretch.least = std::min(stretch.least, value);
      stretch.most = std::max(stretch.most, value);
      ++number;
    }
    if (number == 0) {
      if (!parts.back().empty()) parts.emplace_back();
      continue;
    }
    stretch.step /= number;
    stretch.mean /= number;
    parts.back().push_back(stretch);
  }
  std::erase_if(parts, [](const std::vector<Stretch>& part) { return part.empty(); });
  return parts;
}

Scale scale_of(std::span<const double> values, bool from_zero, int count) {
  Scale scale;
  if (values.empty()) return scale;
  scale.low = from_zero ? std::min(0.0, std::ranges::min(values)) : std::ranges::min(values);
  scale.high = std::ranges::max(values);
  if (scale.high <= scale.low) {
    const double room = scale.low == 0 ? 1 : 0.5 * std::fabs(scale.low);
    scale.low -= from_zero ? 0 : room;
    scale.high += room;
  }
  const double raw = (scale.high - scale.low) / count;
  const double ten = std::pow(10, std::floor(std::log10(raw)));
  const double ratio = raw / ten;
  const double pace = ten * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  if (!std::isfinite(pace) || pace <= 0) return scale;
  scale.low = pace * std::floor(scale.low / pace);
  scale.high = pace * std::ceil(scale.high / pace);
  for (int i = 0; i <= 20 && scale.low + i * pace <= scale.high + 0.5 * pace; ++i) {
    const double mark = scale.low + i * pace;
    scale.marks.push_back(std::fabs(mark) < 1e-9 * pace ? 0 : mark);
  }
  return scale;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (std::fabs(value) >= 1e4 && std::fabs(value) < 1e15 && value == std::round(value)) {
    std::string digits = format("%.0f", value);
    for (ptrdiff_t at = ptrdiff_t(digits.size()) - 3; at > ptrdiff_t(value < 0); at -= 3)
      digits.insert(size_t(at), ",");
    return digits;
  }
  return format("%.4g", value);
}

std::string chart_html(const Chart& chart) {
  const Layout layout(chart);
  std::string out = text("<figure><figcaption>", caption(chart), "</figcaption>");
  if (layout.is_empty()) return out + "<p class=\"q\">No finite value.</p></figure>";
  out += text("<div class=\"p\"><svg viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" ",
              "role=\"img\" aria-label=\"", escaped(chart.title), " over steps\">", layout.marks(),
              "</svg>", labels(layout.frame()), "</div>");
  return out + legend(chart) + note(chart, layout) + "</figure>";
}

std::string chart_svg(const Chart& chart) {
  constexpr double kLeft = 70, kTop = 50, kInner = 860;
  const Layout layout(chart);
  std::string out =
      picture_head() +
      text("<text x=\"", kLeft, "\" y=\"28\" font-size=\"15\" font-weight=\"bold\">",
           escaped(chart.title), "</text>\n<svg x=\"", kLeft, "\" y=\"", kTop, "\" width=\"",
           kInner, "\" height=\"300\" viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\">",
           layout.marks(), "</svg>\n");
  const Frame& frame = layout.frame();
  for (const double mark : frame.y.marks)
    out += text("<text x=\"", kLeft - 8, "\" y=\"", path_number(kTop + frame.top(mark) + 4),
                "\" text-anchor=\"end\">", short_number(mark), "</text>\n");
  for (const double mark : frame.x.marks)
    out += text("<text x=\"", path_number(kLeft + frame.left(mark) * kInner / kWidth),
                "\" y=\"368\" text-anchor=\"middle\">", short_number(mark), "</text>\n");
  out += picture_legend(chart, kTop + 20);
  return out + "<text x=\"500\" y=\"390\" text-anchor=\"middle\">steps</text>\n</svg>\n";
}

}  // namespace zero::report
