#include "zero/advise/slurm_advice.hpp"

#include <cmath>

#include "zero/base/text.hpp"
#include "zero/config/optimizer_keys.hpp"
#include "zero/model/recipe.hpp"

namespace zero::advise {
namespace {

/// Bytes of a rank outside its plan: program, libraries and buffers of MPI, with GPUs also those of
/// CUDA and NCCL.
constexpr int64_t kBesideHost = int64_t(1) << 30, kBesideGpu = int64_t(4) << 30;
/// Seconds. Slurm looks at limits once a minute at worst.
constexpr double kLate = 60;
constexpr int64_t kRounding = 10;

/// Returns the bytes of a checkpoint: the fp32 master and the states of every parameter.
double saved_bytes(const setup::Build& build) {
  double bytes = sizeof(float);
  for (const OptimizerState& state : build.plan.request.optimizer.states) {
    bytes += double(bytes_of(state.dtype));
  }
  return bytes * double(model::parameter_count(build.recipe));
}

int64_t node_bytes(const PlanReport& report, const SlurmJob& job) {
  const int64_t rank = job.has_gpus ? host_bytes(*report.build) + kBesideGpu
                                    : all_bytes(*report.build) + kBesideHost;
  return rank * job.node_ranks;
}

}  // namespace

int64_t warning_seconds(const PlanReport& report, int64_t nodes) {
  const double save =
      saved_bytes(*report.build) / double(nodes) / report.machine.disk_write_bandwidth;
  const double seconds = kLate + 2 * (report.forecast.step_seconds + save);
  return int64_t(std::ceil(seconds / double(kRounding))) * kRounding;
}

std::string slurm_lines(const PlanReport& report, const SlurmJob& job) {
  const int64_t gib = (node_bytes(report, job) >> 30) + 1;
  const std::string gpus =
      job.has_gpus ? text("#SBATCH --gpus-per-node=", job.node_ranks, "\n#SBATCH --gpu-bind=none\n")
                   : "";
  return text("#SBATCH --nodes=", job.nodes, "\n#SBATCH --ntasks-per-node=", job.node_ranks, "\n",
              gpus, "#SBATCH --cpus-per-task=", job.threads, "\n#SBATCH --mem=", gib,
              "G\n#SBATCH --distribution=block:block\n#SBATCH --signal=TERM@",
              warning_seconds(report, job.nodes),
              "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n# a checkpoint has ",
              bytes_text(saved_bytes(*report.build)), ", written with ",
              bytes_text(report.machine.disk_write_bandwidth), "/s a node",
              report.machine.disk_is_measured ? "" : " (a guess; calibrate --nvme measures it)",
              "; a step takes ", format("%.1f", report.forecast.step_seconds), " s\n");
}

}  // namespace zero::advise
