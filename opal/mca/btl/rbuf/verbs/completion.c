/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Polls the completion queues of a port, and turns each ibv_wc into a struct rbuf_completion
 * (completion.h).
 */
#include "verbs/completion.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "verbs/port.h"
#include "verbs/queue_pair.h"
#include "verbs/receive.h"

#define BATCH         32  /* completions taken from a queue at once */
#define SENDS_SKIPPED 16u /* calls of rbuf_poll() in which nothing of ours was out */

int rbuf_completion_errno(enum ibv_wc_status wc)
{
    switch (wc) {
    case IBV_WC_SUCCESS:
        return 0;
    case IBV_WC_WR_FLUSH_ERR:
        return -ECONNRESET;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
        return -ETIMEDOUT;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return -EHOSTUNREACH;
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
        return -EREMOTEIO;
    case IBV_WC_LOC_LEN_ERR:
        return -EMSGSIZE;
    default:
        return -EIO;
    }
}

static void fill_common(struct rbuf_completion *out, const struct ibv_wc *wc)
{
    *out = (struct rbuf_completion){.kind = RBUF_COMPLETION_SENT,
                                    .status = rbuf_completion_errno(wc->status),
                                    .wc = wc->status,
                                    .vendor_error = wc->vendor_err,
                                    .qp_num = wc->qp_num};
}

/* A receive that failed: so has its queue pair. */
static void fill_failed_receive(struct rbuf_port *port, const struct ibv_wc *wc,
                                struct rbuf_completion *out)
{
    struct rbuf_receive *receive = out->buffer->receive;

    rbuf_receive_stop(receive);
    out->queue = receive->queue != NULL ? receive->queue : rbuf_queue_find(port, wc->qp_num);
}

/* False: of a queue pair that is closed, and its buffer with it. */
static bool fill_received(struct rbuf_port *port, const struct ibv_wc *wc,
                          struct rbuf_completion *out)
{
    struct rbuf_buffer *buffer = (struct rbuf_buffer *) (uintptr_t) wc->wr_id;

    if (buffer->receive->state == RBUF_RECEIVE_CLOSED) {
        return false;
    }
    fill_common(out, wc);
    out->kind = RBUF_COMPLETION_RECEIVED;
    out->buffer = buffer;
    if (wc->status != IBV_WC_SUCCESS) {
        fill_failed_receive(port, wc, out);
    } else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
        out->kind = RBUF_COMPLETION_IMMEDIATE;
        out->immediate = be32toh(wc->imm_data);
    } else {
        out->bytes = wc->byte_len;
    }
    return true;
}

/* The marker stands for itself and for every failed unsignalled request of its queue, and nothing
 * tells which. It is on the books once at most: the first of them takes it off. */
static bool fill_marker(struct rbuf_queue_pair *queue, const struct ibv_wc *wc,
                        struct rbuf_completion *out)
{
    if (queue->fab.marker_busy && wc->status == IBV_WC_SUCCESS) {
        rbuf_fab_retire(&queue->fab.marker);
    } else if (queue->fab.marker_busy) {
        rbuf_fab_lose_marker(&queue->fab);
    }
    if (wc->status == IBV_WC_SUCCESS || queue->failure_reported) {
        return false;
    }
    fill_common(out, wc);
    return true;
}

/* False: nothing for the caller. */
static bool fill_sent(const struct ibv_wc *wc, struct rbuf_completion *out)
{
    struct rbuf_work *work = (struct rbuf_work *) (uintptr_t) wc->wr_id;
    struct rbuf_queue_pair *queue = (struct rbuf_queue_pair *) work->queue;

    if (work == &queue->fab.marker) {
        if (!fill_marker(queue, wc, out)) {
            return false;
        }
    } else {
        rbuf_fab_retire(work);
        fill_common(out, wc);
        out->work = work;
    }
    if (wc->status != IBV_WC_SUCCESS) {
        queue->failure_reported = true;
        if (queue->state == RBUF_QUEUE_CONNECTED) {
            queue->state = RBUF_QUEUE_FAILED;
        }
    }
    out->queue = queue->state != RBUF_QUEUE_CLOSED ? &queue->fab : NULL;
    return true;
}

/* This completion queue and, of those that closed before, the receive completion queue have been
 * seen empty, so nothing in them can name these any more. */
static void free_closed(struct rbuf_port *port, const struct rbuf_send_cq *cq)
{
    struct rbuf_queue_pair *queue = TAILQ_FIRST(&port->closed);

    while (queue != NULL) {
        struct rbuf_queue_pair *next = TAILQ_NEXT(queue, link);

        if (queue->cq == cq && queue->closed_at != port->receives_drained) {
            rbuf_queue_free(queue);
        }
        queue = next;
    }
}

static int poll_sends(struct rbuf_port *port, struct rbuf_send_cq *cq, struct rbuf_completion *out,
                      int max)
{
    struct ibv_wc wc[BATCH];
    int asked = max < BATCH ? max : BATCH;
    int count = ibv_poll_cq(cq->cq, asked, wc);
    int filled = 0;

    if (count < 0) {
        return -EIO;
    }
    port->fab.completions += (uint64_t) count;
    for (int i = 0; i < count; i++) {
        filled += fill_sent(&wc[i], &out[filled]) ? 1 : 0;
    }
    if (count < asked && !TAILQ_EMPTY(&port->closed)) {
        free_closed(port, cq);
    }
    return filled;
}

/* True if a send completion queue may have something for us. Failed requests complete though
 * nothing asked for it; they can wait for a few calls. */
static bool sends_wanted(struct rbuf_port *port)
{
    if (port->fab.signalled == 0 && TAILQ_EMPTY(&port->closed) &&
        ++port->sends_skipped < SENDS_SKIPPED) {
        return false;
    }
    port->sends_skipped = 0;
    return true;
}

/*
 * Most polls find nothing. What acts on something found is kept out of line: the compiler would
 * save registers for it in every poll.
 */

/* What a poll of the receive completion queue has returned. */
static __attribute__((noinline)) int fill_receives(struct rbuf_port *port, const struct ibv_wc *wc,
                                                   int count, struct rbuf_completion *out)
{
    int filled = 0;

    for (int i = 0; i < count; i++) {
        filled += fill_received(port, &wc[i], &out[filled]) ? 1 : 0;
    }
    return count < 0 ? -EIO : filled;
}

/* Behind `found` receives in `out`, or the error that they ended in. */
static __attribute__((noinline)) int poll_all_sends(struct rbuf_port *port,
                                                    struct rbuf_completion *out, int max, int found)
{
    int filled = found > 0 ? found : 0;
    int error = found < 0 ? found : 0;

    for (unsigned i = 0; i < port->send_cqs && filled < max; i++) {
        unsigned turn = port->send_cq_next;

        port->send_cq_next = turn + 1 < port->send_cqs ? turn + 1 : 0;
        found = poll_sends(port, &port->send_cq[turn], out + filled, max - filled);
        if (found < 0) {
            error = found;
        } else {
            filled += found;
        }
    }
    return filled > 0 ? filled : error;
}

int rbuf_poll(struct rbuf_port *port, struct rbuf_completion *out, int max)
{
    struct ibv_wc wc[BATCH];
    /* A quarter is kept for what was sent: a flood of receives must not starve it. */
    int asked = max - max / 4 < BATCH ? max - max / 4 : BATCH;
    int found = 0;

    if (port->receive_cq != NULL) {
        found = ibv_poll_cq(port->receive_cq, asked, wc);
        port->receives_drained += found >= 0 && found < asked;
    }
    if (found != 0) {
        found = fill_receives(port, wc, found, out);
    }
    return sends_wanted(port) ? poll_all_sends(port, out, max, found) : found;
}
