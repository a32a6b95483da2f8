# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: boots guests. Every instruction is emulated, so that no privilege and no support of
# the processor is needed; the host's files are seen as the user who runs this sees them.

vm_qemu=qemu-system-x86_64

# Without what is slow where it is emulated: string instructions, and the product that checksums are made by.
vm_processor=max,-erms,-fsrm,-pclmulqdq

# A guest that gets no processor for a while must not conclude that its timers are broken. On QEMU without KVM a
# processor crashes now and then while another one patches the branch that it runs (seen with Linux 6.12 and 7.2):
# so the guest starts with one ("maxcpus", init starts the others), for most is patched by then, and "tsc=unstable"
# says at once what the kernel finds out later, and patches sched_clock_cpu() for.
vm_kernel_options="console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr no_timer_check maxcpus=1
    clocksource=hpet tsc=unstable rcupdate.rcu_cpu_stall_suppress=1"
vm_kernel_options=$(echo $vm_kernel_options)

# Prints why no guest can be run here, or nothing.
vm_qemu_lacks()
{
    local tool message
    if [ "$(uname -m)" != x86_64 ]; then
        echo "the guests are x86_64, this machine is $(uname -m)"
        return
    fi
    for tool in $vm_qemu busybox modprobe depmod dpkg-deb apt-get xz; do
        if ! command -v "$tool" >/dev/null; then
            echo "$tool is missing (contrib/deps.sh vm)"
            return
        fi
    done
    if ! message=$(echo quit | timeout 30 $vm_qemu -M none -accel tcg -display none -monitor stdio \
        -nodefaults 2>&1 >/dev/null); then
        echo "QEMU does not run: ${message:-it said nothing}"
    fi
}

# Runs guest NODE until its end, with further options; DIRECTORY is its /out. Exit status: that of the
# tests, or 99 if the guest died or took longer than vm_limit seconds.
vm_boot() # NODE PROCESSORS DIRECTORY OPTION...
{
    local node=$1 processors=$2 out=$3 status=0
    shift 3
    timeout --foreground -k 5 "$vm_limit" $vm_qemu -M pc -accel tcg,thread=multi -cpu "$vm_processor" \
        -smp "$processors" -m 2G -nodefaults -no-user-config -display none -no-reboot \
        -serial "file:$out/console.$node" \
        -kernel "$vm_kernel_tree/boot/vmlinuz-$vm_kernel_version" -initrd "$vm_initramfs" \
        -append "$vm_kernel_options rbuf.node=$node rbuf.guest=$vm_here/guest.sh" \
        -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
        -device virtio-9p-pci,fsdev=root,mount_tag=root \
        -fsdev "local,id=out,path=$out,security_model=none" \
        -device virtio-9p-pci,fsdev=out,mount_tag=out \
        -device isa-debug-exit,iobase=0xf4,iosize=4 "$@" </dev/null >"$out/qemu.$node" 2>&1 || status=$?
    case $status in
    1 | 3) return $((status / 2)) ;;
    esac
    echo "guest $node ended with QEMU's status $status" >>"$out/qemu.$node"
    return 99
}

vm_card() # LINK NODE FD: a network card on that link (1 or 2), one end of which is that descriptor
{
    printf '%s\n' -netdev "stream,id=link$1,server=off,addr.type=fd,addr.str=$3" \
        -device "virtio-net-pci,netdev=link$1,mac=52:54:00:00:0$1:0$2,romfile="
}

# What guests that died have left in the links would be read by the next ones as half a packet.
vm_drain_links()
{
    # shellcheck disable=SC2086 # descriptors
    perl -MFcntl -e 'for my $fd (@ARGV) {
        open my $end, "+<&=", $fd or die "$fd: $!";
        fcntl $end, F_SETFL, O_NONBLOCK;
        1 while sysread $end, my $bytes, 65536;
    }' $vm_links
}

# Two guests with two links: eth0 is for mpirun, eth1 for RDMA. Needs vm_links, four descriptors: the ends of
# the first link and of the second. Exit status as of vm_boot.
vm_boot_pair() # DIRECTORY
{
    local first status=0 cards links
    read -ra links <<<"$vm_links"
    readarray -t cards < <(vm_card 1 1 "${links[0]}" && vm_card 2 1 "${links[2]}")
    vm_boot 1 1 "$1" "${cards[@]}" &
    first=$!
    readarray -t cards < <(vm_card 1 2 "${links[1]}" && vm_card 2 2 "${links[3]}")
    vm_boot 2 1 "$1" "${cards[@]}" &
    wait $first || status=$?
    touch "$1/stop" # for the other, should the first have died
    wait $! || status=$?
    return $status
}
