#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# hwloc 2.9 reads a set without end that hwloc 2.12 has written, and loses up to 32 processors of it without an error.
#
# Software: hwloc 2.9.0 (Debian 12) and 2.12.0 (Debian 13); 2.15.0 (unstable) writes and reads as 2.12.0 does.
# Input: sets that have no end, such as "5-" (all but 0 to 4), and one that has. Each version writes them by
# hwloc_bitmap_asprintf and hwloc_bitmap_taskset_asprintf, and each version reads both texts by hwloc_bitmap_sscanf and
# hwloc_bitmap_taskset_sscanf.
# Expected: the same set. hwloc/bitmap.h says that the functions write a set as text and read it ("Bitmap/String
# Conversion"), and both have been in hwloc 2 from the beginning, with one soname.
# Seen: 2.9.0 reads right what itself has written. Of what 2.12.0 writes it does not see 32 to 63 (or 96 to 127), if
# the text's last whole part ends at 31 (or 95). It returns 0. So it does with texts that a user writes like this.
#
#     set       written by  as                                2.9.0 reads   2.12.0 reads
#     5-        2.9.0       0xf...f,0xffffffff,0xffffffe0     5-            5-
#     5-        2.12.0      0xf...f,0xffffffe0                5-31,64-      5-
#     0-30,32-  2.9.0       0xf...f,0xffffffff,0x7fffffff     0-30,32-      0-30,32-
#     0-30,32-  2.12.0      0xf...f,0x7fffffff                0-30,64-      0-30,32-
#     32-       2.9.0       0xf...f,0xffffffff,0x0            32-           32-
#     32-       2.12.0      0xf...f,0x0                       64-           32-
#     40-       2.9.0       0xf...f,0xffffff00,0x0            40-           40-
#     40-       2.12.0      0xf...f,0xffffff00,0x0            40-           40-
#     96-       2.9.0       0xf...f,0xffffffff,,,0x0          96-           96-
#     96-       2.12.0      0xf...f,,,0x0                     128-          96-
#     0-30      2.9.0       0x7fffffff                        0-30          0-30
#     0-30      2.12.0      0x7fffffff                        0-30          0-30
#     the texts for taskset: the same
#     as stated
#
# Why, as far as known: a set is an array of 64-bit words. 2.9.0 writes whole words and fills the upper half of the
# last word that it reads with zeros. 2.12.0 leaves out a half that is full, and fills it with ones.
# For a user of rbuf: nothing, processors and nodes that exist make sets with an end. A program that sends such a text
# to a node with another hwloc should cut the set to the topology's first, or send hwloc_bitmap_list_asprintf's text,
# which both versions read alike.
#
# Usage: findings/hwloc-infinite-sets.sh. It takes a minute and 30 MB for packages, unpacked in a temporary directory;
# it needs gcc and apt. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

name=hwloc-infinite-sets
sets="5- 0-30,32- 32- 40- 96- 0-30"

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
/* program write LIST: both texts. program read TEXT TASKSET_TEXT: both lists. */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc(), other = hwloc_bitmap_alloc();
    char *text, *taskset;

    if (argc == 3 && hwloc_bitmap_list_sscanf(set, argv[2]) == 0) {
        hwloc_bitmap_asprintf(&text, set);
        hwloc_bitmap_taskset_asprintf(&taskset, set);
    } else if (argc == 4 && hwloc_bitmap_sscanf(set, argv[2]) == 0 && hwloc_bitmap_taskset_sscanf(other, argv[3]) == 0) {
        hwloc_bitmap_list_asprintf(&text, set);
        hwloc_bitmap_list_asprintf(&taskset, other);
    } else {
        return 1;
    }
    printf("%s %s\n", text, taskset);
    return 0;
}
EOF
}

with() { # SUITE ARGUMENT...: the program with a release's hwloc
    local tree=$work/$1
    shift
    "$(find "$tree" -name ld-linux-x86-64.so.2 | head -n 1)" \
        --library-path "$tree/usr/lib/x86_64-linux-gnu:$tree/lib/x86_64-linux-gnu" "$work/program" "$@" 2>"$work/log" ||
        give_up "$* fails: $(tail -n 1 "$work/log")"
}

[ "$(uname -m)" = x86_64 ] || give_up "the packages are for x86_64"
command -v gcc >/dev/null || give_up "gcc is missing"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
fetch bookworm libhwloc15=2.9.0-1 libhwloc-dev libudev1 libc6
fetch trixie libhwloc15=2.12.0-4 libudev1 libc6
old=$(cd "$work/bookworm" && echo libhwloc15_*.deb) new=$(cd "$work/trixie" && echo libhwloc15_*.deb)
old=${old#*_} old=${old%%-*} new=${new#*_} new=${new%%-*}
write_program | gcc -std=gnu11 -x c - -o "$work/program" -I"$work/bookworm/usr/include" -x none \
    "$work/bookworm/usr/lib/x86_64-linux-gnu/libhwloc.so.15" -Wl,--allow-shlib-undefined 2>"$work/log" ||
    give_up "gcc: $(tail -n 1 "$work/log")"
printf '%-9s %-11s %-33s %-13s %s\n' set "written by" as "$old reads" "$new reads"
wrong="" differs=""
for set in $sets; do
    for writer in bookworm trixie; do
        line=$(with "$writer" write "$set") || exit 2
        read -r text taskset <<<"$line"
        line=$(with bookworm read "$text" "$taskset") || exit 2
        read -r by_old by_old_taskset <<<"$line"
        line=$(with trixie read "$text" "$taskset") || exit 2
        read -r by_new by_new_taskset <<<"$line"
        version=$new
        [ "$writer" = trixie ] || version=$old
        printf '%-9s %-11s %-33s %-13s %s\n' "$set" "$version" "$text" "$by_old" "$by_new"
        [ "$by_old $by_new" = "$by_old_taskset $by_new_taskset" ] || differs+=" $set"
        [ "$by_old" = "$set" ] || wrong+=" $writer:old:$by_old"
        [ "$by_new" = "$set" ] || wrong+=" $writer:new:$by_new"
    done
done
[ -n "$differs" ] || echo "the texts for taskset: the same"
if [ "$wrong$differs" != " trixie:old:5-31,64- trixie:old:0-30,64- trixie:old:64- trixie:old:128-" ]; then
    echo "changed:$wrong$differs"
    exit 1
fi
echo "as stated"
