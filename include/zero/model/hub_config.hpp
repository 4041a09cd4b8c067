#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "zero/io/interop/json.hpp"

namespace zero::model {

/// The scalars of a config.json as Hugging Face writes it, by their keys joined by dots. Of a list
/// the last one stays, which nobody asks for. What is asked for and is missing or not as it must be
/// is Error(kInput) with the file, the key, and what would work.
class HubConfig {
 public:
  /// `name` is for messages. Throws Error(kInput) for what is no JSON object.
  HubConfig(std::string_view content, std::string name);

  /// What messages compare it with: "GPT2LMHeadModel".
  void compare_with(std::string_view hub_class) { class_ = hub_class; }

  int64_t count(const std::string& key, int64_t most) const;
  int64_t count_or(const std::string& key, int64_t most, int64_t otherwise) const;
  std::string word_or(const std::string& key, const std::string& otherwise) const;
  /// An fp32 number that can be added to a variance.
  float epsilon_or(const std::string& key, double otherwise) const;
  float share_or(const std::string& key, double otherwise) const;
  /// A switch whose other value would be another network.
  void require(const std::string& key, bool wanted) const;
  [[noreturn]] void fail(const std::string& key, const std::string& advice) const;

 private:
  /// Null is as good as absent.
  bool has(const std::string& key) const;
  template <class T>
  const T* find(const std::string& key) const;
  double real_or(const std::string& key, double otherwise) const;

  std::string name_, class_;
  std::map<std::string, JsonScalar> values_;
};

}  // namespace zero::model
