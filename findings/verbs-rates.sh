#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# libibverbs has no multiplier for the rates of FDR, EDR and HDR, and turns those multipliers into "no limit".
#
# Software: rdma-core (libibverbs) 44.0 (Debian 12), 56.1 (Debian 13) and 65.0 (unstable).
# Input: every rate of enum ibv_rate from IBV_RATE_2_5_GBPS to IBV_RATE_1200_GBPS into ibv_rate_to_mult and
# ibv_rate_to_mbps; the multipliers of the round rates into mult_to_ibv_rate.
# Expected by ibv_rate_to_mult(3): the rate as a multiple of 2.5 Gbit/s, and back; the page names no rate without one,
# and no return value for an error. The kernel's ib_rate_to_mult, by its source, has one for all: 40 for 100 Gbit/s.
# Seen: 8 rates of 23 have -1, among them 100 and 200 Gbit/s, while slower and faster, older and newer ones work.
# mult_to_ibv_rate returns 0 for 40 and 80, which is IBV_RATE_MAX: a limit of 100 Gbit/s becomes no limit, without an
# error. And a multiplier does not mean what the other function says: 160 * 2500 is 400000, not 425000.
#
#     rdma-core 44.0, rate in Gbit/s and multiplier:
#       2.5:1 10:4 30:12 5:2 20:8 40:16 60:24 80:32 120:48 14:-1 56:-1 112:-1 168:-1 25:-1 100:-1 200:-1 300:-1
#       28:11 50:20 400:160 600:240 800:320 1200:480
#     the same in Mbit/s:
#       2500 10000 30000 5000 20000 40000 60000 80000 120000 14062 56250 112500 168750 25781 103125 206250 309375
#       28125 53125 425000 637500 850000 1275000
#     multiplier and rate: 10:0 20:20 40:0 80:0 120:0 160:21
#     rdma-core 56.1: the same. rdma-core 65.0: the same.
#     as stated
#
# For a user of rbuf: nothing, rbuf sets no static rate. A program that limits what it sends (static_rate of struct
# ibv_ah_attr) should use ibv_rate_to_mbps and mbps_to_ibv_rate, which know all rates.
#
# Usage: findings/verbs-rates.sh. It takes a minute and 30 MB for packages, unpacked in a temporary directory; it needs
# gcc and apt. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=verbs-rates

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
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
    static const char *const names[] = {"2.5", "10",  "30",  "5",   "20",  "40", "60", "80",  "120", "14",  "56",  "112",
                                        "168", "25",  "100", "200", "300", "28", "50", "400", "600", "800", "1200"};
    static const int multipliers[] = {10, 20, 40, 80, 120, 160};

    printf("mult");
    for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
        printf(" %s:%d", names[rate - IBV_RATE_2_5_GBPS], ibv_rate_to_mult(rate));
    }
    printf("\nmbps");
    for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
        printf(" %d", ibv_rate_to_mbps(rate));
    }
    printf("\nback");
    for (int i = 0; i < 6; i++) {
        printf(" %d:%d", multipliers[i], mult_to_ibv_rate(multipliers[i]));
    }
    printf("\n");
    return 0;
}
EOF
}

stated='mult 2.5:1 10:4 30:12 5:2 20:8 40:16 60:24 80:32 120:48 14:-1 56:-1 112:-1 168:-1 25:-1 100:-1 200:-1 300:-1'
stated+=' 28:11 50:20 400:160 600:240 800:320 1200:480
mbps 2500 10000 30000 5000 20000 40000 60000 80000 120000 14062 56250 112500 168750 25781 103125 206250 309375'
stated+=' 28125 53125 425000 637500 850000 1275000
back 10:0 20:20 40:0 80:0 120:0 160:21'

[ "$(uname -m)" = x86_64 ] || give_up "the packages are for x86_64"
command -v gcc >/dev/null || give_up "gcc is missing"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
changed=
while read -r suite version; do
    fetch "$suite" "libibverbs1=$version" libibverbs-dev libnl-3-200 libnl-route-3-200 libc6
    version=$(cd "$work/$suite" && echo libibverbs1_*.deb)
    version=${version#*_} version=${version%%-*}
    tree=$work/$suite/usr/lib/x86_64-linux-gnu
    # The header of the newest release has all names.
    [ -x "$work/program" ] ||
        write_program | gcc -std=gnu11 -x c - -o "$work/program" -I"$work/$suite/usr/include" -x none \
            "$tree/libibverbs.so.1" -Wl,--allow-shlib-undefined 2>"$work/log" || give_up "gcc: $(tail -n 1 "$work/log")"
    "$(find "$work/$suite" -name ld-linux-x86-64.so.2 | head -n 1)" \
        --library-path "$tree:$work/$suite/lib/x86_64-linux-gnu" "$work/program" >"$work/out" 2>"$work/log" ||
        give_up "rdma-core $version: $(tail -n 1 "$work/log")"
    echo "rdma-core $version"
    sed 's/^/  /' "$work/out"
    [ "$(cat "$work/out")" = "$stated" ] || changed+=" $version"
done <<EOF
sid 65.0-1.1
trixie 56.1-1
bookworm 44.0-2
EOF
if [ -n "$changed" ]; then
    echo "changed: rdma-core$changed"
    exit 1
fi
echo "as stated"
