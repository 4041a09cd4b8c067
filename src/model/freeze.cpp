#include <fnmatch.h>

#include <algorithm>

#include "zero/base/text.hpp"
#include "zero/graph/passes.hpp"
#include "zero/model/recipe.hpp"

namespace zero::model {
namespace {

bool meets(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// True if the pattern matches the parameter's name, also with the family's prefix and behind
/// model/.
bool meets_any(const Architecture& model, const std::string& pattern, std::string_view name) {
  const std::string_view prefix = model.family->stored.prefix;
  return meets(pattern, std::string(name)) || meets(pattern, text(prefix, name)) ||
         meets(pattern, text("model/", prefix, name));
}

using Names = std::vector<std::string>;

/// True if the pattern matches the copy. An untied classifier is a parameter, and so no copy.
bool meets_copy(const Architecture& model, const std::string& pattern, const StoredCopy& copy,
                const Names& names) {
  return meets_any(model, pattern, copy.copy) && std::ranges::find(names, copy.copy) == names.end();
}

bool meets_copy_of(const Architecture& model, const std::string& pattern, const std::string& name,
                   const Names& names) {
  return std::ranges::any_of(model.family->stored.copies, [&](const StoredCopy& copy) {
    return copy.original == name && meets_copy(model, pattern, copy, names);
  });
}

/// True if the pattern matches a parameter. Throws Error(kUsage) if it matches some but not all of
/// the parameter's tensors in Hugging Face's files.
bool means(const Architecture& model, const std::string& pattern, const std::string& name,
           const Names& names) {
  if (meets_any(model, pattern, name) || meets_copy_of(model, pattern, name, names)) return true;
  const std::vector<std::string> parts = stored_form(model, name).names;
  const auto met = std::ranges::count_if(
      parts, [&](const std::string& part) { return meets_any(model, pattern, part); });
  if (met == 0 || met == std::ssize(parts)) return met > 0;
  refuse_settings({"model.freeze"}, '"', pattern, "\" means a part of ", name, ", which holds ",
                  parts.front(), " to ", parts.back(), " and is trained or frozen whole; write \"",
                  name, '"');
}

[[noreturn]] void refuse_unknown(const std::string& pattern, const Names& names) {
  const std::string near = nearest_key(pattern, names);
  refuse_settings({"model.freeze"}, '"', pattern, "\" meets no parameter; ",
                  near.empty() ? "names are such as " + names.front() + " and " + names.back()
                               : "did you mean \"" + near + "\"?");
}

Names names_of(const graph::Graph& forward) {
  Names names;
  for (const graph::Parameter& parameter : forward.parameters)
    names.push_back(forward[parameter.tensor].name);
  return names;
}

graph::Graph freeze(const Architecture& model, std::span<const std::string> patterns,
                    graph::Graph forward) {
  const Names names = names_of(forward);
  std::vector<bool> frozen(names.size(), false);
  for (const std::string& pattern : patterns) {
    bool met = false;
    for (size_t p = 0; p < names.size(); ++p) {
      if (!means(model, pattern, names[p], names)) continue;
      met = frozen[p] = true;
    }
    if (!met) refuse_unknown(pattern, names);
  }
  if (std::ranges::find(frozen, false) == frozen.end()) {
    refuse_settings({"model.freeze"}, "all ", names.size(),
                    " parameters are frozen and nothing is trained; leave out those that are to ",
                    "learn");
  }
  return graph::freeze(std::move(forward), frozen);
}

}  // namespace

std::string shared_names_text(const Architecture& model, std::span<const std::string> patterns,
                              const graph::Graph& forward) {
  const Names names = names_of(forward);
  std::string words;
  for (const std::string& pattern : patterns) {
    for (const StoredCopy& copy : model.family->stored.copies) {
      const std::string original(copy.original);
      if (meets_any(model, pattern, original) || !meets_copy(model, pattern, copy, names)) continue;
      words += text(words.empty() ? "" : "; ", '"', pattern, "\" means ", original, ", of which ",
                    copy.copy, " is another name: it is frozen wherever it is read");
      break;
    }
  }
  return words;
}

Alteration freezing(std::vector<std::string> patterns) {
  return {.name = "model.freeze",
          .purposes = {Purpose::train, Purpose::evaluate},
          .apply = [patterns = std::move(patterns)](const Architecture& model, graph::Graph graph) {
            return freeze(model, patterns, std::move(graph));
          }};
}

}  // namespace zero::model
