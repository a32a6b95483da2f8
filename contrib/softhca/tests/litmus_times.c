/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the emulated adapter promises about when things happen: in which order, and after how long.
 * Times may be longer on a busy machine, never shorter than the fabric's model.
 */
#define _GNU_SOURCE

#include "litmus.h"
#include "litmus_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWERS = 100,
    CHUNK = 256 << 10,
    COPIES = 200,
    COPIES_AT_MOST = 10000,
    COPY_LATE_NS = 2500,
    ANNOUNCEMENTS = 10000,
    SECOND_NS = 1000000000
};

/* Both have come by the time that this side looks: the peer posted its answer before it notified.
 */
void acknowledgement_first_active(struct side *side)
{
    for (unsigned i = 0; i < ANSWERS; i++) {
        struct ibv_wc wc;

        post_receive(side, 0, 4096, 64);
        await_peer(side); /* a receive is posted */
        post(side, 0, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        await_peer(side);
        wc = expect_completion(side, IBV_WC_SUCCESS);
        if (wc.opcode != IBV_WC_SEND)
            fail("answer %u came before the acknowledgement of what it answers", i);
        expect_completion(side, IBV_WC_SUCCESS);
    }
}

void acknowledgement_first_passive(struct side *side)
{
    for (unsigned i = 0; i < ANSWERS; i++) {
        post_receive(side, 0, 4096, 64);
        notify(side);
        expect_completion(side, IBV_WC_SUCCESS);
        post(side, 0, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        notify(side);
        expect_completion(side, IBV_WC_SUCCESS);
    }
}

/* Time on the wire of so many bytes. */
static uint64_t wire_ns(uint64_t bytes)
{
    return bytes * 1000000000ull / strtoull(getenv("SOFTHCA_BANDWIDTH"), NULL, 10);
}

/* A word on another queue pair does not wait behind a posted chunk. */
void overtake_active(struct side *side)
{
    unsigned overtaken = 0;

    for (int i = 0; i < 20; i++) {
        uint64_t begin = now_ns(), word = 0, chunk = 0;

        post(side, 0, IBV_WR_RDMA_WRITE, 0, CHUNK, 0, IBV_SEND_SIGNALED);
        post(side, 1, IBV_WR_RDMA_WRITE, 0, 8, CHUNK, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        while (!word || !chunk) {
            struct ibv_wc wc = expect_completion(side, IBV_WC_SUCCESS);

            *(wc.qp_num == side->qp[0]->qp_num ? &chunk : &word) = now_ns() - begin;
        }
        if (chunk < wire_ns(CHUNK))
            fail("the chunk took %lu ns", (unsigned long) chunk);
        overtaken += word < wire_ns(CHUNK) / 2;
    }
    if (overtaken < 10)
        fail("the word came soon in %u of 20 cases", overtaken);
}

static uint64_t latency_ns(void)
{
    return strtoull(getenv("SOFTHCA_LATENCY"), NULL, 10);
}

/* The arrival is answered by a word back, which comes earlier than the completion only if that
 * waits for the acknowledgement; the completion is never earlier than both ways take. */
void acknowledged_active(struct side *side)
{
    for (int i = 0; i < 50; i++) {
        uint64_t begin = now_ns();

        post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        expect_completion(side, IBV_WC_SUCCESS);
        if (now_ns() - begin < 2 * latency_ns())
            fail("completed after %lu ns", (unsigned long) (now_ns() - begin));
    }
}

/* Arrival times, by a clock that both sides share: never early, and not always late. */
void arrival_active(struct side *side)
{
    for (uint64_t i = 0; i < 200; i++) {
        volatile uint64_t *answer = (uint64_t *) (side->buffer + 64);
        struct ibv_wc wc;

        *(uint64_t *) side->buffer = now_ns();
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
        while (*answer != i + 1)
            ibv_poll_cq(side->cq, 1, &wc);
        poll_for(side, 20000);
    }
}

void arrival_passive(struct side *side)
{
    volatile uint64_t *stamp = (uint64_t *) side->buffer;
    uint64_t seen = 0, in_time = 0;
    struct ibv_wc wc;

    for (uint64_t i = 0; i < 200; i++) {
        uint64_t took;

        while (*stamp == seen)
            ibv_poll_cq(side->cq, 1, &wc);
        seen = *stamp;
        took = now_ns() - seen;
        if (took < latency_ns())
            fail("arrived after %lu ns", (unsigned long) took);
        in_time += took < latency_ns() + 20000;
        *(uint64_t *) (side->buffer + 128) = i + 1;
        post(side, 0, IBV_WR_RDMA_WRITE, 128, 8, 64, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
    }
    if (in_time < 20) /* on a busy machine many are late, never all */
        fail("%lu of 200 words were in time", (unsigned long) in_time);
}

/* The last word of a chunk is when it was posted. */
void copy_in_time_active(struct side *side)
{
    do {
        *(uint64_t *) (side->buffer + CHUNK - 8) = now_ns();
        post(side, 0, IBV_WR_RDMA_WRITE, 0, CHUNK, 0, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
    } while (await_answer(side));
}

/* A target learns of bytes before they are there, by as much as their copy takes: at best it ends
 * hardly later than they come. Jobs beside this one slow all copies for a while: as long as none
 * was in time, there are more. */
void copy_in_time_passive(struct side *side)
{
    volatile uint64_t *stamp = (uint64_t *) (side->buffer + CHUNK - 8);
    uint64_t model = wire_ns(CHUNK) + latency_ns(), best = UINT64_MAX, seen = 0;
    bool more = true;

    for (int i = 1; more; i++) {
        struct ibv_wc wc;
        uint64_t took;

        while (*stamp == seen)
            ibv_poll_cq(side->cq, 1, &wc);
        seen = *stamp;
        took = now_ns() - seen;
        best = took < best ? took : best;
        poll_for(side, 4 * latency_ns());
        more = i < COPIES || (best > model + COPY_LATE_NS && i < COPIES_AT_MOST);
        answer(side, more);
    }
    if (best > model + COPY_LATE_NS)
        fail("arrived after %lu ns at best, modelled are %lu", (unsigned long) best,
             (unsigned long) model);
}

/* Each side posts a word into idle links, one of them at any moment of the other's advancing them,
 * and both wait for both words: one of which the links do not learn never comes. */
static void announce(struct side *side, uint64_t most_ns)
{
    volatile uint64_t *word = (uint64_t *) (side->buffer + 64);

    for (uint64_t i = 1; i <= ANNOUNCEMENTS; i++) {
        uint64_t begin = now_ns();
        struct ibv_wc wc;

        while (now_ns() - begin < i * 997 % most_ns)
            ;
        *(uint64_t *) side->buffer = i;
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 64, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
        expect_completion(side, IBV_WC_SUCCESS);
        while (*word < i && now_ns() - begin < SECOND_NS)
            ibv_poll_cq(side->cq, 1, &wc);
        if (*word < i)
            fail("word %lu does not come", (unsigned long) i);
    }
    notify(side);
    await_peer(side);
}

void announce_active(struct side *side)
{
    announce(side, 4 * latency_ns());
}

void announce_passive(struct side *side)
{
    announce(side, 1);
}

uint64_t model_ns(const char *variable, uint64_t pages)
{
    const char *value = getenv(variable);
    unsigned long base = 0, page = 0;

    if (value && sscanf(value, "%lu,%lu", &base, &page) < 1)
        fail("%s is %s", variable, value);
    return base + page * pages;
}

/* Never shorter than the model, and at best within 10 % of it; others only make it longer. */
static void expect_cost(const char *what, uint64_t pages, uint64_t best, uint64_t model)
{
    if (best < model || best > model + model / 10)
        fail("%s of %lu pages took %lu ns, modelled are %lu", what, (unsigned long) pages,
             (unsigned long) best, (unsigned long) model);
}

void registration_time_active(struct side *side)
{
    for (uint64_t pages = 1; pages <= BUFFER_BYTES / 4096; pages *= 4) {
        uint64_t best = UINT64_MAX, best_back = UINT64_MAX;

        for (int i = 0; i < 20; i++) {
            uint64_t begin = now_ns(), registered, end;
            struct ibv_mr *mr =
                ibv_reg_mr(side->pd, side->buffer, pages * 4096, IBV_ACCESS_LOCAL_WRITE);

            registered = now_ns();
            if (!mr || ibv_dereg_mr(mr))
                fail("registering %lu pages", (unsigned long) pages);
            end = now_ns();
            best = registered - begin < best ? registered - begin : best;
            best_back = end - registered < best_back ? end - registered : best_back;
        }
        expect_cost("registration", pages, best, model_ns("SOFTHCA_REG", pages));
        expect_cost("deregistration", pages, best_back, model_ns("SOFTHCA_DEREG", pages));
    }
}
