#include "io/text/nfc.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/text/characters.hpp"
#include "io/text/nfc_tables.hpp"

namespace zero {
namespace {

constexpr uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;
constexpr uint32_t kFirstAffected = 0x300;  // lower characters are themselves, and begin a run

/// True if `code_point` is one of `count` from `first` on.
bool within(uint32_t code_point, uint32_t first, uint32_t count) {
  return code_point - first < count;
}

uint64_t pair_of(uint32_t first, uint32_t second) { return uint64_t(first) << 32 | second; }

/// The tables as they are looked up.
struct Lookup {
  std::unordered_map<uint64_t, uint32_t> composed;         // by pair
  std::unordered_map<uint32_t, const Composition*> pairs;  // by composed character
  std::unordered_set<uint32_t> seconds;                    // of pairs

  Lookup() {
    for (const Composition& row : kCompositions) {
      composed[pair_of(row.first, row.second)] = row.composed;
      pairs[row.composed] = &row;
      seconds.insert(row.second);
    }
  }
};

const Lookup& lookup() {
  static const Lookup kLookup;
  return kLookup;
}

/// Returns the rank of a mark's combining class, 0 for a character that is no mark.
uint32_t rank_of(uint32_t code_point) {
  if (code_point < kFirstAffected) return 0;
  const auto found = std::ranges::lower_bound(kMarkRanges, code_point, {}, &MarkRange::last);
  return found != kMarkRanges.end() && found->first <= code_point ? found->rank : 0;
}

/// Returns the parts of a character that stays apart, ended by a zero; none for another one.
std::array<uint32_t, 3> parts_of(uint32_t code_point) {
  const auto single =
      std::ranges::lower_bound(kReplacements, code_point, {}, &Replacement::code_point);
  if (single != kReplacements.end() && single->code_point == code_point) return {single->by};
  const auto found =
      std::ranges::lower_bound(kDecompositions, code_point, {}, &Decomposition::code_point);
  const bool is_there = found != kDecompositions.end() && found->code_point == code_point;
  return is_there ? found->parts : std::array<uint32_t, 3>{};
}

/// A character of a run, with the rank of its class.
struct Part {
  uint32_t code_point = 0, rank = 0;
};

void decompose(uint32_t code_point, std::vector<Part>& out) {
  if (within(code_point, kSyllables, kSyllableCount)) {
    const uint32_t index = code_point - kSyllables;
    out.push_back({.code_point = kLeads + index / (kVowelCount * kTailCount)});
    out.push_back({.code_point = kVowels + index / kTailCount % kVowelCount});
    if (index % kTailCount > 0) out.push_back({.code_point = kTails + index % kTailCount});
    return;
  }
  const std::array<uint32_t, 3> parts = parts_of(code_point);
  for (const uint32_t part : parts) {
    if (part != 0) out.push_back({.code_point = part, .rank = rank_of(part)});
  }
  if (parts[0] != 0) return;
  const auto pair = lookup().pairs.find(code_point);
  if (pair == lookup().pairs.end()) {
    return out.push_back({.code_point = code_point, .rank = rank_of(code_point)});
  }
  decompose(pair->second->first, out);  // at most three levels
  out.push_back({.code_point = pair->second->second, .rank = rank_of(pair->second->second)});
}

/// Returns the character that two compose, or 0.
uint32_t compose(uint32_t first, uint32_t second) {
  if (within(first, kLeads, kLeadCount) && within(second, kVowels, kVowelCount)) {
    return kSyllables + ((first - kLeads) * kVowelCount + second - kVowels) * kTailCount;
  }
  const bool has_no_tail =
      within(first, kSyllables, kSyllableCount) && (first - kSyllables) % kTailCount == 0;
  if (has_no_tail && within(second, kTails + 1, kTailCount - 1)) return first + second - kTails;
  const auto found = lookup().composed.find(pair_of(first, second));
  return found == lookup().composed.end() ? 0 : found->second;
}

/// True if what precedes a character never changes with it: its first part is neither a mark nor a
/// second part.
bool begins_run(uint32_t code_point) {
  if (code_point < kFirstAffected) return true;
  if (within(code_point, kVowels, kVowelCount) || within(code_point, kTails + 1, kTailCount - 1))
    return false;
  const uint32_t part = parts_of(code_point)[0];
  const uint32_t first = part == 0 ? code_point : part;
  return rank_of(first) == 0 && !lookup().seconds.contains(first);
}

/// Sorts the marks behind each other character by their classes.
void order_marks(std::vector<Part>& parts) {
  for (auto at = parts.begin(); at != parts.end();) {
    if (at->rank == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, parts.end(), [](const Part& part) { return part.rank == 0; });
    std::stable_sort(at, end, [](const Part& a, const Part& b) { return a.rank < b.rank; });
    at = end;
  }
}

/// Composes each character with the last one of rank 0, unless one between blocks it.
void compose_all(std::vector<Part>& parts) {
  size_t kept = 0;
  ptrdiff_t starter = -1;
  uint32_t last_rank = 0;
  for (const Part part : parts) {
    const bool is_next = starter >= 0 && size_t(starter) + 1 == kept;
    if (starter >= 0 && (is_next || last_rank < part.rank)) {
      Part& first = parts[size_t(starter)];
      if (const uint32_t made = compose(first.code_point, part.code_point)) {
        first.code_point = made;
        continue;
      }
    }
    if (part.rank == 0) starter = ptrdiff_t(kept);
    last_rank = part.rank;
    parts[kept++] = part;
  }
  parts.resize(kept);
}

/// Returns the end of the run at `at`, and its characters.
size_t read_run(std::string_view text, size_t at, std::vector<uint32_t>& run) {
  run.clear();
  for (; at < text.size();) {
    const Character next = character(text, at);
    if (next.broken || (!run.empty() && begins_run(next.code_point))) break;
    run.push_back(next.code_point);
    at += next.bytes;
  }
  return at;
}

/// Returns the end of the characters from `at` on that are themselves whatever follows them. The
/// last one in front of an affected character is not among them, because it may be its first part.
size_t unaffected_end(std::string_view text, size_t at) {
  const size_t begin = at;
  size_t last = at;
  while (at < text.size()) {
    const Character next = character(text, at);
    if (!next.broken && next.code_point >= kFirstAffected) return last;
    if (!next.broken) last = at;
    at += next.bytes;
    if (next.broken) last = at;
  }
  return std::max(at, begin);
}

}  // namespace

std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::vector<uint32_t> run;
  std::vector<Part> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = unaffected_end(text, at);
    if (end == at && character(text, at).broken) ++end;
    if (end == at) {
      end = read_run(text, at, run);
      parts.clear();
      for (const uint32_t code_point : run) decompose(code_point, parts);
      order_marks(parts);
      compose_all(parts);
      for (const Part& part : parts) append_utf8(part.code_point, out);
    } else {
      out.append(text.substr(at, end - at));
    }
    at = end;
  }
  return out;
}

}  // namespace zero
