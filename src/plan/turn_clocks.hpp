#pragma once

#include <array>
#include <string>
#include <vector>

#include "zero/plan/rounds.hpp"

namespace zero::plan {

/// What is known of a body's ops as they run one after the other: of each, which ops of all lanes
/// have finished for sure when it starts. Turns are numbered from 0 in the order in which they are
/// added; a loop may be added with fewer rounds than it has.
class TurnClocks {
 public:
  explicit TurnClocks(const Body& body);

  /// Adds a turn. Returns what is wrong with its waits or its number; "" if nothing is.
  std::string add(const Turn& turn);
  /// What is added from here on follows the loop, of which so many rounds were added.
  void leave_loop(int64_t rounds) { rounds_ = Rounds(body_, rounds); }

  const Turn& turn(int32_t i) const { return turns_[size_t(i)]; }
  const PlanOp& op(int32_t i) const { return body_.ops[size_t(turn(i).op)]; }
  int32_t micro(int32_t i) const { return micro_of(body_, op(i), turn(i).round); }
  bool happens_before(int32_t earlier, int32_t later) const {
    return started_[size_t(later)][size_t(op(earlier).lane)] >= number_[size_t(earlier)];
  }
  std::string describe(int32_t i) const;

  /// A round begins.
  void mark_seam();
  /// Adds to `key` what later turns can know about turn i (-1: none) when a round begins. Equal
  /// keys mean equal knowledge: how far back the turn is or, for a turn that is older than the
  /// round before, from where on each lane knows that it has finished.
  void add_seen(int32_t i, std::vector<int64_t>& key) const;
  /// Adds in this way what the ops of the round before know, because later ops may wait for them.
  void add_knowledge(std::vector<int64_t>& key) const;

 private:
  using Clock = std::array<int64_t, kLanes>;

  Clock finished(int32_t i) const;
  bool reaches_too_far(const Wait& wait, const Turn& turn) const;

  const Body& body_;
  Rounds rounds_;
  std::vector<Turn> turns_;
  std::vector<int64_t> number_;  ///< [turns] finished ops of its lane when it has
  std::vector<Clock> started_;   ///< [turns]
  std::array<std::vector<int32_t>, kLanes> of_lane_;
  std::array<Clock, kLanes> known_{};  ///< after the last op of each lane
  Clock counts_{}, last_counts_{};     ///< ops of each lane at the last two seams
};

}  // namespace zero::plan
