#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {

/// A value of a JSON text, with the values in it.
struct JsonNode {
  enum class Kind : uint8_t { kScalar, kObject, kArray };
  Kind kind = Kind::kScalar;
  JsonScalar scalar = nullptr;
  std::vector<std::string> keys = {};  ///< [children] of an object
  std::vector<JsonNode> children = {};
};

/// A builder of nodes from the events of read_json(). REQUIRES: the text ends each value.
class JsonTree {
 public:
  explicit JsonTree(const std::string& file) : file_(file) {}

  void open(JsonSink::Path path, bool is_array);
  void value(JsonSink::Path path, const JsonScalar& value);
  void close();
  const JsonNode& root() const { return root_; }

 private:
  void add(JsonNode node, std::string key);

  const std::string& file_;
  struct Open {
    JsonNode node;
    std::string key;
  };
  std::vector<Open> open_;
  JsonNode root_;
  size_t nodes_ = 0;
};

/// A view of a value in a file. It refuses a value of another type, and remembers which keys were
/// asked for. Views the node and the file's name.
class JsonSection {
 public:
  JsonSection(const JsonNode& node, const std::string& file, std::string where)
      : node_(&node), file_(&file), where_(std::move(where)) {}

  bool is_null() const { return is(nullptr); }
  /// True if the value is this scalar.
  bool is(const JsonScalar& value) const {
    return node_->kind == JsonNode::Kind::kScalar && node_->scalar == value;
  }
  bool is_object() const { return node_->kind == JsonNode::Kind::kObject; }
  /// Returns the value under a key; null if it is missing.
  JsonSection at(const std::string& key);
  /// Returns the elements of an array.
  std::vector<JsonSection> elements() const;
  /// Returns the keys of an object and the values under them.
  std::vector<std::pair<std::string, JsonSection>> members() const;

  std::string string() const;
  bool boolean() const;
  int64_t integer() const;
  bool boolean_at(const std::string& key, bool otherwise);

  /// Refuses each key that nobody asked for.
  void require_all_known() const;
  /// Throws Error(kInput), "<file>: <where>: <fault>".
  template <class... Words>
  [[noreturn]] void fail(const Words&... words) const {
    refuse(Exit::kInput, *file_, ": ", where_.empty() ? "" : where_ + ": ", words...);
  }

 private:
  const JsonNode* node_;
  const std::string* file_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace zero
