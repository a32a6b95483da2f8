/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Requests and completions of two queue pairs of one process that are connected to each other:
 * messages, writes, reads, atomics; those that nobody waits for, those that fail, and those that
 * are under way when their queue pair goes. On whatever adapter there is; without one the test is
 * skipped.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "adapter.h"

START_TEST(messages_arrive)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    unsigned received = 0, sent = 0;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 4096, 0, &memory);
    pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
    for (unsigned i = 0; i < 500; i++) {
        struct rbuf_work work = {.queue = NULL};
        char head[8];
        struct rbuf_fab_piece pieces[2] = {{.address = head, .bytes = 4},
                                           {.address = memory.base, .bytes = 1 + i}};
        bool inlined = i % 3 == 0 && 5 + i <= rbuf_fab_inline_max(pair.a);

        memset(memory.base, (int) i, 1 + i);
        if (inlined) {
            memcpy(head, &i, 4);
        } else {
            memcpy((char *) memory.base + 3000, &i, 4);
            pieces[0].address = (char *) memory.base + 3000;
        }
        pieces[0].lkey = pieces[1].lkey = memory.mr->lkey;
        ck_assert_int_eq(rbuf_fab_send(i % 2 == 0 ? pair.a : pair.b, pieces, 2, inlined, &work),
                         RBUF_FAB_OK);
        for (int both = 0; both < 2; both++) {
            struct rbuf_completion completion = adapter_next(adapter.port);

            ck_assert_int_eq(completion.status, 0);
            if (completion.kind == RBUF_COMPLETION_SENT) {
                ck_assert_ptr_eq(completion.work, &work);
                sent++;
                continue;
            }
            ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
            ck_assert_uint_eq(completion.bytes, 5 + i);
            ck_assert_int_eq(completion.buffer->channel, RBUF_CONTROL);
            ck_assert_int_eq(memcmp(completion.buffer->data, &i, 4), 0);
            ck_assert_uint_eq(((uint8_t *) completion.buffer->data)[4 + i], i & 0xff);
            ck_assert_int_eq(adapter_repost(completion.buffer), 0);
            received++;
        }
    }
    ck_assert_uint_eq(received, 500);
    ck_assert_uint_eq(sent, 500);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    adapter_disconnect(&pair);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* All buffers taken off, collected and posted in one list. */
START_TEST(buffers_are_reposted_in_batches)
{
    struct adapter adapter;
    struct adapter_pair pair;

    adapter_open(&adapter);
    pair = adapter_connect(&adapter, RBUF_BULK, 64);
    for (unsigned round = 0; round < 10; round++) {
        struct rbuf_buffer *taken[ADAPTER_BUFFERS];
        struct rbuf_receive *receive;
        unsigned received = 0, sent = 0;

        struct rbuf_work works[ADAPTER_BUFFERS] = {0};
        for (unsigned i = 0; i < ADAPTER_BUFFERS; i++) {
            struct rbuf_fab_piece piece = {.address = &i, .bytes = sizeof(i)};

            ck_assert_int_eq(rbuf_fab_send(pair.a, &piece, 1, true, &works[i]), RBUF_FAB_OK);
        }
        while (received + sent < 2 * ADAPTER_BUFFERS) {
            struct rbuf_completion completion = adapter_next(adapter.port);

            ck_assert_int_eq(completion.status, 0);
            if (completion.kind == RBUF_COMPLETION_RECEIVED) {
                ck_assert_int_eq(memcmp(completion.buffer->data, &received, 4), 0);
                taken[received++] = completion.buffer;
            } else {
                sent++;
            }
        }
        for (unsigned i = 0; i < ADAPTER_BUFFERS; i++) {
            rbuf_receive_recycle(taken[i]);
        }
        receive = taken[0]->receive;
        ck_assert_uint_eq(receive->recycled_count, ADAPTER_BUFFERS % receive->batch);
        ck_assert_int_eq(rbuf_receive_post(receive), 0);
        ck_assert_int_eq(rbuf_receive_post(receive), 0);
        ck_assert_uint_eq(receive->recycled_count, 0);
    }
    adapter_disconnect(&pair);
    adapter_close(&adapter);
}
END_TEST

/* One request, which ends well. */
static void post_and_wait(struct adapter *adapter, struct rbuf_fab_queue *queue,
                          const struct rbuf_fab_rma *rma)
{
    unsigned posted;

    ck_assert_int_eq(rbuf_fab_post_list(queue, rma, 1, &posted), RBUF_FAB_OK);
    ck_assert_uint_eq(posted, 1);
    ck_assert_int_eq(adapter_next(adapter->port).status, 0);
}

enum { TRANSFER_BYTES = 300000 };

/* Two memories of that length with a pattern in the first, and queues from one to the other. */
struct transfer {
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory from, to;
};

static void transfer_open(struct transfer *transfer)
{
    adapter_open(&transfer->adapter);
    adapter_allocate(&transfer->adapter, TRANSFER_BYTES, ADAPTER_ACCESS, &transfer->from);
    adapter_allocate(&transfer->adapter, TRANSFER_BYTES, ADAPTER_ACCESS, &transfer->to);
    transfer->pair = adapter_connect(&transfer->adapter, RBUF_BULK, 16);
    for (uint32_t i = 0; i < TRANSFER_BYTES; i++) {
        ((uint8_t *) transfer->from.base)[i] = (uint8_t) (i * 31 + i / 251);
    }
}

static void transfer_close(struct transfer *transfer)
{
    adapter_disconnect(&transfer->pair);
    rbuf_memory_free(&transfer->from);
    rbuf_memory_free(&transfer->to);
    adapter_close(&transfer->adapter);
}

/* All of the first memory to the second; then 100 bytes with an immediate, to its ninth byte. */
static void check_writes(struct transfer *transfer)
{
    const struct rbuf_memory *from = &transfer->from, *to = &transfer->to;
    struct rbuf_work work = {.queue = NULL};
    struct rbuf_completion completion;

    ck_assert_int_eq(rbuf_fab_write(transfer->pair.a, from->base, from->mr->lkey, TRANSFER_BYTES,
                                    (uintptr_t) to->base, to->mr->rkey, &work),
                     RBUF_FAB_OK);
    completion = adapter_next(transfer->adapter.port);
    ck_assert_int_eq(completion.status, 0);
    ck_assert_ptr_eq(completion.work, &work);
    ck_assert_int_eq(memcmp(from->base, to->base, TRANSFER_BYTES), 0);

    ck_assert_int_eq(rbuf_fab_write_immediate(transfer->pair.a, from->base, from->mr->lkey, 100,
                                              (uintptr_t) to->base + 8, to->mr->rkey, 0x12345678,
                                              NULL),
                     RBUF_FAB_OK);
    completion = adapter_next(transfer->adapter.port);
    ck_assert_int_eq(completion.kind, RBUF_COMPLETION_IMMEDIATE);
    ck_assert_uint_eq(completion.immediate, 0x12345678);
    ck_assert_int_eq(memcmp(from->base, (char *) to->base + 8, 100), 0);
    ck_assert_int_eq(adapter_repost(completion.buffer), 0);
}

/* On the second memory's first word; what it was comes to the first memory. */
static void check_atomics(struct transfer *transfer, struct rbuf_fab_rma *rma)
{
    uint64_t *words = transfer->to.base;
    const uint64_t *was = transfer->from.base;

    words[0] = 40;
    rma->verb = RBUF_FAB_FETCH_ADD;
    rma->bytes = sizeof(*words);
    rma->remote = (uintptr_t) words;
    rma->operand = 2;
    post_and_wait(&transfer->adapter, transfer->pair.a, rma);
    ck_assert_uint_eq(was[0], 40);
    rma->verb = RBUF_FAB_COMPARE_SWAP;
    rma->compare = 42;
    rma->operand = 77;
    post_and_wait(&transfer->adapter, transfer->pair.a, rma);
    ck_assert_uint_eq(was[0], 42);
    ck_assert_uint_eq(words[0], 77);
}

START_TEST(writes_reads_and_atomics)
{
    struct transfer transfer;
    struct rbuf_work work = {.queue = NULL};
    struct rbuf_fab_rma rma;

    transfer_open(&transfer);
    check_writes(&transfer);
    memset(transfer.from.base, 0, TRANSFER_BYTES);
    rma = (struct rbuf_fab_rma){.verb = RBUF_FAB_READ,
                                .bytes = 5000,
                                .local = transfer.from.base,
                                .remote = (uintptr_t) transfer.to.base + 8,
                                .lkey = transfer.from.mr->lkey,
                                .rkey = transfer.to.mr->rkey,
                                .work = &work};
    post_and_wait(&transfer.adapter, transfer.pair.a, &rma);
    ck_assert_int_eq(memcmp(transfer.from.base, (char *) transfer.to.base + 8, 5000), 0);
    if (transfer.adapter.port->atomics) {
        check_atomics(&transfer, &rma);
    }
    transfer_close(&transfer);
}
END_TEST

/* Ten thousand unsignalled writes with no other: the markers alone must keep the queue going. */
START_TEST(unsignalled_writes_retire)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_completion completion;
    unsigned waits = 0;
    uint64_t *word;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 4096, ADAPTER_ACCESS, &memory);
    word = memory.base;
    pair = adapter_connect(&adapter, RBUF_CONTROL, 32);
    for (uint64_t i = 1; i <= 10000;) {
        enum rbuf_fab_status status =
            rbuf_fab_write_inline(pair.a, &i, sizeof(i), (uintptr_t) word, memory.mr->rkey, NULL);

        if (status == RBUF_FAB_OK) {
            i++;
            continue;
        }
        ck_assert_int_eq(status, RBUF_FAB_AGAIN);
        ck_assert_int_eq(rbuf_poll(adapter.port, &completion, 1), 0);
        waits++;
    }
    for (time_t end = time(NULL) + ADAPTER_PATIENCE;
         __atomic_load_n(word, __ATOMIC_ACQUIRE) != 10000 && time(NULL) < end;) {
        ck_assert_int_eq(rbuf_poll(adapter.port, &completion, 1), 0);
    }
    ck_assert_uint_eq(*word, 10000);
    adapter_quiet(adapter.port);
    ck_assert_uint_le(adapter.port->fab.signalled, 1);
    ck_assert_uint_gt(waits, 0);
    adapter_disconnect(&pair);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* A wrong key under an unsignalled write: the queue is reported, the works behind it come back. */
START_TEST(failed_unsignalled_write)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_work works[4] = {0};
    unsigned back = 0, reports = 0;
    uint64_t value = 1;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 4096, ADAPTER_ACCESS, &memory);
    pair = adapter_connect(&adapter, RBUF_CONTROL, 32);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(rbuf_fab_write_inline(pair.a, &value, 8, (uintptr_t) memory.base,
                                               memory.mr->rkey ^ 0x55, NULL),
                         RBUF_FAB_OK);
        ck_assert_int_eq(rbuf_fab_write_inline(pair.a, &value, 8, (uintptr_t) memory.base,
                                               memory.mr->rkey, &works[i]),
                         RBUF_FAB_OK);
    }
    while (back < 4) {
        struct rbuf_completion completion = adapter_next(adapter.port);

        ck_assert_int_lt(completion.status, 0);
        ck_assert_int_eq(completion.kind, RBUF_COMPLETION_SENT);
        if (completion.work == NULL) {
            ck_assert_ptr_eq(completion.queue, pair.a);
            ck_assert_int_eq(completion.status, -EREMOTEIO);
            reports++;
        } else {
            ck_assert_ptr_eq(completion.work, &works[back]);
            ck_assert_int_eq(completion.status, -ECONNRESET);
            back++;
        }
    }
    ck_assert_uint_eq(reports, 1);
    adapter_quiet(adapter.port);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    adapter_disconnect(&pair);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Everything that is posted comes back when the queue is put into error, and just once; what nobody
 * waits for is not reported. */
START_TEST(flush_brings_everything_back)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_work works[8] = {0};
    unsigned seen[8] = {0};
    unsigned posted = 0, back = 0;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 1 << 20, ADAPTER_ACCESS, &memory);
    pair = adapter_connect(&adapter, RBUF_BULK, 32);
    for (unsigned i = 0; i < 24; i++) {
        struct rbuf_work *work = i % 3 == 2 ? &works[posted] : NULL;

        ck_assert_int_eq(rbuf_fab_write(pair.a, memory.base, memory.mr->lkey, 200000,
                                        (uintptr_t) memory.base + 500000, memory.mr->rkey, work),
                         RBUF_FAB_OK);
        if (work != NULL) {
            posted++;
        }
    }
    rbuf_queue_error(pair.a);
    rbuf_queue_error(pair.a);
    while (back < posted) {
        struct rbuf_completion completion = adapter_next(adapter.port);

        ck_assert_ptr_nonnull(completion.work);
        seen[completion.work - works]++;
        back++;
    }
    for (unsigned i = 0; i < posted; i++) {
        ck_assert_uint_eq(seen[i], 1);
    }
    adapter_quiet(adapter.port);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    adapter_disconnect(&pair);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Queues that are closed with completions of unsignalled requests still to be polled, over and
 * over: nothing is left on the books, and the places in the completion queue come back. */
START_TEST(closing_early_leaves_nothing)
{
    struct adapter adapter;
    struct rbuf_memory memory;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 1 << 20, ADAPTER_ACCESS, &memory);
    for (int round = 0; round < 30; round++) {
        struct adapter_pair pair = adapter_connect(&adapter, RBUF_BULK, 64);

        for (int i = 0; i < 40; i++) {
            ck_assert_int_eq(rbuf_fab_write(pair.a, memory.base, memory.mr->lkey, 100,
                                            (uintptr_t) memory.base + 500000,
                                            memory.mr->rkey ^ (round % 2 == 0 ? 0 : 0x55), NULL),
                             RBUF_FAB_OK);
        }
        if (round % 3 != 0) {
            rbuf_queue_error(pair.a);
        }
        adapter_disconnect(&pair);
        ck_assert_uint_eq(adapter.port->fab.signalled, 0);
        adapter_quiet(adapter.port);
        ck_assert_uint_eq(adapter.port->send_cq[0].reserved, 0);
    }
    ck_assert_uint_eq(adapter.port->send_cqs, 1);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Messages that were received and not polled when their queue pair goes: swept up before, as
 * queue_pair.h says, they give their buffers back. */
START_TEST(sweeping_brings_buffers_back)
{
    enum { MESSAGES = 8, ROUNDS = 3 * ADAPTER_BUFFERS / MESSAGES };
    struct adapter adapter;
    struct adapter_pair pair;

    adapter_open(&adapter);
    for (int round = 0; round < ROUNDS; round++) {
        struct rbuf_port *port = adapter.port;
        struct rbuf_work works[MESSAGES];
        unsigned received = 0, sent = 0;
        uint32_t drained;

        pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
        for (int i = 0; i < MESSAGES; i++) {
            struct rbuf_fab_piece piece = {.address = &i, .bytes = sizeof(i)};

            works[i] = (struct rbuf_work){.queue = NULL};
            ck_assert_int_eq(rbuf_fab_send(pair.a, &piece, 1, true, &works[i]), RBUF_FAB_OK);
        }
        while (sent < MESSAGES) { /* past rbuf_poll(), which would take the receives first */
            struct ibv_wc wc;

            if (ibv_poll_cq(port->send_cq[0].cq, 1, &wc) == 1) {
                ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
                rbuf_fab_retire(&works[sent++]);
            }
        }
        rbuf_queue_error(pair.a);
        rbuf_queue_error(pair.b);
        for (drained = port->receives_drained; port->receives_drained == drained;) {
            struct rbuf_completion completion;

            if (adapter_poll(port, &completion) == 1) {
                ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
                ck_assert_int_eq(adapter_repost(completion.buffer), 0);
                received++;
            }
        }
        ck_assert_uint_eq(received, MESSAGES);
        adapter_disconnect(&pair);
    }
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verbs");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, messages_arrive);
    unit_add(suite, buffers_are_reposted_in_batches);
    unit_add(suite, writes_reads_and_atomics);
    unit_add(suite, unsignalled_writes_retire);
    unit_add(suite, failed_unsignalled_write);
    unit_add(suite, flush_brings_everything_back);
    unit_add(suite, closing_early_leaves_nothing);
    unit_add(suite, sweeping_brings_buffers_back);
    return unit_run(suite);
}
