#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs a test on an adapter.
#
#   tests/verbs/on_adapter.sh PROGRAM [ARGUMENT...]
#
# The adapter is the emulated one of the build directory (RBUF_BUILD; by default this tree); with
# RBUF_ADAPTER=real it is whatever this machine has. Tests of the exchange and the listener need none and
# run as they are.

here=$(cd "$(dirname "$0")" && pwd)
build=${RBUF_BUILD:-$here/../..}
softhca=$build/contrib/softhca/softhca

case $(basename "$1") in
test_fork | test_lists | test_memory | test_order_probe | test_pair | test_ports | test_queue_pair | test_receive | \
    test_verbs) ;;
*) exec "$@" ;;
esac
test "$RBUF_ADAPTER" = real && exec "$@"
if ! test -x "$softhca"; then
    echo "skipped: $softhca is not built"
    exit 77
fi
export SOFTHCA_LIB=${SOFTHCA_LIB:-$build/contrib/softhca/.libs/libsofthca.so}
# The library is preloaded, so that a sanitizer's runtime does not come first. It is none the worse.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
exec "$softhca" --fabric "test-$$" -- "$@"
