#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "src/config/fields.hpp"

namespace zero {

/// Returns the member as a file writes it; for a Fixed key, the default.
TomlValue value_of(const Field& field);

/// Returns the list as a file writes it.
TomlValue list_of(const std::vector<DataPart>& parts);

/// Returns the legal values in words, for error texts and the table of keys: "0 to 3", "true or
/// false".
std::string legal_values(const Field& field);
std::string to_text(const Range& range);
std::string to_text(const OneOf& choice);
inline constexpr std::string_view kSizes =
    "bytes, or text such as \"24GiB\" or \"512MiB\", or \"auto\"";
inline constexpr std::string_view kWords = "strings in [\"brackets\"]";
inline constexpr std::string_view kDataPaths =
    "text, or a list of texts and of {path = \"FILE\", weight = NUMBER}";
inline constexpr std::string_view kGroupSizes = "\"all\", \"node\" or 2 to 8192 ranks";
inline constexpr int64_t kMostGroupRanks = 8192;
inline constexpr std::string_view kTimes = "\"HH:MM:SS\" or seconds, and 0 for none";
inline constexpr std::string_view kBeamEnds = "false, true, \"never\" or \"auto\"";
inline constexpr std::string_view kIdLists = "a list of token ids, [1, 2], or one, or \"auto\"";
inline constexpr std::string_view kRecomputes =
    "\"none\", \"selective\", \"full\", \"auto\" or a list of blocks, [0, 2, 5]";

/// Returns the lines of an input file under their section headers. `line` returns a field's line;
/// "" omits the field.
std::string by_section(
    std::span<const Field> fields,
    const std::function<std::string(const Field& field, std::string_view name)>& line);

/// Returns `words` as a comment behind a value. Replaces bytes that a comment cannot hold.
std::string comment(std::string words);

/// Returns the activations that recompute keeps between the passes: "recompute = \"full\" keeps the
/// inputs of 12 blocks". Omits the counts if the number of blocks is unknown.
std::string kept_activations(const RunConfig& config);

}  // namespace zero
