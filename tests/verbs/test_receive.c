/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive queues of both kinds, on whatever adapter there is: any has those of a queue pair's own,
 * whether or not it has shared ones. Without an adapter the test is skipped.
 */
#include "unit.h"

#include <errno.h>

#include "adapter.h"

#define SMALL_BYTES 64u

/* Windows by peers, and the buffers for them. */
START_TEST(windows_by_number_of_peers)
{
    static const struct {
        uint32_t peers;
        uint16_t window, gets;
        uint32_t buffers;
    } rows[] = {{0, 64, 64, 72},         {63, 64, 64, 72},    {64, 64, 32, 36}, {255, 64, 32, 36},
                {256, 64, 16, 18},       {65535, 64, 16, 18}, {0, 16, 16, 18},  {64, 16, 8, 9},
                {256, 16, 4, 5},         {0, 2, 2, 3},        {256, 2, 2, 3},   {256, 5, 4, 5},
                {0, 16384, 16384, 18432}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint16_t gets =
            rbuf_receive_own_window(RBUF_CHANNELS * rows[i].peers, rows[i].window);

        ck_assert_msg(gets == rows[i].gets, "row %zu: %u", i, gets);
        ck_assert_uint_eq(rbuf_receive_own_count(gets), rows[i].buffers);
    }
}
END_TEST

/* As adapter_open(), on an adapter that has no shared receive queues, or so it says. */
static void open_own(struct adapter *adapter, uint16_t window, uint32_t bytes, unsigned rnr_retry)
{
    const struct rbuf_receive_plan plan = {.shared = 1, .window = window, .bytes = bytes};
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;

    options.rnr_retry = rnr_retry;
    adapter_ok(rbuf_ports_open(&options, &adapter->ports, &adapter->count, &problem), &problem);
    adapter->port = adapter->ports[0];
    adapter->port->receive_kind = RBUF_RECEIVE_OWN;
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        adapter_ok(rbuf_receive_open(adapter->port, (enum rbuf_channel_id) i, &plan, &problem),
                   &problem);
    }
}

static struct rbuf_receive *receive_of(struct rbuf_fab_queue *queue)
{
    return ((struct rbuf_queue_pair *) queue)->receive;
}

static void send_number(struct rbuf_fab_queue *queue, unsigned number, struct rbuf_work *work)
{
    const struct rbuf_fab_piece piece = {.address = &number, .bytes = sizeof(number)};

    *work = (struct rbuf_work){.queue = NULL};
    ck_assert_int_eq(rbuf_fab_send(queue, &piece, 1, true, work), RBUF_FAB_OK);
}

/* Takes `messages` messages, and the completions of their sends, off; their buffers if wanted. */
static void take(struct adapter *adapter, unsigned messages, struct rbuf_buffer **buffers)
{
    unsigned received = 0, sent = 0;

    while (received < messages || sent < messages) {
        struct rbuf_completion completion = adapter_next(adapter->port);

        ck_assert_msg(completion.status == 0, "%s", ibv_wc_status_str(completion.wc));
        if (completion.kind == RBUF_COMPLETION_SENT) {
            sent++;
        } else if (buffers != NULL) {
            buffers[received++] = completion.buffer;
        } else {
            rbuf_receive_recycle(completion.buffer);
            received++;
        }
    }
}

/* A sender that uses its whole window and gives up at the first receiver that is not ready: buffers
 * are recycled one by one, and as many messages as that are sent again each time, though nobody
 * posts. */
START_TEST(a_window_is_always_posted)
{
    static const uint16_t windows[] = {1, 2, 7, 8, 16, 64};

    for (size_t row = 0; row < sizeof(windows) / sizeof(windows[0]); row++) {
        const uint16_t window = windows[row];
        struct rbuf_buffer *buffers[64];
        struct rbuf_work works[64];
        struct adapter_pair pair;
        struct adapter adapter;

        open_own(&adapter, window, SMALL_BYTES, 0);
        pair = adapter_connect(&adapter, RBUF_CONTROL, 128);
        ck_assert_uint_eq(rbuf_queue_window(pair.b), window);
        for (unsigned i = 0; i < window; i++) {
            send_number(pair.a, i, &works[i]);
        }
        take(&adapter, window, buffers);
        for (unsigned credits = 1; credits <= window; credits++) {
            for (unsigned i = 0; i < credits; i++) {
                rbuf_receive_recycle(buffers[i]);
                ck_assert_uint_lt(receive_of(pair.b)->recycled_count, receive_of(pair.b)->batch);
            }
            for (unsigned i = 0; i < credits; i++) {
                send_number(pair.a, i, &works[i]);
            }
            take(&adapter, credits, buffers);
        }
        adapter_disconnect(&pair);
        adapter_close(&adapter);
    }
}
END_TEST

/* Puts the queue pair into error and gives back what comes of it; returns how many. */
static uint32_t flush(struct adapter *adapter, struct rbuf_fab_queue *queue)
{
    const struct rbuf_receive *receive = receive_of(queue);
    const uint32_t drained = adapter->port->receives_drained;
    uint32_t count = 0;

    rbuf_queue_error(queue);
    ck_assert_int_eq(receive->state, RBUF_RECEIVE_STOPPED);
    while (adapter->port->receives_drained == drained) {
        struct rbuf_completion completion;

        if (rbuf_poll(adapter->port, &completion, 1) == 1) {
            ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
            ck_assert_int_eq(completion.status, -ECONNRESET);
            ck_assert_ptr_eq(completion.queue, queue);
            ck_assert_ptr_eq(completion.buffer->receive, receive);
            ck_assert_int_eq(adapter_repost(completion.buffer), 0);
            count++;
        }
    }
    return count;
}

/* Every buffer of a queue pair in error comes back once, is not posted again, and is gone with it;
 * over and over, as peers come and go. */
START_TEST(flushed_receives_are_not_posted)
{
    struct adapter adapter;

    open_own(&adapter, ADAPTER_BUFFERS, SMALL_BYTES, 7);
    for (int round = 0; round < 20; round++) {
        struct adapter_pair pair = adapter_connect(&adapter, RBUF_BULK, 64);
        const uint32_t count = rbuf_receive_own_count(ADAPTER_BUFFERS);
        struct rbuf_work work;

        ck_assert_uint_eq(adapter.port->receive_entries, 2 * count);
        send_number(pair.a, 1, &work);
        take(&adapter, 1, NULL);
        ck_assert_uint_eq(flush(&adapter, pair.b) + 1, count); /* that one is recycled already */
        ck_assert_int_eq(receive_of(pair.b)->state, RBUF_RECEIVE_STOPPED);
        ck_assert_uint_eq(receive_of(pair.b)->recycled_count, count);
        ck_assert_ptr_null(rbuf_receive_post_all(adapter.port));
        adapter_quiet(adapter.port);
        adapter_disconnect(&pair); /* never in error */
        ck_assert(TAILQ_EMPTY(&adapter.port->unposted));
        adapter_quiet(adapter.port);
        ck_assert_uint_eq(adapter.port->receive_entries, 0);
    }
    adapter_close(&adapter);
}
END_TEST

/* A queue pair that fails by itself, by a message that no buffer holds: nothing is posted to it any
 * more, as soon as the first receive says so. */
START_TEST(a_failure_stops_posting)
{
    struct rbuf_completion completion = {0};
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_fab_piece piece;
    struct rbuf_receive *receive;
    struct rbuf_work work = {.queue = NULL};
    struct adapter adapter;
    bool refused = false;
    uint32_t back = 0;

    open_own(&adapter, ADAPTER_BUFFERS, SMALL_BYTES, 7);
    adapter_allocate(&adapter, 2 * SMALL_BYTES, 0, &memory);
    pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
    receive = receive_of(pair.b);
    piece = (struct rbuf_fab_piece){
        .address = memory.base, .bytes = 2 * SMALL_BYTES, .lkey = memory.mr->lkey};
    ck_assert_int_eq(rbuf_fab_send(pair.a, &piece, 1, false, &work), RBUF_FAB_OK);
    for (time_t end = time(NULL) + ADAPTER_PATIENCE;
         (back < receive->count || !refused) && time(NULL) < end;) {
        if (rbuf_poll(adapter.port, &completion, 1) != 1) {
            continue;
        }
        refused = refused || completion.work == &work;
        if (completion.buffer == NULL || completion.buffer->receive != receive) {
            continue;
        }
        ck_assert_int_eq(completion.status, back++ == 0 ? -EMSGSIZE : -ECONNRESET);
        ck_assert_int_eq(receive->state, RBUF_RECEIVE_STOPPED);
        ck_assert_ptr_eq(completion.queue, pair.b);
        rbuf_receive_recycle(completion.buffer);
    }
    ck_assert(refused);
    ck_assert_uint_eq(receive->recycled_count, receive->count);
    adapter_quiet(adapter.port);
    adapter_disconnect(&pair);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* A completion that is polled when its queue pair is closed is dropped, and what it points to is
 * there until then. Adapters take most of them out themselves; so here a queue pair that is still
 * open lends its request to a buffer of the closed one. */
START_TEST(late_completions_are_dropped)
{
    struct adapter_pair gone, there;
    struct rbuf_completion completion;
    struct rbuf_buffer *lender;
    struct rbuf_buffer *late;
    struct rbuf_work work;
    struct adapter adapter;
    struct rbuf_port *port;
    struct ibv_wc wc;

    open_own(&adapter, 1, SMALL_BYTES, 7);
    port = adapter.port;
    gone = adapter_connect(&adapter, RBUF_CONTROL, 64);
    there = adapter_connect(&adapter, RBUF_CONTROL, 64);
    for (int i = 0; i < 2; i++) { /* all that is posted there */
        send_number(there.a, 1, &work);
        take(&adapter, 1, &lender);
    }
    late = &receive_of(gone.b)->buffers[0];
    adapter_disconnect(&gone);
    ck_assert_int_eq(late->receive->state, RBUF_RECEIVE_CLOSED);
    ck_assert_ptr_null(late->receive->memory.base);
    lender->wr.wr_id = (uintptr_t) late;
    ck_assert_int_eq(adapter_repost(lender), 0);
    send_number(there.a, 2, &work);
    while (ibv_poll_cq(port->send_cq[0].cq, 1, &wc) == 0) { /* past rbuf_poll() */
    }
    rbuf_fab_retire(&work);
    ck_assert_int_eq(rbuf_poll(port, &completion, 1), 0);
    ck_assert_uint_eq(port->receive_entries, 4 * late->receive->count);
    adapter_quiet(port);
    ck_assert_uint_eq(port->receive_entries, 2 * rbuf_receive_own_count(1));
    adapter_disconnect(&there);
    adapter_close(&adapter);
}
END_TEST

/* More receives than the completion queue begins with: it grows under queue pairs that are in use,
 * and all of them flushed at once fit. */
START_TEST(the_completion_queue_grows)
{
    enum { PAIRS = 10, WINDOW = 800 };
    struct adapter_pair pairs[PAIRS];
    struct rbuf_work work;
    struct adapter adapter;
    uint32_t first, flushed = 0;

    open_own(&adapter, WINDOW, SMALL_BYTES, 7);
    first = adapter.port->receive_cq_size;
    for (int i = 0; i < PAIRS; i++) {
        pairs[i] = adapter_connect(&adapter, RBUF_CONTROL, 32);
        send_number(pairs[0].a, (unsigned) i, &work); /* lies there meanwhile */
    }
    ck_assert_uint_gt(adapter.port->receive_entries, first);
    ck_assert_uint_ge(adapter.port->receive_cq_size, adapter.port->receive_entries);
    ck_assert_int_ge(adapter.port->receive_cq->cqe, (int) adapter.port->receive_entries);
    take(&adapter, PAIRS, NULL);
    for (int i = 0; i < PAIRS; i++) {
        rbuf_queue_error(pairs[i].a);
        rbuf_queue_error(pairs[i].b);
    }
    for (uint32_t drained = adapter.port->receives_drained;
         adapter.port->receives_drained == drained;) {
        struct rbuf_completion completions[16];
        const int count = rbuf_poll(adapter.port, completions, 16);

        ck_assert_int_ge(count, 0);
        flushed += (uint32_t) count;
    }
    ck_assert_uint_eq(flushed + PAIRS, adapter.port->receive_entries);
    for (int i = 0; i < PAIRS; i++) {
        adapter_disconnect(&pairs[i]);
    }
    adapter_close(&adapter);
}
END_TEST

/* Peers beyond what one completion queue takes are refused, with the numbers; what was reserved for
 * them is free for others. */
START_TEST(no_more_peers_than_entries)
{
    struct rbuf_fab_queue *queues[4];
    struct rbuf_problem problem;
    struct adapter adapter;
    uint32_t count;

    open_own(&adapter, 64, SMALL_BYTES, 7);
    count = rbuf_receive_own_count(64);
    adapter.port->max_cq = adapter.port->receive_cq_size = 3 * count + 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            adapter_ok(rbuf_queue_open(adapter.port, RBUF_BULK, 16, &queues[i], &problem),
                       &problem);
        }
        ck_assert_int_eq(rbuf_queue_open(adapter.port, RBUF_BULK, 16, &queues[3], &problem),
                         -ENOSPC);
        ck_assert_str_eq(problem.topic, "receive-queue");
        ck_assert_ptr_nonnull(strstr(problem.value, "216 receives of 3 queue pairs and 72 more"));
        ck_assert_ptr_nonnull(strstr(problem.remedy, "fewer credits"));
        ck_assert_uint_eq(adapter.port->receive_entries, 3 * count);
        for (int i = 0; i < 3; i++) {
            rbuf_queue_close(queues[i]);
        }
        adapter_quiet(adapter.port);
        ck_assert_uint_eq(adapter.port->receive_entries, 0);
    }
    adapter_close(&adapter);
}
END_TEST

/* Windows that no receive queue of the adapter holds. */
START_TEST(windows_are_bounded)
{
    struct rbuf_receive_plan plan = {.shared = 16, .window = 16, .bytes = SMALL_BYTES};
    struct rbuf_problem problem;
    struct adapter adapter;

    open_own(&adapter, 16, SMALL_BYTES, 7);
    rbuf_receive_close(adapter.port, RBUF_BULK);
    adapter.port->max_depth = 17;
    ck_assert_int_eq(rbuf_receive_open(adapter.port, RBUF_BULK, &plan, &problem), -EINVAL);
    ck_assert_str_eq(problem.topic, "receive-queue");
    ck_assert_ptr_nonnull(strstr(problem.value, "18 buffers wanted; the adapter takes 17"));
    adapter.port->max_depth = 18;
    adapter_ok(rbuf_receive_open(adapter.port, RBUF_BULK, &plan, &problem), &problem);
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("receive");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, windows_by_number_of_peers);
    unit_add(suite, a_window_is_always_posted);
    unit_add(suite, flushed_receives_are_not_posted);
    unit_add(suite, a_failure_stops_posting);
    unit_add(suite, late_completions_are_dropped);
    unit_add(suite, the_completion_queue_grows);
    unit_add(suite, no_more_peers_than_entries);
    unit_add(suite, windows_are_bounded);
    return unit_run(suite);
}
