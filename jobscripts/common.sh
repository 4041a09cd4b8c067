# shellcheck shell=bash
# What job scripts share; sourced, never run. sbatch runs a copy of a script, so a script finds this
# file below `home`: "" for the top folder, in which it was submitted, or a module's ZEROAPP_HOME.
# It says which it is in `script`.

# go_on_without NODE ARGS...: where a card or its driver is broken, a new job goes on from the last
# checkpoint without that node; after three such nodes somebody has to look first.
go_on_without() {
  export BROKEN_NODES="${BROKEN_NODES:+$BROKEN_NODES,}$1"
  shift
  local commas=${BROKEN_NODES//[^,]/}
  if [ "${#commas}" -ge 3 ]; then return; fi
  sbatch --exclude="$BROKEN_NODES" --nodes="${nodes:?}" "${script:?}" "$@" ||
    echo "no job could be submitted without the node" >&2
}

# run_ranks ZEROAPP INPUT ARGS...: starts the ranks, and ends the job with their status.
# pmix: without it srun starts as many programs of one rank each, which zeroapp refuses.
# The signal of --signal reaches every rank: all stop together after the step in progress, save, and
# end with status 85. The job then waits for its next turn, and goes on from there.
run_ranks() {
  local status=0 errors node
  errors=$(mktemp)
  # shellcheck disable=SC2064
  trap "rm -f '$errors'" EXIT
  { srun --mpi=pmix "$@" 2>&1 >&3 | tee "$errors" >&2; } 3>&1 || status=$?
  if [ "$status" -eq 85 ]; then scontrol requeue "$SLURM_JOB_ID"; fi

  # Error E1200 names the node of a broken card; srun's status may be that of a rank that was
  # killed.
  node=$(sed -n 's/^zeroapp: error E1200 \[rank [0-9]* host \([^] .]*\).*/\1/p' "$errors" |
    head -n 1)
  if [ -n "$node" ]; then
    status=12
    go_on_without "$node" "${@:3}"
  fi
  exit "$status"
}

# train_gpt2 ARGS...: trains `input` with `zeroapp` on `ranks` ranks of `nodes` nodes.
train_gpt2() {
  # The data is made once, by the first job that needs it.
  if [ ! -f data/web.bin ]; then
    mkdir -p data
    "${home:-}tools/data/make_tokens.sh" data/web.txt data/web.bin data/web_bpe 50257
  fi

  # The plan of this very run, in the log before anything starts: what it needs a rank, and whether
  # it fits the GPUs of this node (or its host, of a build for hosts) and the nodes of this job.
  local status=0 card
  card=$("${zeroapp:?}" doctor --card) || status=$?
  if [ "$status" -eq 12 ]; then go_on_without "${SLURMD_NODENAME:-${HOSTNAME%%.*}}" "$@"; fi
  if [ "$status" -ne 0 ]; then exit "$status"; fi
  "$zeroapp" plan "${input:?}" --ranks "${ranks:?}" --ranks-per-node "$((ranks / nodes))" \
    --machine "$card" "$@"

  run_ranks "$zeroapp" "$input" "$@"
}
