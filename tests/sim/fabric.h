/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fabric as core sees it, over the simulated network of net.h. Contract and queue arithmetic
 * are core/base/fab.h's and core/base/send_queue.h's, as of verbs/fabric.h, so that core meets here
 * every AGAIN that it would meet there.
 */
#ifndef RBUF_SIM_FABRIC_H
#define RBUF_SIM_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/send_queue.h"

enum sim_operation {
    SIM_WRITE,
    SIM_WRITE_IMMEDIATE,
    SIM_SEND,
    SIM_READ,
    SIM_FETCH_ADD,
    SIM_COMPARE_SWAP
};

struct rbuf_fab_request {
    enum sim_operation operation;
    bool inlined;
    uint32_t immediate;
    struct rbuf_fab_piece pieces[RBUF_FAB_PIECES];
    unsigned count;
    uint32_t rkey;
    uint64_t remote;
    uint64_t operand; /* addend, or new value */
    uint64_t compare;
};

/* Hands the request to the network; `signal` comes back with its completion, if it is not NULL.
 * False if the queue pair takes no more requests. */
bool sim_post(struct rbuf_fab_queue *queue, const struct rbuf_fab_request *request,
              struct rbuf_work *signal);

static inline enum rbuf_fab_status rbuf_fab_post(struct rbuf_fab_queue *queue,
                                                 struct rbuf_fab_request *request,
                                                 struct rbuf_work *work)
{
    struct rbuf_work *signal;

    if (!rbuf_fab_has_room(queue, work != NULL)) {
        return RBUF_FAB_AGAIN;
    }
    signal = rbuf_fab_signal(queue, work);
    if (!sim_post(queue, request, signal)) {
        return RBUF_FAB_DEAD;
    }
    rbuf_fab_posted(queue, signal);
    return RBUF_FAB_OK;
}

static inline struct rbuf_fab_request sim_request(enum sim_operation operation, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey)
{
    return (struct rbuf_fab_request){.operation = operation,
                                     .pieces = {{local, bytes, lkey}},
                                     .count = 1,
                                     .remote = remote,
                                     .rkey = rkey};
}

static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    struct rbuf_fab_request request = sim_request(SIM_WRITE, local, lkey, bytes, remote, rkey);

    return rbuf_fab_post(queue, &request, work);
}

static inline enum rbuf_fab_status rbuf_fab_write_immediate(struct rbuf_fab_queue *queue,
                                                            const void *local, uint32_t lkey,
                                                            uint32_t bytes, uint64_t remote,
                                                            uint32_t rkey, uint32_t immediate,
                                                            struct rbuf_work *work)
{
    struct rbuf_fab_request request =
        sim_request(SIM_WRITE_IMMEDIATE, local, lkey, bytes, remote, rkey);

    request.immediate = immediate;
    return rbuf_fab_post(queue, &request, work);
}

static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    struct rbuf_fab_request request = sim_request(SIM_WRITE, data, 0, bytes, remote, rkey);

    request.inlined = true;
    return rbuf_fab_post(queue, &request, work);
}

static inline void rbuf_fab_prepare_write(struct rbuf_fab_request *request, uint32_t lkey,
                                          uint32_t rkey)
{
    *request = sim_request(SIM_WRITE, NULL, lkey, 0, 0, rkey);
}

static inline enum rbuf_fab_status rbuf_fab_post_write(struct rbuf_fab_queue *queue,
                                                       struct rbuf_fab_request *request,
                                                       const void *local, uint32_t bytes,
                                                       uint64_t remote, bool inlined)
{
    request->pieces[0].address = local;
    request->pieces[0].bytes = bytes;
    request->remote = remote;
    request->inlined = inlined;
    return rbuf_fab_post(queue, request, NULL);
}

static inline enum rbuf_fab_status rbuf_fab_send(struct rbuf_fab_queue *queue,
                                                 const struct rbuf_fab_piece *pieces,
                                                 unsigned count, bool inlined,
                                                 struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.operation = SIM_SEND, .inlined = inlined, .count = count};

    for (unsigned i = 0; i < count; i++) {
        request.pieces[i] = pieces[i];
    }
    return rbuf_fab_post(queue, &request, work);
}

static inline enum rbuf_fab_status rbuf_fab_gather(struct rbuf_fab_queue *queue,
                                                   const struct rbuf_fab_piece *pieces,
                                                   unsigned count, uint64_t remote, uint32_t rkey,
                                                   struct rbuf_work *work)
{
    struct rbuf_fab_request request = sim_request(SIM_WRITE, NULL, 0, 0, remote, rkey);

    request.count = count;
    for (unsigned i = 0; i < count; i++) {
        request.pieces[i] = pieces[i];
    }
    return rbuf_fab_post(queue, &request, work);
}

static inline enum rbuf_fab_status rbuf_fab_post_list(struct rbuf_fab_queue *queue,
                                                      const struct rbuf_fab_rma *list,
                                                      unsigned count, unsigned *posted)
{
    static const enum sim_operation operations[] = {[RBUF_FAB_WRITE] = SIM_WRITE,
                                                    [RBUF_FAB_WRITE_INLINE] = SIM_WRITE,
                                                    [RBUF_FAB_READ] = SIM_READ,
                                                    [RBUF_FAB_FETCH_ADD] = SIM_FETCH_ADD,
                                                    [RBUF_FAB_COMPARE_SWAP] = SIM_COMPARE_SWAP};
    enum rbuf_fab_status status = RBUF_FAB_OK;

    *posted = 0;
    while (*posted < count) {
        const struct rbuf_fab_rma *rma = &list[*posted];
        struct rbuf_fab_request request = sim_request(operations[rma->verb], rma->local, rma->lkey,
                                                      rma->bytes, rma->remote, rma->rkey);

        request.inlined = rma->verb == RBUF_FAB_WRITE_INLINE;
        request.operand = rma->operand;
        request.compare = rma->compare;
        status = rbuf_fab_post(queue, &request, rma->work);
        if (status != RBUF_FAB_OK) {
            break;
        }
        ++*posted;
    }
    return status;
}

#endif
