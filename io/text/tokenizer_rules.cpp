#include <algorithm>

#include "io/text/sentencepiece.hpp"
#include "io/text/tokenizer_json.hpp"

namespace zero {
namespace {

using Normal = TokenizerRules::Normal;

constexpr size_t kMostSteps = 8, kMostFrameIds = 64;
constexpr const char* kPatterns =
    "those of byte-level BPEs with \" ?\\p{N}+\", \"\\p{N}{1,3}\" and \"\\p{N}\" are";

[[noreturn]] void refuse_type(JsonSection& section, const std::string& type, const char* works) {
  section.fail("the type \"", shown(type), "\" is not supported; ", works);
}

std::string type_of(JsonSection& section) { return section.at("type").string(); }

/// Returns the members of a Sequence under `list`, else the section alone; none for null.
std::vector<JsonSection> steps_of(JsonSection section, const char* list) {
  if (section.is_null()) return {};
  if (type_of(section) != "Sequence") return {section};
  const JsonSection steps = section.at(list);
  section.require_all_known();
  std::vector<JsonSection> found = steps.elements();
  if (found.size() > kMostSteps) steps.fail("has ", found.size(), " steps, at most ", kMostSteps);
  return found;
}

/// Refuses a text under `key` that is not `expected`.
void require_text(JsonSection& section, const std::string& key, std::string_view expected) {
  const JsonSection value = section.at(key);
  const std::string found = value.string();
  if (found != expected)
    value.fail("\"", shown(found), "\" is not supported; \"", expected, "\" is");
}

/// Refuses a Replace that does not replace `from` by `to`.
void require_replace(JsonSection& section, std::string_view from, std::string_view to) {
  JsonSection pattern = section.at("pattern");
  const JsonSection regex = pattern.at("Regex");
  if (!regex.is_null()) regex.fail("is not supported; the pattern {\"String\": \"", from, "\"} is");
  require_text(pattern, "String", from);
  pattern.require_all_known();
  require_text(section, "content", to);
}

Normal normal_step(JsonSection& section) {
  const std::string type = type_of(section);
  Normal step = Normal::kNfc;
  if (type == "Prepend") {
    require_text(section, "prepend", kBlankMark);
    step = Normal::kPrependMark;
  } else if (type == "Replace") {
    require_replace(section, " ", kBlankMark);
    step = Normal::kMarkBlanks;
  } else if (type != "NFC") {
    refuse_type(section, type, "null, NFC, Prepend, Replace and a Sequence of them are");
  }
  section.require_all_known();
  return step;
}

/// Reads a Split by one of the known patterns.
WordPattern split_pattern(JsonSection& section) {
  require_text(section, "behavior", "Isolated");
  const JsonSection invert = section.at("invert");
  if (!invert.is_null() && invert.boolean()) invert.fail("true is not supported; false is");
  JsonSection pattern = section.at("pattern");
  const JsonSection regex = pattern.at("Regex");
  if (regex.is_null()) pattern.fail("only a Regex is supported here; ", kPatterns);
  const std::optional<WordPattern> found = word_pattern(regex.string());
  if (!found) regex.fail("\"", shown(regex.string()), "\" is not supported; ", kPatterns);
  pattern.require_all_known();
  return *found;
}

/// True for a Split that takes each blank for the end of a word, as Gemma's. It does nothing in a
/// text whose blanks are marks.
bool splits_at_blanks(JsonSection& section) {
  JsonSection pattern = section.at("pattern");
  const JsonSection blank = pattern.at("String");
  if (blank.is_null()) return false;
  if (blank.string() != " ")
    blank.fail("\"", shown(blank.string()), "\" is not supported; \" \" is");
  pattern.require_all_known();
  require_text(section, "behavior", "MergedWithPrevious");
  const JsonSection invert = section.at("invert");
  if (!invert.is_null() && invert.boolean()) invert.fail("true is not supported; false is");
  return true;
}

MarkRule mark_rule(JsonSection& section) {
  require_text(section, "replacement", kBlankMark);
  MarkRule rule{.splits = section.boolean_at("split", true)};
  const JsonSection prefix = section.at("prepend_scheme");
  const std::string scheme = prefix.is_null() ? "always" : prefix.string();
  if (scheme == "first") {
    rule.prefix = MarkRule::Prefix::kFirst;
  } else if (scheme == "never") {
    rule.prefix = MarkRule::Prefix::kNever;
  } else if (scheme != "always") {
    prefix.fail("\"", shown(scheme), "\" is not supported; first, always and never are");
  }
  if (!section.boolean_at("add_prefix_space", true)) {
    if (!prefix.is_null() && scheme != "never")
      prefix.fail("\"", scheme, "\" contradicts add_prefix_space = false; write \"never\"");
    rule.prefix = MarkRule::Prefix::kNever;
  }
  section.at("str_rep");
  return rule;
}

/// Adds the steps of ByteLevel, which ends a list of steps.
void add_byte_level(JsonSection& section, TokenizerRules& rules) {
  section.boolean_at("trim_offsets", true);  // changes offsets alone
  if (section.boolean_at("add_prefix_space", true))
    rules.cuts.push_back({.kind = CutStep::Kind::kPrefixSpace});
  if (section.boolean_at("use_regex", true)) rules.cuts.push_back({});
  rules.byte_level = true;
}

/// Adds a step of the pre-tokenizer. `alone` is false in a Sequence of several.
void add_cut(JsonSection& section, bool alone, TokenizerRules& rules) {
  if (rules.byte_level)
    section.fail("a step behind ByteLevel is not supported; end with ByteLevel");
  const std::string type = type_of(section);
  const auto& normal = rules.normal;
  const bool has_marks = std::ranges::find(normal, Normal::kMarkBlanks) != normal.end();
  if (type == "ByteLevel") {
    add_byte_level(section, rules);
  } else if (type == "Split" && alone && has_marks && splits_at_blanks(section)) {
    // There are no blanks.
  } else if (type == "Split") {
    rules.cuts.push_back({.pattern = split_pattern(section)});
  } else if (type == "Digits") {
    const bool each = section.boolean_at("individual_digits", false);
    rules.cuts.push_back({.kind = each ? CutStep::Kind::kDigits : CutStep::Kind::kDigitRuns});
  } else if (type == "Metaspace" && alone) {
    rules.marks = mark_rule(section);
  } else {
    refuse_type(section, type,
                "null, ByteLevel, Metaspace alone, and Split or Digits before ByteLevel are");
  }
  section.require_all_known();
}

/// Returns the ids under a name of a template.
std::vector<int32_t> template_ids(JsonSection& tokens, const JsonSection& place,
                                  const std::string& name) {
  JsonSection entry = tokens.at(name);
  if (entry.is_null()) place.fail("\"", shown(name), "\" stands not in special_tokens");
  std::vector<int32_t> ids;
  for (const JsonSection& id : entry.at("ids").elements()) {
    if (id.integer() < 0 || id.integer() > INT32_MAX) id.fail(id.integer(), " is no id");
    ids.push_back(int32_t(id.integer()));
  }
  return ids;
}

/// Reads what a template puts around a single text.
TextFrame template_frame(JsonSection& section) {
  TextFrame frame;
  JsonSection tokens = section.at("special_tokens");
  const JsonSection single = section.at("single");
  std::vector<JsonSection> places = single.elements();
  if (places.size() > kMostFrameIds) single.fail("has more than ", kMostFrameIds, " places");
  bool has_text = false;
  for (JsonSection& place : places) {
    JsonSection token = place.at("SpecialToken"), sequence = place.at("Sequence");
    if (!sequence.is_null()) {
      require_text(sequence, "id", "A");
      if (std::exchange(has_text, true)) place.fail("the text stands twice; once is supported");
      continue;
    }
    auto& ids = has_text ? frame.after : frame.before;
    const std::string name = token.at("id").string();
    for (const int32_t id : template_ids(tokens, place, name)) ids.push_back(id);
    if (ids.size() > kMostFrameIds) place.fail("more than ", kMostFrameIds, " ids");
  }
  if (!has_text) single.fail("has no Sequence A, which is the text");
  section.at("pair");
  return frame;
}

TextFrame read_frame(JsonSection& root) {
  TextFrame frame;
  bool has_template = false;
  for (JsonSection& section : steps_of(root.at("post_processor"), "processors")) {
    const std::string type = type_of(section);
    if (type == "TemplateProcessing" && !std::exchange(has_template, true)) {
      frame = template_frame(section);
    } else if (type == "ByteLevel") {
      for (const char* flag : {"add_prefix_space", "trim_offsets", "use_regex"}) section.at(flag);
    } else {
      refuse_type(section, type,
                  "null, ByteLevel, one TemplateProcessing and a Sequence of them "
                  "are");
    }
    section.require_all_known();
  }
  return frame;
}

/// Adds a step of a decoder of pieces.
void add_decode(JsonSection& section, bool& fused, DecodeRules& rules) {
  const std::string type = type_of(section);
  if (fused && type != "Strip") section.fail("a ", shown(type), " behind Fuse is not supported");
  if (type == "Replace") {
    require_replace(section, kBlankMark, " ");
    rules.marks_are_blanks = true;
  } else if (type == "ByteFallback") {
    rules.joins_bytes = true;
  } else if (type == "Fuse") {
    fused = true;
  } else if (type == "Strip") {
    if (!fused) section.fail("a Strip is supported behind Fuse alone");
    require_text(section, "content", " ");
    const int64_t start = section.at("start").integer(), stop = section.at("stop").integer();
    if (start < 0 || start > 1 || stop != 0)
      section.fail("start ", start, " and stop ", stop, " are not supported; 1 and 0 are");
    rules.strips_blank = start == 1;
  } else {
    refuse_type(
        section, type,
        "ByteLevel, Metaspace, and a Sequence of Replace, ByteFallback, Fuse and Strip are");
  }
}

DecodeRules read_decoder(JsonSection section) {
  DecodeRules rules;
  if (section.is_null())
    section.fail("null is not supported; ByteLevel, Metaspace and a Sequence with Fuse are");
  const std::string type = type_of(section);
  if (type == "ByteLevel") {
    rules.byte_level = true;
    for (const char* flag : {"add_prefix_space", "trim_offsets", "use_regex"}) section.at(flag);
    section.require_all_known();
    return rules;
  }
  if (type == "Metaspace") {
    rules.marks_are_blanks = true;
    rules.drops_first_marks = mark_rule(section).prefix != MarkRule::Prefix::kNever;
    section.require_all_known();
    return rules;
  }
  bool fused = false;
  for (JsonSection& step : steps_of(section, "decoders")) {
    add_decode(step, fused, rules);
    step.require_all_known();
  }
  if (!fused) section.fail("a decoder without Fuse is not supported; ByteLevel and Metaspace are");
  return rules;
}

}  // namespace

TokenizerRules read_tokenizer_rules(JsonSection& root) {
  TokenizerRules rules;
  for (JsonSection& section : steps_of(root.at("normalizer"), "normalizers"))
    rules.normal.push_back(normal_step(section));
  const JsonSection cutter = root.at("pre_tokenizer");
  std::vector<JsonSection> cuts = steps_of(cutter, "pretokenizers");
  for (JsonSection& section : cuts) add_cut(section, cuts.size() == 1, rules);
  if (!rules.cuts.empty() && !rules.byte_level)
    cutter.fail("Split and Digits are supported before ByteLevel alone; end with ByteLevel");
  rules.frame = read_frame(root);
  const JsonSection decoder = root.at("decoder");
  rules.decode = read_decoder(decoder);
  if (rules.decode.byte_level != rules.byte_level)
    decoder.fail("does not undo the pre_tokenizer; both are ByteLevel, or neither");
  return rules;
}

}  // namespace zero
