#include "zero/model/parameter_patterns.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::model {
namespace {

bool meets(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// True if the pattern matches the parameter's name, also as model folders have it, or checkpoints:
/// with the family's prefix behind model/.
bool meets_any(const Architecture& model, const std::string& pattern, std::string_view name) {
  const StoredNames& stored = model.family->stored;
  return meets(pattern, std::string(name)) || meets(pattern, stored.written(name)) ||
         meets(pattern, text("model/", stored.prefix, name));
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

Names names_of(const graph::Graph& graph) {
  Names names;
  for (const graph::Parameter& parameter : graph.parameters)
    names.push_back(graph[parameter.tensor].name);
  return names;
}

/// Finds the parameters that the patterns of a key match.
class Matching {
 public:
  Matching(const Architecture& model, const Patterns& of, const graph::Graph& graph)
      : model_(model), of_(of), graph_(graph), names_(names_of(graph)) {}

  std::vector<bool> run() const {
    std::vector<bool> found(names_.size(), false);
    for (const std::string& pattern : of_.patterns) {
      bool met = false;
      for (size_t p = 0; p < names_.size(); ++p) {
        if (means(pattern, p)) met = found[p] = true;
      }
      if (!met) refuse_unknown(pattern);
    }
    return found;
  }

 private:
  /// True if the pattern matches a parameter. Throws Error(kUsage) if it matches some but not all
  /// of the parameter's tensors in Hugging Face's files.
  bool means(const std::string& pattern, size_t parameter) const {
    const std::string& name = names_[parameter];
    if (meets_any(model_, pattern, name) || meets_copy_of(model_, pattern, name, names_))
      return true;
    const Names& parts = graph_.parameters[parameter].stored.names;
    const auto met = std::ranges::count_if(
        parts, [&](const std::string& part) { return meets_any(model_, pattern, part); });
    if (met == 0 || met == std::ssize(parts)) return met > 0;
    refuse_settings({of_.key}, '"', pattern, "\" means a part of ", name, ", which holds ",
                    parts.front(), " to ", parts.back(), " and is ", of_.whole, " whole; write \"",
                    name, '"');
  }

  [[noreturn]] void refuse_unknown(const std::string& pattern) const {
    const std::string near = nearest_key(pattern, names_);
    refuse_settings({of_.key}, '"', pattern, "\" meets no parameter; ",
                    near.empty() ? "names are such as " + names_.front() + " and " + names_.back()
                                 : "did you mean \"" + near + "\"?");
  }

  const Architecture& model_;
  const Patterns& of_;
  const graph::Graph& graph_;
  const Names names_;
};

}  // namespace

std::vector<bool> matched(const Architecture& model, const graph::Graph& graph,
                          const Patterns& patterns) {
  return Matching(model, patterns, graph).run();
}

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

}  // namespace zero::model
