#!/bin/sh
# Measures two builds of candor in the same rounds and prints, in Markdown, which tasks the later build is faster or slower at.
#
#   ci/compare.sh BEFORE AFTER [ARGUMENT…]
#
# BEFORE and AFTER are programs; the arguments go to `candor run`: tasks, --budget, --processes. The run file stays in $CANDOR_RUNS, by default
# candor-runs/change. Exit status: 0 nothing is slower, 1 something is, or a build failed at a task, 2 error, 3 no verdict about some of the tasks.
set -eu

if [ "$#" -lt 2 ]; then
    echo "usage: ci/compare.sh BEFORE AFTER [ARGUMENT…]" >&2
    exit 2
fi
before=$1
after=$2
shift 2
runs=${CANDOR_RUNS:-candor-runs/change}

# A run of an earlier try would be compared as well.
if [ -e "$runs" ]; then
    echo "ci/compare.sh: $runs exists; remove it, or name another directory in CANDOR_RUNS" >&2
    exit 2
fi
mkdir -p "$runs"
"$after" run "$@" --against "$before" --runs "$runs" --quiet > /dev/null || exit 2
exec "$after" compare "$runs"/*.jsonl --format md --fail-on slower,broken
