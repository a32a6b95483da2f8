#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# layers.pl finds what it is there for: each kind of fault, in a component of a few files, by includes and by symbols.
#
# Environment: CC, NM.

set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/core" "$work/high" "$work/low"
printf '%s\n' "high      above" "core      between" "low       below" >"$work/layers.txt"

source_of() { # FILE TEXT...
    local file=$1
    shift
    printf '%s\n' "$@" >"$work/$file"
}

clean() {
    rm -f "$work"/*/*.[cho]
    source_of low/a.h "void a(void);"
    source_of low/a.c '#include "low/a.h"' "void a(void) {}"
    source_of high/b.h "void b(void);"
    source_of high/b.c '#include "high/b.h"' '#include "low/a.h"' "void b(void) { a(); }"
}

# What layers.pl says holds the text; EXPECTED "" if it finds nothing.
check() { # NAME EXPECTED
    local said status source
    for source in "$work"/*/*.c; do
        ${CC:-cc} -I"$work" -c -o "${source%.c}.o" "$source" || failed=1
    done
    said=$(OBJECTS=$work perl "$here/layers.pl" "$work")
    status=$?
    if [[ -z $2 && $status == 0 || -n $2 && $status == 1 && $said == *"$2"* ]]; then
        echo "pass  $1"
    else
        echo "FAIL  $1: status $status, expected '$2'; it says: $said"
        failed=1
    fi
}

clean
check "nothing is wrong" ""

source_of low/a.h '#include "high/b.h"' "void a(void);"
check "an include of a layer above" "low/a.h includes high/b.h, which is in a layer above"

clean
source_of low/a.c "void b(void);" "void a(void) { b(); }"
check "a call of a layer above" "low/a.c uses b of high/b.c, which is in a layer above"

clean
source_of stray.h ""
check "a file in no layer" "stray.h is in no layer"
rm "$work/stray.h"

clean
source_of core/c.c '#include "low/a.h"'
check "core includes another folder" "core/c.c includes low/a.h: core knows core alone"
rm "$work/core/c.c"

clean
for i in 1 2 3; do
    source_of "low/c$i.h" "#include \"low/c$((i % 3 + 1)).h\""
done
check "a circle of three files" ""

for i in 1 2 3 4; do
    source_of "low/c$i.h" "#include \"low/c$((i % 4 + 1)).h\""
done
check "a circle of four files by includes" "4 files need each other in a circle"

clean
for i in 1 2 3 4; do
    source_of "low/c$i.c" "void c$((i % 4 + 1))(void);" "void c$i(void) { c$((i % 4 + 1))(); }"
done
check "a circle of four files by symbols" "low/c4 needs low/c1: uses c1"

exit "$failed"
