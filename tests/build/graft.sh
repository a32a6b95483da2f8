#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What autogen.pl --ompi-tree does to a source tree of Open MPI, with one that has what it looks at and nothing else.
# contrib/check_in_tree.sh builds a whole one.

top=$(cd "${srcdir:-.}/../.." && pwd) || exit 99
tree=$(mktemp -d) || exit 99
trap 'rm -rf "$tree"' EXIT
btl=opal/mca/btl/rbuf
osc=ompi/mca/osc/rbuf

fail() {
    echo "$*"
    exit 1
}

graft() {
    perl "$top/autogen.pl" --ompi-tree "$tree" >"$tree/said" 2>&1
}

# Every file that the Makefiles of both components name.
named_files() {
    sed -n "s,^[[:space:]]*%reldir%/\([^ ]*\).*,$btl/\1,p" "$top/$btl/sources.mk"
    sed -n "s,^    \(osc_rbuf[^ ]*\).*,$osc/\1,p" "$top/$osc/Makefile.am"
    for file in Makefile.am configure.m4 sources.mk help-mpi-btl-rbuf.txt; do
        echo $btl/$file
    done
    for file in Makefile.am configure.m4 help-mpi-osc-rbuf.txt; do
        echo $osc/$file
    done
    (cd "$top" && find $btl/config -type f)
}

mkdir -p "$tree/opal/mca/btl/base"
printf 'major=4\nminor=0\nrelease=7\n' >"$tree/VERSION"
graft && fail "it takes Open MPI 4.0"
grep -q 'needs 4.1' "$tree/said" || fail "of Open MPI 4.0 it says: $(cat "$tree/said")"

printf 'major=5\nminor=0\nrelease=7\n' >"$tree/VERSION"
mkdir -p "$tree/$btl/core" "$tree/$osc"
for old in $btl/btl_rbuf_old.c $btl/core/old.h $osc/old.c $btl/Makefile.in $btl/help_topics.c; do
    echo old >"$tree/$old"
done
graft || fail "it fails: $(cat "$tree/said")"
count=0
for file in $(named_files); do
    cmp -s "$top/$file" "$tree/$file" || fail "$file is not in the tree"
    count=$((count + 1))
done
test $count -gt 200 || fail "the Makefiles name $count files"
for old in $btl/btl_rbuf_old.c $btl/core/old.h $osc/old.c; do
    test ! -e "$tree/$old" || fail "$old of an earlier copy is still there"
done
for made in $btl/Makefile.in $btl/help_topics.c; do
    test "$(cat "$tree/$made")" = old || fail "$made, which the tree's build has made, is not as it was"
done

# What has not changed need not be compiled again.
find "$tree/opal" "$tree/ompi" -type f -exec touch -d '2001-02-03' {} +
echo changed >"$tree/$btl/module/module.h"
graft || fail "again, it fails: $(cat "$tree/said")"
changed=$(cd "$tree" && find opal ompi -type f -newermt '2001-02-04')
test "$changed" = $btl/module/module.h || fail "again, it copies: $changed"
