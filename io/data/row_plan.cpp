#include "io/data/row_plan.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

/// Returns the piece of each document with a target, in their order. Counts the others in `plan`.
std::vector<RowPiece> pieces_of(const DocumentSource& source, const DocumentRange& range,
                                const RowRules& rules, RowPlan& plan) {
  ZERO_REQUIRE(range.first + range.count <= std::numeric_limits<int32_t>::max(), range.count,
               " documents from ", range.first);
  std::vector<RowPiece> pieces;
  for (int64_t row = range.first; row < range.first + range.count; ++row) {
    const int64_t tokens = source.length(row);
    if (tokens > rules.length && rules.refuse_long) {
      refuse(Exit::kInput, source.place(row), ": the document has ", tokens,
             " tokens with its end, but data.sequence_length = ", rules.length, "; write ", tokens,
             " or more, or data.too_long = \"cut\"");
    }
    plan.cut += tokens > rules.length;
    const RowPiece piece{.first = source.begin(row),
                         .count = int32_t(std::min(tokens, rules.length)),
                         .document = int32_t(row)};
    if (source.targets(row, piece.count) > 0)
      pieces.push_back(piece);
    else
      ++plan.unlearnt;
  }
  return pieces;
}

/// The room in rows that are not full.
class Rooms {
 public:
  explicit Rooms(int64_t length) : rows_(size_t(length) + 1) {}

  /// Returns the fullest row with room for `count` tokens and takes the room; a new row if none has
  /// it.
  int64_t take(int64_t count) {
    const auto found = used_.lower_bound(count);
    int64_t row = made_, room = int64_t(rows_.size()) - 1;
    if (found == used_.end()) {
      ++made_;
    } else {
      room = *found;
      row = rows_[size_t(room)].back();
      rows_[size_t(room)].pop_back();
      if (rows_[size_t(room)].empty()) used_.erase(found);
    }
    const int64_t rest = room - count;
    if (rest > 0) {
      if (rows_[size_t(rest)].empty()) used_.insert(rest);
      rows_[size_t(rest)].push_back(row);
    }
    return row;
  }
  int64_t made() const { return made_; }

 private:
  std::vector<std::vector<int64_t>> rows_;  ///< [room] rows with that room
  std::set<int64_t> used_;                  ///< rooms that a row has
  int64_t made_ = 0;
};

/// Sorts pieces by their length, from the longest on; equal ones keep their order.
void sort_by_length(std::vector<RowPiece>& pieces, int64_t length) {
  std::vector<int64_t> places(size_t(length) + 2);
  for (const RowPiece& piece : pieces) ++places[size_t(length - piece.count) + 1];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  std::vector<RowPiece> sorted(pieces.size());
  for (const RowPiece& piece : pieces)
    sorted[size_t(places[size_t(length - piece.count)]++)] = piece;
  pieces = std::move(sorted);
}

/// Puts each piece in its row of `rows` ones.
void fill_rows(const std::vector<RowPiece>& pieces, const std::vector<int64_t>& row_of,
               int64_t rows, RowPlan& plan) {
  plan.begins.assign(size_t(rows) + 1, 0);
  for (const int64_t row : row_of) ++plan.begins[size_t(row) + 1];
  for (size_t i = 1; i < plan.begins.size(); ++i) plan.begins[i] += plan.begins[i - 1];
  std::vector<int64_t> next(plan.begins.begin(), plan.begins.end() - 1);
  plan.pieces.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i)
    plan.pieces[size_t(next[size_t(row_of[i])]++)] = pieces[i];
}

void count_targets(const DocumentSource& source, RowPlan& plan) {
  plan.counted.assign(size_t(plan.rows()), 0);
  for (int64_t row = 0; row < plan.rows(); ++row) {
    for (int64_t i = plan.begins[size_t(row)]; i < plan.begins[size_t(row) + 1]; ++i) {
      const RowPiece& piece = plan.pieces[size_t(i)];
      plan.counted[size_t(row)] += int32_t(source.targets(piece.document, piece.count));
    }
  }
}

}  // namespace

double RowPlan::padding() const {
  double tokens = 0;
  for (const RowPiece& piece : pieces) tokens += double(piece.count);
  return rows() == 0 ? 0 : 1 - tokens / double(rows() * length);
}

RowPlan pack_documents(const DocumentSource& source, const DocumentRange& range,
                       const RowRules& rules) {
  RowPlan plan{.length = rules.length};
  std::vector<RowPiece> pieces = pieces_of(source, range, rules, plan);
  sort_by_length(pieces, rules.length);
  Rooms rooms(rules.length);
  std::vector<int64_t> row_of;
  for (const RowPiece& piece : pieces) row_of.push_back(rooms.take(piece.count));
  fill_rows(pieces, row_of, rooms.made(), plan);
  count_targets(source, plan);
  return plan;
}

RowPlan one_document_a_row(const DocumentSource& source, const DocumentRange& range,
                           const RowRules& rules) {
  RowPlan plan{.length = rules.length};
  plan.pieces = pieces_of(source, range, rules, plan);
  for (size_t i = 1; i <= plan.pieces.size(); ++i) plan.begins.push_back(int64_t(i));
  count_targets(source, plan);
  return plan;
}

RowPlan windows_of_documents(const DocumentSource& source, const DocumentRange& range,
                             const RowRules& rules) {
  if (rules.refuse_long) {
    refuse_settings({"data.too_long", "data.packing"},
                    "has no effect: windows hold parts of documents of any length; remove it");
  }
  RowPlan plan{.length = rules.length, .is_windows = true};
  const int64_t end = source.begin(range.first + range.count);
  int64_t document = range.first;
  for (int64_t first = source.begin(range.first); first < end; first += rules.length + 1) {
    const int64_t targets = std::min(rules.length, end - first - 1);
    if (targets < 1) break;
    while (source.begin(document + 1) <= first) ++document;
    const int64_t learnt = source.learnt(first + 1, targets);
    if (learnt == 0) {
      ++plan.unlearnt;
      continue;
    }
    plan.pieces.push_back(
        {.first = first, .count = int32_t(targets), .document = int32_t(document)});
    plan.begins.push_back(int64_t(plan.pieces.size()));
    plan.counted.push_back(int32_t(learnt));
  }
  return plan;
}

}  // namespace zero
