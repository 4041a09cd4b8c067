# shellcheck shell=bash
# What job scripts share; sourced, never run. sbatch runs a copy of a script, so a script finds this
# file below `home`: "" for the top folder, in which it was submitted, or a module's ZEROAPP_HOME.
# It says which it is in `script`.

# A signal to this shell (--signal=B:USR1@300, scancel --batch) reaches all ranks as USR1, which
# srun passes on; TERM would make srun kill them. Ranks save and end with status 85.
stopping=no passed=no srun=
trap 'stopping=yes passed=yes
  if [ -n "$srun" ]; then kill -USR1 "$srun" 2> /dev/null || true; fi' TERM USR1 USR2

# Nodes that are there in place of one that fails: sbatch --nodes=5 --no-kill for 4 of them.
spare=${ZEROAPP_SPARE_NODES:-0}
if [ "$spare" -ge "${nodes:?}" ]; then
  echo "ZEROAPP_SPARE_NODES=$spare: the job has $nodes nodes, of which none is left to train on;" \
    "ask for more by sbatch --nodes" >&2
  exit 2
fi
if [ "$spare" -gt 0 ]; then
  ranks=$((${ranks:?} * (nodes - spare) / nodes))
  nodes=$((nodes - spare))
fi

# What Open MPI prints of a lost peer, 14 lines a rank, before any line of ours.
notice='^(-{74}|An MPI communication peer process has unexpectedly disconnected\.  This|'
notice+='usually indicates a failure in the peer process \(e\.g\., a crash or|'
notice+='otherwise exiting without calling MPI_FINALIZE first\)\.|'
notice+='Although this local MPI process will likely now behave unpredictably|'
notice+='\(it may even hang or crash\), the root cause of this problem is the|'
notice+='failure of the peer -- that is what you need to investigate\.  For|'
notice+='example, there may be a core file that you can examine\.  More|'
notice+='generally: such peer hangups are frequently caused by application bugs|'
notice+='or other external events\.|  Local (host|PID): +.*|  Peer host: +.*|)$'

# go_on_without NODE ARGS...: where a card or its driver is broken, a new job goes on from the last
# checkpoint without that node; after three such nodes somebody has to look first.
go_on_without() {
  export BROKEN_NODES="${BROKEN_NODES:+$BROKEN_NODES,}$1"
  shift
  local commas=${BROKEN_NODES//[^,]/}
  if [ "${#commas}" -ge 3 ]; then return; fi
  sbatch --exclude="$BROKEN_NODES" --nodes="$((${nodes:?} + ${ZEROAPP_SPARE_NODES:-0}))" \
    "${script:?}" "$@" ||
    echo "no job could be submitted without the node" >&2
}

# run_folder INPUT ARGS...: prints the folder of the run.
run_folder() {
  local folder argument
  folder=$(sed -n 's/^ *output *= *"\(.*\)".*/\1/p' "$1" | head -n 1)
  for argument in "${@:2}"; do
    case $argument in run.output=*) folder=${argument#*=} ;; esac
  done
  echo "${folder:-runs/$(basename "$1" .toml)}"
}

# launch PROGRAM ARGS...: starts the ranks once. Sets `status`, and leaves what they have told in
# the folder `told`.
# pmix: without it srun starts as many programs of one rank each, which zeroapp refuses.
# wait: ranks end together, but where one dies in MPI_Init the others wait for it until srun, a
# minute later, ends them.
launch() {
  local out err filters error
  local quiet="trap '' TERM USR1 USR2; exec sed -u -E"
  exec {out}> >(eval "$quiet" "'/^(zeroapp |saved step )/w $told/out'")
  filters=$!
  exec {err}> >(eval "$quiet" "-e '/$notice/d' -e '/^zeroapp: error/w $told/err'" >&2)
  filters+=" $!"
  srun --mpi=pmix --wait=60 "${placed[@]}" "$@" 1>&"$out" 2>&"$err" &
  srun=$!
  # A signal that came before has found no srun.
  [ "$stopping" = no ] || kill -USR1 "$srun" 2> /dev/null || true
  # A signal ends the wait, and srun has not ended yet.
  while
    passed=no status=0
    wait "$srun" || status=$?
    [ "$passed" = yes ]
  do :; done
  srun=
  exec {out}>&- {err}>&-
  # shellcheck disable=SC2086
  wait $filters || true

  # srun's status may be that of a rank that was killed.
  error=$(sed -n 's/^zeroapp: error E0*\([0-9]*\)00 .*/\1/p' "$told/err" | head -n 1)
  status=${error:-$status}
}

# True if another launch in this allocation may help: the ranks died before their first line, as
# Open MPI does now and then, or ended with an I/O error, a hang or a dead rank after a later save
# than the launch before.
may_start_again() {
  local last
  if [ "$stopping" = yes ] || [ "$restarts" -ge "${ZEROAPP_RESTARTS:-3}" ]; then return 1; fi
  restarts=$((restarts + 1))
  if [ ! -s "$told/out" ]; then
    [ "$status" -ge 128 ]
    return
  fi
  last=$(sed -n 's/^saved step \([0-9]*\).*/\1/p' "$told/out" | tail -n 1)
  { [ "$status" -eq 10 ] || [ "$status" -eq 5 ]; } && [ "${last:-0}" -gt "$saved" ] || return 1
  saved=$last
}

# leave_out_blamed RUN: the next launch does without the node that error.json blames, if this job
# has one to spare.
leave_out_blamed() {
  local node
  node=$(sed -n 's/^ *"blames": "\([^".]\{1,\}\).*/\1/p' "$1/error.json" 2> /dev/null || true)
  if [ "$spare" -eq 0 ] || [ -z "$node" ] || [[ ",$excluded," == *",$node,"* ]]; then return; fi
  spare=$((spare - 1))
  excluded+=${excluded:+,}$node
  echo "going on without node $node" >&2
}

# Lets the job wait for its next turn, unless a user has cancelled it. Slurm itself requeues a job
# that it preempts.
requeue() {
  case $(squeue -h -j "$SLURM_JOB_ID" -o %T 2> /dev/null || true) in
    COMPLETING | CANCELLED) ;;
    *) scontrol requeue "$SLURM_JOB_ID" || true ;;
  esac
}

# run_ranks ZEROAPP INPUT ARGS...: starts the ranks, again where that may help, and ends the job
# with their status.
# The signal of --signal reaches every rank: all stop together after the step in progress, save, and
# end with status 85. The job then waits for its next turn, and goes on from there.
run_ranks() {
  local status=85 restarts=0 saved=0 excluded='' placed=() told run node
  told=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$told'" EXIT
  touch "$told/out" "$told/err"
  run=$(run_folder "${@:2}")
  while [ "$stopping" = no ]; do
    placed=()
    if [ "${ZEROAPP_SPARE_NODES:-0}" -gt 0 ]; then
      placed=(--nodes="$nodes" --ntasks="$ranks" ${excluded:+--exclude="$excluded"})
    fi
    # The step before may be left on a node that died, and keep what it uses.
    if [ "$restarts" -gt 0 ]; then placed+=(--overlap); fi
    launch "$@"
    if ! may_start_again; then break; fi
    leave_out_blamed "$run"
    echo "ended with status $status; starting again, $restarts of ${ZEROAPP_RESTARTS:-3}" >&2
  done
  # srun itself ends by a signal that comes before its ranks are there.
  if [ "$stopping" = yes ] && [ ! -s "$told/out" ]; then status=85; fi

  # Error E1200 names the node of a broken card. An audit of two ranks does not know which is wrong.
  node=$(sed -n 's/^zeroapp: error E1200 \[rank [0-9]* host \([^] .]*\).*/\1/p' "$told/err" |
    head -n 1)
  if grep -qs '^ *"blames": ""' "$run/error.json"; then node=''; fi
  if [ -n "$node" ]; then go_on_without "$node" "${@:3}"; fi
  # A launch that ended before it began has left no folder.
  if [ -d "$run" ] && "$1" --help 2> /dev/null | grep '^  why ' > /dev/null; then
    "$1" why "$run" || true
  fi
  if [ "$status" -eq 85 ]; then requeue; fi
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
