#include "zero/device/region.hpp"

#include <Kokkos_Core.hpp>

namespace zero {

bool tool_listens() { return Kokkos::Tools::profileLibraryLoaded(); }
bool regions_are_of_threads() { return false; }

void Region::push(const std::string& name) { Kokkos::Tools::pushRegion(name); }

void Region::pop() { Kokkos::Tools::popRegion(); }

}  // namespace zero
