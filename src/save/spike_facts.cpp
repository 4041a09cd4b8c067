#include <cmath>
#include <sstream>

#include "src/save/fact_numbers.hpp"
#include "zero/base/error.hpp"
#include "zero/config/schedule.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

using Content = state::SpikeWindow::Content;
using Step = state::SpikeWindow::Step;

constexpr const char *kLosses = "spikes.losses", *kNorms = "spikes.grad_norms",
                     *kInRow = "spikes.skipped_in_row", *kSpikes = "spikes.skipped";

std::string words_of(const Content& content, double Step::*member) {
  std::string words;
  for (const Step& step : content.steps)
    words += (words.empty() ? "" : " ") + number_text(step.*member);
  return words;
}

[[noreturn]] void fail(const char* name, const std::string& fault) {
  refuse(Exit::kInput, "fact \"", name, "\": ", fault);
}

const std::string& required_fact(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  if (found == facts.end()) refuse(Exit::kInput, "no fact \"", name, "\"");
  return found->second;
}

std::vector<double> numbers_in(const Facts& facts, const char* name) {
  std::vector<double> numbers;
  std::istringstream words(required_fact(facts, name));
  for (std::string word; words >> word;) {
    double number = 0;
    if (!read_number(word, number) || !std::isfinite(number))
      fail(name, text('"', word, "\" is no finite number"));
    numbers.push_back(number);
  }
  if (std::ssize(numbers) > state::SpikeWindow::kSteps)
    fail(name, text(numbers.size(), " numbers, at most ", state::SpikeWindow::kSteps));
  return numbers;
}

int64_t count_in(const Facts& facts, const char* name) {
  int64_t count = 0;
  if (!read_number(required_fact(facts, name), count) || count < 0 || count > kMostRunSteps)
    fail(name, text('"', required_fact(facts, name), "\" is no number of steps"));
  return count;
}

}  // namespace

void add_spikes(const Content& content, Facts& facts) {
  facts[kLosses] = words_of(content, &Step::loss);
  facts[kNorms] = words_of(content, &Step::grad_norm);
  facts[kInRow] = number_text(content.skipped_in_row);
  facts[kSpikes] = number_text(content.spikes);
}

Content spikes_in(const Facts& facts) {
  Content content;
  if (!facts.contains(kLosses)) return content;
  const std::vector<double> losses = numbers_in(facts, kLosses), norms = numbers_in(facts, kNorms);
  if (norms.size() != losses.size())
    fail(kNorms, text(norms.size(), " numbers beside ", losses.size(), " losses"));
  for (size_t i = 0; i < losses.size(); ++i) content.steps.push_back({losses[i], norms[i]});
  content.skipped_in_row = count_in(facts, kInRow);
  content.spikes = count_in(facts, kSpikes);
  return content;
}

}  // namespace zero::save
