# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The median of list[1..n], n > 0, for awk programs that are run with this file before them; of an even
# number the mean of the middle two. Sorts the list, and sets `lowest` and `highest` to its ends.
function median_of(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = list[i]
        for (j = i - 1; j >= 1 && list[j] > t; j--) list[j + 1] = list[j]
        list[j + 1] = t
    }
    lowest = list[1]; highest = list[n]
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
