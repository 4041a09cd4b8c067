#pragma once

#include <string_view>

namespace zero {

/// Legal values of a number. `automatic` says that "auto" is one too, kept as 0.
struct Range {
  double low = 0;
  double high = 9e15;       ///< integers stay exact in a double
  bool above_low = false;   ///< low itself is refused
  bool below_high = false;  ///< high itself is refused
  bool automatic = false;
  bool maximum = false;        ///< "max" is legal too, kept as kMicroBatchMax
  std::string_view hint = {};  ///< added to every refusal
};

}  // namespace zero
