#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# libnuma: two masks that are equal give different copies: one has 10 processors in it, its copy 64.
#
# Software: libnuma 2.0.16 (Debian 12), 2.0.19 (Debian 13) and 2.0.19+b2 (unstable).
# Input: a mask of 10 bits, copied by copy_bitmask_to_bitmask() from a full one of 128 bits; another one of 10 bits, full by
# numa_bitmask_setall(). numa_bitmask_weight() of both and numa_bitmask_equal(); then each copied into a mask of 128 bits.
# Expected by numa(3), the manual page: where sizes differ, copy_bitmask_to_bitmask() cuts at the size of the mask that
# it fills, or fills up with zeros. So 10 bits of both, equal, and 10 bits in both copies.
# Seen:
#
#                           bits, compared  copy of the cut one, of the other
#     libnuma 2.0.16-1      10,10 equal     64                   10
#     libnuma 2.0.19-1      10,10 equal     64                   10
#     libnuma 2.0.19-1+b2   10,10 equal     64                   10
#     as stated
#
# Why, as far as the numbers tell: the copy goes by whole words of 64 bits. Those behind the size of the small mask come
# along; weight, comparison and numa_bitmask_isbitset() do not look at them, the next copy takes them.
# What it means: a set of processors or nodes that is cut to what the machine has, and later is copied into a mask as large
# as the kernel's, has processors again that nobody has set. Set them bit by bit.
#
# Usage: findings/numa-copied-mask.sh. It takes one to three minutes and 100 MB for lists and packages, in a temporary directory.
# Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=numa-copied-mask
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libnuma1 libnuma-dev 2.0.16-1
trixie libnuma1 libnuma-dev 2.0.19-1
sid libnuma1 libnuma-dev 2.0.19-1+b2"

give_up() { # REASON
    echo "$me: $1" >&2
    exit 2
}

# A configuration of apt in the temporary directory, that knows one release only.
open_release() { # SUITE
    local apt=$work/apt-$1 mirror keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    export APT_CONFIG=$apt/apt.conf
    [ ! -e "$APT_CONFIG" ] || return 0
    # shellcheck disable=SC2016 # for apt-get
    mirror=$(APT_CONFIG='' apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        'Component: main' 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts}
    : >"$apt/status"
    echo none >"$work/have-$1"
    echo "deb $option$mirror $1 main" >"$apt/sources.list"
    printf '%s "%s";\n' Dir::State "$apt/state" Dir::State::lists "$apt/lists" Dir::State::status "$apt/status" \
        Dir::Cache "$apt" Dir::Etc::sourcelist "$apt/sources.list" Dir::Etc::sourceparts "$apt/parts" \
        Dir::Etc::preferencesparts "$apt/parts" APT::Architecture amd64 APT::Sandbox::User root \
        APT::Install-Recommends 0 Acquire::Languages none >"$APT_CONFIG"
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $1: $(tail -n 1 "$work/log")"
}

# Unpacks a library, what it needs and its headers into $root, but nothing for AMD's graphics. Sets $version.
unpack() { # SUITE LIBRARY HEADERS VERSION
    local packages
    open_release "$1"
    version=$4
    apt-cache show "$2=$4" "$3=$4" >"$work/log" 2>&1 || # the mirror has another one now
        version=$(apt-cache policy "$2" | sed -n 's/ *Candidate: //p')
    root=$work/$1 # for both libraries of a release
    mkdir -p "$root"
    packages=$(apt-get -s install "$2=$version" 2>"$work/log" | sed -n 's/^Inst \([^ ]*\).*/\1/p' |
        grep -Ev '^(libllvm|libamd|libz3|libhsa|libicu|systemd|passwd|perl)' | grep -Fvx -f "$work/have-$1" |
        tee -a "$work/have-$1" | sed "s/^$2\$/&=$version/")
    # shellcheck disable=SC2086 # words
    (cd "$root" && apt-get -q download $packages "$3=$version") >"$work/log" 2>&1 ||
        give_up "$2 $version of Debian's $1 cannot be fetched: $(tail -n 1 "$work/log")"
    find "$root" -name '*.deb' -exec dpkg-deb -x {} "$root" \; -delete || give_up "$2 cannot be unpacked"
    unset APT_CONFIG
}

# Runs the program with the library in $root: what it says is in $work/seen.
run() {
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu shared loader
    shared=$(find "$root" -name libnuma.so.1 | head -n 1)
    loader=$(find "$root" -name ld-linux-x86-64.so.2 -type f | head -n 1)
    write_program | gcc -std=gnu11 -O2 -Wall -x c - -x none -o "$root/program" -I"$root/usr/include" "$shared" \
        -Wl,--allow-shlib-undefined >"$work/log" 2>&1 || give_up "the program cannot be compiled: $(tail -n 1 "$work/log")"
    timeout -k 5 60 "$loader" --library-path "$libraries" "$root/program" </dev/null >"$work/seen" 2>"$work/log" ||
        give_up "the program failed with $version: $(tail -n 1 "$work/log")"
}

write_program() {
    cat <<'END'
#include <numa.h>
#include <stdio.h>

int main(void)
{
    struct bitmask *large = numa_bitmask_alloc(128), *small = numa_bitmask_alloc(10), *ten = numa_bitmask_alloc(10);
    unsigned back, own;

    numa_bitmask_setall(ten);
    numa_bitmask_setall(large);
    copy_bitmask_to_bitmask(large, small);
    numa_bitmask_clearall(large);
    copy_bitmask_to_bitmask(small, large);
    back = numa_bitmask_weight(large);
    copy_bitmask_to_bitmask(ten, large);
    own = numa_bitmask_weight(large);
    printf("%u,%u %s   %u   %u\n", numa_bitmask_weight(small), numa_bitmask_weight(ten),
           numa_bitmask_equal(small, ten) ? "equal" : "different", back, own);
    return 0;
}
END
}

command -v gcc >/dev/null || give_up "gcc is missing"
command -v dpkg-deb >/dev/null || give_up "dpkg-deb is missing: package dpkg"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
changed=
printf '%-22s%-16s%s\n' "" "bits, compared" "copy of the cut one, of the other"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    read -r a b c d <"$work/seen"
    printf '%-22s%-16s%-21s%s\n' "libnuma $version" "$a $b" "$c" "$d"
    [ "$(xargs <"$work/seen")" = "10,10 equal 64 10" ] || changed+="libnuma $version. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
