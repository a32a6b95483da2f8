# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Run behind common/median.awk and common/curves.awk. Turns CSV lines of rbuf-bench or rbuf-compare into a script for gnuplot. Variables: what, only, wire
# (megabytes a second and microseconds), title, terminal (empty: none is set) and output.

function complain(text) {
    print "rbuf-plot: " text >"/dev/stderr"
    status = 1
    exit 1
}

function field(name) { return name in column ? $column[name] : "" }

# Whether the line has one of the values wanted of each column that --only names.
function wanted(    i, n, item, at, parts, k, values, found) {
    n = split(only, item, ";")
    for (i = 1; i < n; i++) {
        at = index(item[i], "=")
        if (!(substr(item[i], 1, at - 1) in column))
            complain("--only " item[i] ": there is no such column")
        found = 0
        k = split(substr(item[i], at + 1), values, ",")
        for (; k > 0; k--) if ($column[substr(item[i], 1, at - 1)] == values[k]) found = 1
        if (!found) return 0
    }
    return 1
}

function value_of(    x) {
    if (what == "time") return field("median_us") + 0
    if (what == "rate") return field("messages_per_s") + 0
    if (what == "hidden") return field("hidden_percent") == "-" ? -1 : field("hidden_percent") + 0
    return field("mb_per_s") + 0
}

function human(size) {
    if (size >= 1048576 && size % 1048576 == 0) return size / 1048576 " MB"
    if (size >= 1024 && size % 1024 == 0) return size / 1024 " KB"
    return size " B"
}

function quoted(text) { gsub(/["\\`@]/, "", text); gsub(/_/, "\\\\_", text); return "\"" text "\"" }

FNR == 1 {
    delete column
    for (i = 1; i <= NF; i++) column[$i] = i
    if (!("size" in column) || !("median_us" in column)) complain(FILENAME " is no CSV file of rbuf-bench")
    next
}
wanted() {
    x = value_of()
    if (x < 0) next
    key = ""
    for (i = 1; i <= 7; i++) key = key field(part_name[i]) "\t"
    if (!(key in key_seen)) { key_seen[key] = 1; keys[++key_count] = key }
    size = field("size") + 0
    if (size == 0) next # has no place on a logarithmic axis
    if (!(size in size_seen)) { size_seen[size] = 1; sizes[++size_count] = size }
    points[key, size] = points[key, size] " " x
    if (what ~ /^relative:/ && field("transport") == substr(what, 10))
        base[substr(key, index(key, "\t")), field("round"), size] = x
    rounds_of[key, size] = rounds_of[key, size] " " field("round")
}

BEGIN { split("transport pattern buffers type cache window fabric", part_name, " ") }

# The names that differ from line to line, and what is the same in all for the title.
function name_lines(    k, i, parts, differs) {
    for (i = 1; i <= 7; i++) {
        differs = 0
        for (k = 1; k <= key_count; k++) {
            split(keys[k], parts, "\t")
            if (k == 1) same[i] = parts[i]
            else if (parts[i] != same[i]) differs = 1
        }
        for (k = 1; k <= key_count; k++) {
            split(keys[k], parts, "\t")
            if (i == 6) parts[i] = parts[i] > 1 ? "window " parts[i] : ""
            if (differs && parts[i] != "") line_name[k] = line_name[k] (line_name[k] == "" ? "" : ", ") parts[i]
        }
        if (!differs && same[i] != "" && same[i] != "bytes" && same[i] != "warm" &&
            !(i == 6 && same[i] == 1) && !(i == 2 && same[i] == "pingpong"))
            common = common (common == "" ? "" : ", ") (i == 6 ? "window " : "") same[i]
    }
    for (k = 1; k <= key_count; k++) if (line_name[k] == "") line_name[k] = "measured"
}

function sort_sizes(    i, j, t) {
    for (i = 2; i <= size_count; i++) {
        t = sizes[i]
        for (j = i - 1; j >= 1 && sizes[j] > t; j--) sizes[j + 1] = sizes[j]
        sizes[j + 1] = t
    }
}

# What is to be drawn: median, lowest and highest of each line at each size.
function find_values(k,    s, n, i, list, round, rest, at) {
    rest = substr(keys[k], index(keys[k], "\t"))
    for (s = 1; s <= size_count; s++) {
        n = split(points[keys[k], sizes[s]], list, " ")
        if (what ~ /^relative:/) {
            split(rounds_of[keys[k], sizes[s]], round, " ")
            at = 0
            for (i = 1; i <= n; i++)
                if ((rest, round[i], sizes[s]) in base)
                    list[++at] = list[i] / base[rest, round[i], sizes[s]]
            n = at
        }
        if (n == 0) continue
        middle[k, s] = median_of(list, n)
        low[k, s] = lowest
        high[k, s] = highest
        if (middle[k, s] > most) most = middle[k, s]
    }
}

# Whether two lines have the same sizes, and lie on one another at each.
function coincide(j, k,    s) {
    for (s = 1; s <= size_count; s++) {
        if (((j, s) in middle) != ((k, s) in middle)) return 0
        if ((k, s) in middle && !is_same(middle[j, s], middle[k, s], what == "time" ? 0 : most)) return 0
    }
    return 1
}

# Lines that coincide are drawn as the first of them, and the key has all their names. drawn_as[k] is that one.
function merge_lines(    j, k, s) {
    for (k = 1; k <= key_count; k++) {
        drawn_as[k] = k
        for (j = 1; j < k && drawn_as[k] == k; j++)
            if (drawn_as[j] == j && coincide(j, k)) drawn_as[k] = j
        j = drawn_as[k]
        if (j == k) continue
        for (s = 1; s <= size_count; s++) {
            if (!((k, s) in middle)) continue
            if (low[k, s] < low[j, s]) low[j, s] = low[k, s]
            if (high[k, s] > high[j, s]) high[j, s] = high[k, s]
        }
    }
}

function print_data(k,    s) {
    printf "$line%d << END\n", k
    for (s = 1; s <= size_count; s++)
        if ((k, s) in middle) printf "%d %.6g %.6g %.6g\n", sizes[s], middle[k, s], low[k, s], high[k, s]
    print "END"
}

# The band from the lowest to the highest round, the line, and in the key those that coincide with it.
function plot_of(k,    parts, style, j, plot) {
    split(keys[k], parts, "\t")
    style = sprintf("with linespoints %s pt %d pi %d ps 0.8 lw 1.5", curve_style(parts[1], parts[3]),
        point_of(parts[2] parts[4] parts[5] parts[6] parts[7]), int(size_count / 30) + 1)
    plot = sprintf("$line%d using 1:3:4 with filledcurves lc rgb \"%s\" notitle, \\\n" \
        "  $line%d using 1:2 %s title %s", k, colour_of(parts[1]), k, style, quoted(line_name[k]))
    for (j = k + 1; j <= key_count; j++)
        if (drawn_as[j] == k) plot = plot ", \\\n  NaN " style " title " quoted("and " line_name[j])
    return plot
}

function print_ticks(    x, text, step) {
    step = sizes[size_count] / sizes[1] > 4096 ? 4 : 2
    for (x = 1; x <= sizes[size_count] * 2; x *= step)
        if (x >= sizes[1] / 2) text = text (text == "" ? "" : ", ") "\"" human(x) "\" " x
    print "set xtics (" text ") rotate by -35"
}

function print_axes() {
    print "set logscale x 2\nset xlabel \"message size\"\nset grid xtics ytics lt 1 lc rgb \"#e4e4e4\""
    print "set border 3\nset tics nomirror\nset style fill transparent solid 0.15 noborder"
    print "set key outside right top"
    if (what == "time") print "set logscale y\nset ylabel \"microseconds a message\""
    else if (what == "rate") print "set ylabel \"messages a second\"\nset yrange [0:*]"
    else if (what == "hidden") print "set ylabel \"per cent hidden\"\nset yrange [0:100]"
    else if (what ~ /^relative:/)
        print "set ylabel " quoted("bandwidth relative to " substr(what, 10)) "\nset yrange [0:*]"
    else print "set ylabel \"bandwidth (10^6 bytes/s)\"\nset yrange [0:*]"
}

END {
    if (status) exit status
    if (size_count == 0) complain("no line of the CSV files is left to draw")
    sort_sizes()
    name_lines()
    if (terminal != "") {
        print "set terminal " terminal
        print "set output \"" output "\""
    }
    print "set title " quoted(title != "" ? title : common)
    print_axes()
    print_ticks()
    for (k = 1; k <= key_count; k++) find_values(k)
    merge_lines()
    for (k = 1; k <= key_count; k++) if (drawn_as[k] == k) print_data(k)
    plots = ""
    if (wire != "" && (what == "bandwidth" || what == "time")) {
        split(wire, w, " ")
        plots = sprintf("%s with lines dt 2 lw 1.5 lc rgb \"#888888\" title \"the network itself\"",
            what == "time" ? "x / " w[1] " + " w[2] : "x / (x / " w[1] " + " w[2] ")")
    }
    for (k = 1; k <= key_count; k++)
        if (drawn_as[k] == k) plots = plots (plots == "" ? "" : ", \\\n  ") plot_of(k)
    printf "plot [%g:%g] %s\n", sizes[1] * 0.9, sizes[size_count] * 1.1, plots
}
