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

case $(basename "$1") in
test_fork | test_lists | test_memory | test_order_probe | test_pair | test_ports | test_queue_pair | test_receive | \
    test_verbs) ;;
*) exec "$@" ;;
esac
test "$RBUF_ADAPTER" = real && exec "$@"
# shellcheck source=tests/verbs/emulated.sh
. "$(dirname "$0")/emulated.sh"
# shellcheck disable=SC2119 # nothing beside softhca
need_built
exec "$softhca" --fabric "test-$$" -- "$@"
