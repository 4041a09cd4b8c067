#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/data/label_file.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {

/// The place that names classes: data.labels, the labels of data.train, or an evaluated model.
enum class ClassNames : uint8_t { written, of_train, of_model };

/// A reader of the labels of records: of classes, or of real numbers for a regression.
class LabelReader {
 public:
  /// Makes a reader of real numbers.
  LabelReader() = default;
  /// Makes a reader of classes, in the order of the model's scores.
  LabelReader(std::vector<std::string> classes, ClassNames source);

  /// Returns the class or number of a label. A whole number i is class i if the classes are words
  /// of data.labels, as in Hugging Face's columns. Blanks around a name do not count, and "0.0" is
  /// the class "0" if there is no other. Throws Error(kInput) with `place` if there is
  /// no such class, the number is not finite, or the label is missing: null, "", "-" or -1. Such a
  /// name in data.labels is a class, and -1 a real number.
  double read(const JsonScalar& label, const std::string& place) const;

  bool is_real() const { return classes_.empty(); }
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  double class_of(const std::string& name, const std::string& place) const;

  std::vector<std::string> classes_;
  std::unordered_map<std::string, double, KeyedHash> numbers_;  ///< of the classes, by name
  ClassNames source_ = ClassNames::written;
  bool takes_indices_ = false;
};

/// Maximum bytes of the names of all classes, which checkpoints and config.json hold.
inline constexpr size_t kMostClassBytes = size_t(1) << 18;

/// Returns the different labels of a file, sorted: numbers by value, then words by their bytes.
/// Throws as LabelReader::read() if a label is missing or no class. Throws Error(kInput) if the
/// names have more than kMostClassBytes.
std::vector<std::string> classes_in(const LabelFile& file);

/// True for the name of a number that is not whole, such as "2.5".
bool is_fraction(const std::string& name);

/// Returns a name for a message, in quotes if it has commas or blanks around it.
std::string class_text(const std::string& name);
/// Returns the names for a message, "a, b, c", but at most eight.
std::string classes_text(const std::vector<std::string>& classes);

}  // namespace zero
