#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# layers.pl finds what it is there for: each kind of fault, in a component of a few files, by includes and by symbols.
#
# Environment: CC, NM.

set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && users=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$users"' EXIT
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
    said=$(OBJECTS=$work perl "$here/layers.pl" "$work" "$users")
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

# A part of core, whose folder is core/stage, and what tests do with it.
clean
mkdir -p "$work/core/state" "$work/core/stage" "$work/core/eager" "$users/unit" "$users/inspect"
printf '%s\n' "high      above" "core core/state core/stage core/eager      between" "low       below" >"$work/layers.txt"
source_of core/state/stage.h "struct lane {" "    int first;" "};" "struct memory {" "    int key;" "};" \
    "struct stage_of_peer {" "    struct lane lane;" "};"
source_of core/state/state.h '#include "core/state/stage.h"' "struct peer {" "    struct stage_of_peer stage;" "};"
source_of core/stage/s.c '#include "core/state/state.h"' "int s(struct peer *peer);" \
    "int s(struct peer *peer) { return peer->stage.lane.first; }"
source_of high/m.h "struct memory;" "struct grant { int state; };" \
    "static inline int closed(struct grant *grant) { return grant->state; }"
check "a folder touches its own part" ""

source_of core/eager/e.c '#include "core/state/state.h"' "int e(struct peer *peer);" \
    "int e(struct peer *peer) { return peer->stage.lane.first; }"
check "another folder touches it" "core/eager/e.c:3 touches lane of the part that core/stage alone touches"
rm "$work/core/eager/e.c"

test_is() { # TEXT...
    printf '%s\n' "$@" >"$users/unit/t.c"
}

test_is "/* peer->stage.lane" " */" "int t(void) { return other->stage.lane.first; }"
check "a test touches a member" "unit/t.c:3 touches lane of the part of core/stage: it asks tests/inspect/stage.h"
test_is "peer->stage" ".lane.first = 1;"
check "a test writes one" "unit/t.c:1 touches lane of the part of core/stage"
test_is "" "struct stage_of_peer *stage = &peer->stage;"
check "a test takes the address of the part" "unit/t.c:2 touches the address of the part of core/stage"
test_is "const struct lane *lane = of(peer);" "lane->first = 1;"
check "a test looks into a structure of the part" "unit/t.c:1 looks into struct lane: it asks tests/inspect/stage.h"
test_is "message->grant->state = message->grant->generation;"
check "a test touches what only core knows of a grant" \
    "unit/t.c:1 touches generation of a grant: it asks tests/inspect/rendezvous.h"
test_is "struct memory memory;" "if (grant->state == 0) { plan.stage = stage->lane; }"
check "a test names what core's users name, too" ""
mv "$users/unit/t.c" "$users/inspect/t.c"
printf '%s\n' "struct lane *lane = &peer->stage.lane;" "grant->generation = 0;" >"$users/inspect/t.c"
check "tests/inspect does all that" ""

exit "$failed"
