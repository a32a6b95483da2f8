#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests rbuf-compare without measuring: stand-ins for mpirun and the launcher of the emulated adapter
# keep what they were called with and print known times.

here=$(cd "$(dirname "$0")" && pwd)
tested=$here/../../ompi-mca-btl-rbuf/compare/compare.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

stand_in_adapter
# The staged protocol takes 100 us and more in later calls, the others twice as long.
cat >"$work/bin/mpirun" <<'END'
#!/bin/bash
echo "mpirun $*" >>"$CALLS"
case "$*" in *openib*) exit 1 ;; esac
case "$*" in
*answer*)
    echo "answer 1 ${SECOND:-node2} mlx5_0"
    echo "answer 0 node1 mlx5_0"
    exit
    ;;
esac
time=$((100 + $(grep -c ^mpirun "$CALLS")))
case "$*" in *rcache* | *tcp*) time=$((2 * time)) ;; esac
echo "size,buffers,pattern,type,cache,median_us,best_us,first_us,mb_per_s,hidden_percent,quiet"
echo "65536,fresh,pingpong,bytes,warm,$time,90,300,10,-,yes"
END
cat >"$work/bin/ompi_info" <<'END'
#!/bin/sh
echo mca:btl:openib:version
END
stand_in 1 rbuf-bench
chmod +x "$work/bin"/*
export RBUF_BENCH=$work/bin/rbuf-bench LAUNCHES=$CALLS

run "two rounds" 0 --transports superpipeline,rcache --rounds 2 --csv "$work/a.csv" --gap 100ns
found "$CALLS" "^softhca --profile graphene --gap 100ns -- "
found "$CALLS" "rbuf-bench --sizes 64K,1M,4M --buffers reused,fresh --probe"
found "$(log_of "two rounds")" "superpipeline +102\.50 +\(101\.00 - 104\.00\)"
# Calls 1 and 4 are superpipeline's: the second round begins with the other transport.
found "$(log_of "two rounds")" "superpipeline / rcache +0\.500 +\(0\.495 - 0\.505\)"
found "$work/a.csv" "^softhca:graphene:gap=100ns,$(hostname),2,rcache,65536,"
found "$(log_of "two rounds")" "an emulated one is measured, profile graphene"

run "a third round" 0 --transports superpipeline,rcache --rounds 1 --csv "$work/a.csv" --add --gap 100ns
found "$work/a.csv" ",3,superpipeline,65536"
found "$(log_of "a third round")" "3 rounds"
run "a report of it" 0 --report "$work/a.csv"
found "$(log_of "a report of it")" "superpipeline / rcache"
try "a report runs nothing" test ! -s "$CALLS"

run "parameters of a protocol" 0 --transports superpipeline:subblock=off:c0=8k,tcp --rounds 1 --no-probe \
    --min 8 --max 64 --pattern rate --type vector --no-warm-up --mca pml_ob1_verbose 1
found "$CALLS" "--mca btl_rbuf_protocol superpipeline --mca btl_rbuf_subblock off --mca btl_rbuf_c0 8k --mca pml_ob1_verbose 1"
found "$CALLS" "rbuf-bench --min 8 --max 64 --pattern rate --type vector --no-warm-up --buffers reused,fresh$"
found "$(log_of "parameters of a protocol")" "superpipeline:subblock=off:c0=8k"
run "more ranks" 0 --transports tcp --rounds 1 --ranks 4 --pattern bcast --pages --no-probe
found "$CALLS" "^mpirun -np 4 .*rbuf-bench --pattern bcast --pages "
mkdir "$work/before" && : >"$work/before/mca_btl_rbuf.so"
run "another build" 0 --transports "superpipeline:component=$work/before:c0=8k,superpipeline" --rounds 1 --no-probe
found "$CALLS" "superpipeline --mca mca_base_component_path SYS_DEFAULT:$work/before --mca btl_rbuf_c0 8k"
[ "$(grep -c '^mpirun .*mca_base_component_path' "$CALLS")" = 1 ] && pass "  the other one is the usual" ||
    fail "another build" "both have its path"
run "another build that is not there" 2 --transports "superpipeline:component=$work/nowhere" --rounds 1 --no-probe

refused_add() { # TEXT OPTION...
    run "not added: $1" 2 "${@:2}" --transports superpipeline --rounds 1 --csv "$work/a.csv" --add
    found "$(log_of "not added: $1")" "$1"
}
refused_add "another fabric" --profile graphene
sed -i '1s/,quiet//' "$work/a.csv"
refused_add "other columns" --gap 100ns

run "some handovers only" 0 --transports tcp --rounds 1 --handover 40:130
found "$CALLS" "--probe --probe-handover 40:130$"

run "a transport that fails" 1 --transports openib-pinned,superpipeline --rounds 1
found "$(log_of "a transport that fails")" "openib-pinned failed in round 1 with status 1"
found "$(log_of "a transport that fails")" "pingpong fresh +superpipeline"

# --- on other nodes ---

run "two hosts" 0 --transports tcp,superpipeline --rounds 1 --host node1,node2 --csv "$work/hosts.csv"
found "$CALLS" "^mpirun -np 2 --host node1,node2 --map-by node .*--mca btl rbuf,self .*rbuf-bench"
found "$work/hosts.csv" "^fabric,hosts,round,transport,"
found "$work/hosts.csv" "^mlx5_0,node1[+]node2,1,superpipeline,65536"
found "$(log_of "two hosts")" "^fabric mlx5_0, on node1 and node2, "
try "  nothing is emulated" test "$(grep -c softhca "$CALLS")" = 0
run "mpirun's options" 0 --transports tcp --rounds 1 -- --hostfile nodes --map-by ppr:1:node
found "$CALLS" "^mpirun -np 2 --hostfile nodes --map-by ppr:1:node( --allow-run-as-root)? --mca"
SLURM_JOB_NUM_NODES=2 run "an allocation" 0 --transports superpipeline --rounds 1
found "$CALLS" "^mpirun -np 2 --map-by node "
SECOND=node1 run "one node" 0 --transports superpipeline --rounds 1 --host node1:2
found "$(log_of "one node")" "all ranks run on node1"
run "options that place nothing" 0 --transports superpipeline --rounds 1 --profile infini -- --report-bindings
found "$CALLS" "^softhca --profile infini -- .*mpirun -np 2 .*--report-bindings --mca"
try "  emulation that was asked for" test "$(grep -c "emulated one is" "$(log_of "options that place nothing")")" = 0
run "emulation on two nodes" 2 --profile infini --host node1,node2

refused() { # TEXT OPTION...
    local text=$1
    shift
    run "refused: $*" 2 "$@"
    found "$(log_of "refused: $*")" "$text"
}
refused "unknown transport 'carrier'" --transports carrier
refused "only protocols of rbuf" --transports tcp:c0=8k
refused "wants PARAMETER=VALUE" --transports superpipeline:c0
refused "--handover wants a value" --handover
refused "leaves out" --handover 40:130 --no-probe
refused "--rounds '0'" --rounds 0
refused "--ranks '1'" --ranks 1
refused "--add wants --csv" --add
refused "cannot be read" --report "$work/none.csv"
refused "unknown option '--fast'" --fast
refused "--sizes wants a value" --sizes
tally
