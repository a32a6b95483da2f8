#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Makes sure that the Debian packages are there that building, testing or the demo need.
#
#   contrib/deps.sh [PURPOSE...]
#
# Purposes: build, test and demo, which are the default; docs, for man pages and the manual; fuzz, soak, programs,
# slurm, slurm-trixie, slurm-unstable, ompi5, ompi6, vm, packages, in-tree and compilers, the further stages of check.sh.
#
# What is missing is installed if we are root. Otherwise the names are printed, one line for apt, and
# the exit status is 3. On a system without dpkg nothing can be looked up: configure will tell.

packages_of() { # PURPOSE
    case $1 in
    build)
        echo gcc make perl m4 autoconf automake libtool pkg-config \
            openmpi-bin libopenmpi-dev libibverbs-dev libevent-dev libhwloc-dev libunwind-dev
        ;;
    test)
        echo check clang-format spin valgrind ibverbs-utils perftest openssh-client gnuplot-nox diction graphviz
        ;;
    demo)
        echo openssh-client gnuplot-nox # mpirun wants ssh to be there, even on one machine
        ;;
    docs)
        echo python3 python3-sphinx python3-myst-parser
        ;;
    fuzz)
        echo clang libclang-rt-14-dev
        ;;
    soak) ;;
    programs)
        echo openssh-client hpcc netpipe-openmpi lammps scalapack-mpi-test python3-mpi4py python3-numpy
        ;;
    one-sided) # tests/programs does without any of them
        echo openssh-client libglobalarrays-dev libarmci-mpi-dev nwchem libcoarrays-openmpi-dev gfortran \
            libpetsc-real-dev pkg-config
        ;;
    slurm)
        echo slurmctld slurmd slurm-client munge iproute2 procps util-linux ibverbs-utils
        ;;
    in-tree)
        packages_of build
        echo dpkg-dev flex
        ;;
    ompi5 | ompi6 | slurm-trixie | slurm-unstable | compilers)
        echo mmdebstrap
        ;;
    vm)
        echo qemu-system-x86 busybox-static kmod xz-utils iproute2 ibverbs-providers
        ;;
    packages)
        packages_of build
        packages_of docs
        echo debhelper dpkg-dev fakeroot lintian rpm autopkgtest mmdebstrap
        ;;
    *)
        echo "usage: contrib/deps.sh [build|test|demo|docs|fuzz|soak|programs|one-sided|slurm|slurm-trixie|" \
            "slurm-unstable|ompi5|ompi6|vm|packages|in-tree|compilers]..." >&2
        exit 2
        ;;
    esac
}

is_installed() { # PACKAGE
    test "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed
}

main() {
    local purpose package list missing=()
    test $# -gt 0 || set -- build test demo
    for purpose in "$@"; do
        list=$(packages_of "$purpose") || exit
        for package in $list; do
            if ! command -v dpkg-query >/dev/null; then
                echo "deps: no dpkg here; assuming that (by its Debian name) $package is there"
            elif ! is_installed "$package" && [[ " ${missing[*]} " != *" $package "* ]]; then
                missing+=("$package")
            fi
        done
    done
    test ${#missing[@]} -gt 0 || exit 0
    if test "$(id -u)" -ne 0; then
        echo "deps: missing packages; as root: apt-get install ${missing[*]}" >&2
        exit 3
    fi
    echo "deps: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}" && exit 0
    echo "deps: apt-get could not install: ${missing[*]}" >&2
    exit 3
}

main "$@"
