#!/usr/bin/env bash
# GPT-2 with 10 billion parameters on 32 GPUs of 32 GB: 4 nodes x 8, one MPI rank a GPU.
#   sbatch jobscripts/slurm/gpt2_10b.sh [key=value ...]      from the top folder of zeroapp
#   ZEROAPP=/path/to/zeroapp sbatch --nodes=8 ... for another build or machine
#SBATCH --job-name=gpt2_10b
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --gpu-bind=none
#SBATCH --distribution=block:block
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=gpt2_10b-%j.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:-.}"
zeroapp=${ZEROAPP:-./zeroapp}
input=inputs/gpt2_10b.toml
script=jobscripts/slurm/gpt2_10b.sh
nodes=${SLURM_JOB_NUM_NODES:-4}
ranks=${SLURM_NTASKS:-32}
# shellcheck source=jobscripts/common.sh
. jobscripts/common.sh

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
"$zeroapp" plan "$input" --ranks "$ranks" --ranks-per-node "$((ranks / nodes))" \
  --machine "$card" "$@"

run_ranks "$zeroapp" "$input" "$@"
