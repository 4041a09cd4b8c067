#!/bin/sh
# In a bundle, bin/NAME is this script: it starts programs/NAME with the libraries of the bundle and
# with those of CUDA that tools/gpu_check.sh has linked into cuda/. Tests read files of the tree in
# which the bundle lies, as build/bundle. Open MPI looks for its parts where it was installed unless
# it is told another place. A bundle runs on one machine: mpirun needs no ssh for others then, and
# NCCL no network but loopback; a rank that no launcher has started starts no daemon.
nodes=${SLURM_STEP_NUM_NODES:-1}
[ "${OMPI_COMM_WORLD_SIZE:-1}" = "${OMPI_COMM_WORLD_LOCAL_SIZE:-1}" ] || nodes=2
if [ -z "${NCCL_SOCKET_IFNAME:-}" ] && [ "$nodes" -gt 1 ]; then
  if [ "${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-0}}" -eq 0 ]; then
    echo "zeroapp: error E0200 a bundle runs on one machine, and these ranks are on several:" \
      "build zeroapp there, or name the network's interface in NCCL_SOCKET_IFNAME" >&2
  fi
  exit 2
fi
here=$(cd "$(dirname "$0")/.." && pwd)
export LD_LIBRARY_PATH="$here/lib:$here/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OPAL_BINDIR="$here/bin" OPAL_LIBDIR="$here/lib" OPAL_PKGLIBDIR="$here/openmpi/parts"
export OPAL_PKGDATADIR="$here/openmpi/texts" OPAL_SYSCONFDIR="$here/openmpi"
export PMIX_LIBDIR="$here/lib" PMIX_PKGLIBDIR="$here/pmix/parts"
export PMIX_PKGDATADIR="$here/pmix/texts" PMIX_SYSCONFDIR="$here/pmix"
export OMPI_MCA_plm="${OMPI_MCA_plm:-isolated}" NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
export OMPI_MCA_ess_singleton_isolated="${OMPI_MCA_ess_singleton_isolated:-1}"
export ZERO_TREE="${ZERO_TREE:-$here/../..}"
exec "$here/programs/$(basename "$0")" "$@"
