#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/config/fields.hpp"
#include "zero/base/error.hpp"

namespace zero {

/// A collector of fields, section by section. A field has its section's standing unless it sets its
/// own. Keys with a member come first in a section.
class Table {
 public:
  void section(const std::string& name, Standing standing) {
    prefix_ = name + ".";
    standing_ = standing;
  }
  Field& integer(std::string_view key, int64_t& value, Range range) {
    return other(key, Integer{&value, range});
  }
  Field& real(std::string_view key, double& value, Range range) {
    return other(key, Real{&value, range});
  }
  Field& word(std::string_view key, std::string& value) { return other(key, &value); }
  Field& words(std::string_view key, std::vector<std::string>& value) { return other(key, &value); }
  Field& flag(std::string_view key, bool& value) { return other(key, &value); }
  template <class Enum>
  Field& choice(std::string_view key, Enum& value, std::vector<std::string_view> names,
                std::string_view hint = "") {
    return other(key, OneOf{.names = std::move(names),
                            .get = [&value] { return int(value); },
                            .set = [&value](int i) { value = Enum(i); },
                            .hint = hint});
  }
  Field& other(std::string_view key, Binding binding) {
    fields_.push_back({prefix_ + std::string(key), std::move(binding), standing_});
    return fields_.back();
  }

  /// Adds a key without a member and with one legal value. `more` follows that value in the advice.
  void refused(std::string_view key, TomlValue only, std::string_view reason,
               std::string_view more = "") {
    fixed(key, Standing::refused, {only},
          text(reason, reason.empty() ? "" : "; ", "write ", to_text(only), more));
  }
  /// Adds a key for behaviour that is always on; false is refused.
  void always(std::string_view key, std::string_view reason) {
    fixed(key, Standing::always, {true}, text(reason, "; write true"));
  }
  /// Adds a key whose two values have the same effect.
  void either(std::string_view key, bool usual, std::string_view reason,
              std::string_view more = "") {
    fixed(key, Standing::always, {usual, !usual}, text(reason, "; write true or false", more));
  }
  void hint(std::string_view key, TomlValue fallback, std::string_view reason, Range range = {}) {
    other(key, Hint{std::move(fallback), range, reason}).standing = Standing::hint;
  }

  std::vector<Field> take() { return std::move(fields_); }

 private:
  void fixed(std::string_view key, Standing standing, std::vector<TomlValue> accepted,
             std::string reason) {
    other(key, Fixed{std::move(accepted), std::move(reason)}).standing = standing;
  }

  std::string prefix_;
  Standing standing_ = Standing::same;
  std::vector<Field> fields_;
};

/// Adds the keys of [generation].
void generation_fields(Table& table, GenerationConfig& config);

/// Adds the keys of [zero], of the sections below it, and of [aio].
void zero_fields(Table& table, RunConfig& config);

}  // namespace zero
