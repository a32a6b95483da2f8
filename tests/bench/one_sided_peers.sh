#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests contrib/one_sided_peers.sh without measuring: a stand-in for mpirun keeps what it was called with, and prints
# known times.

here=$(cd "$(dirname "$0")" && pwd)
tested=$here/../../contrib/one_sided_peers.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

stand_in_adapter
cat >"$work/bin/mpirun" <<'END'
#!/bin/bash
echo "mpirun $*" >>"$CALLS"
case "$*" in *$FAILS*) exit 1 ;; esac
case "$*" in
*rbuf-bench*)
    echo "some text"
    echo "size,buffers,pattern,quiet,median_us"
    echo "8,reused,first,no,1.5"
    case "$*" in *"--window 16"*) exit ;; esac
    for time in 2.5 3.5 4.5; do echo "8,reused,other,yes,$time"; done
    ;;
*passive_times*)
    printf '%-22s %7.2f us\n' "accumulate, 8 B" 1.25 "get_accumulate, 1 KB" 12.5 "compare_and_swap, 8 B" 7
    echo "1 checks, 0 wrong"
    ;;
*"passive updates"*) echo "updates: 4000000 a second" ;;
*nwchem*)
    echo "         Total SCF energy =    ${ENERGY:--75.983998}"
    echo "softhca: mix: rank=1 put=3 seconds=0.75 atomics=4"
    echo "mix: rank=0 put=3 seconds=1.25 atomics=4"
    ;;
esac
END
stand_in 1 pkg-config caf ga-config
stand_in 0 mpicc nwchem
chmod +x "$work/bin"/*
export RBUF_BUILD=$work FAILS=nothing-at-all

run "epochs" 0 --rounds 2 --csv "$work/e.csv" epochs
found "$work/e.csv" "^softhca:infini,1,rbuf,put-pscw,1.5,no$"
found "$work/e.csv" "^softhca:infini,2,ucx,get-fence,4.5,yes$"
found "$work/e.csv" "^softhca:infini,2,openib-pt2pt,puts-fence,1.5,no$"
found "$CALLS" "--mca pml ob1 --mca btl rbuf,self --mca mpi_warn_on_fork 0 sh .*--pattern put-pscw,get-pscw,put,get"
found "$CALLS" "--mca btl rbuf,self --mca osc rdma .*--pattern put --window 16"
found "$CALLS" "--mca btl openib,self .*--mca osc pt2pt"
found "$CALLS" "--mca pml ucx .*--mca osc ucx"
# The first call of the second round is the second peer's.
try "  rounds take turns" sh -c 'sed -n 9p "$CALLS" | grep -q -- "--mca osc rdma"'

run "operations" 0 --quick --csv "$work/o.csv" operations
found "$work/o.csv" "^softhca:infini,1,rbuf,accumulate-8,1.25$"
found "$work/o.csv" "^softhca:infini,1,rbuf-rdma,get_accumulate-1K,12.50$"
found "$work/o.csv" "^softhca:infini,1,ucx,update,0.500$"
found "$CALLS" "--mca osc rdma .*passive updates 2048"
FAILS=ucx run "a peer that fails" 0 --quick --csv "$work/o.csv" operations
found "$work/o.csv" "^softhca:infini,1,ucx,compare_and_swap-8,-$"
found "$work/o.csv" "^softhca:infini,1,ucx,update,-$"
FAILS="osc rdma" run "rbuf that fails" 1 --quick --csv "$work/o.csv" operations

run "programs" 0 --quick --csv "$work/p.csv" --peers rbuf,tcp-pt2pt programs
found "$work/p.csv" "^softhca:infini,1,rbuf,nwchem,1.25$"
found "$work/p.csv" "^softhca:infini,1,tcp-pt2pt,nwchem,1.25$"
ENERGY=-75.5 run "wrong results" 1 --quick --csv "$work/p.csv" --peers rbuf programs
found "$work/p.csv" "^softhca:infini,1,rbuf,nwchem,-$"

run "no step" 2 --csv "$work/n.csv"
run "no file" 2 epochs
run "no such peer" 2 --quick --csv "$work/n.csv" --peers carrier epochs
tally
