#!/usr/bin/env bash
# GPT-2 with 1.5 billion parameters on 8 GPUs of 32 GB: one node, one MPI rank a GPU.
#   sbatch jobscripts/slurm/gpt2_1.5b.sh [key=value ...]      from the top folder of zeroapp
#   ZEROAPP=/path/to/zeroapp sbatch --nodes=2 ... for another build or machine
#SBATCH --job-name=gpt2_1.5b
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --gpu-bind=none
#SBATCH --distribution=block:block
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=gpt2_1.5b-%j.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:-.}"
zeroapp=${ZEROAPP:-./zeroapp}
input=inputs/gpt2_1.5b.toml

# Where a card or its driver is broken, a new job goes on from the last checkpoint without that
# node; after three such nodes somebody has to look first.
go_on_without() {
  export BROKEN_NODES="${BROKEN_NODES:+$BROKEN_NODES,}$1"
  shift
  local commas=${BROKEN_NODES//[^,]/}
  if [ "${#commas}" -ge 3 ]; then return; fi
  sbatch --exclude="$BROKEN_NODES" --nodes="${SLURM_JOB_NUM_NODES:-1}" \
    jobscripts/slurm/gpt2_1.5b.sh "$@" || echo "no job could be submitted without the node" >&2
}

# The data is made once, by the first job that needs it.
if [ ! -f data/web.bin ]; then
  tools/data/make_tokens.sh data/web.txt data/web.bin data/web_bpe 50257
fi

# The plan of this very run, in the log before anything starts: what it needs a rank, and whether
# it fits the GPUs of this node (or its host, of a build for hosts) and the nodes of this job.
status=0
card=$("$zeroapp" doctor --card) || status=$?
if [ "$status" -eq 12 ]; then go_on_without "${SLURMD_NODENAME:-${HOSTNAME%%.*}}" "$@"; fi
if [ "$status" -ne 0 ]; then exit "$status"; fi
"$zeroapp" plan "$input" --ranks "${SLURM_NTASKS:-8}" \
  --ranks-per-node "$((${SLURM_NTASKS:-8} / ${SLURM_JOB_NUM_NODES:-1}))" --machine "$card" "$@"

# pmix: without it srun starts as many programs of one rank each, which zeroapp refuses.
# The signal above reaches every rank: all stop together after the step in progress, save, and end
# with status 85. The job then waits for its next turn, and goes on from there.
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
{ srun --mpi=pmix "$zeroapp" "$input" "$@" 2>&1 >&3 | tee "$errors" >&2; } 3>&1 || status=$?
if [ "$status" -eq 85 ]; then scontrol requeue "$SLURM_JOB_ID"; fi

# Error E1200 names the node of a broken card; srun's status may be that of a rank that was killed.
node=$(sed -n 's/^zeroapp: error E1200 \[rank [0-9]* host \([^] .]*\).*/\1/p' "$errors" | head -n 1)
if [ -n "$node" ]; then
  status=12
  go_on_without "$node" "$@"
fi
exit "$status"
