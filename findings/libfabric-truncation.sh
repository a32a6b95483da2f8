#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# libfabric: a message that is longer than its receive is cut, and udp;ofi_rxd calls that a success. No provider that
# was tried reports it as the manual says.
#
# Software: libfabric 1.17.0 (Debian 12) and 2.1.0 (Debian 13): providers shm, tcp;ofi_rxm, tcp, sockets, udp;ofi_rxd.
# Input: an endpoint of type FI_EP_RDM posts a receive of 8 bytes by fi_recv, and sends 64 bytes to itself by fi_send.
# Two completion queues; fi_cq_readerr when fi_cq_read returns -FI_EAVAIL.
# Expected by fi_cq(3): an error completion. "err" is positive: FI_ETRUNC of fi_errno(3), 265. "len" says how many
# bytes were placed into the buffer: 8. "olen" says how many did not fit and were discarded: 56.
# Seen:
#
#     libfabric provider      completion    err   len  olen  placed
#     1.17.0    shm           error        -265     0     0       8
#     1.17.0    tcp;ofi_rxm   error         265     0     0       0
#     1.17.0    sockets       error         265    64    56       8
#     1.17.0    udp;ofi_rxd   success         0     8     0       8
#     2.1.0     shm           error         265     0     0       8
#     2.1.0     tcp;ofi_rxm   error         265    64    56       8
#     2.1.0     tcp           error         265     0     0       8
#     2.1.0     sockets       error         265    64    56       8
#     2.1.0     udp;ofi_rxd   success         0     8     0       8
#     as stated
#
# The sender sees a success each time. libfabric of unstable (2.1.0 as well) shows the same.
# What it means: over udp;ofi_rxd a program cannot notice that 56 bytes are lost. Elsewhere "err" alone tells what
# happened, and a test for err == FI_ETRUNC misses shm of 1.17.0. rbuf does not use libfabric.
#
# Usage: findings/libfabric-truncation.sh. It takes a minute and 40 MB for packages, unpacked in a temporary directory;
# it needs gcc and apt. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=libfabric-truncation

give_up() { # REASON
    echo "$name: $1" >&2
    exit 2
}

mirror() { # LABEL: where this machine gets Debian from
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" \
        'Component: main' 2>/dev/null | head -n 1
}

# Unpacks packages of a release into $work/SUITE. Where the mirror has a version no more, what the release has is taken.
fetch() { # SUITE PACKAGE[=VERSION]...
    local suite=$1 apt=$work/apt-$1 main each packages=() keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    shift
    main=$(mirror Debian)
    [ -n "$main" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts} "$work/$suite"
    : >"$apt/status"
    echo "deb $option$main $suite main" >"$apt/sources.list"
    printf '%s;\n' "Dir::State \"$apt/state\"" "Dir::State::lists \"$apt/lists\"" "Dir::State::status \"$apt/status\"" \
        "Dir::Cache \"$apt\"" "Dir::Etc::sourcelist \"$apt/sources.list\"" "Dir::Etc::sourceparts \"$apt/parts\"" \
        "Dir::Etc::preferencesparts \"$apt/parts\"" 'APT::Architecture "amd64"' 'APT::Sandbox::User "root"' \
        'Acquire::Languages "none"' >"$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $suite: $(tail -n 1 "$work/log")"
    for each in "$@"; do
        apt-cache show "$each" >/dev/null 2>&1 || each=${each%%=*}
        packages+=("$each")
    done
    (cd "$work/$suite" && apt-get -q download "${packages[@]}") >"$work/log" 2>&1 ||
        give_up "no packages of Debian's $suite: $(tail -n 1 "$work/log")"
    for each in "$work/$suite"/*.deb; do
        dpkg-deb -x "$each" "$work/$suite" || give_up "$each cannot be unpacked"
    done
    unset APT_CONFIG
}

write_program() {
    cat <<'EOF'
/* program PROVIDER: what a receive of 8 bytes says of a message of 64. Exit status 3: there is no such provider. */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 8, LENGTH = 64 };

static char from[LENGTH], to[LENGTH];
static struct fi_context2 contexts[2];

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(2);
    }
}

static struct fi_info *find(const char *provider)
{
    struct fi_info *hints = fi_allocinfo(), *all;
    int shm = strcmp(provider, "shm") == 0;

    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = 0;
    hints->fabric_attr->prov_name = strdup(provider);
    if (fi_getinfo(FI_VERSION(1, 17), shm ? NULL : "127.0.0.1", NULL, shm ? 0 : FI_SOURCE, hints, &all) != 0) {
        exit(3);
    }
    while (all != NULL && strcmp(all->fabric_attr->prov_name, provider) != 0) {
        all = all->next;
    }
    if (all == NULL) {
        exit(3);
    }
    return all;
}

/* Whether there is a completion; an error leaves its entry in *error. */
static int take(struct fid_cq *cq, struct fi_cq_tagged_entry *entry, struct fi_cq_err_entry *error)
{
    ssize_t got = fi_cq_read(cq, entry, 1);

    if (got == -FI_EAVAIL) {
        memset(error, 0, sizeof(*error));
        must(fi_cq_readerr(cq, error, 0) == 1, "fi_cq_readerr");
        return 1;
    }
    must(got == 1 || got == -FI_EAGAIN, "fi_cq_read");
    return got == 1;
}

int main(int argc, char **argv)
{
    struct fi_info *info = find(argv[argc - 1]);
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_TAGGED, .size = 16};
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    struct fi_cq_tagged_entry sent = {0}, received = {0};
    struct fi_cq_err_entry refused = {0}, error = {0};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *out, *in;
    struct fid_av *av;
    struct fid_ep *ep;
    char address[512];
    size_t size = sizeof(address);
    fi_addr_t self;
    ssize_t status;
    int sends = 0, receives = 0, placed = 0;

    must(fi_fabric(info->fabric_attr, &fabric, NULL) == 0 && fi_domain(fabric, info, &domain, NULL) == 0, "fi_domain");
    must(fi_cq_open(domain, &queue, &out, NULL) == 0 && fi_cq_open(domain, &queue, &in, NULL) == 0, "fi_cq_open");
    must(fi_av_open(domain, &addresses, &av, NULL) == 0 && fi_endpoint(domain, info, &ep, NULL) == 0, "fi_endpoint");
    must(fi_ep_bind(ep, &av->fid, 0) == 0 && fi_ep_bind(ep, &out->fid, FI_SEND) == 0 &&
             fi_ep_bind(ep, &in->fid, FI_RECV) == 0 && fi_enable(ep) == 0, "fi_enable");
    must(fi_getname(&ep->fid, address, &size) == 0 && fi_av_insert(av, address, 1, &self, 0, NULL) == 1, "fi_av_insert");
    memset(from, 7, LENGTH);
    must(fi_recv(ep, to, ROOM, NULL, FI_ADDR_UNSPEC, &contexts[0]) == 0, "fi_recv");
    while ((status = fi_send(ep, from, LENGTH, NULL, self, &contexts[1])) == -FI_EAGAIN) {
        take(out, &sent, &refused), take(in, &received, &error); /* so that it connects */
    }
    must(status == 0, "fi_send");
    for (int ms = 0; ms < 10000 && (sends == 0 || receives == 0); ms++) {
        sends += take(out, &sent, &refused);
        receives += take(in, &received, &error);
        usleep(1000);
    }
    must(sends == 1 && receives == 1 && refused.err == 0, "the message");
    for (int i = 0; i < LENGTH; i++) {
        placed += to[i] == 7;
    }
    printf("%s %d %zu %zu %d\n", error.err == 0 ? "success" : "error", error.err, error.err == 0 ? received.len : error.len,
           error.olen, placed);
    return 0;
}
EOF
}

run() { # SUITE VERSION
    local library=$work/$1/usr/lib/x86_64-linux-gnu provider status
    for provider in shm "tcp;ofi_rxm" tcp sockets "udp;ofi_rxd"; do
        timeout 60 "$(find "$work/$1" -name ld-linux-x86-64.so.2 | head -n 1)" \
            --library-path "$library:$work/$1/lib/x86_64-linux-gnu" "$work/program" "$provider" >"$work/out" 2>"$work/log"
        status=$?
        [ $status != 3 ] || continue
        [ $status = 0 ] || give_up "libfabric $2, $provider: $(tail -n 1 "$work/log")"
        awk -v version="$2" -v provider="$provider" \
            '{ printf "%-9s %-13s %-9s %7s %5s %5s %7s\n", version, provider, $1, $2, $3, $4, $5 }' "$work/out" |
            tee -a "$work/table"
    done
}

[ "$(uname -m)" = x86_64 ] || give_up "the packages are for x86_64"
command -v gcc >/dev/null || give_up "gcc is missing"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
common="libibverbs1 ibverbs-providers libpsm2-2 libnl-3-200 libnl-route-3-200 libnuma1 libc6"
# shellcheck disable=SC2086 # words
fetch bookworm libfabric1=1.17.0-3 libfabric-dev librdmacm1 libpsm-infinipath1 libatomic1 libuuid1 $common
# shellcheck disable=SC2086 # words
fetch trixie libfabric1=2.1.0-1.1 librdmacm1t64 $common
write_program | gcc -std=gnu11 -x c - -o "$work/program" -I"$work/bookworm/usr/include" -x none \
    "$work/bookworm/usr/lib/x86_64-linux-gnu/libfabric.so.1" -Wl,--allow-shlib-undefined 2>"$work/log" ||
    give_up "gcc: $(tail -n 1 "$work/log")"
printf '%-9s %-13s %-9s %7s %5s %5s %7s\n' libfabric provider completion err len olen placed
run bookworm 1.17.0
run trixie 2.1.0
[ -s "$work/table" ] || give_up "libfabric has none of these providers"
stated='1.17.0 shm error -265 0 0 8
1.17.0 tcp;ofi_rxm error 265 0 0 0
1.17.0 sockets error 265 64 56 8
1.17.0 udp;ofi_rxd success 0 8 0 8
2.1.0 shm error 265 0 0 8
2.1.0 tcp;ofi_rxm error 265 64 56 8
2.1.0 tcp error 265 0 0 8
2.1.0 sockets error 265 64 56 8
2.1.0 udp;ofi_rxd success 0 8 0 8'
if [ "$(tr -s ' ' <"$work/table")" != "$stated" ]; then
    echo "changed"
    exit 1
fi
echo "as stated"
