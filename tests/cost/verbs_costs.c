/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a small message costs by each of the verbs, without rbuf and MPI: the comparisons of J. Liu,
 * J. Wu and D. K. Panda 2003 that their design rests on. As CSV, times in nanoseconds.
 *
 *     verbs_costs [ROUNDS [SAMPLES]]    5 and 101 by default; everything is measured once in each
 * round
 *
 *     write            half a round trip of one RDMA write, whose last word the target polls
 * (figure 1) write-immediate  the same with an immediate, which the target gets from its completion
 * queue send             a send into a receive that was posted two-writes       the message, and
 * its word by a write of its own (figure 4) gathered-write   one write that gathers the message and
 * its word from two places (figure 7) poll-queue       a poll of an empty completion queue that so
 * many connections share (figure 3) poll-memory      a look at as many words in memory, one a cache
 * line
 *
 * Two processes, on this machine's first adapter with its first port: the emulated one, or a real
 * one that carries the messages back to it. What fits into the request goes inline. Whoever waits
 * for a word polls its completion queue, too, as MPI does; the emulated adapter moves bytes there.
 * Of the last two the time is that of all connections. Each value is a median over the samples.
 * Exit status: 0; 1 if a side failed; 2 on bad usage.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/statistics.h"
#include "common/values.h"
#include "litmus.h"

enum {
    MOST_SAMPLES = 1000,
    ROUND_TRIPS = 8, /* in a sample */
    WARM_UP = 4,     /* samples that do not count */
    POLLS = 1000,    /* of a queue, or of all words, in a sample */
    RECEIVES = 16,   /* posted */
    WORD = 4,        /* bytes; the last of a message, or behind it */
    LINE = 64,
    INLINE = 64, /* what run_pair()'s queue pairs take */
    MOST_BYTES = 4096,
    MOST_CONNECTIONS = 128,
    SEND_AT = 0, /* offsets in the buffer */
    RECEIVE_AT = 64 << 10,
    WORD_AT = 128 << 10, /* the word that is gathered, or written by itself */
    WORDS_AT = 192 << 10 /* those that are only looked at */
};

enum way { WRITE, WRITE_IMMEDIATE, SEND, TWO_WRITES, GATHERED_WRITE, WAYS };

static const char *const way_names[WAYS] = {"write", "write-immediate", "send", "two-writes",
                                            "gathered-write"};

static int samples = 101;

/* What run_pair() measures in both processes. */
static int the_round;
static uint32_t the_bytes;

/* One side's part of a conversation. */
struct talk {
    struct side *side;
    enum way way;
    uint32_t bytes;
    uint32_t word;       /* of the last message */
    unsigned unfinished; /* requests that were posted and have not completed */
    unsigned received;   /* messages that a completion told of and nobody has waited for */
};

static void reap(struct talk *talk)
{
    struct ibv_wc wc;

    if (ibv_poll_cq(talk->side->cq, 1, &wc) < 1) {
        return;
    }
    if (wc.status != IBV_WC_SUCCESS) {
        fail("completion with %s", ibv_wc_status_str(wc.status));
    }
    if (wc.opcode & IBV_WC_RECV) {
        talk->received++;
        post_receive(talk->side, 0, RECEIVE_AT, MOST_BYTES);
    } else {
        talk->unfinished--;
    }
}

static bool is_told_by_queue(enum way way)
{
    return way == SEND || way == WRITE_IMMEDIATE;
}

/* A message whose word is not the last part of it has that behind it. */
static uint32_t word_at(const struct talk *talk)
{
    const bool is_apart = talk->way == TWO_WRITES || talk->way == GATHERED_WRITE;

    return is_apart ? talk->bytes : talk->bytes - WORD;
}

static unsigned flags_of(uint32_t bytes)
{
    return bytes <= INLINE ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
}

static void write_gathered(struct talk *talk)
{
    const uintptr_t buffer = (uintptr_t) talk->side->buffer;
    const uint32_t lkey = talk->side->mr->lkey;
    struct ibv_sge pieces[] = {{.addr = buffer + SEND_AT, .length = talk->bytes, .lkey = lkey},
                               {.addr = buffer + WORD_AT, .length = WORD, .lkey = lkey}};
    struct ibv_send_wr wr = {.sg_list = pieces,
                             .num_sge = 2,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = flags_of(talk->bytes + WORD)};

    wr.wr.rdma.remote_addr = talk->side->peer.addr + RECEIVE_AT;
    wr.wr.rdma.rkey = talk->side->peer.rkey;
    post_wr(talk->side, 0, &wr);
    talk->unfinished++;
}

static void post_one(struct talk *talk, enum ibv_wr_opcode opcode, size_t from, uint32_t bytes,
                     size_t to)
{
    post(talk->side, 0, opcode, from, bytes, to, flags_of(bytes));
    talk->unfinished++;
}

static void say(struct talk *talk)
{
    uint8_t *buffer = talk->side->buffer;

    *(uint32_t *) (buffer + SEND_AT + talk->bytes - WORD) = ++talk->word;
    *(uint32_t *) (buffer + WORD_AT) = talk->word;
    switch (talk->way) {
    case WRITE:
        post_one(talk, IBV_WR_RDMA_WRITE, SEND_AT, talk->bytes, RECEIVE_AT);
        break;
    case WRITE_IMMEDIATE:
        post_one(talk, IBV_WR_RDMA_WRITE_WITH_IMM, SEND_AT, talk->bytes, RECEIVE_AT);
        break;
    case SEND:
        post_one(talk, IBV_WR_SEND, SEND_AT, talk->bytes, 0);
        break;
    case TWO_WRITES:
        post_one(talk, IBV_WR_RDMA_WRITE, SEND_AT, talk->bytes, RECEIVE_AT);
        post_one(talk, IBV_WR_RDMA_WRITE, WORD_AT, WORD, RECEIVE_AT + talk->bytes);
        break;
    case GATHERED_WRITE:
        write_gathered(talk);
        break;
    case WAYS:
    default:
        fail("no such way");
    }
}

/* The adapter writes the word; what lies before it is there by then, as the port keeps the order of
 * bytes, and nobody reads it here. */
static void hear(struct talk *talk, uint32_t word)
{
    const _Atomic uint32_t *flag =
        (const _Atomic uint32_t *) (talk->side->buffer + RECEIVE_AT + word_at(talk));

    if (is_told_by_queue(talk->way)) {
        while (talk->received == 0) {
            reap(talk);
        }
        talk->received--;
        return;
    }
    while (atomic_load_explicit(flag, memory_order_acquire) != word) {
        reap(talk);
    }
}

/* Nothing is under way when a conversation begins, and receives are posted on both sides. */
static struct talk talk_open(struct side *side, enum way way, uint32_t bytes)
{
    *(uint32_t *) (side->buffer + RECEIVE_AT + bytes) = 0;
    *(uint32_t *) (side->buffer + RECEIVE_AT + bytes - WORD) = 0;
    notify(side);
    await_peer(side);
    return (struct talk){.side = side, .way = way, .bytes = bytes};
}

static void talk_close(struct talk *talk)
{
    while (talk->unfinished > 0) {
        reap(talk);
    }
    notify(talk->side);
    await_peer(talk->side);
}

/* Of half a round trip. */
static double talk_median_ns(struct side *side, enum way way, uint32_t bytes)
{
    struct talk talk = talk_open(side, way, bytes);
    double sample[MOST_SAMPLES];

    for (int i = -WARM_UP; i < samples; i++) {
        const double start = clock_ns();

        for (unsigned trip = 0; trip < ROUND_TRIPS; trip++) {
            say(&talk);
            hear(&talk, talk.word);
        }
        sample[i < 0 ? 0 : i] = (clock_ns() - start) / (2 * ROUND_TRIPS);
    }
    talk_close(&talk);
    return stats_median(sample, samples);
}

static void listen(struct side *side, enum way way, uint32_t bytes)
{
    struct talk talk = talk_open(side, way, bytes);

    for (int i = 0; i < (WARM_UP + samples) * ROUND_TRIPS; i++) {
        hear(&talk, (uint32_t) i + 1);
        say(&talk);
    }
    talk_close(&talk);
}

/* ---- polls ---- */

static double queue_poll_ns(struct side *side)
{
    double sample[MOST_SAMPLES];
    struct ibv_wc wc;

    for (int i = 0; i < samples; i++) {
        const double start = clock_ns();

        for (unsigned poll = 0; poll < POLLS; poll++) {
            if (ibv_poll_cq(side->cq, 1, &wc) != 0) {
                fail("a completion out of nowhere");
            }
        }
        sample[i] = (clock_ns() - start) / POLLS;
    }
    return stats_median(sample, samples);
}

static double memory_poll_ns(const struct side *side, unsigned connections)
{
    double sample[MOST_SAMPLES];

    for (int i = 0; i < samples; i++) {
        const double start = clock_ns();

        for (unsigned poll = 0; poll < POLLS; poll++) {
            for (unsigned at = 0; at < connections; at++) {
                const volatile uint32_t *word =
                    (const volatile uint32_t *) (side->buffer + WORDS_AT + at * LINE);

                if (*word != 0) {
                    fail("a word out of nowhere");
                }
            }
        }
        sample[i] = (clock_ns() - start) / POLLS;
    }
    return stats_median(sample, samples);
}

/* Both ends of each connection are this side's, so that the other one need not take part. */
static void poll_by_connections(struct side *side)
{
    unsigned connections = QUEUE_PAIRS;

    for (unsigned wanted = QUEUE_PAIRS; wanted <= MOST_CONNECTIONS; wanted *= 8) {
        for (; connections < wanted; connections += 2) {
            loop_back(side, 0);
        }
        printf("poll-queue,,%u,%d,%.1f\n", wanted, the_round, queue_poll_ns(side));
        printf("poll-memory,,%u,%d,%.1f\n", wanted, the_round, memory_poll_ns(side, wanted));
    }
}

/* ---- both sides ---- */

static void open_receives(struct side *side)
{
    for (unsigned i = 0; i < RECEIVES; i++) {
        post_receive(side, 0, RECEIVE_AT, MOST_BYTES);
    }
}

static void active(struct side *side)
{
    open_receives(side);
    for (enum way way = WRITE; way < WAYS; way++) {
        printf("%s,%u,1,%d,%.1f\n", way_names[way], the_bytes, the_round,
               talk_median_ns(side, way, the_bytes));
    }
}

static void passive(struct side *side)
{
    open_receives(side);
    for (enum way way = WRITE; way < WAYS; way++) {
        listen(side, way, the_bytes);
    }
}

static void idle(struct side *side)
{
    (void) side;
}

static bool run_round(void)
{
    for (the_bytes = WORD; the_bytes <= MOST_BYTES; the_bytes *= 4) {
        if (!run_pair(active, passive)) {
            return false;
        }
    }
    return run_pair(poll_by_connections, idle);
}

int main(int argc, char **argv)
{
    int rounds = 5;

    if (argc > 3 || (argc > 1 && !value_whole(argv[1], 1, 1000, &rounds)) ||
        (argc > 2 && !value_whole(argv[2], 1, MOST_SAMPLES, &samples))) {
        fprintf(stderr, "usage: verbs_costs [ROUNDS [SAMPLES]], 1 to 1000 each\n");
        return 2;
    }
    puts("path,bytes,connections,round,median_ns");
    for (the_round = 1; the_round <= rounds; the_round++) {
        if (!run_round()) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
