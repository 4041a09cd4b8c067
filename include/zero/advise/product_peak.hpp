#pragma once

#include "zero/base/dtype.hpp"

namespace zero::advise {

/// Floating-point operations a second of this rank's largest quick product, best of a few, with all
/// ranks measuring at the same time; what a step's speed is printed as a share of. Takes at most
/// about 0.2 s; 0 where one product would take longer than that.
double measure_product_peak(int threads, Dtype dtype);

/// Whether a training of so many floating-point operations a rank, all its steps together, has more
/// of them than measuring the peak takes. A shorter one would spend most of its time on that.
bool is_worth_a_product_peak(double operations);

}  // namespace zero::advise
