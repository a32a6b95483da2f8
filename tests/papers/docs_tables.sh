#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What contrib/docs_tables.pl promises, in a small tree: a number that was put in (verdict.h) is marked wherever it is
# written, and never counts as agreement; numbers without a file of theirs say since when they stand there, and no
# others pass. Then, whether docs/results.md has all that was put in. Exit status: 0; 1 if not; 77 without perl.

command -v perl >/dev/null || exit 77
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
status=0

fail() {
    echo "$1"
    status=1
}

mkdir -p "$tree/contrib" "$tree/docs/tables" "$tree/tests/papers/golden" || exit 1
cp "$top/contrib/docs_tables.pl" "$top/contrib/rounds.pm" "$tree/contrib" || exit 1
cat >"$tree/tests/papers/golden/claims.csv" <<'EOF'
machine,what,paper,found,verdict
a,fitted,60,59.3,put in
a,length,16 KB,16384,put in
a,found,15,13.1,holds
a,ours alone,,4.4,holds
a,not theirs,not there,4.4,holds
a,open,7,9.9,shown
EOF
cat >"$tree/docs/tables/page.tables" <<'EOF'
[all]
| {value %s|claims|found|a|fitted} | {value %.0f %%|claims|found|a|fitted} | {about claims|found|a|length} |
| {value %s|claims|paper|a|fitted} | {value %s|claims|found|a|found} | {value %s|claims|found|a|open} |
| {count holds|claims} | {count put in|claims} | {count shown|claims} |
EOF
printf '<!-- table all -->\n<!-- end -->\n' >"$tree/docs/page.md"
"$tree/contrib/docs_tables.pl" >/dev/null || fail "docs_tables.pl failed"
diff - "$tree/docs/page.md" <<'EOF' || fail "docs_tables.pl did not write this"
<!-- table all -->

| 59.3 (put in) | 59 % (put in) | 16 KB (put in) |
| 60 | 13.1 | 9.9 |
| 1 | 2 | 1 |

<!-- end -->
EOF

# refused WHY LINES: the page's tables, with these lines at their end, are not accepted.
refused() {
    cp "$tree/docs/tables/page.tables" "$tree/good.tables"
    cp "$tree/docs/page.md" "$tree/good.md"
    printf '%b' "$2" >>"$tree/docs/tables/page.tables"
    printf '%b' "$3" >>"$tree/docs/page.md"
    ! "$tree/contrib/docs_tables.pl" --check >"$tree/said" 2>&1 || fail "accepted: $1"
    grep -q "$1" "$tree/said" || fail "instead of '$1' it said: $(cat "$tree/said")"
    mv "$tree/good.tables" "$tree/docs/tables/page.tables"
    mv "$tree/good.md" "$tree/docs/page.md"
}

# One that is not measured yet says so, and then has its runs, of which some failed.
cp "$tree/docs/tables/page.tables" "$tree/before.tables"
cp "$tree/docs/page.md" "$tree/before.md"
cat >>"$tree/docs/tables/page.tables" <<'EOF'
measure some-runs: true
[runs]
from some-runs
| a | {spread_of_runs %.1f (%.1f to %.1f)|some-runs|us|peer=a} |
| b | {spread_of_runs %.1f (%.1f to %.1f)|some-runs|us|peer=b} |
| c | {spread_of_runs %.1f (%.1f to %.1f)|some-runs|us|peer=c} |
EOF
printf '<!-- table runs -->\n<!-- end -->\n' >>"$tree/docs/page.md"
"$tree/contrib/docs_tables.pl" >/dev/null || fail "docs_tables.pl failed before a measurement"
grep -Fqx 'Not measured yet: `contrib/docs_tables.pl --measure some-runs`' "$tree/docs/page.md" ||
    fail "no word of a measurement that is missing"
mkdir "$tree/docs/data" || exit 1
printf '%s\n' fabric,round,peer,us f,1,a,1 f,2,a,3 f,3,a,8 f,1,b,1 f,2,b,- f,3,b,2 f,1,c,- >"$tree/docs/data/some-runs.csv"
"$tree/contrib/docs_tables.pl" >/dev/null || fail "docs_tables.pl failed behind a measurement"
for line in '| a | 3.0 (1.0 to 8.0) |' '| b | 1.5 (1.0 to 2.0), 1 of 3 fail |' '| c | fails |'; do
    grep -Fqx "$line" "$tree/docs/page.md" || fail "no line $line"
done
! grep -q 'Not measured' "$tree/docs/page.md" || fail "it is measured, and says that it is not"
mv "$tree/before.tables" "$tree/docs/tables/page.tables"
mv "$tree/before.md" "$tree/docs/page.md"

: >"$tree/docs/tables/no-results"
place='<!-- table typed -->\n<!-- end -->\n'
"$tree/contrib/docs_tables.pl" --check || fail "the good page is refused"
refused 'neither a measurement' '[typed]\n| a | b |\n' "$place"
refused 'neither a measurement' '[typed]\nfrom nothing\n| a | {value %%s|claims|found|a|found} |\n' "$place"
refused 'not in docs/tables/no-results' '' '| a | us |\n| --- | --- |\n| b | 12.5 |\n'
refused 'Measured on 2026-11-21, commit 39d8e77' '[typed]\nsince 2026-11-21 39d8e77\n| a | 1 |\n' "$place"
echo 'page: | a | us |' >"$tree/docs/tables/no-results"
refused 'there is no such table' '' ''

# docs/results.md has every statement that is put in, by a function that marks it. `what` is the first or the second field.
for golden in "$top"/tests/papers/golden/*.csv; do
    while IFS=, read -r first second rest; do
        [[ $rest == *,put\ in ]] || continue
        grep -Fq -e "|$first}" -e "|$second}" "$top/docs/tables/results.tables" ||
            fail "docs/results.md lacks what is put in: ${golden##*/}: $first, $second"
    done <"$golden"
done
exit $status
