#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# In a guest, after init: runs the tests that /out/job names, in order, or serves the guest that does, and
# ends the guest with an exit status. What each test says is in /out/results and /out/logs.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C TMPDIR=/run/tmp
mkdir -p $TMPDIR
ulimit -l unlimited
cd /run || exit
for word in $(cat /proc/cmdline); do
    case $word in
    rbuf.node=*) node=${word#*=} ;;
    esac
done
export node
here=$(cd "$(dirname "$0")" && pwd)
hostname "vm$node"
printf '127.0.0.1 localhost\n10.77.0.1 vm1\n10.77.0.2 vm2\n' >/etc/hosts
ip link set lo up
set -a
. /out/job # RBUF_BUILD and the like, vm_tests, vm_all, vm_nodes
set +a

run_tests()
{
    local test status=0
    for test in $vm_tests; do
        echo "== $test $(cut -d ' ' -f 1 /proc/uptime)"
        timeout -k 5 "$vm_test_limit" bash "$here/$test.sh" || status=1
    done
    echo "== end $(cut -d ' ' -f 1 /proc/uptime)"
    return $status
}

if [ "$vm_nodes" = 2 ]; then
    . "$here/devices.sh"
    ip link set eth0 up && ip addr add "10.77.0.$node/24" dev eth0
    ip addr add "10.78.0.$node/24" dev eth1 && roce_on rxe0 eth1
    busybox nc -ll -p 5140 -e "$here/served.sh" &
    await "$here/on.sh" "vm$((3 - node))" true
fi
if [ "$node" = 1 ]; then
    run_tests >/out/results 2>/out/complaints
    status=$?
    touch /out/stop
else
    until [ -e /out/stop ]; do
        sleep 0.5
    done
    status=0
fi
sync
# The port of QEMU's isa-debug-exit: QEMU ends with 2 * status + 1.
printf "\\x0$status" | dd of=/dev/port bs=1 seek=244 status=none
