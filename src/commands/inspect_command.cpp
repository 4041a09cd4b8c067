#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "src/commands/commands.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/error.hpp"
#include "zero/config/key_differences.hpp"
#include "zero/io/interop/safetensors.hpp"
#include "zero/stored/tensor_source.hpp"

namespace zero::commands {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Tensor;
using stored::TensorSource;

constexpr size_t kFactWidth = 100;
constexpr size_t kShownDifferences = 20;
constexpr const char* kConfiguration = "configuration";

/// Returns a fact on one line, with numbers that are kept to the bit as people read them.
std::string shown_fact(const std::string& value) {
  if (value.starts_with("0x")) return text(std::strtod(value.c_str(), nullptr));
  const std::string quoted = escaped_text(value, kFactWidth);
  return quoted.ends_with('"') ? quoted.substr(1, quoted.size() - 2) : quoted;
}

void print_facts(const TensorSource& source) {
  std::printf("%s\n", source.path().c_str());
  for (const auto& [name, value] : source.facts()) {
    // Facts that are whole files are better read there.
    if (value.find('\n') != value.npos) continue;
    std::printf("  %-28s %s\n", name.c_str(), shown_fact(value).c_str());
  }
}

/// Returns the prefix of a tensor's own name: "optimizer/momentum/".
std::string part_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

void print_tensor(const Tensor& tensor, const stored::TensorStatistics& found) {
  const std::string name = tensor.name.substr(part_of(tensor.name).size());
  std::printf("  %-40s %-4s %-16s min %-11.4g max %-11.4g mean %-11.4g std %-11.4g", name.c_str(),
              std::string(name_of(tensor.dtype)).c_str(), shape_text(tensor.shape).c_str(),
              found.least, found.largest, found.mean, found.deviation);
  if (found.non_finite > 0) {
    std::printf(" NOT FINITE: %lld values", (long long)found.non_finite);
  }
  std::printf("\n");
}

Json tensor_json(const Tensor& tensor, const stored::TensorStatistics& found) {
  return {{"name", tensor.name},    {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape},
          {"min", found.least},     {"max", found.largest},           {"mean", found.mean},
          {"std", found.deviation}, {"non_finite", found.non_finite}};
}

void print_json(const Json& json) {
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void show(const TensorSource& source) {
  print_facts(source);
  std::string part;
  for (const Tensor& tensor : source.tensors()) {
    if (part_of(tensor.name) != part) std::printf("%s\n", part_of(tensor.name).c_str());
    part = part_of(tensor.name);
    print_tensor(tensor, statistics_of(source, tensor));
  }
}

void show_json(const TensorSource& source) {
  Json json = {{"path", source.path()}, {"facts", source.facts()}, {"tensors", Json::array()}};
  for (const Tensor& tensor : source.tensors()) {
    json["tensors"].push_back(tensor_json(tensor, statistics_of(source, tensor)));
  }
  print_json(json);
}

/// The differences of two sources, and the number of equal tensors.
struct Comparison {
  struct Differing {
    std::string name;
    std::string how;  ///< differing extents, in words
    stored::TensorDifference values;
  };
  int64_t equal = 0;
  std::vector<Differing> differing;
  std::vector<std::string> only_one, only_other;
  std::vector<std::string> facts;
};

std::vector<std::string> differing_facts(const TensorSource& one, const TensorSource& other) {
  const std::map<std::string, std::string> a = one.facts(), b = other.facts();
  std::vector<std::string> out;
  for (const auto& [name, value] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second == value) continue;
    if (name != kConfiguration) {
      out.push_back(text(name, ": ", shown_fact(value), " and ", shown_fact(found->second)));
      continue;
    }
    for (const auto& [key, was, is] : differences(value, found->second)) {
      out.push_back(text(key, " = ", was, " and ", is));
    }
  }
  return out;
}

Comparison compare(const TensorSource& one, const TensorSource& other) {
  Comparison found;
  found.facts = differing_facts(one, other);
  std::map<std::string, const Tensor*> left;
  for (const Tensor& tensor : other.tensors()) left[tensor.name] = &tensor;
  for (const Tensor& tensor : one.tensors()) {
    const auto twin = left.find(tensor.name);
    if (twin == left.end()) {
      found.only_one.push_back(tensor.name);
      continue;
    }
    const Tensor& match = *twin->second;
    left.erase(twin);
    if (match.shape != tensor.shape) {
      found.differing.push_back(
          {tensor.name, shape_text(tensor.shape) + " and " + shape_text(match.shape), {}});
      continue;
    }
    stored::TensorDifference values = difference_of(one, other, tensor, match);
    if (values.differing == 0) {
      ++found.equal;
    } else {
      found.differing.push_back({tensor.name, "", std::move(values)});
    }
  }
  for (const auto& [name, tensor] : left) found.only_other.push_back(name);
  return found;
}

void print(const Comparison::Differing& differing) {
  if (!differing.how.empty()) {
    std::printf("  %-56s %s\n", differing.name.c_str(), differing.how.c_str());
    return;
  }
  const stored::TensorDifference& values = differing.values;
  std::printf("  %-56s %lld differ, at most by %.4g; first %s: %.9g and %.9g\n",
              differing.name.c_str(), (long long)values.differing, values.largest,
              shape_text(values.first).c_str(), double(values.one), double(values.other));
}

void print_comparison(const Comparison& found, const TensorSource& one, const TensorSource& other) {
  std::printf("%lld tensors equal, %zu differ, %zu only in %s, %zu only in %s\n",
              (long long)found.equal, found.differing.size(), found.only_one.size(),
              one.path().c_str(), found.only_other.size(), other.path().c_str());
  double largest = 0;
  for (const auto& differing : found.differing) {
    largest = std::max(largest, differing.values.largest);
  }
  if (!found.differing.empty()) std::printf("largest difference %.4g\n", largest);
  for (size_t i = 0; i < std::min(found.differing.size(), kShownDifferences); ++i) {
    print(found.differing[i]);
  }
  if (found.differing.size() > kShownDifferences) {
    std::printf("  and %zu more\n", found.differing.size() - kShownDifferences);
  }
  for (const std::string& fact : found.facts) std::printf("  %s\n", fact.c_str());
}

/// JSON has no infinity.
Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json comparison_json(const Comparison& found) {
  Json json = {{"equal", found.equal},
               {"differing", Json::array()},
               {"only_in_first", found.only_one},
               {"only_in_second", found.only_other},
               {"facts", found.facts}};
  for (const auto& [name, how, values] : found.differing) {
    if (!how.empty()) {
      json["differing"].push_back({{"name", name}, {"shapes", how}});
      continue;
    }
    json["differing"].push_back({{"name", name},
                                 {"elements", values.differing},
                                 {"first", values.first},
                                 {"max_abs", finite_or_null(values.largest)}});
  }
  return json;
}

}  // namespace

int inspect(const CommandLine& line) {
  const auto one = stored::open_tensors(*line.catalogue, line.input);
  if (line.second.empty()) {
    line.json ? show_json(*one) : show(*one);
    return 0;
  }
  const auto other = stored::open_tensors(*line.catalogue, line.second);
  const Comparison found = compare(*one, *other);
  if (line.json) {
    print_json(comparison_json(found));
  } else {
    print_comparison(found, *one, *other);
  }
  return 0;
}

}  // namespace zero::commands
