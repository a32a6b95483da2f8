# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: packs what a guest starts from, busybox, the modules that it needs and init.

# In the order of loading, with what they depend on; what a kernel has built in is no module. Of the checksums
# that Soft-RoCE can use only the generic one: the accelerated one is many times slower where every instruction is
# emulated. (Since Linux 6.14 it is no module, and the processor of vm_boot() lacks what the other needs.)
vm_modules="virtio_pci 9pnet_virtio 9p overlay virtio_net dummy veth tun 8021q crc32_generic ib_uverbs rdma_ucm
    rdma_rxe sch_netem"
vm_modules_not_everywhere=" crc32_generic "

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
    local module
    mkdir -p "$1"/{bin,modules,proc,sys,dev,lower,upper,root} || return
    cp /bin/busybox "$1/bin/" && install -m 755 "$vm_here/init" "$1/init" || return
    for module in $vm_modules; do
        vm_module_files "$module" || return
    done | awk '!seen[$0]++' | while read -r module; do
        vm_module_copy "$module" "$1/modules" || exit
    done >"$1/modules/order" && [ -s "$1/modules/order" ]
}

# The files of a module and of what it depends on, in the order of loading.
vm_module_files() # MODULE
{
    local lines
    if ! lines=$(modprobe -d "$vm_kernel_tree" -S "$vm_kernel_version" --ignore-install --show-depends "$1"); then
        [[ $vm_modules_not_everywhere = *" $1 "* ]]
        return
    fi
    awk '$1 == "insmod" { print $2 }' <<<"$lines"
}

# Copies a module and prints its name. The packages of newer releases have them compressed.
vm_module_copy() # FILE DIRECTORY
{
    local name
    name=$(basename "$1")
    case $1 in
    *.ko.xz) name=${name%.xz} && xz -dc "$1" >"$2/$name" ;;
    *.ko.zst) name=${name%.zst} && zstd -qdc "$1" >"$2/$name" ;;
    *) cp "$1" "$2/" ;;
    esac && echo "$name"
}
