#include "src/model/decoder_rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

constexpr const char* kTypeNames[] = {"default", "linear", "llama3", "yarn", "longrope", "dynamic"};
constexpr const char* kNew = "rope_parameters";
constexpr const char* kOld = "rope_scaling";
constexpr const char* kTheta = "rope_theta";
constexpr const char* kLocalTheta = "rope_local_base_freq";
constexpr const char* kPartial = "partial_rotary_factor";
constexpr const char* kOriginal = "original_max_position_embeddings";
constexpr double kMostTheta = 1e12, kMostFactor = 1e6, kMostPositions = 1e9;

double original_of(const Rope& rope, const RopeExtent& extent) {
  return rope.original > 0 ? rope.original : double(extent.positions);
}

/// Returns the factor that keeps the size of scores under yarn.
double grown(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

double factor_of(const Rope& rope, const RopeExtent& extent) {
  if (rope.attention_factor > 0) return rope.attention_factor;
  if (rope.type == RopeType::yarn) {
    const bool both = rope.mscale != 0 && rope.mscale_all != 0;
    return both ? grown(rope.factor, rope.mscale) / grown(rope.factor, rope.mscale_all)
                : grown(rope.factor, 1);
  }
  if (rope.type != RopeType::longrope || rope.factor <= 1) return 1;
  return std::sqrt(1 + std::log(rope.factor) / std::log(original_of(rope, extent)));
}

/// Blends a frequency by its turns within the original positions.
double llama3_frequency(const Rope& rope, double original, double frequency) {
  const double turns = original * frequency / (2 * std::numbers::pi);
  const double whole = std::clamp((turns - rope.low) / (rope.high - rope.low), 0.0, 1.0);
  return frequency * ((1 - whole) / rope.factor + whole);
}

/// Returns the columns of a head that turn. A share of fp32 may lie below the written one.
int64_t turned_columns(int64_t head_width, double share) {
  return int64_t(std::floor(double(head_width) * share + 1e-4));
}

/// Returns the shares, by pair, of frequencies that yarn divides by its factor.
std::vector<double> yarn_shares(const Rope& rope, double original, int64_t columns) {
  const auto pair_of = [&](double turns) {
    return double(columns) * std::log(original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double begin = pair_of(rope.beta_fast), end = pair_of(rope.beta_slow);
  if (rope.truncates) begin = std::floor(begin), end = std::ceil(end);
  begin = std::max(begin, 0.0), end = std::min(end, double(columns - 1));
  if (begin == end) end += 0.001;
  std::vector<double> shares;
  for (int64_t i = 0; i < columns / 2; ++i)
    shares.push_back(std::clamp((double(i) - begin) / (end - begin), 0.0, 1.0));
  return shares;
}

/// A dictionary of config.json that describes a rope.
class Dictionary {
 public:
  Dictionary(const HubConfig& config, std::string prefix, const RopeForm& form)
      : config_(config), prefix_(std::move(prefix)), form_(form) {}

  Rope read(double theta) const {
    Rope rope{.type = type(), .theta = real(kTheta, 1, kMostTheta, theta)};
    if (rope.type == RopeType::plain) return rope;
    if (rope.type == RopeType::longrope) return with_long_factors(rope);
    rope.factor = required("factor", kMostFactor);
    if (rope.type == RopeType::linear) return rope;
    if (rope.type == RopeType::dynamic) return with_alpha(rope);
    rope.original = real(kOriginal, 1, kMostPositions, double(form_.positions));
    if (rope.type == RopeType::llama3) {
      rope.low = required("low_freq_factor", kMostFactor);
      rope.high = required("high_freq_factor", kMostFactor);
      if (rope.high <= rope.low) config_.fail(key("high_freq_factor"), "above low_freq_factor");
      return rope;
    }
    rope.beta_fast = real("beta_fast", 1e-3, kMostFactor, 32);
    rope.beta_slow = real("beta_slow", 1e-3, kMostFactor, 1);
    rope.attention_factor = real("attention_factor", 1e-6, kMostFactor, 0);
    rope.mscale = real("mscale", 0, kMostFactor, 0);
    rope.mscale_all = real("mscale_all_dim", 0, kMostFactor, 0);
    rope.truncates = config_.flag_or(key("truncate"), true);
    return rope;
  }

  double growth() const {
    const double positions =
        real("max_position_embeddings", 1, kMostPositions, double(form_.positions));
    if (positions != double(form_.positions))
      config_.fail(key("max_position_embeddings"), text("only ", form_.positions));
    return real("llama_4_scaling_beta", 0, kMostFactor, 0);
  }

  double share(double otherwise) const { return real(kPartial, 0, 1, otherwise); }

 private:
  std::string key(const std::string& name) const { return prefix_ + "." + name; }
  double real(const std::string& name, double low, double high, double otherwise) const {
    return config_.number_or(key(name), low, high, otherwise);
  }
  double required(const std::string& name, double most) const {
    if (!config_.has(key(name))) config_.fail(key(name), "write a number");
    return real(name, 1e-6, most, 0);
  }

  RopeType type() const {
    const std::string old = config_.word_or(key("type"), ""),
                      word = config_.word_or(key("rope_type"), old);
    if (!old.empty() && word != old) config_.fail(key("type"), text("only \"", word, '"'));
    if (word.empty() || word == "default") return RopeType::plain;
    if (form_.is_partial && (word == "longrope" || word == "su")) return RopeType::longrope;
    for (const RopeType type :
         {RopeType::linear, RopeType::llama3, RopeType::yarn, RopeType::dynamic}) {
      if (!form_.is_partial && word == kTypeNames[size_t(type)]) return type;
    }
    config_.fail(key(config_.has(key("rope_type")) ? "rope_type" : "type"),
                 form_.is_partial ? R"(only "default" or "longrope")"
                                  : R"(only "default", "linear", "llama3", "yarn" or "dynamic")");
  }

  /// Reads alpha. Files of its family have numbers of yarn beside it, which nothing reads.
  Rope with_alpha(Rope rope) const {
    if (!form_.has_alpha) return rope;
    rope.alpha = real("alpha", 0, kMostFactor, 0);
    for (const auto& [name, usual] : {std::pair("beta_fast", 32.0),
                                      {"beta_slow", 1.0},
                                      {"mscale", 1.0},
                                      {"mscale_all_dim", 1.0}}) {
      if (real(name, 0, kMostFactor, usual) != usual)
        config_.fail(key(name), text("only ", usual, " beside a dynamic rope, which lacks it"));
    }
    return rope;
  }

  Rope with_long_factors(Rope rope) const {
    rope.short_factors = factors("short_factor");
    rope.long_factors = factors("long_factor");
    rope.original = real(kOriginal, 1, kMostPositions, 0);
    rope.factor = real("factor", 1e-6, kMostFactor, 0);
    rope.attention_factor = real("attention_factor", 1e-6, kMostFactor, 0);
    return rope;
  }

  std::vector<double> factors(const std::string& name) const {
    std::vector<double> numbers = config_.numbers(key(name));
    for (double& number : numbers) number = float(number);
    return numbers;
  }

  const HubConfig& config_;
  std::string prefix_;
  const RopeForm& form_;
};

/// Reads a share of columns and the original positions, which stand beside the dictionaries.
void read_partial(const HubConfig& config, const RopeForm& form, double share, Rope& rope) {
  rope.share = config.number_or(kPartial, 0, 1, share);
  if (rope.share != share && share != 1) config.fail(kPartial, text("only ", share));
  const int64_t columns = turned_columns(form.head_width, rope.share);
  if (columns < 2 || columns % 2 != 0) config.fail(kPartial, "an even number of columns of a head");
  const double inside = rope.original;
  rope.original = config.number_or(kOriginal, 1, kMostPositions, 4096);
  if (inside != 0 && inside != rope.original) config.fail(kOriginal, text("only ", inside));
  if (rope.type != RopeType::longrope) return;
  if (rope.factor == 0) rope.factor = double(form.positions) / rope.original;
  for (const auto& [name, factors] :
       {std::pair("short_factor", &rope.short_factors), {"long_factor", &rope.long_factors}}) {
    const bool fit = int64_t(factors->size()) == columns / 2 &&
                     std::ranges::all_of(*factors, [](double one) { return one > 0; });
    const std::string key = text(config.opens(kOld) ? kOld : kNew, '.', name);
    if (!fit) config.fail(key, text("a list of ", columns / 2, " positive numbers"));
  }
}

[[noreturn]] void refuse_two(const HubConfig& config, const char* key, const char* other) {
  config.fail(key, text("what ", other, " says, or without it,"));
}

/// True if older files of the family have the frequencies of layers with a window.
bool has_local_key(const RopeForm& form) {
  return form.local_theta > 0 && form.local_theta != form.theta;
}

double local_theta_in(const HubConfig& config, const RopeForm& form, bool is_new) {
  const double old = has_local_key(form)
                         ? config.number_or(kLocalTheta, 1, kMostTheta, form.local_theta)
                         : form.local_theta;
  if (!is_new) return old;
  const Dictionary local(config, text(kNew, ".sliding_attention"), form);
  const Rope rope = local.read(old);
  if (rope.type != RopeType::plain)
    config.fail(text(kNew, ".sliding_attention.rope_type"), "only \"default\"");
  if (has_local_key(form) && config.has(kLocalTheta) && rope.theta != old)
    refuse_two(config, kLocalTheta, kNew);
  return rope.theta;
}

/// Returns the entries of a dictionary; `whole`: with what older files have beside it.
std::string dictionary_of(const ReadRope& read, const RopeForm& form, bool whole) {
  const Rope& rope = read.rope;
  const bool is_long = rope.type == RopeType::longrope;
  // Transformers 4 wants the old name of the type there, and the factors alone.
  const char* const key_of_type = is_long && !whole ? "type" : "rope_type";
  std::string json = text("{\"", key_of_type, "\": \"", kTypeNames[size_t(rope.type)], '"');
  const auto add = [&](const char* key, const std::string& value) {
    json += text(", \"", key, "\": ", value);
  };
  const auto list = [](const std::vector<double>& numbers) {
    std::string all;
    for (const double number : numbers) all += (all.empty() ? "" : ", ") + json_number(number);
    return "[" + all + "]";
  };
  if (whole) add(kTheta, json_number(rope.theta));
  if (whole && form.is_partial) add(kPartial, json_number(rope.share));
  if (rope.type == RopeType::plain) return json + "}";
  const bool is_derived =
      is_long && float(rope.factor) == float(double(form.positions) / rope.original);
  if (!is_derived) add("factor", json_number(rope.factor));
  if (rope.alpha > 0) add("alpha", json_number(rope.alpha));
  if (rope.type == RopeType::linear || rope.type == RopeType::dynamic) return json + "}";
  if (whole || !is_long) add(kOriginal, text(int64_t(rope.original)));
  if (rope.type == RopeType::llama3) {
    add("low_freq_factor", json_number(rope.low));
    add("high_freq_factor", json_number(rope.high));
  } else if (rope.type == RopeType::longrope) {
    add("short_factor", list(rope.short_factors));
    add("long_factor", list(rope.long_factors));
  } else {
    if (rope.beta_fast != Rope().beta_fast) add("beta_fast", json_number(rope.beta_fast));
    if (rope.beta_slow != Rope().beta_slow) add("beta_slow", json_number(rope.beta_slow));
    if (rope.mscale != 0) add("mscale", json_number(rope.mscale));
    if (rope.mscale_all != 0) add("mscale_all_dim", json_number(rope.mscale_all));
    if (!rope.truncates) add("truncate", "false");
  }
  if (rope.attention_factor > 0) add("attention_factor", json_number(rope.attention_factor));
  if (read.query_growth > 0) add("llama_4_scaling_beta", json_number(read.query_growth));
  return json + "}";
}

}  // namespace

graph::RotaryTable rotary_of(const Rope& rope, const RopeExtent& extent) {
  const int64_t columns = turned_columns(extent.head_width, rope.share);
  const double original = original_of(rope, extent);
  const bool is_long = double(extent.length) > original;
  const std::vector<double> blended =
      rope.type == RopeType::yarn ? yarn_shares(rope, original, columns) : std::vector<double>();
  graph::RotaryTable table{
      .frequencies = {}, .positions = extent.length, .factor = factor_of(rope, extent)};
  const double stretch =
      rope.alpha > 0 ? std::pow(rope.alpha, double(columns) / double(columns - 2)) : 1;
  for (int64_t i = 0; i < columns / 2; ++i) {
    double frequency = std::pow(rope.theta * stretch, -2.0 * double(i) / double(columns));
    switch (rope.type) {
      case RopeType::plain:
      case RopeType::dynamic:
        break;
      case RopeType::linear:
        frequency /= rope.factor;
        break;
      case RopeType::llama3:
        frequency = llama3_frequency(rope, original, frequency);
        break;
      case RopeType::yarn: {
        const double share = blended[size_t(i)];
        frequency *= (1 - share) + share / rope.factor;
        break;
      }
      case RopeType::longrope:
        frequency /= (is_long ? rope.long_factors : rope.short_factors).at(size_t(i));
        break;
    }
    table.frequencies.push_back(frequency);
  }
  return table;
}

std::map<std::string, double, std::less<>> rope_constants() {
  return {{"rope_type", 0},       {"rope_factor", 1},    {"rope_low", 1},
          {"rope_high", 4},       {"rope_original", 0},  {"rope_beta_fast", 32},
          {"rope_beta_slow", 1},  {"rope_attention", 0}, {"rope_mscale", 0},
          {"rope_mscale_all", 0}, {"rope_truncates", 1}, {"rope_share", 1},
          {"rope_alpha", 0}};
}

Rope rope_of(const ModelNumbers& numbers) {
  return {.type = RopeType(int(numbers.rate("rope_type"))),
          .theta = numbers.rate(kTheta),
          .factor = numbers.rate("rope_factor"),
          .low = numbers.rate("rope_low"),
          .high = numbers.rate("rope_high"),
          .original = numbers.rate("rope_original"),
          .beta_fast = numbers.rate("rope_beta_fast"),
          .beta_slow = numbers.rate("rope_beta_slow"),
          .attention_factor = numbers.rate("rope_attention"),
          .mscale = numbers.rate("rope_mscale"),
          .mscale_all = numbers.rate("rope_mscale_all"),
          .truncates = numbers.rate("rope_truncates") != 0,
          .alpha = numbers.rate("rope_alpha"),
          .share = numbers.rate("rope_share"),
          .short_factors = numbers.list("short_factors"),
          .long_factors = numbers.list("long_factors")};
}

void set_rope(const Rope& rope, ModelNumbers& numbers) {
  auto& rates = numbers.rates;
  rates["rope_type"] = double(rope.type);
  rates[kTheta] = float(rope.theta);
  rates["rope_factor"] = float(rope.factor);
  rates["rope_low"] = float(rope.low);
  rates["rope_high"] = float(rope.high);
  rates["rope_original"] = float(rope.original);
  rates["rope_beta_fast"] = float(rope.beta_fast);
  rates["rope_beta_slow"] = float(rope.beta_slow);
  rates["rope_attention"] = float(rope.attention_factor);
  rates["rope_mscale"] = float(rope.mscale);
  rates["rope_mscale_all"] = float(rope.mscale_all);
  rates["rope_truncates"] = rope.truncates;
  rates["rope_alpha"] = float(rope.alpha);
  rates["rope_share"] = float(rope.share);
  if (rope.type != RopeType::longrope) return;
  numbers.lists["short_factors"] = rope.short_factors;
  numbers.lists["long_factors"] = rope.long_factors;
}

ReadRope rope_in(const HubConfig& config, const RopeForm& form) {
  const bool is_new = config.opens(kNew), is_old = config.opens(kOld), two = form.local_theta > 0;
  const double theta = config.number_or(kTheta, 1, kMostTheta, form.theta);
  const Dictionary now(config, text(kNew, two ? ".full_attention" : ""), form),
      then(config, kOld, form);
  ReadRope read{.rope = (is_new ? now : then).read(theta)};
  if (is_new && config.has(kTheta) && read.rope.theta != theta) refuse_two(config, kTheta, kNew);
  Rope old = is_old ? then.read(theta) : read.rope;
  if (old.original == 0) old.original = read.rope.original;  // longrope's, beside the dictionary
  if (is_new && old != read.rope)
    refuse(Exit::kInput, config.name(), ": ", kOld, " and ", kNew,
           " describe different rotations; remove the one that the model was not trained with");
  if (form.is_partial) {
    const double inside = is_new ? now.share(1) : 1;
    read_partial(config, form, inside, read.rope);
  }
  if (two) read.local_theta = local_theta_in(config, form, is_new);
  if (!form.grows_queries) return read;
  if (is_new || is_old) {
    read.query_growth = (is_new ? now : then).growth();
    if (read.query_growth > 0 && read.rope.type != RopeType::yarn)
      config.fail(text(is_new ? kNew : kOld, ".rope_type"), "\"yarn\" beside llama_4_scaling_beta");
    if (is_new && is_old && then.growth() != read.query_growth)
      refuse_two(config, "rope_scaling.llama_4_scaling_beta", kNew);
    return read;
  }
  read.rope = {.type = RopeType::yarn, .theta = theta, .factor = 16, .original = 16384};
  read.rope.mscale = read.rope.mscale_all = 1;
  read.query_growth = 0.1;
  return read;
}

std::vector<HubEntry> rope_entries(const ReadRope& read, const RopeForm& form) {
  const bool two = form.local_theta > 0, plain = read.rope.type == RopeType::plain;
  const std::string full = dictionary_of(read, form, true);
  std::vector<HubEntry> entries;
  if (form.is_partial) {
    entries.push_back({kPartial, json_number(read.rope.share)});
    const double original = read.rope.original > 0 ? read.rope.original : double(form.positions);
    entries.push_back({kOriginal, text(int64_t(original))});
  }
  entries.push_back({kTheta, json_number(read.rope.theta)});
  entries.push_back({kOld, plain ? "null" : dictionary_of(read, form, false)});
  if (!two) {
    entries.push_back({kNew, full});
    return entries;
  }
  if (has_local_key(form)) entries.push_back({kLocalTheta, json_number(read.local_theta)});
  entries.push_back({kNew, text(R"({"full_attention": )", full,
                                R"(, "sliding_attention": {"rope_type": "default", "rope_theta": )",
                                json_number(read.local_theta), "}}")});
  return entries;
}

}  // namespace zero::model
