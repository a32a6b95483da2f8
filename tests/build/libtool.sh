#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Stands for libtool where only the compiler's warnings matter (compilers.sh): compiles once, as for a shared library,
# and links nothing.
#
#   libtool.sh [OPTION...] --mode=compile|link COMMAND...
while test "${1#--}" != "$1"; do
    mode=${1#--mode=}
    shift
    case $mode in
    compile) exec "$@" -fPIC ;;
    link) exit 0 ;;
    esac
done
echo "libtool.sh: no mode that it knows" >&2
exit 2
