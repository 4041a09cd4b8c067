#pragma once

#include <string>

#include "zero/advise/plan_report.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {

/// The processor's name and those of its features that kernels use.
std::string processor_text();
/// "Open MPI v4.1.4"
std::string mpi_text();
/// "4.7.0"
std::string kokkos_text();
/// The libraries of products, threads and messages, with their versions.
std::string libraries_text();

/// What a run prints first: program, ranks, processor, devices, libraries, model and batch.
/// Collective.
std::string banner(const std::string& version, launch::Session& session, const state::Build& build,
                   const std::string& backend);

/// A line on samples that are grouped by their lengths: how many have which pair, and what share of
/// the tokens is padding; "" where they are not.
std::string lengths_text(const DataSets& sets, int64_t micro);

}  // namespace zero::train
