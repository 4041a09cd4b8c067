#pragma once
/// The sections of a report, each as HTML without its heading; "" where a run has nothing for it.

#include <span>
#include <string>

#include "src/report/chart.hpp"
#include "src/report/page_facts.hpp"

namespace zero::report {

using Runs = std::span<const RunFacts>;

/// Returns three sentences: how the runs ended, what they learnt, how fast they were.
std::string verdict(Runs runs);

Chart loss_chart(Runs runs);
/// Returns the charts of loss, norm and scores.
std::string curves_section(Runs runs);
std::string speed_section(Runs runs);

/// Returns the lanes of the last traced step, or the mean of the phases, beside the forecast.
std::string step_section(const RunFacts& run);
std::string memory_section(const RunFacts& run);
std::string ranks_section(const RunFacts& run);
std::string launches_section(const RunFacts& run);
std::string settings_section(Runs runs);
std::string hashes_section(const RunFacts& run);

/// Returns a table; its cells are escaped.
using Cells = std::vector<std::string>;
std::string html_table(const Cells& head, const std::vector<Cells>& rows);

/// Returns a number with `digits` behind the point, or "-" if it is not finite.
std::string fixed(double value, int digits);

}  // namespace zero::report
