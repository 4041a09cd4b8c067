#pragma once

#include <cstddef>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

/// Requires that whoever opens this file of the manifest as HDF5 sees what the manifest says and
/// nothing else. A rank's: for each slice a dataset of its name, type, length and place in the
/// file, contiguous and unfiltered, with its two attributes, and the groups on the way there. The
/// index: each tensor as a virtual dataset over the slices' files, and what is said of the run.
/// So there are no links but hard ones, and no storage in other files but the ranks'. Reads the
/// structure alone, without HDF5's library. Throws Error(kInput) naming file and object.
void require_structure(const InputFile& input, const Manifest& manifest, const File& file);

}  // namespace zero::checkpoint
