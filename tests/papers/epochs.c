/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether one-sided operations are put in the best order (core/onesided/rma_order.c): all epochs of
 * up to EPOCH puts and gets of three sizes, against the best of all orders, found by trying them.
 *
 * The link is full duplex. What is asked for leaves in order: a put takes its size, a request of a
 * get no time, but so many gets only may be under way. What gets bring comes back in order, each
 * taking its size. Ends with 0 if all that is promised holds.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/onesided/rma.h"

enum { EPOCH = 8, SIZES = 3, KINDS = 2 * SIZES }; /* a kind is a size of puts, then of gets */

static const unsigned sizes[SIZES] = {1, 4, 16};
static const unsigned latencies[] = {0, 1, 10};
static const unsigned limits[] = {2, 16}; /* of gets under way; adapters take 16 */

struct link {
    unsigned latency, limit;
};

static bool is_get(unsigned kind)
{
    return kind >= SIZES;
}

/* When the last of `epoch` is complete. */
static unsigned time_of(const struct link *link, const unsigned char *epoch, unsigned count)
{
    unsigned done[EPOCH], gets = 0, out = 0, back = 0, end = 0;

    for (unsigned i = 0; i < count; i++) {
        const unsigned size = sizes[epoch[i] % SIZES];
        unsigned complete;

        if (is_get(epoch[i])) {
            if (gets >= link->limit && done[gets - link->limit] > out) {
                out = done[gets - link->limit];
            }
            back = (back > out + link->latency ? back : out + link->latency) + size;
            complete = done[gets++] = back + link->latency;
        } else {
            out += size;
            complete = out + 2 * link->latency;
        }
        end = complete > end ? complete : end;
    }
    return end;
}

/* The best of all orders of what `left` counts, behind `epoch` so far. */
static unsigned best_of(const struct link *link, unsigned *left, unsigned char *epoch,
                        unsigned placed, unsigned count)
{
    unsigned best = ~0u;

    if (placed == count) {
        return time_of(link, epoch, count);
    }
    for (unsigned char kind = 0; kind < KINDS; kind++) {
        if (left[kind] > 0) {
            unsigned time;

            left[kind]--;
            epoch[placed] = kind;
            time = best_of(link, left, epoch, placed + 1, count);
            left[kind]++;
            best = time < best ? time : best;
        }
    }
    return best;
}

/* The same, of which each multiset of kinds is looked for once. */
static unsigned best_known(const struct link *link, const unsigned char *epoch, unsigned count,
                           unsigned *known)
{
    unsigned left[KINDS] = {0}, at = 0;
    unsigned char order[EPOCH];

    for (unsigned i = 0; i < count; i++) {
        left[epoch[i]]++;
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        at = at * (EPOCH + 1) + left[kind];
    }
    if (known[at] == 0) {
        known[at] = best_of(link, left, order, 0, count);
    }
    return known[at];
}

static void arrange(enum rbuf_rma_order order, unsigned limit, const unsigned char *given,
                    unsigned char *arranged, unsigned count)
{
    struct rbuf_rma rmas[EPOCH], *list[EPOCH];

    for (unsigned i = 0; i < count; i++) {
        rmas[i] = (struct rbuf_rma){.operation = is_get(given[i]) ? RBUF_FAB_READ : RBUF_FAB_WRITE,
                                    .local = (void *) (uintptr_t) (100 * (i + 1)),
                                    .remote = 100 * (i + 1),
                                    .span = sizes[given[i] % SIZES],
                                    .operand = given[i]};
        list[i] = &rmas[i];
    }
    rbuf_rma_arrange(order, limit, list, count);
    for (unsigned i = 0; i < count; i++) {
        arranged[i] = (unsigned char) list[i]->operand;
    }
}

static bool alike(const unsigned char *epoch, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        if (epoch[i] % SIZES != epoch[0] % SIZES) {
            return false;
        }
    }
    return true;
}

/* The next epoch of that many operations; false behind the last one. */
static bool next_epoch(unsigned char *epoch, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (++epoch[i] < KINDS) {
            return true;
        }
        epoch[i] = 0;
    }
    return false;
}

struct worst {
    double alike, any; /* time over that of the best order, at most */
    unsigned long epochs;
};

static struct worst worst_of(enum rbuf_rma_order order, const struct link *link, unsigned *known)
{
    struct worst worst = {1, 1, 0};

    for (unsigned count = 1; count <= EPOCH; count++) {
        unsigned char epoch[EPOCH] = {0}, arranged[EPOCH];

        do {
            double ratio;

            arrange(order, link->limit, epoch, arranged, count);
            ratio = (double) time_of(link, arranged, count) / best_known(link, epoch, count, known);
            worst.any = ratio > worst.any ? ratio : worst.any;
            worst.alike = ratio > worst.alike && alike(epoch, count) ? ratio : worst.alike;
            worst.epochs++;
        } while (next_epoch(epoch, count));
    }
    return worst;
}

int main(void)
{
    static const char *const names[] = {"issue", "interleave", "prioritize", "both"};
    static unsigned known[531441]; /* (EPOCH + 1) ^ KINDS */
    bool holds = true;

    printf("limit,latency,order,epochs,worst_alike,worst\n");
    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        for (unsigned k = 0; k < sizeof(latencies) / sizeof(latencies[0]); k++) {
            const struct link link = {latencies[k], limits[i]};

            memset(known, 0, sizeof(known));
            for (int order = RBUF_RMA_ISSUE; order <= RBUF_RMA_BOTH; order++) {
                const struct worst worst = worst_of((enum rbuf_rma_order) order, &link, known);
                /* Where all gets may be under way, in any case; else of long ones that are alike.
                 */
                const bool first = order == RBUF_RMA_PRIORITIZE || order == RBUF_RMA_BOTH;
                const bool kept = link.limit >= EPOCH ? !first || worst.any == 1
                                                      : order != RBUF_RMA_BOTH ||
                                                            link.latency > 0 || worst.alike == 1;

                printf("%u,%u,%s,%lu,%.3f,%.3f%s\n", link.limit, link.latency, names[order],
                       worst.epochs, worst.alike, worst.any, kept ? "" : ",FAILS");
                holds = holds && kept;
            }
        }
    }
    return holds ? 0 : 1;
}
