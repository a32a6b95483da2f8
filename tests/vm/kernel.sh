# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: the guests' kernel. Debian's package is fetched and unpacked, not installed, and kept
# in $vm_cache from one run to the next.

# Sets vm_kernel_tree (what the package holds) and vm_kernel_version. Returns 1 with the reason printed if
# there is none to be had.
vm_kernel()
{
    local package
    for vm_kernel_tree in "$vm_cache"/kernel-*; do
        if [ -d "$vm_kernel_tree" ]; then
            vm_kernel_version=$(ls "$vm_kernel_tree/lib/modules")
            return
        fi
    done
    package=$(apt-cache depends linux-image-amd64 2>/dev/null |
        awk '/Depends: linux-image-/ { print $2; exit }')
    if [ -z "$package" ]; then
        echo "apt knows no linux-image-amd64"
        return 1
    fi
    vm_kernel_tree=$vm_cache/kernel-${package#linux-image-}
    vm_kernel_unpack "$package" "$vm_kernel_tree" || return
    vm_kernel_version=$(ls "$vm_kernel_tree/lib/modules")
}

# The directory appears when it is complete: another run may do the same at the same time.
vm_kernel_unpack() # PACKAGE DIRECTORY
{
    local work status=1
    work=$(mktemp -d "$vm_cache/unpack.XXXXXX") || return
    if ! (cd "$work" && timeout 300 apt-get -q download "$1") >"$work/log" 2>&1; then
        echo "cannot fetch $1: $(tail -n 1 "$work/log")"
    elif ! dpkg-deb -x "$work"/*.deb "$work/tree" >"$work/log" 2>&1 ||
        ! depmod -b "$work/tree" "$(ls "$work/tree/lib/modules")" >>"$work/log" 2>&1; then
        echo "cannot unpack $1: $(tail -n 1 "$work/log")"
    else
        chmod 755 "$work/tree"
        mv -T "$work/tree" "$2" 2>/dev/null || [ -d "$2" ]
        status=$?
    fi
    rm -rf "$work"
    return $status
}
