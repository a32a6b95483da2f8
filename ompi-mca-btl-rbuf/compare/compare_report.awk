# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Run behind common/median.awk. Summarises the CSV file of rbuf-compare: a table of medians over the rounds, then the ratios of the
# first transport (superpipeline, if that is among them) to the others, taken within each round.

# The median over the rounds of one column; sets lowest and highest. -1 if nothing was measured.
function over_rounds(table, transport, place,    r, n, list) {
    for (r = 1; r <= rounds; r++)
        if ((transport, place, r) in table) list[++n] = table[transport, place, r]
    return n ? median_of(list, n) : -1
}

# The median of a's times divided by b's, round by round. -1 if no round has both.
function over_ratios(a, b, place,    r, n, list) {
    for (r = 1; r <= rounds; r++)
        if ((a, place, r) in median && (b, place, r) in median && median[b, place, r] > 0)
            list[++n] = median[a, place, r] / median[b, place, r]
    return n ? median_of(list, n) : -1
}

function field(name) { return name in column ? $column[name] : "" }

# "pingpong fresh", and what is not as usual.
function case_name(    text) {
    text = field("pattern") " " field("buffers")
    if (field("type") != "" && field("type") != "bytes") text = text " " field("type")
    if (field("cache") != "" && field("cache") != "warm") text = text " " field("cache")
    return text
}

function note(list, seen, value) {
    if (!(value in seen)) { seen[value] = 1; list[++list[0]] = value }
}

NR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    if (!("transport" in column) || !("median_us" in column)) {
        print "rbuf-compare: this is no CSV file of rbuf-compare" >"/dev/stderr"
        status = 1
        exit
    }
    next
}
{
    round = field("round") + 0
    if (round > rounds) rounds = round
    place = sprintf("%10d  %-26s", field("size"), case_name())
    note(places, place_seen, place)
    note(names, name_seen, field("transport"))
    median[field("transport"), place, round] = field("median_us") + 0
    best[field("transport"), place, round] = field("best_us") + 0
    first[field("transport"), place, round] = field("first_us") + 0
    rate[field("transport"), place, round] = field("mb_per_s") + 0
    if (field("hidden_percent") ~ /^[0-9]/) {
        hidden[field("transport"), place, round] = field("hidden_percent") + 0
        overlaps = 1
    }
    if (field("quiet") == "no") noisy++
    fabric = field("fabric")
    hosts = field("hosts")
}
END {
    if (status) exit status
    gsub("[+]", " and ", hosts)
    printf "fabric %s%s, %d round%s, microseconds a message\n\n", fabric, hosts == "" ? "" : ", on " hosts, rounds,
        rounds == 1 ? "" : "s"
    printf "%10s  %-26s %-22s %10s  %-23s %10s %10s %9s%s\n", "size", "case", "transport", "median",
        "(lowest - highest)", "best", "first", "MB/s", overlaps ? "  hidden %" : ""
    for (p = 1; p <= places[0]; p++) for (t = 1; t <= names[0]; t++) {
        m = over_rounds(median, names[t], places[p])
        if (m < 0) continue
        spread = sprintf("(%.2f - %.2f)", lowest, highest)
        printf "%s %-22s %10.2f  %-23s %10.2f %10.2f %9.1f", places[p], names[t], m, spread,
            over_rounds(best, names[t], places[p]), over_rounds(first, names[t], places[p]),
            over_rounds(rate, names[t], places[p])
        m = over_rounds(hidden, names[t], places[p])
        print m < 0 ? "" : sprintf("  %8.1f", m)
    }
    subject = names[1]
    for (t = 1; t <= names[0]; t++) if (names[t] == "superpipeline") subject = names[t]
    if (names[0] > 1)
        printf "\n%10s  %-26s %-40s %6s\n", "size", "case", "ratio of times", "median"
    for (t = 1; t <= names[0]; t++) for (p = 1; p <= places[0]; p++) {
        if (names[t] == subject) continue
        x = over_ratios(subject, names[t], places[p])
        if (x >= 0)
            printf "%s %-40s %6.3f  (%.3f - %.3f)\n", places[p], subject " / " names[t], x, lowest,
                highest
    }
    if (noisy) printf "\n%d measurements were taken while the machine was not quiet\n", noisy
}
