#pragma once

#include <optional>

#include "io/data/row_plan.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// A set of samples: the rows of a plan. Columns: see document_data(). Padding has token 0 and no
/// target. Views the source, which must outlive it.
class DocumentSamples : public Dataset {
 public:
  struct Options {
    bool is_packed = false;                     ///< with the column "first"
    std::optional<uint64_t> shuffle_seed = {};  ///< none: in the order of the plan, once
  };
  DocumentSamples(const DocumentSource& source, RowPlan plan, const Options& options);

  static std::vector<DataColumn> columns_of(int64_t length, bool is_packed);

  const RowPlan& plan() const { return plan_; }
  std::string form() const override;
  /// Returns the tokens of each document, and those of them that are learnt if not all are.
  std::vector<ShownIds> shown(int64_t position) const override;

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;
  std::span<const RowPiece> pieces_of(int64_t sample) const;
  /// Returns the count of a piece's targets, which begin behind its first token.
  int64_t targets_of(const RowPiece& piece) const {
    return plan_.is_windows ? piece.count : piece.count - 1;
  }

  const DocumentSource& source_;
  RowPlan plan_;
  bool is_packed_;
};

}  // namespace zero
