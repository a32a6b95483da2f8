#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs a rank with the limit on locked memory that its launcher gave it:
#
#   srun ... tests/slurm/limited.sh PROGRAM [ARGUMENT...]
#
# The kernel lets root pin what it likes, so this gives that right up; and the emulated adapter, which
# knows no limit of the kernel's, is given the same one.
limit=$(ulimit -l) # KB
if test "$limit" != unlimited; then
    export SOFTHCA_MEMLOCK=$((limit * 1024))
fi
exec setpriv --bounding-set -ipc_lock "$@"
