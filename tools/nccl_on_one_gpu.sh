#!/bin/sh
# Starts one of several ranks that drive one GPU and exchange by NCCL all the same. NCCL refuses two
# ranks of a node on one GPU, so each rank names a node of its own (NCCL_HOSTID) and they talk over
# loopback, as ranks of several nodes over a network, by few blocks each, since kernels that wait
# for each other have to fit beside each other. For proofs, not for speed.
# usage: mpirun -n 2 tools/nccl_on_one_gpu.sh COMMAND [ARGUMENT...]
#        COMMAND: comm_test, or zeroapp RUN.toml run.share_device=true
if [ $# -eq 0 ]; then
  echo "usage: mpirun -n RANKS tools/nccl_on_one_gpu.sh COMMAND [ARGUMENT...]" >&2
  exit 2
fi
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}
export ZERO_COMM=nccl NCCL_HOSTID="r$rank" NCCL_NET=Socket NCCL_IB_DISABLE=1
export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}" NCCL_MAX_CTAS="${NCCL_MAX_CTAS:-2}"
exec "$@"
