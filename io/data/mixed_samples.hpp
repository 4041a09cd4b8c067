#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/data/mixture.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// A set of the samples of several sets of one form. They are shuffled together, or mixed by their
/// weights, or come in a row, once. A sample has the number that it would have in a row.
class MixedSamples : public Dataset {
 public:
  struct Part {
    std::unique_ptr<Dataset> samples;  ///< in the order of its source
    size_t group = 0;                  ///< not below that of the part before
    double weight = 0;                 ///< of the group in a mixture; 0 of all: one order for all
  };
  /// Without a seed, the parts come in a row.
  MixedSamples(std::vector<Part> parts, std::optional<uint64_t> seed);

  std::string form() const override { return parts_.front().samples->form(); }
  std::vector<ShownIds> shown(int64_t position) const override;

 private:
  struct Sample {
    const Dataset& of;
    int64_t position;
  };
  Sample sample_of(int64_t sample) const;
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;

  std::vector<Part> parts_;
  std::vector<int64_t> begins_;  ///< [parts + 1] first sample of each in a row
};

/// The sources of several files, as one.
class JoinedSource : public DataSource {
 public:
  /// `salt` stands for settings that choose among the samples. REQUIRES: there are sources.
  JoinedSource(std::vector<std::unique_ptr<DataSource>> sources, uint64_t salt);

  std::string format() const override;
  std::string_view item() const override;
  int64_t items() const override;
  int64_t vocab_size() const override;
  uint64_t fingerprint() const override;

 private:
  std::vector<std::unique_ptr<DataSource>> sources_;
  uint64_t salt_;
};

}  // namespace zero
