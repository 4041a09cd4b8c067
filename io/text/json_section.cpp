#include "io/text/json_section.hpp"

#include <algorithm>

namespace zero {
namespace {

constexpr size_t kMostNodes = size_t(1) << 21;
const JsonNode kNull;

}  // namespace

void JsonTree::open(JsonSink::Path path, bool is_array) {
  JsonNode node{.kind = is_array ? JsonNode::Kind::kArray : JsonNode::Kind::kObject};
  open_.push_back({.node = std::move(node), .key = path.empty() ? "" : path.back()});
}

void JsonTree::value(JsonSink::Path path, const JsonScalar& value) {
  add({.scalar = value}, path.back());
}

void JsonTree::close() {
  Open ended = std::move(open_.back());
  open_.pop_back();
  if (open_.empty()) {
    root_ = std::move(ended.node);
  } else {
    add(std::move(ended.node), std::move(ended.key));
  }
}

void JsonTree::add(JsonNode node, std::string key) {
  if (++nodes_ > kMostNodes)
    refuse(Exit::kInput, file_, ": more than ", kMostNodes, " values beside the vocabulary");
  JsonNode& parent = open_.back().node;
  if (parent.kind == JsonNode::Kind::kObject) parent.keys.push_back(std::move(key));
  parent.children.push_back(std::move(node));
}

JsonSection JsonSection::at(const std::string& key) {
  if (!is_object()) fail("is no object");
  known_.insert(key);
  const auto found = std::ranges::find(node_->keys, key);
  const JsonNode& child =
      found == node_->keys.end() ? kNull : node_->children[size_t(found - node_->keys.begin())];
  return {child, *file_, (where_.empty() ? "" : where_ + ".") + shown(key)};
}

std::vector<JsonSection> JsonSection::elements() const {
  if (node_->kind != JsonNode::Kind::kArray) fail("is no array");
  std::vector<JsonSection> found;
  for (size_t i = 0; i < node_->children.size(); ++i)
    found.emplace_back(node_->children[i], *file_, text(where_, "[", i, "]"));
  return found;
}

std::vector<std::pair<std::string, JsonSection>> JsonSection::members() const {
  if (!is_object()) fail("is no object");
  std::vector<std::pair<std::string, JsonSection>> found;
  for (size_t i = 0; i < node_->children.size(); ++i) {
    found.emplace_back(node_->keys[i], JsonSection(node_->children[i], *file_,
                                                   where_ + "." + shown(node_->keys[i])));
  }
  return found;
}

std::string JsonSection::string() const {
  const std::string* found = std::get_if<std::string>(&node_->scalar);
  if (found == nullptr) fail("is no text");
  return *found;
}

bool JsonSection::boolean() const {
  const bool* found = std::get_if<bool>(&node_->scalar);
  if (found == nullptr) fail("is not true or false");
  return *found;
}

int64_t JsonSection::integer() const {
  const int64_t* found = std::get_if<int64_t>(&node_->scalar);
  if (found == nullptr) fail("is no integer");
  return *found;
}

bool JsonSection::boolean_at(const std::string& key, bool otherwise) {
  const JsonSection value = at(key);
  return value.is_null() ? otherwise : value.boolean();
}

void JsonSection::require_all_known() const {
  if (!is_object()) return;
  for (const std::string& key : node_->keys) {
    if (!known_.contains(key)) fail("the key \"", shown(key), "\" is not supported");
  }
}

}  // namespace zero
