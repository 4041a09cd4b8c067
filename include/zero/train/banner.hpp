#pragma once

#include <string>

#include "zero/advise/plan_report.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {

/// Returns the processor's name and those of its features that kernels use.
std::string processor_text();
/// Returns the MPI library and its version: "Open MPI v4.1.4".
std::string mpi_text();
/// Returns the version of Kokkos: "4.7.0".
std::string kokkos_text();
/// Returns the libraries of products, threads and messages, with their versions.
std::string libraries_text();

/// Returns the first lines that a run prints: program, ranks, processor, devices, libraries, model
/// and batch. Collective.
std::string banner(const std::string& version, launch::Session& session, const setup::Build& build,
                   const std::string& backend);

/// Returns a line about samples grouped by length: the share of samples of each form, and the share
/// of tokens that is padding. Returns "" if samples are not grouped.
std::string lengths_text(const DataSets& sets, int64_t micro);

}  // namespace zero::train
