#include "io/text/tokenizer_json.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "zero/base/digests.hpp"
#include "zero/base/keyed_hash.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {
namespace {

constexpr int64_t kMostBytes = int64_t(64) << 20;
constexpr size_t kMostLevels = 16, kMostEntries = size_t(1) << 20, kMostMerges = size_t(1) << 21;
constexpr size_t kMostTokenBytes = 4096;

/// A receiver of a file's values. The vocabulary and the merges pass by the tree.
class FileSink : public JsonSink {
 public:
  explicit FileSink(TokenizerJsonFile& out) : out_(out), tree_(out.path) {}

  void open(Path path, bool is_array) override {
    const Part part = part_of(path);
    open_.push_back(part);
    if (part == Part::kTree) tree_.open(path, is_array);
    if (part == Part::kVocabulary) open_vocabulary(path, is_array);
    if (part == Part::kMerges) open_merge(is_array);
  }
  void value(Path path, const JsonScalar& value) override {
    const Part part = part_of(path);
    if (part == Part::kTree) tree_.value(path, value);
    if (part == Part::kVocabulary) add_entry(path, value);
    if (part == Part::kMerges) add_side(value);
  }
  void close() override {
    if (open_.back() == Part::kTree) tree_.close();
    open_.pop_back();
  }

  /// Completes the content.
  void finish() {
    require_whole_merge();
    out_.root = tree_.root();
    auto& entries = out_.vocabulary.entries;
    const auto missing = std::ranges::find(entries, nullptr);
    if (missing != entries.end() && out_.has_vocabulary)
      fail("model.vocab: no entry has id ", missing - entries.begin(), ", but ", entries.size() - 1,
           " is one");
  }

 private:
  enum class Part : uint8_t { kTree, kVocabulary, kMerges, kIgnored };
  static Part part_of(Path path) {
    if (path.empty()) return Part::kTree;
    if (path[0] == "truncation" || path[0] == "padding") return Part::kIgnored;
    if (path.size() < 2 || path[0] != "model") return Part::kTree;
    if (path[1] == "vocab") return Part::kVocabulary;
    return path[1] == "merges" ? Part::kMerges : Part::kTree;
  }

  void open_vocabulary(Path path, bool is_array) {
    if (path.size() == 2 && open_.size() == 3)
      out_.has_vocabulary = !is_array;
    else if (out_.has_vocabulary)
      fail("model.vocab: is no list of entries and ids");
  }
  void add_entry(Path path, const JsonScalar& value) {
    if (!out_.has_vocabulary) return;  // another type of model, which is refused later
    const auto* id = std::get_if<int64_t>(&value);
    if (path.size() != 3 || id == nullptr) fail("model.vocab: ", shown(path.back()), ": has no id");
    if (*id < 0 || *id >= int64_t(kMostEntries))
      fail("model.vocab: id ", *id, " is not 0 to ", kMostEntries - 1);
    if (path[2].empty()) fail("model.vocab: an empty entry");
    auto& entries = out_.vocabulary.entries;
    if (size_t(*id) >= entries.size()) entries.resize(size_t(*id) + 1);
    if (entries[size_t(*id)] != nullptr)
      fail("model.vocab: id ", *id, " of ", shown_entry(path[2]), " is that of ",
           shown_entry(*entries[size_t(*id)]));
    const auto [place, fresh] = out_.vocabulary.ids.emplace(path[2], int32_t(*id));
    entries[size_t(*id)] = &place->first;
  }

  void open_merge(bool is_array) {
    if (open_.size() == 3) return;  // the list
    require_whole_merge();
    if (!is_array || open_.size() != 4) fail_merge();
    pairs_ = true;
    if (out_.merges.size() != pairs_begun_) fail_merge();  // texts before it
    add_merge({});
    ++pairs_begun_;
    sides_ = 0;
  }
  void add_side(const JsonScalar& value) {
    const auto* side = std::get_if<std::string>(&value);
    if (side == nullptr || open_.empty() || open_.back() != Part::kMerges) fail_merge();
    if (open_.size() == 3) return add_text(*side);
    if (sides_ == 2 || side->empty()) fail_merge();
    (sides_++ == 0 ? out_.merges.back().first : out_.merges.back().second) = *side;
  }
  void add_text(const std::string& merge) {
    if (pairs_) fail_merge();
    if (merge.starts_with("#version")) return;
    const size_t blank = merge.find(' ');
    if (blank == merge.npos || blank == 0 || blank + 1 == merge.size() ||
        merge.find(' ', blank + 1) != merge.npos)
      fail_merge();
    add_merge({merge.substr(0, blank), merge.substr(blank + 1)});
  }
  void add_merge(std::pair<std::string, std::string> merge) {
    if (out_.merges.size() == kMostMerges) fail("model.merges: more than ", kMostMerges, " merges");
    out_.merges.push_back(std::move(merge));
  }
  void require_whole_merge() {
    if (pairs_ && sides_ != 2) fail_merge();
  }
  [[noreturn]] void fail_merge() {
    fail("model.merges: ", out_.merges.size(),
         ": is not a pair of entries; all merges are like [\"", "a\", \"b\"], or all like \"a b\"");
  }
  template <class... Words>
  [[noreturn]] void fail(const Words&... words) {
    refuse(Exit::kInput, out_.path, ": ", words...);
  }

  TokenizerJsonFile& out_;
  JsonTree tree_;
  std::vector<Part> open_;
  bool pairs_ = false;
  size_t pairs_begun_ = 0;
  int sides_ = 2;
};

/// Refuses a rule of the model that would change ids.
void require_absent(JsonSection& model, const char* key) {
  const JsonSection value = model.at(key);
  if (value.is_null() || model.at(key).string().empty()) return;
  value.fail("\"", shown(value.string()), "\" is not supported; null is");
}

void require_no_dropout(JsonSection& model, const JsonNode* node) {
  const JsonSection value = model.at("dropout");
  if (value.is_null()) return;
  const double* number = node == nullptr ? nullptr : std::get_if<double>(&node->scalar);
  if (number == nullptr || *number != 0)
    value.fail("is not supported, because it draws the ids; null is");
}

/// Returns the node under two keys, or null.
const JsonNode* node_at(const JsonNode& root, const char* outer, const char* inner) {
  const JsonNode* node = &root;
  for (const char* key : {outer, inner}) {
    const auto found = std::ranges::find(node->keys, key);
    if (found == node->keys.end()) return nullptr;
    node = &node->children[size_t(found - node->keys.begin())];
  }
  return node;
}

void read_model(JsonSection& model, const TokenizerJsonFile& file, TokenizerRules& rules) {
  const std::string type = model.at("type").string();
  if (type != "BPE")
    model.fail("the type \"", shown(type),
               "\" is not supported; BPE is, and a Unigram model is read "
               "from its spiece.model or spm.model");
  if (!file.has_vocabulary) model.at("vocab").fail("is missing");
  require_no_dropout(model, node_at(file.root, "model", "dropout"));
  require_absent(model, "continuing_subword_prefix");
  require_absent(model, "end_of_word_suffix");
  const JsonSection unknown = model.at("unk_token");
  if (!unknown.is_null()) rules.unknown = unknown.string();
  rules.fuses_unknown = model.boolean_at("fuse_unk", false);
  rules.byte_fallback = model.boolean_at("byte_fallback", false);
  rules.ignores_merges = model.boolean_at("ignore_merges", false);
  model.require_all_known();
}

/// Reads an added token, whose id must be that of the vocabulary, or the next one behind all.
AddedToken read_added(JsonSection& section, const BpeVocabulary& vocabulary, int64_t next) {
  const JsonSection id = section.at("id");
  AddedToken token{.text = section.at("content").string(),
                   .strips_left = section.boolean_at("lstrip", false),
                   .strips_right = section.boolean_at("rstrip", false),
                   .special = section.boolean_at("special", false),
                   .single_word = section.boolean_at("single_word", false),
                   .normalized = section.boolean_at("normalized", false)};
  section.require_all_known();
  if (token.text.empty() || token.text.size() > kMostTokenBytes)
    section.fail("content has ", token.text.size(), " bytes; 1 to ", kMostTokenBytes, " are read");
  const auto known = vocabulary.ids.find(token.text);
  const int64_t expected = known == vocabulary.ids.end() ? next : known->second;
  if (id.integer() != expected)
    id.fail(id.integer(), " is not the id of ", shown_entry(token.text), ", which is ", expected,
            known == vocabulary.ids.end() ? " behind the tokens before it" : " in model.vocab");
  token.id = int32_t(expected);
  return token;
}

std::vector<AddedToken> read_added_tokens(const JsonSection& list,
                                          const BpeVocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  if (list.is_null()) return tokens;
  std::unordered_set<std::string, KeyedHash> texts;
  auto next = int64_t(vocabulary.entries.size());
  for (JsonSection& section : list.elements()) {
    if (tokens.size() == kMostEntries) list.fail("more than ", kMostEntries, " tokens");
    tokens.push_back(read_added(section, vocabulary, next));
    if (!texts.insert(tokens.back().text).second)
      section.fail(shown_entry(tokens.back().text), " comes twice");
    next += tokens.back().id == next;
  }
  return tokens;
}

/// Resolves the merges. The last of equal pairs counts, as in `tokenizers`.
void resolve_merges(const TokenizerJsonFile& file, TokenizerJson& out) {
  const auto id_of = [&](const std::string& entry, size_t place) {
    const auto found = file.vocabulary.ids.find(entry);
    if (found == file.vocabulary.ids.end())
      refuse(Exit::kInput, file.path, ": model.merges: ", place, ": model.vocab has no ",
             shown_entry(entry));
    return found->second;
  };
  for (size_t i = 0; i < file.merges.size(); ++i) {
    const auto& [left, right] = file.merges[i];
    out.merges.push_back(
        {.left = id_of(left, i), .right = id_of(right, i), .result = id_of(left + right, i)});
  }
  out.table = MergeTable(out.merges.size());
  for (size_t i = out.merges.size(); i-- > 0;)
    out.table.add(out.merges[i].left, out.merges[i].right, uint32_t(i));
}

std::string rules_text(const TokenizerJson& json) {
  const TokenizerRules& rules = json.rules;
  std::string all = text(rules.byte_level, rules.ignores_merges, rules.byte_fallback,
                         rules.fuses_unknown, "\n", rules.unknown, "\n");
  for (const auto step : rules.normal) all += text("n", int(step));
  for (const CutStep& step : rules.cuts) all += text("c", int(step.kind), int(step.pattern));
  if (rules.marks) all += text("m", int(rules.marks->prefix), rules.marks->splits);
  const DecodeRules& decode = rules.decode;
  all += text("d", decode.byte_level, decode.marks_are_blanks, decode.joins_bytes,
              decode.strips_blank, decode.drops_first_marks);
  for (const int32_t id : rules.frame.before) all += text(" b", id);
  for (const int32_t id : rules.frame.after) all += text(" a", id);
  for (const AddedToken& token : json.added) {
    all += text("\n", token.id, " ", token.strips_left, token.strips_right, token.special,
                token.single_word, token.normalized, " ", token.text.size(), " ", token.text);
  }
  return all;
}

uint32_t crc_of(const std::string& bytes, uint32_t crc = 0) {
  return crc32(reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size() + 1, crc);
}

uint64_t fingerprint_of(const TokenizerJson& json) {
  uint32_t entries = 0;
  for (const std::string* entry : json.vocabulary.entries) entries = crc_of(*entry, entries);
  const uint32_t merges = crc32(reinterpret_cast<const uint8_t*>(json.merges.data()),
                                json.merges.size() * sizeof(BpeMerge));
  const uint32_t rules = crc_of(rules_text(json));
  return (uint64_t(entries) << 32 | merges) ^ (uint64_t(rules) << 16 | rules >> 16);
}

}  // namespace

TokenizerJsonFile parse_tokenizer_json(const std::string& path) {
  TokenizerJsonFile file{.path = path, .vocabulary = {}, .merges = {}, .root = {}};
  FileSink sink(file);
  read_json(read_whole(path, kMostBytes), path, {.depth = kMostLevels, .keys = kMostEntries}, sink);
  sink.finish();
  return file;
}

TokenizerJson read_tokenizer_json(TokenizerJsonFile file) {
  JsonSection root(file.root, file.path, "");
  const JsonSection version = root.at("version");
  if (!version.is_null() && version.string() != "1.0")
    version.fail("\"", shown(version.string()), "\" is not supported; \"1.0\" is");
  JsonSection model = root.at("model");
  TokenizerRules model_rules;
  read_model(model, file, model_rules);
  TokenizerJson json{.rules = read_tokenizer_rules(root),
                     .vocabulary = {},
                     .merges = {},
                     .added = read_added_tokens(root.at("added_tokens"), file.vocabulary)};
  root.require_all_known();
  json.rules.unknown = model_rules.unknown;
  json.rules.fuses_unknown = model_rules.fuses_unknown;
  json.rules.byte_fallback = model_rules.byte_fallback;
  json.rules.ignores_merges = model_rules.ignores_merges;
  auto tokens = int64_t(file.vocabulary.entries.size());
  for (const AddedToken& token : json.added) tokens = std::max(tokens, int64_t(token.id) + 1);
  for (const auto* ids : {&json.rules.frame.before, &json.rules.frame.after}) {
    for (const int32_t id : *ids) {
      if (id >= tokens) root.at("post_processor").fail("id ", id, " is that of no token");
    }
  }
  resolve_merges(file, json);
  json.vocabulary = std::move(file.vocabulary);
  json.fingerprint = fingerprint_of(json);
  return json;
}

}  // namespace zero
