#pragma once

namespace zero {

/// Tells the calling thread's CUDA to use the device that use_device() has named: the setting is a
/// thread's own.
void use_chosen_device();

}  // namespace zero
