/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the probe's queue pair, its writes and the search in what they wrote (order_probe.h). Each
 * byte of a write is its stamp, so that an old byte shows.
 */
#include "verbs/order_probe.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/monotonic.h"
#include "verbs/port.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"

/* A process opens its ports one after the other at its start. Some 300 writes of 4 KB on
 * average, one after the other, are 1 to 2 ms at 5 us each; ten times that is room for a slow
 * adapter, and nobody waits longer for a test that only ever refutes. */
#define DEADLINE_NS    20000000u
#define POLLS_AT_ONCE  64u /* between two looks at the clock, some hundred ns */
#define WORD           ((uint32_t) sizeof(uint64_t))
#define ENDINGS        32u /* multiples of 8 within 256 bytes */
#define ENDINGS_STEP   13u /* has no factor in common with ENDINGS */
#define ENDINGS_BYTES  (ENDINGS * WORD)
#define LARGEST        16384u
#define EACH_BYTE      0x0101010101010101u
#define STAMPS         255u /* a byte that is not 0 */
#define LENGTH_OF(all) (sizeof(all) / sizeof((all)[0]))

/* Bytes of a write, its last word included: less than a cache line to several packets. Their number
 * has no factor in common with ENDINGS, so that all endings of all sizes come, mixed from the
 * beginning on. */
static const uint32_t sizes[] = {4096, 64, 1032, LARGEST, 200, 512, 4160, 16, 8192};

#define WRITES ((uint32_t) LENGTH_OF(sizes) * ENDINGS)

/* What the probe has made. The memory holds the source, from its start on, and the target. */
struct prober {
    struct rbuf_memory memory;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint64_t deadline_ns;
    uint32_t writes; /* that fit into the send queue: none of them is signalled */
};

/* One write: every byte of it is the stamp, which none of the last STAMPS writes had. */
struct probe_write {
    uint32_t bytes;
    uint64_t stamp; /* of each word */
    _Atomic uint64_t *first;
    _Atomic uint64_t *last; /* word, which is polled */
};

static struct probe_write nth_write(const struct prober *prober, uint32_t n)
{
    const uint32_t bytes = sizes[n % LENGTH_OF(sizes)];
    const uint32_t ending = n * ENDINGS_STEP % ENDINGS * WORD;
    unsigned char *end = (unsigned char *) prober->memory.base + 2 * LARGEST + ending + WORD;

    return (struct probe_write){.bytes = bytes,
                                .stamp = (n % STAMPS + 1) * EACH_BYTE,
                                .first = (_Atomic uint64_t *) (void *) (end - bytes),
                                .last = (_Atomic uint64_t *) (void *) (end - WORD)};
}

/* Writes before it have been seen whole, so nothing reads the source. */
static bool post(const struct prober *prober, const struct probe_write *write)
{
    const struct rbuf_memory *memory = &prober->memory;
    struct ibv_sge piece = {
        .addr = (uintptr_t) memory->base, .length = write->bytes, .lkey = memory->mr->lkey};
    struct ibv_send_wr request = {
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = (uintptr_t) write->first, .rkey = memory->mr->rkey}};
    struct ibv_send_wr *bad;

    memset(memory->base, (int) (write->stamp & 0xff), write->bytes);
    return ibv_post_send(prober->qp, &request, &bad) == 0;
}

/* Writer of the word: the adapter, as the last bytes of the write if it keeps the order. Reader:
 * here, with acquire, before the payload. The completion queue is not polled: that takes longer
 * than what is looked for. False: the time is over. */
static bool wait_for_word(const struct prober *prober, const struct probe_write *write)
{
    do {
        for (unsigned i = 0; i < POLLS_AT_ONCE; i++) {
            if (atomic_load_explicit(write->last, memory_order_acquire) == write->stamp) {
                return true;
            }
        }
    } while (mca_btl_rbuf_now_ns() < prober->deadline_ns);
    return false;
}

static bool is_stamped(const struct probe_write *write, const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed) == write->stamp;
}

/* From both ends at once: who writes the words backwards is late at the first, who overtakes is
 * late next to the last. */
static bool payload_is_there(const struct probe_write *write)
{
    const ptrdiff_t words = write->last - write->first;

    for (ptrdiff_t i = 0; 2 * i < words; i++) {
        if (!is_stamped(write, write->first + i) || !is_stamped(write, write->last - 1 - i)) {
            return false;
        }
    }
    return true;
}

static void look_at_writes(const struct prober *prober, struct rbuf_order_probe *probe)
{
    for (uint32_t n = 0; n < prober->writes; n++) {
        const struct probe_write write = nth_write(prober, n);

        if (!post(prober, &write)) {
            probe->result = RBUF_ORDER_PROBE_UNABLE;
            return;
        }
        if (!wait_for_word(prober, &write)) {
            return;
        }
        probe->writes++;
        if (!payload_is_there(&write)) {
            probe->result = RBUF_ORDER_PROBE_EARLY;
            probe->bytes = write.bytes;
            probe->ending = (uint32_t) ((uintptr_t) write.last & 0xff);
            return;
        }
        probe->result = RBUF_ORDER_PROBE_CLEAN;
    }
}

static struct ibv_qp *make_queue_pair(const struct prober *prober, const struct rbuf_port *port)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = prober->cq,
        .recv_cq = prober->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {
            .max_send_wr = prober->writes, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

    return ibv_create_qp(port->pd, &attributes);
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void rbuf_order_probe_run(struct rbuf_port *port, struct rbuf_order_probe *probe)
{
    struct prober prober = {.deadline_ns = mca_btl_rbuf_now_ns() + DEADLINE_NS,
                            .writes = lesser(WRITES, lesser(port->max_depth, port->max_cq))};
    struct rbuf_problem ignored;

    *probe = (struct rbuf_order_probe){.result = RBUF_ORDER_PROBE_UNABLE};
    if (rbuf_memory_allocate_small(port, 2 * LARGEST + ENDINGS_BYTES, IBV_ACCESS_REMOTE_WRITE,
                                   &prober.memory, &ignored) != 0) {
        return;
    }
    prober.cq = ibv_create_cq(port->context, (int) prober.writes, NULL, NULL, 0);
    if (prober.cq == NULL) {
        goto free_memory;
    }
    prober.qp = make_queue_pair(&prober, port);
    if (prober.qp == NULL) {
        goto destroy_cq;
    }
    if (rbuf_queue_loop_back(prober.qp, port) == 0) {
        look_at_writes(&prober, probe);
    }
    /* What is under way still ends with the queue pair, before its memory goes. */
    (void) ibv_destroy_qp(prober.qp);
destroy_cq:
    (void) ibv_destroy_cq(prober.cq);
free_memory:
    rbuf_memory_free(&prober.memory);
}
