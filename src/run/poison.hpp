#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// Fills a rank's transient buffers with 0xFF, a NaN in every floating type, when the first op of a
/// body that names them is about to run and when the last one has run, in the order that is really
/// taken; a copy (plan::Buffer::copy_of) before it is filled anew, and when the last op before that
/// has run. In a plan that is safe, buffers that share bytes live one after the other in every
/// order, so a fill never meets live bytes; where it does, the plan was wrong and the numbers show
/// it.
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
  /// Of one buffer in a body.
  struct Lives {
    std::vector<Life> all;
    size_t now = 0;
  };
  bool fills_copy(const plan::Operand& operand) const;
  void fill(int32_t buffer) const;

  const plan::Plan& plan_;
  BytesOf bytes_of_;
  std::vector<Lives> lives_;  ///< [buffers]
};

}  // namespace zero::run
