#pragma once
/// Rows of tokens that documents fill: the samples of document_samples.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "io/data/document_source.hpp"

namespace zero {

/// Tokens of a source that stand one behind the other in a row.
struct RowPiece {
  int64_t first = 0;
  int32_t count = 0;
  int32_t document = 0;  ///< row of its document in the source; of a window that of its first token
};

struct RowPlan {
  int64_t length = 0;                 ///< tokens of a row
  bool is_windows = false;            ///< each piece has one more token behind it, its last target
  std::vector<int64_t> begins = {0};  ///< [rows + 1] first piece of each row
  std::vector<RowPiece> pieces = {};
  std::vector<int32_t> counted = {};  ///< [rows] learnt targets
  int64_t cut = 0;                    ///< documents that were longer than a row
  int64_t unlearnt = 0;               ///< documents, or windows, left out without a target

  int64_t rows() const { return int64_t(begins.size()) - 1; }
  /// Returns the share of places that are padding.
  double padding() const;
};

/// A stretch of the documents of a source, by its rows there.
struct DocumentRange {
  int64_t first = 0, count = 0;
};

struct RowRules {
  int64_t length = 0;
  bool refuse_long = false;  ///< refuse a longer document instead of a cut
};

/// Returns rows of whole documents, packed by best fit over all of them: from the longest on, each
/// goes in the fullest row that has room (best fit decreasing; Johnson 1973). Takes
/// O(documents log length). Leaves out documents without a target behind their first token, and
/// cuts longer ones. Throws Error(kInput) naming a longer one if that is refused.
RowPlan pack_documents(const DocumentSource& source, const DocumentRange& range,
                       const RowRules& rules);

/// Returns rows of one document, in the order of the source. Otherwise as pack_documents().
RowPlan one_document_a_row(const DocumentSource& source, const DocumentRange& range,
                           const RowRules& rules);

/// Returns windows of the documents one behind the other: disjoint ones of length + 1 tokens, of
/// which the last `length` are targets. The last may be shorter. Leaves out windows without a
/// target.
RowPlan windows_of_documents(const DocumentSource& source, const DocumentRange& range,
                             const RowRules& rules);

}  // namespace zero
