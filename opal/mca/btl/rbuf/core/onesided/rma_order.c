/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * In which order writes and reads of one list are posted. A queue pair's requests leave in their
 * order: a read that stands behind writes is asked for when those have left, and the way back, on
 * which its data comes, is idle until then. After W. Huang, G. Santhanaraman, H.-W. Jin and D. K.
 * Panda, "Scheduling of MPI-2 One Sided Operations over InfiniBand", IPDPS 2005, section 4.1.
 *
 * Invariants: writes keep their order among themselves, and so do reads; a write and a read that
 * overlap, here or there, keep theirs. The list is sorted in place: what stands before `done` is in
 * order.
 *
 * Threads: a function of its arguments.
 */
#include "core/onesided/rma.h"

#include <string.h>

/* What is in order already. */
struct arranged {
    unsigned done;
    unsigned reads;
    uint64_t written; /* bytes */
    unsigned oldest;  /* `awaited` counts the reads before this place */
    uint64_t awaited; /* bytes of reads that come before one more may be under way */
};

static bool meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* True if the operation at `which` may go before those of the other kind that stand from `from` on.
 */
static bool may_pass(struct rbuf_rma *const *list, unsigned from, unsigned which)
{
    const struct rbuf_rma *rma = list[which];

    for (unsigned i = from; i < which; i++) {
        const struct rbuf_rma *other = list[i];

        if (meet(rma->remote, rma->span, other->remote, other->span) ||
            meet((uintptr_t) rma->local, rma->span, (uintptr_t) other->local, other->span)) {
            return false;
        }
    }
    return true;
}

/* Both directions are as fast: while so many bytes are written as are awaited, the way back is busy
 * with those, and a read would only hold up what stands behind it. */
static bool reads_next(enum rbuf_rma_order order, unsigned reads, const struct arranged *arranged,
                       struct rbuf_rma *const *list)
{
    switch (order) {
    case RBUF_RMA_INTERLEAVE:
        return arranged->done > 0 ? list[arranged->done - 1]->operation == RBUF_FAB_WRITE
                                  : list[0]->operation == RBUF_FAB_READ;
    case RBUF_RMA_BOTH:
        return arranged->reads < reads || arranged->written >= arranged->awaited;
    case RBUF_RMA_PRIORITIZE:
    case RBUF_RMA_ISSUE:
    default:
        return true;
    }
}

/* Takes the operation at the place `done` into account. */
static void advance(struct arranged *arranged, unsigned reads, struct rbuf_rma *const *list)
{
    if (list[arranged->done++]->operation == RBUF_FAB_WRITE) {
        arranged->written += list[arranged->done - 1]->span;
        return;
    }
    if (++arranged->reads < reads) {
        return;
    }
    while (list[arranged->oldest]->operation == RBUF_FAB_WRITE) {
        arranged->oldest++;
    }
    arranged->awaited += list[arranged->oldest++]->span;
}

/* Writes alone, or reads alone, keep their order: there is nothing to look for. */
static bool has_both(struct rbuf_rma *const *list, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        if (list[i]->operation != list[0]->operation) {
            return true;
        }
    }
    return false;
}

void rbuf_rma_arrange(enum rbuf_rma_order order, unsigned reads, struct rbuf_rma **list,
                      unsigned count)
{
    struct arranged arranged = {.done = 0};

    if (order == RBUF_RMA_ISSUE || !has_both(list, count)) {
        return;
    }
    while (arranged.done < count) {
        const unsigned at = arranged.done;
        const bool read = reads_next(order, reads, &arranged, list);
        unsigned next = at;

        while (next < count && (list[next]->operation == RBUF_FAB_READ) != read) {
            next++;
        }
        if (next < count && may_pass(list, at, next)) {
            struct rbuf_rma *rma = list[next];

            memmove(&list[at + 1], &list[at], (next - at) * sizeof(list[0]));
            list[at] = rma;
        }
        advance(&arranged, reads, list);
    }
}
