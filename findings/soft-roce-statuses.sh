#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Soft-RoCE reports a message that is too long, and a wrong local key, by other statuses than InfiniBand defines; since
# Linux 6.12 the request that breaks a queue pair is itself "flushed".
#
# Software: Linux 6.1.192 (Debian 12) and 6.12.117 (Debian 13): rdma_rxe; package linux-image-amd64 of each, in a guest
# of QEMU 7.2; rdma-core 44.0 in the guest. Linux 7.2.13 (unstable) showed the same as 6.12.117.
# Input: two reliable queue pairs of one device, connected with each other. For each case a new pair, and one message or
# write that cannot succeed, between completions of either side that are polled for 0.4 s.
# Expected by the specification of InfiniBand (volume 1, 11.6.2, Completion Return Status): in the table. Local
# Protection Error: the request's local buffers are not in a valid region. Local Length Error: a receive has less
# room than the message. Work Request Flushed Error: the request was outstanding when the queue pair went into the
# error state; so another request, an earlier one, has the cause.
# Seen:
#
#     expected
#       send of 8 into 8     success                     success
#       write, wrong rkey    remote access error         nothing
#       send of 16 into 8    remote invalid request error local length error
#       receive, wrong lkey  remote operation error      local protection error
#       send, wrong lkey     local protection error      nothing
#       write, wrong lkey    local protection error      nothing
#     Linux 6.1.0-56-amd64
#       send of 8 into 8     success                     success
#       write, wrong rkey    remote access error         nothing
#       send of 16 into 8    remote operation error      local QP operation error
#       receive, wrong lkey  remote operation error      local QP operation error
#       send, wrong lkey     local QP operation error    nothing
#       write, wrong lkey    local QP operation error    nothing
#     Linux 6.12.117+deb13-amd64
#       send of 8 into 8     success                     success
#       write, wrong rkey    remote access error         nothing
#       send of 16 into 8    remote operation error      local QP operation error
#       receive, wrong lkey  remote operation error      local QP operation error
#       send, wrong lkey     Work Request Flushed Error  nothing
#       write, wrong lkey    Work Request Flushed Error  nothing
#     as stated
#
# What it means: a program that looks for the first status that is not "flushed", to tell the user why a connection
# broke, finds none with Linux 6.12 (rxe) when one of its own buffers is not registered. One that expects Local Length
# Error to report too short a buffer does not see it with rxe. The first two lines show that other errors come as defined.
# For a user of rbuf: nothing, rbuf registers what it sends from, and its receives are as long as its messages.
#
# Usage: findings/soft-roce-statuses.sh. It takes three minutes and 200 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=soft-roce-statuses

give_up() { # REASON
    echo "$name: $1" >&2
    exit 2
}

mirror() { # LABEL: where this machine gets Debian from
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" \
        'Component: main' 2>/dev/null | head -n 1
}

# A configuration of apt in the temporary directory, that knows one release only.
open_release() { # SUITE
    local apt=$work/apt-$1 main security keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    main=$(mirror Debian) security=$(mirror Debian-Security)
    [ -n "$main" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts} "$work/$1"
    : >"$apt/status"
    echo "deb $option$main $1 main" >"$apt/sources.list"
    [ -z "$security" ] || [ "$1" = sid ] || echo "deb $option$security $1-security main" >>"$apt/sources.list"
    printf '%s;\n' "Dir::State \"$apt/state\"" "Dir::State::lists \"$apt/lists\"" "Dir::State::status \"$apt/status\"" \
        "Dir::Cache \"$apt\"" "Dir::Etc::sourcelist \"$apt/sources.list\"" "Dir::Etc::sourceparts \"$apt/parts\"" \
        "Dir::Etc::preferencesparts \"$apt/parts\"" 'APT::Architecture "amd64"' 'APT::Sandbox::User "root"' \
        'Acquire::Languages "none"' >"$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $1: $(tail -n 1 "$work/log")"
}

known() { # PACKAGE
    [ -n "$(apt-cache --no-all-versions show "$1" 2>/dev/null)" ]
}

fetch() { # SUITE PACKAGE...: unpacks them into $work/SUITE
    local suite=$1 each
    shift
    (cd "$work/$suite" && apt-get -q download "$@") >"$work/log" 2>&1 ||
        give_up "no packages of Debian's $suite: $(tail -n 1 "$work/log")"
    for each in "$work/$suite"/*.deb; do
        dpkg-deb -x "$each" "$work/$suite" || give_up "$each cannot be unpacked"
        rm "$each"
    done
    unset APT_CONFIG
}

# Unpacks the kernel of a release into $tree; sets $version and $image.
fetch_kernel() { # SUITE VERSION
    local kind packages=()
    open_release "$1"
    version=$2
    known "linux-image-$version" ||
        version=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: linux-image-//p' | head -n 1)
    for kind in image base binary modules; do # newer releases have divided it
        ! known "linux-$kind-$version" || packages+=("linux-$kind-$version")
    done
    fetch "$1" "${packages[@]}"
    tree=$work/$1
    [ -e "$tree/lib" ] || ln -s usr/lib "$tree/lib"
    depmod -b "$tree" "$version" >"$work/log" 2>&1 || give_up "depmod: $(tail -n 1 "$work/log")"
    image=$tree/boot/vmlinuz-$version
    [ -e "$image" ] || image=$tree/lib/modules/$version/vmlinuz
}

# The program with its libraries, and what else the guest needs, in a directory that becomes the guest's root.
make_root() {
    local file libraries=/usr/lib/x86_64-linux-gnu
    root=$work/root
    mkdir -p "$root"/{bin,dev,proc,sys,etc/libibverbs.d,usr/bin,modules}
    write_program | gcc -std=gnu11 -O1 -x c - -o "$root/usr/bin/program" -libverbs 2>"$work/log" ||
        give_up "gcc: $(tail -n 1 "$work/log")"
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$(command -v rdma)" "$root/usr/bin/rdma"
    echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"
    for file in "$root"/usr/bin/* "$libraries"/libibverbs/librxe-rdmav*.so; do
        ldd "$file" | sed -n 's/.*[ \t]\(\/[^ ]*\) (.*/\1/p'
        [[ $file = "$root"/* ]] || echo "$file"
    done | sort -u >"$work/files"
    while read -r file; do
        mkdir -p "$root/$(dirname "$file")" && cp -L "$file" "$root/$file"
    done <"$work/files"
    cat >"$root/init" <<EOF
#!/bin/busybox sh
b=/bin/busybox
\$b mount -t proc proc /proc
\$b mount -t sysfs sys /sys
\$b mount -t devtmpfs dev /dev
echo 1 >/proc/sys/kernel/printk
while read -r module; do \$b insmod /modules/\$module; done </modules/order
\$b ip link set lo up
\$b ip link add fabric0 type dummy
\$b ip link set fabric0 mtu 4500 up
\$b ip addr add 192.0.2.1/24 dev fabric0
/usr/bin/rdma link add rxe0 type rxe netdev fabric0
\$b sleep 2
/usr/bin/program
echo "= end"
\$b poweroff -f
EOF
    chmod 755 "$root/init"
}

# Runs the program in a guest of this kernel; what it says, each line behind "= ", is in $work/out then.
run_guest() {
    local module try
    rm -f "$root"/modules/*
    for module in dummy crc32_generic ib_uverbs rdma_rxe; do
        modprobe -d "$tree" -S "$version" --ignore-install --show-depends $module 2>/dev/null
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        case $module in
        *.xz) xz -dc "$module" >"$root/modules/$(basename "$module" .xz)" ;;
        *) cp "$module" "$root/modules/" ;;
        esac
        basename "$module" .xz
    done >"$root/modules/order"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initramfs"
    for try in 1 2 3; do # an emulated processor now and then dies at boot
        timeout -k 5 90 qemu-system-x86_64 -M pc -accel tcg -cpu max,-fsrm,-erms,-pclmulqdq -m 1G -nodefaults \
            -no-user-config -display none -no-reboot -serial "file:$work/console" -kernel "$image" \
            -initrd "$work/initramfs" -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=unstable" \
            </dev/null >"$work/log" 2>&1
        tr -d '\r' <"$work/console" | sed -n 's/^= //p' >"$work/out"
        ! grep -q '^end$' "$work/out" || return 0
        echo "boot $try of Linux $version did not end"
    done >&2
    give_up "the guest of Linux $version does not end: $(tail -n 3 "$work/console" "$work/log")"
}

check_host() {
    local each
    for each in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static modprobe:kmod rdma:iproute2 gcc:gcc xz:xz-utils; do
        command -v "${each%:*}" >/dev/null || give_up "${each%:*} is missing: package ${each#*:}"
    done
    [ "$(uname -m)" = x86_64 ] || give_up "the guests are x86_64"
    [ -f /usr/include/infiniband/verbs.h ] || give_up "verbs.h is missing: package libibverbs-dev"
    ls /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so >/dev/null 2>&1 ||
        give_up "the provider of Soft-RoCE is missing: package ibverbs-providers"
}

write_program() {
    cat <<'EOF'
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static union ibv_gid gid;
static char *memory;

static void must(int good, const char *what)
{
    if (!good) {
        printf("= %s failed\n", what);
        exit(2);
    }
}

static void open_device(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    must(list != NULL && list[0] != NULL, "finding a device");
    context = ibv_open_device(list[0]);
    must(context != NULL && (pd = ibv_alloc_pd(context)) != NULL, "opening it");
    must(ibv_query_gid(context, 1, 1, &gid) == 0, "ibv_query_gid"); /* the IPv4 address */
    memory = aligned_alloc(4096, 16384);
    mr = ibv_reg_mr(pd, memory, 16384, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    must(mr != NULL, "ibv_reg_mr");
}

static struct ibv_qp *make_pair(struct ibv_cq *cq)
{
    struct ibv_qp_init_attr pair = {
        .qp_type = IBV_QPT_RC,
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &pair);

    must(qp != NULL, "ibv_create_qp");
    return qp;
}

static void connect_to(struct ibv_qp *qp, uint32_t other)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = other,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 1, .hop_limit = 1}}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 1, .max_rd_atomic = 1};

    must(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
    must(ibv_modify_qp(qp, &rtr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0, "RTR");
    must(ibv_modify_qp(qp, &rts,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0, "RTS");
}

/* The status of each side's completion, -1 if there is none. */
static void look(struct ibv_cq *from, struct ibv_cq *to, int status[2])
{
    struct ibv_cq *queues[2] = {from, to};
    struct ibv_wc wc;

    status[0] = status[1] = -1;
    for (int ms = 0; ms < 400; ms++) {
        for (int i = 0; i < 2; i++) {
            if (ibv_poll_cq(queues[i], 1, &wc) == 1 && status[i] < 0) {
                status[i] = wc.status;
            }
        }
        usleep(1000);
    }
}

/* In each case one number is wrong, or none is. */
static void run(const char *what, int length, uint32_t lkey, uint32_t receive_lkey, enum ibv_wr_opcode opcode, uint32_t rkey)
{
    struct ibv_cq *queues[2] = {ibv_create_cq(context, 16, NULL, NULL, 0), ibv_create_cq(context, 16, NULL, NULL, 0)};
    struct ibv_sge source = {(uintptr_t) memory, length, lkey}, target = {(uintptr_t) memory + 8192, 8, receive_lkey};
    struct ibv_recv_wr receive = {.sg_list = &target, .num_sge = 1}, *bad_receive;
    struct ibv_send_wr request = {.sg_list = &source,
                                  .num_sge = 1,
                                  .opcode = opcode,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .wr.rdma = {(uintptr_t) memory + 4096, rkey}}, *bad;
    struct ibv_qp *from, *to;
    int status[2];

    must(queues[0] != NULL && queues[1] != NULL, "ibv_create_cq");
    from = make_pair(queues[0]), to = make_pair(queues[1]);
    connect_to(from, to->qp_num);
    connect_to(to, from->qp_num);
    must(opcode != IBV_WR_SEND || ibv_post_recv(to, &receive, &bad_receive) == 0, "ibv_post_recv");
    must(ibv_post_send(from, &request, &bad) == 0, "ibv_post_send");
    look(queues[0], queues[1], status);
    printf("= %s|%s|%s\n", what, status[0] < 0 ? "nothing" : ibv_wc_status_str(status[0]),
           status[1] < 0 ? "nothing" : ibv_wc_status_str(status[1]));
    ibv_destroy_qp(from);
    ibv_destroy_qp(to);
}

int main(void)
{
    uint32_t good, wrong;

    open_device();
    good = mr->lkey, wrong = mr->lkey + 1;
    run("send of 8 into 8", 8, good, good, IBV_WR_SEND, 0);
    run("write, wrong rkey", 8, good, good, IBV_WR_RDMA_WRITE, mr->rkey + 1);
    run("send of 16 into 8", 16, good, good, IBV_WR_SEND, 0);
    run("receive, wrong lkey", 8, good, wrong, IBV_WR_SEND, 0);
    run("send, wrong lkey", 8, wrong, good, IBV_WR_SEND, 0);
    run("write, wrong lkey", 8, wrong, good, IBV_WR_RDMA_WRITE, mr->rkey);
    return 0;
}
EOF
}

say() { # CASE SENDER RECEIVER
    printf '  %-20s %-27s %s\n' "$1" "$2" "$3"
}

# Each case beside what is expected, then what the kernels have said.
expected='send of 8 into 8|success|success
write, wrong rkey|remote access error|nothing
send of 16 into 8|remote invalid request error|local length error
receive, wrong lkey|remote operation error|local protection error
send, wrong lkey|local protection error|nothing
write, wrong lkey|local protection error|nothing'
declare -A stated=(
    [bookworm]='send of 8 into 8|success|success
write, wrong rkey|remote access error|nothing
send of 16 into 8|remote operation error|local QP operation error
receive, wrong lkey|remote operation error|local QP operation error
send, wrong lkey|local QP operation error|nothing
write, wrong lkey|local QP operation error|nothing'
)
stated[trixie]=$(sed -E 's/^((send|write), wrong lkey)\|[^|]*/\1|Work Request Flushed Error/' <<<"${stated[bookworm]}")

check_host
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
make_root
changed=
echo "expected"
while IFS='|' read -r each sender receiver; do say "$each" "$sender" "$receiver"; done <<<"$expected"
while read -r suite version; do
    fetch_kernel "$suite" "$version"
    run_guest
    sed -i '/^end$/d' "$work/out"
    echo "Linux $version"
    while IFS='|' read -r each sender receiver; do say "$each" "$sender" "$receiver"; done <"$work/out"
    [ "$(cat "$work/out")" = "${stated[$suite]}" ] || changed+=" $version"
    rm -rf "$tree"
done <<EOF
bookworm 6.1.0-56-amd64
trixie 6.12.117+deb13-amd64
EOF
if [ -n "$changed" ]; then
    echo "changed: Linux$changed"
    exit 1
fi
echo "as stated"
