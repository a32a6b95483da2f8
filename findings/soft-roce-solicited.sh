#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Soft-RoCE gives no completion event for errors to a program that asks for solicited events only.
#
# Software: Linux 6.1.192 (Debian 12) and 6.12.117 (Debian 13): rdma_rxe; package linux-image-amd64 of each, in a guest
# of QEMU 7.2; rdma-core 44.0 in the guest. Linux 7.2.13 (unstable) showed the same as 6.12.117.
# Input: two reliable queue pairs of one device, connected with each other, each with a completion queue and a channel
# of its own. ibv_req_notify_cq with solicited_only = 1 on both; then one request, and a look at the channel for
# 0.4 s, then at the queue.
# Expected by ibv_req_notify_cq(3): an event for a receive whose message has the bit "Solicited Event", "or if the
# status is not successful". The specification of InfiniBand says the same (volume 1, 11.4.2.2, Request Completion
# Notification).
# Seen: the completion is in the queue, and no event comes, for each error of the send queue. At the receive queue the
# sender's bit decides, even for errors. Linux 6.12 also lost the event for receives that are flushed.
#
#     Linux 6.1.0-56-amd64
#       receive, message without the bit: success, no event
#       receive, message with the bit: success, event
#       receive, too long, without the bit: local QP operation error, no event
#       receive, too long, with the bit: local QP operation error, event
#       receive, flushed: Work Request Flushed Error, event
#       write, wrong key: remote access error, no event
#       write, flushed: Work Request Flushed Error, no event
#       send, no receive: RNR retry counter exceeded, no event
#     Linux 6.12.117+deb13-amd64
#       receive, message without the bit: success, no event
#       receive, message with the bit: success, event
#       receive, too long, without the bit: local QP operation error, no event
#       receive, too long, with the bit: local QP operation error, event
#       receive, flushed: Work Request Flushed Error, no event
#       write, wrong key: remote access error, no event
#       write, flushed: Work Request Flushed Error, no event
#       send, no receive: RNR retry counter exceeded, no event
#     as stated
#
# Why, as far as the pattern tells: the driver takes the bit of the packet for its answer, not the status.
# What it means: a program that sleeps in ibv_get_cq_event until solicited messages come never learns that its queue
# pair is broken. It works with adapters that follow the page. rbuf asks for no completion events.
#
# Usage: findings/soft-roce-solicited.sh. It takes three minutes and 200 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=soft-roce-solicited

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
#include <poll.h>
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

struct end {
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    struct ibv_comp_channel *channel;
};

static struct end make_end(void)
{
    struct end end;

    end.channel = ibv_create_comp_channel(context);
    must(end.channel != NULL, "ibv_create_comp_channel");
    end.cq = ibv_create_cq(context, 16, NULL, end.channel, 0);
    must(end.cq != NULL && ibv_req_notify_cq(end.cq, 1) == 0, "ibv_req_notify_cq");
    end.qp = make_pair(end.cq);
    return end;
}

static void send(struct ibv_qp *qp, enum ibv_wr_opcode opcode, int length, uint32_t rkey, unsigned flags)
{
    struct ibv_sge piece = {(uintptr_t) memory, length, mr->lkey};
    struct ibv_send_wr request = {.sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = opcode,
                                  .send_flags = flags | IBV_SEND_SIGNALED,
                                  .wr.rdma = {(uintptr_t) memory + 4096, rkey}}, *bad;

    must(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send");
}

static void receive(struct ibv_qp *qp)
{
    struct ibv_sge piece = {(uintptr_t) memory + 8192, 8, mr->lkey};
    struct ibv_recv_wr request = {.sg_list = &piece, .num_sge = 1}, *bad;

    must(ibv_post_recv(qp, &request, &bad) == 0, "ibv_post_recv");
}

static void stop(struct ibv_qp *qp)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

    must(ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0, "ERR");
}

static void look(const char *what, const struct end *end)
{
    struct pollfd channel = {end->channel->fd, POLLIN, 0};
    struct ibv_wc wc;
    int event = poll(&channel, 1, 400);

    must(ibv_poll_cq(end->cq, 1, &wc) == 1, what);
    printf("= %s: %s, %s\n", what, ibv_wc_status_str(wc.status), event > 0 ? "event" : "no event");
}

int main(void)
{
    static const char *const cases[] = {
        "receive, message without the bit", "receive, message with the bit", "receive, too long, without the bit",
        "receive, too long, with the bit", "receive, flushed", "write, wrong key", "write, flushed", "send, no receive"};

    open_device();
    for (int i = 0; i < 8; i++) {
        struct end from = make_end(), to = make_end();

        connect_to(from.qp, to.qp->qp_num);
        connect_to(to.qp, from.qp->qp_num);
        if (i <= 4) {
            receive(to.qp);
        }
        if (i <= 3) {
            send(from.qp, IBV_WR_SEND, i < 2 ? 8 : 16, 0, i % 2 ? IBV_SEND_SOLICITED : 0);
        } else if (i == 4) {
            stop(to.qp);
        } else if (i == 5) {
            send(from.qp, IBV_WR_RDMA_WRITE, 8, mr->rkey + 1, 0);
        } else if (i == 6) {
            stop(from.qp);
            send(from.qp, IBV_WR_RDMA_WRITE, 8, mr->rkey, 0);
        } else {
            send(from.qp, IBV_WR_SEND, 8, 0, 0);
        }
        look(cases[i], i <= 4 ? &to : &from);
        ibv_destroy_qp(from.qp);
        ibv_destroy_qp(to.qp);
    }
    return 0;
}
EOF
}

check_host
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
make_root
changed=
while read -r suite version events; do
    fetch_kernel "$suite" "$version"
    run_guest
    echo "Linux $version"
    sed -n '/^end$/!s/^/  /p' "$work/out"
    seen=$(sed -n 's/.*, event$/y/p; s/.*, no event$/n/p' "$work/out" | tr -d '\n')
    [ "$seen" = "$events" ] || changed+=" $version"
    rm -rf "$tree"
done <<EOF
bookworm 6.1.0-56-amd64 nynyynnn
trixie 6.12.117+deb13-amd64 nynynnnn
EOF
if [ -n "$changed" ]; then
    echo "changed: Linux$changed"
    exit 1
fi
echo "as stated"
