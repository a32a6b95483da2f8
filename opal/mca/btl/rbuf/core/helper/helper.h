/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The helper: registers memory shortly before its predicted use and deregisters what is not needed
 * until then (the paper is cited in predictor.h; this is its section 3.2). It decides; glue's
 * thread does. The loop of that thread:
 *
 *     order = rbuf_helper_next(helper, now, progress)
 *     REGISTER    register [begin, end) of order.mr for its access; rbuf_helper_registered()
 *     DEREGISTER  deregister order.mr->handle; rbuf_helper_deregistered()
 *     WAIT        sleep until order.until_ns, or until rbuf_mr_give() or rbuf_mr_stale() says so
 *
 * Each look takes all points, then the registration that is due, if one is; else one region of
 * those that were given back. That one
 * - is deregistered and planned for its earliest predicted use, if there is time for both by then;
 * - stays registered if there is not, until the prediction lapses. It is looked at again after
 *   keep_ns, and until then its uses do not wake the helper;
 * - is deregistered for good if no use is predicted: so it is always after a first use.
 *
 * What is registered ahead and not used by the time its prediction lapses is treated as if it were
 * given back.
 *
 * Outside of communication, as in the paper: what is to be deregistered waits while the application
 * is in MPI, of which its calls of progress tell, and behind that for quiet_ns. It waits for
 * delay_ns at most, while no more is registered than was in use at once before, and not at all once
 * memory has been scarce (rbuf_helper_scarce()). So the peak grows by no more than what is
 * registered between two looks. A registration does not wait: it begins no sooner than it has to.
 *
 * Whether there is time for a registration or deregistration its conditions tell, of sections 3.2
 * (equation 1) and 5 (equation 2):
 *
 *     t_c + t_p + n (t_slice + t_cs) <= t_d
 *
 * n counts the helper threads on the core, this one too: its own slice may just begin or end, so
 * its next one may be a whole round away. A helper that has a core to itself goes by equation 1.
 * What the helper takes to wake up is part of t_p: the paper's never sleeps. Queue and table
 * operations cost so much for each item, all of which are assumed to be compared.
 *
 * A thread of the application, for a message that is long enough: rbuf_mr_take() and what
 * it asks for, rbuf_use_queue_put(), and rbuf_mr_give() when the message is over. Memory hooks:
 * rbuf_mr_stale(). Where they see less than all that goes, there can be no helper. `scarce` is
 * stored by any thread, and loaded by the helper; nothing else goes with it.
 *
 * Threads: `points` and `mrs` say for themselves, `scarce` is above. Everything else belongs to the
 * helper: one thread, or, where there is none, whoever does its work under a lock of the caller's.
 */
#ifndef RBUF_CORE_HELPER_HELPER_H
#define RBUF_CORE_HELPER_HELPER_H

#include "core/choice/registration_cost.h"
#include "core/helper/mr.h"
#include "core/helper/use_queue.h"
#include "core/helper/predictor.h"
#include "core/helper/registration_queue.h"

struct rbuf_helper_options {
    uint32_t regions;     /* slots for registered memory */
    uint32_t sites;       /* that are remembered */
    uint32_t window;      /* points before a point that tell sites apart */
    uint32_t points;      /* slots in the queue of points; a power of two */
    uint64_t grace_ns;    /* what is registered ahead is kept so long, at least */
    uint64_t register_ns; /* b and a, assumed until measured */
    uint64_t register_page_ns;
    uint64_t deregister_ns;
    uint64_t deregister_page_ns;
    uint64_t wake_ns;  /* the helper's latency after a sleep */
    uint64_t quiet_ns; /* without progress for so long: the application is not in MPI */
    uint64_t delay_ns; /* deregistrations wait for that so long, at most */
    uint64_t keep_ns;  /* what stays registered is looked at again behind this */
};

#define RBUF_HELPER_DEFAULTS                                                                       \
    ((struct rbuf_helper_options){.regions = 256,                                                  \
                                  .sites = 1024,                                                   \
                                  .window = 2,                                                     \
                                  .points = 256,                                                   \
                                  .grace_ns = 1000000,                                             \
                                  .register_ns = 2000,                                             \
                                  .register_page_ns = 100,                                         \
                                  .deregister_ns = 2000,                                           \
                                  .deregister_page_ns = 50,                                        \
                                  .wake_ns = 60000,                                                \
                                  .quiet_ns = 500000,                                              \
                                  .delay_ns = 10000000,                                            \
                                  .keep_ns = 1000000})

struct rbuf_helper_counters {
    uint64_t ahead;  /* registrations before use */
    uint64_t kept;   /* times that a region stayed, since its next use was too near */
    uint64_t lapsed; /* registered ahead, or kept, and not used in time */
};

struct rbuf_helper {
    struct rbuf_helper_options options;
    struct rbuf_use_queue points;
    struct rbuf_mrs mrs;
    struct rbuf_predictor predictor;
    struct rbuf_registration_queue queue;
    struct rbuf_registration_cost registering;
    struct rbuf_registration_cost deregistering;
    struct rbuf_helper_counters counters;
    uint64_t slice_ns;    /* t_slice + t_cs */
    uint32_t sharers;     /* n: helpers on its core, with this one; 0: it is alone, equation 1 */
    uint64_t progress;    /* calls of it, when they were last seen to have become more: */
    uint64_t progress_ns; /* at that time */
    uint64_t waiting_ns;  /* since when something waits to be deregistered; 0: nothing does */
    uint64_t used_bytes;  /* most that was in use at once, seen when something began to wait */
    _Atomic bool scarce;
    uint64_t largest_pages;      /* of the regions so far */
    struct rbuf_queue_item next; /* what the region that is being deregistered will have */
};

enum rbuf_helper_task { RBUF_HELPER_WAIT, RBUF_HELPER_REGISTER, RBUF_HELPER_DEREGISTER };

struct rbuf_helper_order {
    enum rbuf_helper_task task;
    struct rbuf_mr *mr;
    uint64_t until_ns; /* WAIT; UINT64_MAX: until something is given back */
};

/* -ENOMEM, else 0. */
int rbuf_helper_open(struct rbuf_helper *helper, const struct rbuf_helper_options *options);
void rbuf_helper_close(struct rbuf_helper *helper);

/* `progress` becomes more whenever a thread of the application calls for progress. */
struct rbuf_helper_order rbuf_helper_next(struct rbuf_helper *helper, uint64_t now_ns,
                                          uint64_t progress);

/* A registration has failed for want of memory: from now on no deregistration waits. Any thread. */
void rbuf_helper_scarce(struct rbuf_helper *helper);

/* REGISTER was done and took `ns`. */
void rbuf_helper_registered(struct rbuf_helper *helper, struct rbuf_mr *mr, void *handle,
                            uint64_t ns);

/* It could not be: the region is forgotten. */
void rbuf_helper_refused(struct rbuf_helper *helper, struct rbuf_mr *mr);

/* DEREGISTER was done and took `ns`. */
void rbuf_helper_deregistered(struct rbuf_helper *helper, struct rbuf_mr *mr, uint64_t ns);

/* A region to deregister, then rbuf_helper_deregistered(), or NULL: nothing is registered but what
 * is in use. For the end, and for a rank that loses its helper; no more is registered ahead until
 * rbuf_helper_next() is called again. */
struct rbuf_mr *rbuf_helper_drain(struct rbuf_helper *helper);

/* What deregistering the largest region and registering it again takes, ns: what a rank posts for
 * sharing.h. */
uint64_t rbuf_helper_work_ns(const struct rbuf_helper *helper);

#endif
