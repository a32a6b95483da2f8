#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-compare: rbuf-bench over several transports in one run.
#
# A round measures every transport once, with every kind of buffers; the next round starts with
# another transport. A figure is the median over the rounds of the medians that rbuf-bench found,
# with the lowest and the highest; a ratio is taken within each round before its median is, so
# that a slow minute of the machine falls on both sides of it.
set -u

usage()
{
    cat <<'END'
usage: rbuf-compare [options]
  --transports LIST  superpipeline,rcache,openib-pinned,openib-unpinned,ucx by default; also
                     pipeline, copy, register, tcp, vader. openib-pinned is the openib BTL with its
                     registration cache (mpi_leave_pinned 1), openib-unpinned without; what this
                     Open MPI does not have is left out
  --sizes LIST       message sizes (64K,1M,4M)
  --buffers LIST     reused,fresh by default
  --rounds N         rounds (5)
  --reps N           repetitions a size in each round (40)
  --profile NAME     profile of the emulated HCA where the machine has none (graphene)
  --mca NAME VALUE   passed to mpirun, for every transport; may be repeated
  --csv FILE         every line of every round
  --no-probe         do not wait for the machine to be quiet
  --check            compare every byte received
Exit status: 0, 1 if a transport failed, 2 on bad usage.
END
}

refuse()
{
    echo "rbuf-compare: $* (--help explains)" >&2
    exit 2
}

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)

# Installed, or in the source tree.
find_parts()
{
    local file
    for file in "${RBUF_TRANSPORTS-}" "$here/../share/rbuf/transports.sh" \
        "$here/../contrib/transports.sh"; do
        if [ -n "$file" ] && [ -r "$file" ]; then
            # shellcheck source=contrib/transports.sh
            . "$file"
            break
        fi
    done
    if ! declare -F transport_options >/dev/null; then
        refuse "transports.sh is neither installed nor named by RBUF_TRANSPORTS"
    fi
    bench=${RBUF_BENCH:-$here/rbuf-bench}
    if [ ! -x "$bench" ] && ! bench=$(command -v rbuf-bench); then
        refuse "rbuf-bench is not installed beside rbuf-compare; name it in RBUF_BENCH"
    fi
    if [ -z "${RBUF_COMPONENT_DIR-}" ] && [ -e "$here/../lib/openmpi/mca_btl_rbuf.so" ]; then
        RBUF_COMPONENT_DIR=$(cd "$here/../lib/openmpi" && pwd)
    fi
    if [ -z "${SOFTHCA-}" ] && [ -x "$here/softhca" ]; then
        SOFTHCA=$here/softhca
    fi
}

whole_number()
{
    case $2 in
    '' | *[!0-9]* | 0*) refuse "$1 '$2': wants a whole number above 0" ;;
    esac
}

transports=superpipeline,rcache,openib-pinned,openib-unpinned,ucx
sizes=64K,1M,4M
buffers=reused,fresh
rounds=5
reps=40
profile=graphene
csv=
bench_args=(--probe)
extra=()

while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0
        ;;
    --no-probe) bench_args=("${bench_args[@]/--probe/}") ;;
    --check) bench_args+=(--check) ;;
    --mca)
        [ $# -ge 3 ] || refuse "--mca wants a name and a value"
        extra+=(--mca "$2" "$3")
        shift 2
        ;;
    --transports | --sizes | --buffers | --rounds | --reps | --profile | --csv)
        [ $# -ge 2 ] || refuse "$1 wants a value"
        case $1 in
        --rounds | --reps) whole_number "$1" "$2" ;;
        esac
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *) refuse "unknown option '$1'" ;;
    esac
    shift
done
find_parts
IFS=, read -ra names <<<"$transports"
IFS=, read -ra kinds <<<"$buffers"
[ ${#names[@]} -gt 0 ] || refuse "--transports is empty"
for name in "${names[@]}"; do
    transport_options "$name" || exit 2
done
transports_keep "${names[@]}"
names=("${transports_kept[@]}")
[ ${#names[@]} -gt 0 ] || refuse "this Open MPI has none of these transports"
transports=$(IFS=, && echo "${names[*]}")
needs_hca=no
for name in "${names[@]}"; do
    if transport_needs_hca "$name"; then
        needs_hca=yes
    fi
done
for kind in "${kinds[@]}"; do
    case $kind in
    reused | fresh) ;;
    *) refuse "--buffers '$kind': wants reused, fresh, or both with a comma" ;;
    esac
done
if [ $needs_hca = no ]; then
    profile=none
fi
fabric_choose "$profile" || exit 2
mpi_launch_options 2

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
raw=$work/raw.csv
failed=0

# measure ROUND TRANSPORT KIND: appends the lines to $raw.
measure()
{
    local args=()
    for arg in "${bench_args[@]}"; do
        [ -z "$arg" ] || args+=("$arg")
    done
    transport_options "$2"
    if ! timeout 600 "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" "${extra[@]}" "$bench" --sizes "$sizes" --reps "$reps" \
        --buffers "$3" "${args[@]}" >"$work/out" 2>"$work/err"; then
        echo "rbuf-compare: $2 with $3 buffers failed in round $1:" >&2
        tail -n 15 "$work/err" "$work/out" >&2
        failed=1
        return
    fi
    if [ ! -s "$raw" ]; then
        sed -n '1s/^/fabric,round,transport,/p' "$work/out" >"$raw"
    fi
    sed "1d;s/^/$fabric_name,$1,$2,/" "$work/out" >>"$raw"
}

for ((round = 1; round <= rounds; round++)); do
    for ((i = 0; i < ${#names[@]}; i++)); do
        name=${names[(i + round - 1) % ${#names[@]}]}
        for kind in "${kinds[@]}"; do
            [ ! -t 2 ] || printf '\rround %d of %d: %-40s' "$round" "$rounds" "$name, $kind" >&2
            measure "$round" "$name" "$kind"
        done
    done
done
[ ! -t 2 ] || printf '\r%-60s\r' '' >&2
[ -s "$raw" ] || exit 1
if [ -n "$csv" ]; then
    cp "$raw" "$csv" || failed=1
fi

awk -F, -v transports="$transports" -v fabric="$fabric_name" -v kinds="$buffers" '
function middle(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = list[i]
        for (j = i - 1; j >= 1 && list[j] > t; j--) list[j + 1] = list[j]
        list[j + 1] = t
    }
    lowest = list[1]; highest = list[n]
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
# The median over the rounds of one column; sets lowest and highest. -1 if nothing was measured.
function over_rounds(table, transport, size, kind,    r, n, list) {
    for (r = 1; r <= rounds; r++)
        if ((transport, size, kind, r) in table) list[++n] = table[transport, size, kind, r]
    return n ? middle(list, n) : -1
}
function ratio(what, a, a_kind, b, b_kind, limits,    i, r, n, list, x, limit) {
    for (i = 1; i <= size_count; i++) {
        n = 0
        for (r = 1; r <= rounds; r++)
            if ((a, sizes[i], a_kind, r) in median && (b, sizes[i], b_kind, r) in median)
                list[++n] = median[a, sizes[i], a_kind, r] / median[b, sizes[i], b_kind, r]
        if (!n) continue
        x = middle(list, n)
        limit = bound(limits, sizes[i])
        printf "%10d  %-52s %6.3f  (%.3f - %.3f)%s\n", sizes[i], what, x, lowest, highest,
            limit ? sprintf("  at most %.2f: %s", limit, x <= limit ? "yes" : "no") : ""
    }
}
# The aims on the emulated graphene link, "size:limit" for that size, "size+:limit" from it on.
function bound(limits, size,    part, n, i, f, from) {
    if (fabric != "softhca:graphene") return 0
    n = split(limits, part, " ")
    for (i = 1; i <= n; i++) {
        split(part[i], f, ":")
        from = f[1]
        if (sub(/\+$/, "", from) ? size >= from + 0 : size == from + 0) return f[2] + 0
    }
    return 0
}
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
    round = $column["round"] + 0; size = $column["size"] + 0
    if (round > rounds) rounds = round
    if (!(size in seen)) { seen[size] = 1; sizes[++size_count] = size }
    key = $column["transport"] SUBSEP size SUBSEP $column["buffers"] SUBSEP round
    median[key] = $column["median_us"] + 0
    best[key] = $column["best_us"] + 0
    first[key] = $column["first_us"] + 0
    if ($column["quiet"] == "no") noisy++
}
END {
    n = split(transports, name, ","); k = split(kinds, kind, ",")
    printf "fabric %s, %d rounds, half round trip in microseconds\n\n", fabric, rounds
    printf "%10s  %-7s %-16s %10s  %-21s %10s %10s\n", "size", "buffers", "transport", "median",
        "(lowest - highest)", "best", "first"
    for (s = 1; s <= size_count; s++) for (b = 1; b <= k; b++) for (t = 1; t <= n; t++) {
        m = over_rounds(median, name[t], sizes[s], kind[b])
        if (m < 0) continue
        spread = sprintf("(%.1f - %.1f)", lowest, highest)
        printf "%10d  %-7s %-16s %10.1f  %-21s %10.1f %10.1f\n", sizes[s], kind[b], name[t], m,
            spread, over_rounds(best, name[t], sizes[s], kind[b]),
            over_rounds(first, name[t], sizes[s], kind[b])
    }
    subject = name[1]
    for (t = 1; t <= n; t++) if (name[t] == "superpipeline") subject = name[t]
    printf "\n%10s  %-52s %6s\n", "size", "ratio", "median"
    for (t = 1; t <= n; t++) if (name[t] != subject) {
        pinned = name[t] == "openib-pinned"
        ratio(subject " / " name[t] ", fresh", subject, "fresh", name[t], "fresh",
            pinned ? "65536:0.35 1048576:0.80 4194304:0.88" : "")
        ratio(subject " / " name[t] ", reused", subject, "reused", name[t], "reused",
            pinned ? "65536:1.10 1048576+:1.03" : "")
    }
    for (t = 1; t <= n; t++)
        ratio(name[t] ", fresh / reused", name[t], "fresh", name[t], "reused",
            name[t] == "superpipeline" ? "65536:1.10 1048576+:1.05" : "")
    if (noisy) printf "\n%d measurements were taken while the machine was not quiet\n", noisy
}' "$raw"
exit $failed
