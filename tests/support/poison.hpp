#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// Fills a rank's transient buffers with 0xFF, a NaN in every floating type, stretch by stretch:
/// when the first op of a body that touches one is about to run and when the last one has run, in
/// the order that is really taken; a copy (plan::Buffer::copy_of) before it is filled anew, and
/// when the last op before that has run. In a plan that is safe, what shares bytes lives one after
/// the other in every order, so a fill never meets live bytes; where it does, the plan was wrong
/// and the numbers show it.
class Poison {
 public:
  using BytesOf = std::function<std::span<std::byte>(int32_t buffer)>;

  Poison(const plan::Plan& plan, BytesOf bytes_of);

  void begin(const plan::Body& body);
  void before(const plan::PlanOp& op);
  void after(const plan::PlanOp& op);

 private:
  struct Life {
    int32_t ops_left = 0;
    bool begins = false, ends = false;  ///< with 0xFF
  };
  /// Bytes of a buffer between neighbouring borders of a body's operands.
  struct Stretch {
    int64_t begin, end;
    std::vector<Life> lives = {};
    size_t now = 0;
  };
  bool fills_copy(const plan::Operand& operand) const;
  static bool begins_anew(const plan::PlanOp& op, const plan::Operand& operand);
  int64_t end_of(const plan::Operand& operand) const;
  void cut(const plan::Body& body);
  /// Calls visit(operand, stretch) for whatever an op touches.
  template <class Visit>
  void visit(const plan::PlanOp& op, const Visit& visit);
  void fill(int32_t buffer, const Stretch& stretch) const;

  const plan::Plan& plan_;
  BytesOf bytes_of_;
  std::vector<std::vector<Stretch>> stretches_;  ///< [buffers]
};

}  // namespace zero::run
