# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced: builds the programs here that use windows, into DIRECTORY. Each function returns another status than 0 if
# what it wants is not installed, or does not build; its output says why.

builds_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The library that tells what operations a program makes: DIRECTORY/mix.so.
build_mix() # DIRECTORY
{
    mpicc -O2 -shared -fPIC "$builds_here/mix.c" -o "$1/mix.so"
}

build_global_arrays() # DIRECTORY
{
    local libraries more
    libraries=$(ga-config --libs) && more=$(ga-config --flibs) || return
    read -ra libraries <<<"$libraries $more"
    mpicc -O1 "$builds_here/global_arrays.c" -o "$1/global_arrays" "${libraries[@]}"
}

# caf leaves a module's file in the directory where it runs.
build_coarrays() # DIRECTORY
{
    (cd "$1" && caf -O1 "$builds_here/coarrays.f90" -o coarrays)
}

build_star_forest() # DIRECTORY
{
    local flags
    pkg-config --exists --print-errors PETSc || return
    read -ra flags < <(pkg-config --cflags --libs PETSc)
    mpicc -O1 "$builds_here/star_forest.c" -o "$1/star_forest" "${flags[@]}"
}
