#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests contrib/reuse_gain.sh: what it judges of known lines, and by stand-ins for mpirun and the launcher of the emulated
# adapter that it makes these lines of what rbuf-bench and rbuf print.

here=$(cd "$(dirname "$0")" && pwd)
gain=$here/../../contrib/reuse_gain.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

# Of 10 us a copy takes 1.2 and a gathered message 0.2: equation 6 gives 10 %.
{
    echo fabric,round,buffers,pattern,size,off_us,on_us,copied_ns,gathered_ns,way
    for round in 1 2 3 4 5 6 7 8; do
        echo "f,$round,in,pingpong,8192,10,9.2,1200,200,gather"
        echo "f,$round,in,put,8192,10,9.$((4 + round % 2)),1200,200,copy"
        echo "f,$round,in,get,8192,10,9.$((round % 8)),1200,200,gather"
        echo "f,$round,in,pingpong,512,10,10,200,300,copy"
        echo "f,$round,in,pingpong,1024,10,10.5,200,300,copy"
        echo "f,$round,in,put,512,10,10,-,-,copy"
    done
} >"$work/lines"
"$gain" --report "$work/lines" >"$work/out" 2>"$work/err"
status=$?
found "$work/out" 'pingpong +8192 +10.00 +9.20 \+8.0 \(\+8.0 to \+8.0, 8\) +1200 +200 +10.0 +80.0 gather +met$'
found "$work/out" 'put +8192 +10.00 +9.45 \+5.5 \(\+5.0 to \+6.0, 8\) +1200 +200 +10.0 +55.0 copy +missed$'
found "$work/out" 'get +8192 +.* \+6.5 .* 65.0 gather +missed \?$'
found "$work/out" 'pingpong +512 .* -1.0 +- copy +none$'
found "$work/out" 'pingpong +1024 .* copy +slower$'
found "$work/out" 'put +512 .* - +- +- +- copy +none$'
found "$work/out" '^1 met, 2 missed, 2 none, 1 slower$'
try "what is missed has an exit status" test $status -eq 1
try "nothing on stderr" test ! -s "$work/err"

stand_in_adapter
cat >"$work/bin/mpirun" <<'END'
#!/bin/bash
echo "$SOFTHCA_SHARE_PAGES $*" >>"$CALLS"
echo "size,buffers,pattern,type,cache,window,burst,sets,reps,first_us,median_us,low_us,high_us,best_us,mean_us,p10_us"
case $* in
*"btl_rbuf_reuse on"*)
    echo "8192,reused,pingpong,bytes,warm,1,1,1,40,9,9.25,9,9,9,9,9"
    for rank in 0 1; do
        echo "[node:1] rbuf: hca:1: reuse: rank=$rank kind=send from=4096 copied_ns=1 gathered_ns=1 registration_ns=7 way=copy"
        echo "[node:1] rbuf: hca:1: reuse: rank=$rank kind=send from=8192 copied_ns=${rank}500 gathered_ns=300 registration_ns=7 way=gather"
    done >&2
    ;;
*) echo "8192,reused,pingpong,bytes,warm,1,1,1,40,9,10.5,9,9,9,9,9" ;;
esac
END
chmod +x "$work/bin"/*
"$gain" --profiles infini --points in --rounds 2 --csv "$work/made" >"$work/out" 2>"$work/err"
cat >"$work/wanted" <<'END'
fabric,round,buffers,pattern,size,off_us,on_us,copied_ns,gathered_ns,way
softhca:infini,1,in,pingpong,8192,10.5,9.25,0500,300,gather
softhca:infini,1,in,pingpong,8192,10.5,9.25,0500,300,gather
softhca:infini,2,in,pingpong,8192,10.5,9.25,0500,300,gather
softhca:infini,2,in,pingpong,8192,10.5,9.25,0500,300,gather
END
try "lines of pairs" diff "$work/made" "$work/wanted"
try "pages are shared by nobody" test "$(grep -c '^0 ' "$CALLS")" = 8
try "each is first in turn" test "$(sed 's/.*reuse \([onf]*\) .*/\1/' "$CALLS" | tr '\n' ' ')" = "off on off on on off on off "
"$gain" --rounds 0 >"$work/out" 2>&1
try "bad usage" test $? -eq 2
tally
