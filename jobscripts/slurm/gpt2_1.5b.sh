#!/usr/bin/env bash
# GPT-2 with 1.5 billion parameters on 8 GPUs of 32 GB: one node, one MPI rank a GPU.
#   sbatch jobscripts/slurm/gpt2_1.5b.sh [key=value ...]      from the top folder of zeroapp
#   sbatch $ZEROAPP_HOME/jobscripts/slurm/gpt2_1.5b.sh ...    of a module, from any folder
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
home=${ZEROAPP_HOME:+$ZEROAPP_HOME/}
zeroapp=${ZEROAPP:-${ZEROAPP_HOME:+zeroapp}}
zeroapp=${zeroapp:-./zeroapp}
input=${home}inputs/gpt2_1.5b.toml
script=${home}jobscripts/slurm/gpt2_1.5b.sh
nodes=${SLURM_JOB_NUM_NODES:-1}
ranks=${SLURM_NTASKS:-8}
# shellcheck source=jobscripts/common.sh
. "${home}jobscripts/common.sh"

train_gpt2 "$@"
