#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Linux' Soft-RoCE (rdma_rxe) shows the last word of an RDMA write before the words in front of it, with Linux 6.12 and 7.2, not with 6.1.
#
# Software: Linux 6.1.192 (Debian 12), 6.12.117 (Debian 13) and 7.2.13 (unstable), package linux-image-amd64 of each,
# in a guest of QEMU 7.2 (TCG, two processors, a processor without FSRM); rdma-core 44.0 in the guest.
# Input: a plain verbs program writes 4096 bytes from one queue pair of a device to another one of it, path MTU 4096,
# over IPv4. A thread on the other processor looks at the last word; when that has come it looks at all others.
# The target begins close to the end of a page, so that most of it is in the next one, and the last word's address
# ends in the byte of the table.
# Expected by programs that poll memory: the last word comes last, as adapters do it. The InfiniBand
# specification does not promise that.
# Seen: 6.1 keeps the order. 6.12 and 7.2 do not where the source lies badly to the target:
#
#     words early of 3000, at       0x00  0x20  0x40  0xe0  0x60  0x78  0x80  0xc0
#     Linux 6.1.0-56-amd64             0     0     0     0     0     0     0     0
#     Linux 6.12.117+deb13-amd64       0     0     0     0  1858  2081  1472  2719
#     Linux 7.2.13+deb14-amd64         0     0     0     0  1880   777   153   455
#     as stated
#
# Why, as far as the pattern tells (the kernels' source was not read for it): the driver copies a packet by the
# kernel's memcpy(), which in the later kernels begins at the end at some alignments of source and target. The headers
# in front of the payload decide the source's: with IPv6 other endings go wrong, and those that are right here are no
# safe ones.
#
# Usage: findings/soft-roce-write-order.sh. It takes about five minutes and 300 MB for packages, unpacked in a
# temporary directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

messages=3000
upwards="0x00 0x20 0x40 0xe0"
backwards="0x60 0x78 0x80 0xc0"
endings="$upwards $backwards"
# Series, release of Debian, version. Where a mirror has that version no more, what the release has is taken.
kernels="6.1 bookworm 6.1.0-56-amd64
6.12 trixie 6.12.117+deb13-amd64
7.2 sid 7.2.13+deb14-amd64"
needed="qemu-system-x86_64:qemu-system-x86 busybox:busybox-static modprobe:kmod depmod:kmod rdma:iproute2
    gcc:gcc xz:xz-utils ldd:libc-bin apt-get:apt"
libraries=/usr/lib/x86_64-linux-gnu
PATH=$PATH:/usr/sbin:/sbin

give_up() { # REASON
    echo "soft-roce-write-order: $1" >&2
    exit 2
}

check_host() {
    local each
    for each in $needed; do
        command -v "${each%:*}" >/dev/null || give_up "${each%:*} is missing: package ${each#*:}"
    done
    [ "$(uname -m)" = x86_64 ] || give_up "the guests are x86_64"
    [ -f /usr/include/infiniband/verbs.h ] || give_up "verbs.h is missing: package libibverbs-dev"
    ls "$libraries"/libibverbs/librxe-rdmav*.so >/dev/null 2>&1 ||
        give_up "the provider of Soft-RoCE is missing: package ibverbs-providers"
}

# ---- the kernels' packages ----

mirror() { # LABEL: where this machine gets Debian from
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" \
        'Component: main' 2>/dev/null | head -n 1
}

# A configuration of apt in the temporary directory, that knows one release only.
open_release() { # SUITE
    local apt=$work/apt-$1 main security keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    main=$(mirror Debian)
    security=$(mirror Debian-Security)
    [ -n "$main" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts}
    : >"$apt/status"
    echo "deb $option$main $1 main" >"$apt/sources.list"
    [ -z "$security" ] || [ "$1" = sid ] || echo "deb $option$security $1-security main" >>"$apt/sources.list"
    export APT_CONFIG=$apt/apt.conf
    cat >"$APT_CONFIG" <<EOF
Dir::State "$apt/state";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/parts";
Dir::Etc::preferencesparts "$apt/parts";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
EOF
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $1: $(tail -n 1 "$work/log")"
}

known() { # PACKAGE
    [ -n "$(apt-cache --no-all-versions show "$1" 2>/dev/null)" ]
}

# Unpacks a kernel into the directory $tree, and sets $version.
fetch_kernel() { # SUITE VERSION
    local kind packages=()
    open_release "$1"
    version=$2
    known "linux-image-$version" ||
        version=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: linux-image-//p' | head -n 1)
    for kind in image base binary modules; do # newer releases have divided it
        ! known "linux-$kind-$version" || packages+=("linux-$kind-$version")
    done
    tree=$work/linux-$1
    mkdir "$tree"
    (cd "$tree" && apt-get -q download "${packages[@]}") >"$work/log" 2>&1 ||
        give_up "no kernel of Debian's $1: $(tail -n 1 "$work/log")"
    for kind in "$tree"/*.deb; do
        dpkg-deb -x "$kind" "$tree" || give_up "$kind cannot be unpacked"
    done
    unset APT_CONFIG
    [ -e "$tree/lib" ] || ln -s usr/lib "$tree/lib"
    depmod -b "$tree" "$version" >"$work/log" 2>&1 || give_up "depmod: $(tail -n 1 "$work/log")"
    image=$tree/boot/vmlinuz-$version
    [ -e "$image" ] || image=$tree/lib/modules/$version/vmlinuz
}

# ---- the guest ----

# The program, with libraries and all, in a directory that becomes the guest's root.
make_root() {
    local file
    root=$work/root
    mkdir -p "$root"/{bin,dev,proc,sys,etc/libibverbs.d,usr/bin,modules}
    write_program | gcc -std=gnu11 -O2 -Wall -x c - -o "$root/usr/bin/order" -libverbs -pthread ||
        give_up "the program cannot be compiled"
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
while read -r module; do
    \$b insmod /modules/\$module
done </modules/order
\$b ip link set lo up
\$b ip link add fabric0 type dummy
\$b ip link set fabric0 mtu 4500 up
\$b ip addr add 192.0.2.1/24 dev fabric0
/usr/bin/rdma link add rxe0 type rxe netdev fabric0
\$b sleep 2
/usr/bin/order $messages $endings
\$b sync
\$b poweroff -f
EOF
    chmod 755 "$root/init"
}

# The modules of Soft-RoCE and what they depend on, those that this kernel has.
add_modules() {
    local module
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
    grep -q rdma_rxe "$root/modules/order" || give_up "Linux $version has no rdma_rxe"
}

run_guest() { # SERIES: leaves what the program said in $work/SERIES
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initramfs"
    timeout -k 5 900 qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max,-fsrm,-erms,-pclmulqdq -smp 2 -m 1G -nodefaults \
        -no-user-config -display none -no-reboot -serial "file:$work/console" -kernel "$image" \
        -initrd "$work/initramfs" -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check" \
        </dev/null >"$work/log" 2>&1
    tr -d '\r' <"$work/console" | grep '^ends in ' >"$work/$1"
    [ "$(wc -l <"$work/$1")" = "$(wc -w <<<"$endings")" ] ||
        give_up "the guest of Linux $version did not end: $(tail -n 5 "$work/console" "$work/log")"
}

# ---- the program ----

write_program() {
    cat <<'EOF'
/*
 * order MESSAGES ENDING...: one thread writes 4 KB over a queue pair of the device to itself,
 * another one, on a processor of its own, looks at the last word without pause. All words of
 * message n are n. When the last word is n, is any other one not? For each ending the last word is
 * at an address whose low byte is that.
 */
#define _GNU_SOURCE /* CPU_SET(), sched_setaffinity() */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4096 / 8, ROOM = 16384 };

static struct ibv_qp *from, *to;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *memory; /* what is sent, then what is received, ROOM bytes each */
static uint64_t *source, *target;
static uint64_t messages, wanted;

static void must(int good, const char *what)
{
    if (!good) {
        printf("order: %s failed\n", what);
        exit(2);
    }
}

static void run_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    must(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
}

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *other, union ibv_gid gid, int index)
{
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_4096,
        .dest_qp_num = other->qp_num,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = gid, .sgid_index = index, .hop_limit = 1}}};
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};

    must(ibv_modify_qp(qp, &init,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
         "INIT");
    must(ibv_modify_qp(qp, &rtr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    must(ibv_modify_qp(qp, &rts,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
}

static void open_device(int index)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_qp_init_attr pair = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_context *context;
    struct ibv_pd *pd;
    union ibv_gid gid;

    must(list != NULL && list[0] != NULL, "finding a device");
    context = ibv_open_device(list[0]);
    must(context != NULL && (pd = ibv_alloc_pd(context)) != NULL, "opening it");
    must(ibv_query_gid(context, 1, index, &gid) == 0, "ibv_query_gid");
    memory = aligned_alloc(4096, 2 * ROOM);
    must(memory != NULL, "aligned_alloc");
    memset(memory, 0, 2 * ROOM);
    mr = ibv_reg_mr(pd, memory, 2 * ROOM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    must(mr != NULL && cq != NULL, "ibv_reg_mr, ibv_create_cq");
    pair.send_cq = pair.recv_cq = cq;
    from = ibv_create_qp(pd, &pair);
    to = ibv_create_qp(pd, &pair);
    must(from != NULL && to != NULL, "ibv_create_qp");
    connect_to(from, to, gid, index);
    connect_to(to, from, gid, index);
}

static void *write_all(void *nothing)
{
    run_on(1);
    for (uint64_t message = 1; message <= messages; message++) {
        struct ibv_sge piece = {.addr = (uintptr_t) source, .length = 8 * WORDS, .lkey = mr->lkey};
        struct ibv_send_wr request = {
            .sg_list = &piece,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = IBV_SEND_SIGNALED,
            .wr.rdma = {.remote_addr = (uintptr_t) target, .rkey = mr->rkey}};
        struct ibv_send_wr *bad;
        struct ibv_wc wc;
        int found;

        while (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != message) {
            sched_yield();
        }
        for (int i = 0; i < WORDS; i++) {
            source[i] = message;
        }
        must(ibv_post_send(from, &request, &bad) == 0, "ibv_post_send");
        while ((found = ibv_poll_cq(cq, 1, &wc)) == 0) {
            sched_yield();
        }
        must(found == 1 && wc.status == IBV_WC_SUCCESS, "the write");
    }
    return nothing;
}

static void measure(const char *name)
{
    size_t ending = strtoul(name, NULL, 16);
    pthread_t writer;
    long early = 0;

    memset(memory, 0, 2 * ROOM);
    source = (uint64_t *) memory;
    /* Most of the write, with its last word, lies in one page. */
    target = (uint64_t *) (memory + ROOM + 4096 + 0xe00 + ending + 8 - 8 * WORDS);
    wanted = 0;
    must(pthread_create(&writer, NULL, write_all, NULL) == 0, "pthread_create");
    for (uint64_t message = 1; message <= messages; message++) {
        int missing = 0;

        __atomic_store_n(&wanted, message, __ATOMIC_RELEASE);
        while (__atomic_load_n(&target[WORDS - 1], __ATOMIC_ACQUIRE) != message) {
        }
        for (int i = 0; i < WORDS - 1; i++) {
            missing |= __atomic_load_n(&target[i], __ATOMIC_RELAXED) != message;
        }
        early += missing;
    }
    pthread_join(writer, NULL);
    printf("ends in %s: %ld of %lu\n", name, early, (unsigned long) messages);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    must(argc > 2, "reading MESSAGES ENDING...");
    messages = strtoul(argv[1], NULL, 10);
    run_on(0);
    open_device(1); /* the IPv4 address */
    for (int i = 2; i < argc; i++) {
        measure(argv[i]);
    }
    return 0;
}
EOF
}

# ---- what was seen ----

early_at() { # SERIES ENDING
    awk -v ending="$2:" '$3 == ending { print $4 }' "$work/$1"
}

# The sum over some endings.
early_of() { # SERIES ENDING...
    local series=$1 ending sum=0
    shift
    for ending in "$@"; do
        sum=$((sum + $(early_at "$series" "$ending")))
    done
    echo $sum
}

judge() { # SERIES
    local up back
    # shellcheck disable=SC2086 # words
    up=$(early_of "$1" $upwards) back=$(early_of "$1" $backwards)
    [ "$up" = 0 ] || changed+="Linux $1: early words at $upwards. "
    case $1 in
    6.1) [ "$back" = 0 ] || changed+="Linux $1: early words at $backwards. " ;;
    *) [ "$back" -gt 0 ] || changed+="Linux $1: no early word at $backwards. " ;;
    esac
}

check_host
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
make_root
changed=
# shellcheck disable=SC2086 # words
printf '%-28s' "words early of $messages, at" && printf '%6s' $endings && echo
while read -r series suite version; do
    fetch_kernel "$suite" "$version"
    add_modules
    run_guest "$series"
    printf '%-28s' "Linux $version"
    for ending in $endings; do
        printf '%6s' "$(early_at "$series" "$ending")"
    done
    echo
    judge "$series"
done <<<"$kernels"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
