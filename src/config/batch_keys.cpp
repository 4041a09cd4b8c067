#include "zero/config/batch_keys.hpp"

#include <charconv>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/objective_keys.hpp"

namespace zero {
namespace {

std::string equation(const RunConfig& c, int64_t ranks) {
  const auto value = [](int64_t n) { return n ? std::to_string(n) : std::string("auto"); };
  return text("train_batch_size = ", value(c.train_batch_size),
              ", train_micro_batch_size_per_gpu = ", value(c.train_micro_batch_size_per_gpu),
              ", gradient_accumulation_steps = ", value(c.gradient_accumulation_steps), " on ",
              counted(ranks, "rank"));
}

[[noreturn]] void refuse_batch(const RunConfig& c, int64_t ranks, const std::string& advice) {
  refuse_settings(
      {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"},
      equation(c, ranks), ": train = micro x accumulation x ranks does not hold; ", advice);
}

/// Returns total / part. Throws SettingsError if it is not whole.
int64_t divide(const RunConfig& c, int64_t ranks, int64_t part) {
  const int64_t below = c.train_batch_size / part * part, above = below + part;
  if (c.train_batch_size % part != 0) {
    refuse_batch(
        c, ranks,
        text("write train_batch_size = ", below ? below : above, below ? text(" or ", above) : ""));
  }
  return c.train_batch_size / part;
}

BatchSizes infer(const RunConfig& c, int64_t ranks) {
  const int64_t micro = c.train_micro_batch_size_per_gpu;
  const int64_t accumulation = c.gradient_accumulation_steps;
  if (c.train_batch_size == 0) {
    const int64_t steps = accumulation ? accumulation : 1;
    return {micro * steps * ranks, micro, steps};
  }
  if (micro && accumulation) {
    const int64_t product = micro * accumulation * ranks;
    if (product != c.train_batch_size) {
      refuse_batch(c, ranks,
                   text("write train_batch_size = ", product,
                        ", or \"auto\" for one of "
                        "the three"));
    }
    return {product, micro, accumulation};
  }
  if (micro) return {c.train_batch_size, micro, divide(c, ranks, micro * ranks)};
  const int64_t steps = accumulation ? accumulation : 1;
  return {c.train_batch_size, divide(c, ranks, steps * ranks), steps};
}

/// Largest micro-batch and accumulation, as the keys themselves allow.
constexpr int64_t kMostOfBatch = 1'000'000;

BatchSizes within_bounds(const RunConfig& c, int64_t ranks, const BatchSizes& batch) {
  const bool many = batch.accumulation > kMostOfBatch;
  if (!many && batch.micro <= kMostOfBatch) return batch;
  refuse_settings(
      {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"},
      equation(c, ranks), ": ",
      many ? text("a step of ", batch.accumulation, " micro-batches")
           : text("a micro-batch of ", batch.micro, " samples"),
      ", and the most are ", kMostOfBatch, "; write ",
      many ? "a larger train_micro_batch_size_per_gpu or " : "gradient_accumulation_steps or ",
      "a smaller train_batch_size");
}

}  // namespace

BatchSizes resolve_batch(const RunConfig& config, int64_t ranks) {
  ZERO_REQUIRE(ranks >= 1, ranks, " ranks");
  if (config.train_batch_size == 0 && config.train_micro_batch_size_per_gpu == 0) {
    refuse_settings(
        {"train_micro_batch_size_per_gpu", "train_batch_size"}, equation(config, ranks),
        ": the batch has no size; write train_micro_batch_size_per_gpu = 1, or train_batch_size");
  }
  if (config.train_micro_batch_size_per_gpu < 0) {
    const bool is_best = config.train_micro_batch_size_per_gpu == kMicroBatchBest;
    refuse_settings({"train_micro_batch_size_per_gpu"}, is_best ? "\"best\"" : "\"max\"",
                    " depends on a machine, known to training and plan alone; write the number ",
                    "that zeroapp plan INPUT", is_best ? "" : " --max-batch", " prints");
  }
  return within_bounds(config, ranks, infer(config, ranks));
}

namespace {

const char* const kKey = "data.length_buckets";

[[noreturn]] void refuse_word(const std::string& word, const LengthPair& longest) {
  const bool has_sources = longest.source > 0;
  const LengthPair half{.source = has_sources ? std::max<int64_t>(1, longest.source / 2) : 0,
                        .target = std::max<int64_t>(1, longest.target / 2)};
  refuse_settings({kKey}, "\"", word, "\" is no list of ", has_sources ? "pairs of " : "",
                  "lengths; write \"none\", \"auto\", or ",
                  has_sources ? "sources by targets" : "lengths", ", as \"",
                  to_text({half, longest}), "\"");
}

bool read_number(std::string_view& rest, int64_t& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 1) return false;
  rest.remove_prefix(size_t(end - rest.data()));
  return true;
}

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

bool read_form(std::string_view& rest, bool has_source, LengthPair& form) {
  if (!has_source) return read_number(rest, form.target);
  return read_number(rest, form.source) && take(rest, "x") && read_number(rest, form.target);
}

std::vector<LengthPair> forms_in(const std::string& word, const LengthPair& longest) {
  std::vector<LengthPair> forms;
  for (std::string_view rest = word;;) {
    LengthPair form;
    if (!read_form(rest, longest.source > 0, form)) refuse_word(word, longest);
    forms.push_back(form);
    if (rest.empty()) return forms;
    if (!take(rest, ", ") && !take(rest, ",")) refuse_word(word, longest);
  }
}

void require_rising(const std::vector<LengthPair>& forms, const LengthPair& longest) {
  for (size_t i = 1; i < forms.size(); ++i) {
    if (forms[i].covers(forms[i - 1]) && !(forms[i] == forms[i - 1])) continue;
    const bool is_beyond = i + 1 == forms.size();
    const std::string one = longest.source > 0 ? "pair" : "length";
    std::vector<std::string> keys = {kKey, "data.source_length", "data.sequence_length"};
    if (longest.source == 0) keys.erase(keys.begin() + 1);
    refuse_settings(keys, to_text({forms[i - 1]}),
                    is_beyond ? text(" is beyond the most that samples have, ")
                              : text(" is not covered by the ", one, " behind it, "),
                    to_text({forms[i]}), "; write ", one, "s that grow up to ", to_text({longest}));
  }
}

}  // namespace

LengthPair longest_lengths(const RunConfig& config) {
  const DataConfig& data = config.data;
  const ObjectiveSettings* objective = objective_of(config);
  if (objective && !objective->key("data.source_length"))
    return {.source = 0, .target = data.sequence_length};
  return {.source = data.source_length > 0 ? data.source_length : data.sequence_length,
          .target = data.sequence_length};
}

std::vector<LengthPair> form_lengths(const RunConfig& config) {
  const DataConfig& data = config.data;
  if (data.length_buckets == "none" || chooses_lengths(data)) return {};
  const LengthPair longest = longest_lengths(config);
  std::vector<LengthPair> forms = forms_in(data.length_buckets, longest);
  if (!(forms.back() == longest)) forms.push_back(longest);
  require_rising(forms, longest);
  if (forms.size() > kMostForms) {
    refuse_settings({kKey}, "these are ", forms.size(),
                    longest.source > 0 ? " pairs of lengths, with " : " lengths, with ",
                    to_text({longest}), ", and the most are ", kMostForms, "; write fewer");
  }
  return forms;
}

std::string to_text(const std::vector<LengthPair>& forms) {
  std::string words;
  for (const LengthPair& form : forms) {
    words += words.empty() ? "" : ", ";
    words += form.source > 0 ? text(form.source, "x", form.target) : text(form.target);
  }
  return words;
}

}  // namespace zero
