#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The emulated adapter has a function for each of libibverbs that calls what a context names: a later release
# may have more of them, and a program that calls one would end there.
#
#   tests/calls.sh
#
# SOFTHCA_BUILD is softhca's build directory, by default its source's. Exit status: 0, 1, or 77 without nm.

set -u
softhca=${SOFTHCA_BUILD:-$(dirname "$0")/..}/.libs/libsofthca.so
command -v nm >/dev/null || { echo "nm is not installed"; exit 77; }
libibverbs=$(ldd "$softhca" | awk '$1 ~ /^libibverbs/ { print $3 }')
test -r "$libibverbs" || { echo "$softhca is not linked with libibverbs" >&2; exit 1; }

functions() { # LIBRARY
    nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# Parts that drivers are made of, and what wants no context: names of values, files of sysfs, memory.
others='^(ibv_cmd_.*|ibv_copy_.*|ibv_register_driver|_*verbs_.*|__ioctl_.*|execute_ioctl)$'
others+='|^(ibv_.*_str|ibv_rate_.*|m.*_to_ibv_rate|ibv_read_.*sysfs_file|ibv_do(nt)?fork_range)$'
others+='|^(ibv_dmabuf_heap_.*|ibv_resolve_eth_l2_from_gid)$'
missing=$(comm -23 <(functions "$libibverbs" | grep -vE "$others") <(functions "$softhca"))
echo "$libibverbs has $(functions "$libibverbs" | wc -l) functions; missing: ${missing:-none}"
test -z "$missing"
