# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# How curves look, for all that is drawn with gnuplot: the colour says which transport it is, the dashes which
# kind of buffers, the points whatever else differs. To be run before a program that draws.

# Colours that people with colour-blindness can tell apart come first (Okabe and Ito); the same transport has
# the same colour in every picture.
BEGIN {
    curve_known = split("superpipeline #0072b2 rcache #d55e00 openib-pinned #009e73 openib-unpinned #e69f00 " \
        "ucx #cc79a7 pipeline #56b4e9 copy #8c6d31 register #a02c2c auto #17becf helper #7f4fc9 tcp #5b5b5b " \
        "vader #b5bd00", curve_list, " ")
    for (curve_at = 1; curve_at <= curve_known; curve_at += 2)
        curve_colour[curve_list[curve_at]] = curve_list[curve_at + 1]
    curve_others = split("#000000 #e7298a #1b9e77 #6a3d9a #b15928 #8fbc8f #ff7f00 #4169e1", curve_other, " ")
    curve_dash["fresh"] = 1
    curve_dash["reused"] = 2
    curve_dashes = 2
}

# Others have the next colour that is left.
function colour_of(transport) {
    if (!(transport in curve_colour))
        curve_colour[transport] = curve_other[curve_taken++ % curve_others + 1]
    return curve_colour[transport]
}

# New buffers: solid; reused ones: dashed; shares of them: further dashes.
function dash_of(buffers) {
    if (buffers == "") return 1
    if (!(buffers in curve_dash)) curve_dash[buffers] = 3 + (curve_dashes++ - 2) % 3
    return curve_dash[buffers]
}

function point_of(rest) {
    if (!(rest in curve_point)) curve_point[rest] = 4 + curve_points++ % 10
    return curve_point[rest]
}

function curve_style(transport, buffers) {
    return sprintf("lc rgb \"%s\" dt %d", colour_of(transport), dash_of(buffers))
}

# Whether two values lie on one another in the picture: one per cent of each other, or, where the axis begins
# with 0 and ends with `most`, less of that than a line is wide; `most` is 0 for a logarithmic axis.
function is_same(x, y, most,    gap) {
    gap = x > y ? x - y : y - x
    return gap <= 0.01 * (x > y ? x : y) || gap <= 0.004 * most
}
