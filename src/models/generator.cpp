#include "zero/models/generator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero::models {
namespace {

constexpr uint64_t kStream = 0x67656e6572617465;  // no other numbers are drawn with this key
constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Logits of which only the k largest are left, of equals the first ones.
std::vector<float> largest(std::span<const float> logits, int64_t k) {
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = int32_t(i);
  const auto above = [&](int32_t a, int32_t b) {
    return logits[size_t(a)] != logits[size_t(b)] ? logits[size_t(a)] > logits[size_t(b)] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), above);
  std::vector<float> kept(logits.size(), -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < k; ++i) kept[size_t(order[size_t(i)])] = logits[size_t(order[size_t(i)])];
  return kept;
}

}  // namespace

int64_t draw(std::span<const float> logits, double temperature, double uniform) {
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double sum = 0;
  for (float logit : logits) {
    weights.push_back(std::exp((logit - most) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return int64_t(i);
  }
  return int64_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

int32_t choose_token(std::span<const float> logits, const Choice& choice, uint32_t number) {
  if (choice.temperature == 0) {
    return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  const PhiloxBlock bits = philox({{number, 0, 0, 0}}, choice.seed ^ kStream);
  const double uniform = (bits.word[0] + 0.5) / 4294967296.0;
  const bool all = choice.top_k == 0 || choice.top_k >= int64_t(logits.size());
  if (all) return int32_t(draw(logits, choice.temperature, uniform));
  return int32_t(draw(largest(logits, choice.top_k), choice.temperature, uniform));
}

void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const Choice& choice, const std::function<void(int32_t)>& visit) {
  ZERO_REQUIRE(!prompt.empty() && language.context >= 1, "a prompt of ", prompt.size(),
               " tokens in a context of ", language.context);
  const size_t most = size_t(language.context), half = most / 2;
  const size_t seen = std::min(prompt.size(), most);
  std::vector<int32_t> held(prompt.end() - ptrdiff_t(seen), prompt.end());
  std::span<const int32_t> next = held;
  for (int64_t number = 0; number < count; ++number) {
    const std::span<const float> logits = language.feed(next).first(size_t(language.vocabulary));
    const int32_t token = choose_token(logits, choice, uint32_t(number));
    visit(token);
    const bool full = held.size() == most;
    if (full) {
      held.erase(held.begin(), held.end() - ptrdiff_t(half));
      language.clear();
    }
    held.push_back(token);
    next = full ? std::span<const int32_t>(held) : std::span<const int32_t>(held).last(1);
  }
}

std::string CharacterStream::add(std::string_view bytes) {
  std::string whole;
  for (const char byte : bytes) {
    if (!checker_.accept(uint8_t(byte))) {
      // The byte that breaks a character may begin the next one.
      if (!held_.empty()) whole += kReplacement;
      held_.clear();
      checker_ = {};
      if (!checker_.accept(uint8_t(byte))) {
        whole += kReplacement;
        checker_ = {};
        continue;
      }
    }
    held_ += byte;
    if (!checker_.complete()) continue;
    whole += held_;
    held_.clear();
  }
  return whole;
}

std::string CharacterStream::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  checker_ = {};
  return cut ? kReplacement : "";
}

}  // namespace zero::models
