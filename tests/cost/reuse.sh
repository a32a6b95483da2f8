#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Counts what btl_rbuf_reuse costs a program whose buffers are not worth a registration: instructions of a
# blocking send with it less those without it, of Open MPI and rbuf but not of the emulated adapter, in one rank of a
# ping-pong under callgrind. Not of the first 5000 messages, which are looked at more often.
#
# Environment: RBUF_PREFIX, where rbuf is installed; MPIRUN; CC.
# Exit status: 0, 1 if it is more than 40 instructions a message, 77 where it cannot be found out.

set -u
here=$(cd "$(dirname "$0")" && pwd)
prefix=${RBUF_PREFIX:?where rbuf is installed}
mpirun=${MPIRUN:-mpirun}
most=40
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -shared -fPIC -o "$work/hear.so" "$here/hear.c" -ldl || exit 77

# Rank 0 runs under callgrind, which counts while a send is on the stack.
cat >"$work/rank" <<END
#!/bin/bash
test "\$OMPI_COMM_WORLD_RANK" = 0 || exec "\$@"
LD_PRELOAD=$work/hear.so:\${LD_PRELOAD-} exec valgrind --tool=callgrind \\
    --callgrind-out-file=$work/out.%p --toggle-collect=mca_pml_ob1_send "\$@"
END
chmod +x "$work/rank"

# Of callgrind's files: what was spent in Open MPI and rbuf. What a callee spent stands behind calls= and
# again in the callee's own lines. The trial of the memory hooks has a file, too, with nothing in it.
own() {
    awk '
        function id(field) { return substr(field, index(field, "=") + 1) }
        FNR == 1 { delete object }
        /^c?ob=/ { if (NF > 1) object[id($1)] = $2 }
        /^ob=/ { ours = object[id($1)] ~ /mca_btl_rbuf|mca_pml_ob1|libopen-pal/ }
        /^calls=/ { getline; next }
        /^[0-9+*-]/ && ours { own += $2 }
        END { print own + 0 }' "$work"/out.*
}

count() { # REPS REUSE "BENCH OPTIONS": instructions of all sends
    rm -f "$work"/out.*
    # shellcheck disable=SC2086 # several words
    timeout 200 "$prefix/bin/softhca" --profile unpaced -- "$mpirun" -np 2 --mca pml ob1 --mca btl rbuf,self \
        --mca mca_base_component_path "SYS_DEFAULT:$prefix/lib/openmpi" --mca btl_rbuf_reuse "$2" \
        --mca btl_rbuf_registration_time 1000ms --mca btl_rbuf_reuse_speculation 1000 --mca btl_rbuf_report 2 \
        "$work/rank" "$prefix/bin/rbuf-bench" --burst 100 --reps "$1" $3 >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        return 1
    }
    if [ "$2" = on ] && ! grep -q ' reuse_messages=[1-9]' "$work/log"; then
        echo "nothing was looked up" >&2
        return 1
    fi
    own
}

# Sets found: instructions of a message.
per_message() { # REUSE "BENCH OPTIONS"
    local less more
    less=$(count 60 "$1" "$2") && more=$(count 80 "$1" "$2") || exit 77
    found=$(((more - less) / 2000))
}

failed=0
for bench in "--sizes 1000" "--sizes 16k" "--sizes 1000 --buffers fresh"; do
    per_message off "$bench"
    off=$found
    per_message on "$bench"
    more=$((found - off))
    echo "$bench: a send of $off instructions, with reuse $more more (at most $most)"
    [ "$more" -le "$most" ] || failed=1
done
exit $failed
