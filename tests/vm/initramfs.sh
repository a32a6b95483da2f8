# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: packs what a guest starts from, busybox, the modules that it needs and init.

# In the order of loading, with what they depend on. Of the checksums that Soft-RoCE can use only the
# generic one: the accelerated one is many times slower where every instruction is emulated.
vm_modules="virtio_pci 9pnet_virtio 9p overlay virtio_net dummy veth crc32_generic ib_uverbs rdma_ucm
    rdma_rxe sch_netem"

# Sets vm_initramfs, the archive. Needs vm_kernel() before.
vm_initramfs()
{
    local key work
    key=$(cat "$vm_here/init" "$vm_here/initramfs.sh" | cksum | cut -d ' ' -f 1)
    vm_initramfs=$vm_cache/initramfs-$vm_kernel_version-$key.gz
    [ -s "$vm_initramfs" ] && return
    work=$(mktemp -d "$vm_cache/initramfs.XXXXXX") || return
    vm_initramfs_fill "$work/root" &&
        (cd "$work/root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/archive" &&
        mv -T "$work/archive" "$vm_initramfs"
    local status=$?
    rm -rf "$work"
    return $status
}

vm_initramfs_fill() # DIRECTORY
{
    local module file
    mkdir -p "$1"/{bin,modules,proc,sys,dev,lower,upper,root} || return
    cp /bin/busybox "$1/bin/" && install -m 755 "$vm_here/init" "$1/init" || return
    for module in $vm_modules; do
        modprobe -d "$vm_kernel_tree" -S "$vm_kernel_version" --ignore-install --show-depends \
            "$module" || return
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
        cp "$file" "$1/modules/" || exit
        basename "$file"
    done >"$1/modules/order" && [ -s "$1/modules/order" ]
}
