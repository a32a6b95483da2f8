/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Checks of the emulated HCA by raw verbs between two processes, one TAP line each. To be run under
 * libsofthca.so; "litmus NAME" runs one test. Tests of timing need SOFTHCA_BANDWIDTH and
 * SOFTHCA_LATENCY and are skipped without; the one of the memory limit needs SOFTHCA_MEMLOCK.
 *
 * Every test forks: the child is the passive side, both set up in litmus_pair.c and talk over a
 * socket pair. A side reports a failed expectation and exits; a test passes if both sides do.
 */
#define _GNU_SOURCE
#include "litmus.h"
#include "litmus_pages.h"
#include "litmus_times.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void pattern(uint8_t *to, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t) (i * 13 + seed);
}

static void expect_pattern(const uint8_t *from, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] != (uint8_t) (i * 13 + seed))
            fail("byte %zu of %zu is %u", i, n, from[i]);
    }
}

/* The passive side of tests in which it makes no verbs call while the other works. */
static void wait_for_peer(struct side *side)
{
    await_peer(side);
}

static void write_and_read_active(struct side *side)
{
    static const size_t sizes[] = {0, 1, 7, 8, 64, 100, 4095, 4096, 16385, 65536, 1 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i];

        pattern(side->buffer, n, (unsigned) i);
        post(side, 0, IBV_WR_RDMA_WRITE, 0, n, 4096, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
        memset(side->buffer, 0, n);
        post(side, 0, IBV_WR_RDMA_READ, 0, n, 4096, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
        expect_pattern(side->buffer, n, (unsigned) i);
    }
}

static void gather_active(struct side *side)
{
    struct ibv_sge sge[5];
    struct ibv_send_wr wr = {
        .sg_list = sge, .num_sge = 5, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};

    pattern(side->buffer, 50000, 3);
    for (int i = 0; i < 5; i++)
        sge[i] = (struct ibv_sge){.addr = (uintptr_t) side->buffer + (unsigned) i * 10000,
                                  .length = 10000,
                                  .lkey = side->mr->lkey};
    sge[2].length = 0;
    wr.wr.rdma.remote_addr = side->peer.addr + 3;
    wr.wr.rdma.rkey = side->peer.rkey;
    post_wr(side, 0, &wr);
    expect_completion(side, IBV_WC_SUCCESS);
    memset(side->buffer + 60000, 0, 50000);
    post(side, 0, IBV_WR_RDMA_READ, 60000, 40000, 3, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    if (memcmp(side->buffer + 60000, side->buffer, 20000) ||
        memcmp(side->buffer + 80000, side->buffer + 30000, 20000))
        fail("gathered bytes differ");
}

static void inline_active(struct side *side)
{
    uint64_t words[8];

    for (int i = 0; i < 8; i++)
        words[i] = 0x1111111111111111ull * (unsigned) (i + 1);
    memcpy(side->buffer, words, sizeof(words));
    post(side, 0, IBV_WR_RDMA_WRITE, 0, sizeof(words), 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    memset(side->buffer, 0, sizeof(words)); /* the payload has been taken */
    expect_completion(side, IBV_WC_SUCCESS);
    post(side, 0, IBV_WR_RDMA_READ, 0, sizeof(words), 0, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    if (memcmp(side->buffer, words, sizeof(words)))
        fail("inline payload differs");
}

static void unsignaled_active(struct side *side)
{
    struct ibv_wc wc;

    for (int i = 0; i < 40; i++)
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 64, 0, i == 39 ? IBV_SEND_SIGNALED : 0);
    expect_completion(side, IBV_WC_SUCCESS);
    if (ibv_poll_cq(side->cq, 1, &wc))
        fail("an unsignaled request completed");
}

static void send_active(struct side *side)
{
    for (unsigned i = 0; i < 20; i++) {
        await_peer(side); /* a receive is posted */
        pattern(side->buffer, 3000 * i, i);
        post(side, 0, i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, 0, 3000 * i, 0,
             IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
    }
}

static void send_passive(struct side *side)
{
    for (unsigned i = 0; i < 20; i++) {
        struct ibv_wc wc;

        memset(side->buffer, 0xee, 65536);
        post_receive(side, 0, 0, 65536);
        notify(side);
        wc = expect_completion(side, IBV_WC_SUCCESS);
        if (wc.byte_len != 3000 * i || wc.opcode != IBV_WC_RECV ||
            (i % 2 && (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != IMMEDIATE)))
            fail("receive %u: %u bytes, opcode %d", i, wc.byte_len, wc.opcode);
        expect_pattern(side->buffer, 3000 * i, i);
    }
}

static void write_imm_active(struct side *side)
{
    await_peer(side);
    pattern(side->buffer, 5000, 9);
    post(side, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 5000, 100, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
}

static void write_imm_passive(struct side *side)
{
    struct ibv_wc wc;

    post_receive(side, 0, 0, 0);
    notify(side);
    wc = expect_completion(side, IBV_WC_SUCCESS);
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || wc.imm_data != IMMEDIATE || wc.byte_len != 5000)
        fail("opcode %d, %u bytes", wc.opcode, wc.byte_len);
    expect_pattern(side->buffer + 100, 5000, 9);
}

/* A refused request completes with the error, the queue pair fails, what follows is flushed. */
static void refused(struct side *side, enum ibv_wr_opcode opcode, uint64_t offset, size_t n,
                    uint32_t rkey, enum ibv_wc_status status)
{
    side->peer.rkey = rkey;
    post(side, 0, opcode, 0, n, offset, 0); /* errors complete though not signaled */
    post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
    expect_completion(side, status);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
}

static void bad_key_active(struct side *side)
{
    refused(side, IBV_WR_RDMA_WRITE, 0, 8, side->peer.rkey ^ 0x100, IBV_WC_REM_ACCESS_ERR);
}

static void bounds_active(struct side *side)
{
    refused(side, IBV_WR_RDMA_WRITE, BUFFER_BYTES - 7, 8, side->peer.rkey, IBV_WC_REM_ACCESS_ERR);
}

static void bounds_below_active(struct side *side)
{
    refused(side, IBV_WR_RDMA_READ, (uint64_t) -8, 16, side->peer.rkey, IBV_WC_REM_ACCESS_ERR);
}

static void read_only_active(struct side *side)
{
    refused(side, IBV_WR_RDMA_WRITE, 0, 8, side->peer.read_only_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void other_domain_active(struct side *side)
{
    refused(side, IBV_WR_RDMA_WRITE, 0, 8, side->peer.foreign_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void local_key_active(struct side *side)
{
    struct ibv_sge sge = {.addr = (uintptr_t) side->buffer, .length = 8, .lkey = 0x7777};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

    wr.wr.rdma.remote_addr = side->peer.addr;
    wr.wr.rdma.rkey = side->peer.rkey;
    post_wr(side, 0, &wr);
    expect_completion(side, IBV_WC_LOC_PROT_ERR);
}

static void too_long_active(struct side *side)
{
    await_peer(side);
    post(side, 0, IBV_WR_SEND, 0, 200, 0, 0);
    expect_completion(side, IBV_WC_REM_INV_REQ_ERR);
}

static void too_long_passive(struct side *side)
{
    post_receive(side, 0, 0, 100);
    notify(side);
    expect_completion(side, IBV_WC_LOC_LEN_ERR);
}

static void rnr_error_active(struct side *side)
{
    set_rnr_retry(side, 2);
    post(side, 0, IBV_WR_SEND, 0, 100, 0, 0);
    expect_completion(side, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void rnr_forever_active(struct side *side)
{
    pattern(side->buffer, 100, 1);
    post(side, 0, IBV_WR_SEND, 0, 100, 0, IBV_SEND_SIGNALED);
    notify(side);
    expect_completion(side, IBV_WC_SUCCESS);
}

static void rnr_forever_passive(struct side *side)
{
    await_peer(side);
    poll_for(side, 50000000);
    post_receive(side, 0, 0, 100);
    expect_completion(side, IBV_WC_SUCCESS);
    expect_pattern(side->buffer, 100, 1);
}

static void flush_active(struct side *side)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    post_receive(side, 0, 0, 8);
    post_receive(side, 0, 0, 8);
    if (ibv_modify_qp(side->qp[0], &attr, IBV_QP_STATE))
        fail("modify to error");
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    post_receive(side, 0, 0, 8);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
}

enum { ATOMIC_ROUNDS = 2000 };

/* Both sides add to one word of the passive side. */
static void atomics_active(struct side *side)
{
    uint64_t old, *word = (uint64_t *) side->buffer;

    for (int i = 0; i < ATOMIC_ROUNDS; i++) {
        post_atomic(side, IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 1, 0);
        expect_completion(side, IBV_WC_SUCCESS);
    }
    notify(side);
    await_peer(side);
    post_atomic(side, IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 0, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    old = *word;
    if (old != 2 * ATOMIC_ROUNDS)
        fail("the sum is %lu", (unsigned long) old);
    post_atomic(side, IBV_WR_ATOMIC_CMP_AND_SWP, 64, 1, 77);
    expect_completion(side, IBV_WC_SUCCESS);
    post_atomic(side, IBV_WR_ATOMIC_CMP_AND_SWP, 64, old, 78);
    expect_completion(side, IBV_WC_SUCCESS);
    post_atomic(side, IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 0, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    if (*word != 78)
        fail("compare and swap left %lu", (unsigned long) *word);
    notify(side);
}

static void atomics_passive(struct side *side)
{
    loop_back(side, 1); /* a queue pair to itself, for the same word */
    for (int i = 0; i < ATOMIC_ROUNDS; i++) {
        post_atomic(side, IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 1, 0);
        expect_completion(side, IBV_WC_SUCCESS);
    }
    await_peer(side);
    notify(side);
    await_peer(side);
}

/* A read posted behind writes sees them. */
static void read_order_active(struct side *side)
{
    for (unsigned i = 0; i < 50; i++) {
        pattern(side->buffer, 40000, i);
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 40000, 0, 0);
        post(side, 0, IBV_WR_RDMA_READ, 100000, 40000, 0, 0);
        post(side, 0, IBV_WR_RDMA_READ, 200000, 8, 0, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
        expect_pattern(side->buffer + 100000, 40000, i);
        memset(side->buffer + 100000, 0, 40000);
    }
}

/* The peer makes no verbs call and sees the bytes in memory. */
static void silent_target_active(struct side *side)
{
    pattern(side->buffer, 300000, 5);
    post(side, 0, IBV_WR_RDMA_WRITE, 0, 300000, 8, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    *(uint64_t *) side->buffer = 1;
    post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_SIGNALED);
    await_peer(side); /* nor does this side poll meanwhile */
}

static void silent_target_passive(struct side *side)
{
    volatile uint64_t *flag = (uint64_t *) side->buffer;
    uint64_t deadline = now_ns() + 2000000000ull;

    while (!*flag && now_ns() < deadline)
        ;
    if (!*flag)
        fail("the word never came");
    expect_pattern(side->buffer + 8, 300000, 5);
    notify(side);
}

static void death_active(struct side *side)
{
    struct ibv_wc wc;
    uint64_t begin;

    await_peer(side);
    kill(side->other, SIGKILL);
    begin = now_ns();
    do { /* the first may still meet a living peer */
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_SIGNALED);
        post(side, 0, IBV_WR_RDMA_READ, 0, 8, 0, IBV_SEND_SIGNALED);
        wc = expect_either(side, IBV_WC_RETRY_EXC_ERR, IBV_WC_SUCCESS);
        if (wc.status == IBV_WC_SUCCESS)
            wc = expect_either(side, IBV_WC_RETRY_EXC_ERR, IBV_WC_SUCCESS);
        else
            expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    } while (wc.status == IBV_WC_SUCCESS);
    if (now_ns() - begin > 5000000000ull)
        fail("it took %lu ms", (unsigned long) ((now_ns() - begin) / 1000000));
}

static void death_passive(struct side *side)
{
    notify(side);
    for (;;)
        pause();
}

static void memlock_active(struct side *side)
{
    size_t limit = strtoull(getenv("SOFTHCA_MEMLOCK"), NULL, 10);
    void *area =
        mmap(NULL, limit + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    errno = 0;
    if (ibv_reg_mr(side->pd, area, limit + 4096, IBV_ACCESS_LOCAL_WRITE) || errno != ENOMEM)
        fail("beyond the limit: %s", strerror(errno));
}

/* Memory that may not be written can be registered for reading alone. */
static void read_only_mapping_active(struct side *side)
{
    void *area = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr;

    errno = 0;
    if (ibv_reg_mr(side->pd, area, 8192, IBV_ACCESS_LOCAL_WRITE) || errno != EFAULT)
        fail("for writing: %s", strerror(errno));
    mr = ibv_reg_mr(side->pd, area, 8192, IBV_ACCESS_REMOTE_READ);
    if (!mr)
        fail("for reading: %s", strerror(errno));
    else
        ibv_dereg_mr(mr);
    munmap(area, 8192);
}

/* The peer has unmapped, or mapped anew, what it had registered. */
static void stale_active(struct side *side)
{
    await_peer(side);
    post(side, 0, IBV_WR_RDMA_WRITE, 0, 4096, side->peer.victim_offset, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    notify(side);
    await_peer(side);
    refused(side, IBV_WR_RDMA_WRITE, side->peer.victim_offset, 4096, side->peer.rkey,
            IBV_WC_REM_ACCESS_ERR);
}

static void stale_passive(struct side *side, int how)
{
    uint8_t *page = side->buffer + VICTIM_OFFSET;

    notify(side);
    await_peer(side);
    if (how == 0)
        munmap(page, 8192);
    else if (how == 1)
        mmap(page, 8192, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        madvise(page, 8192, MADV_DONTNEED);
    usleep(2000);
    notify(side);
}

static void stale_unmapped_passive(struct side *side)
{
    stale_passive(side, 0);
}

static void stale_mapped_anew_passive(struct side *side)
{
    stale_passive(side, 1);
}

static void stale_discarded_passive(struct side *side)
{
    stale_passive(side, 2);
}

static const struct test {
    const char *name;
    void (*active)(struct side *);
    void (*passive)(struct side *);
    enum needs { NOTHING, PACING, MEMLOCK, WATCHING, COSTS } needs;
} tests[] = {
    {"write and read", write_and_read_active, wait_for_peer, NOTHING},
    {"gather", gather_active, wait_for_peer, NOTHING},
    {"inline", inline_active, wait_for_peer, NOTHING},
    {"unsignaled", unsignaled_active, wait_for_peer, NOTHING},
    {"send and receive", send_active, send_passive, NOTHING},
    {"write with immediate", write_imm_active, write_imm_passive, NOTHING},
    {"bad key", bad_key_active, wait_for_peer, NOTHING},
    {"beyond the end", bounds_active, wait_for_peer, NOTHING},
    {"before the beginning", bounds_below_active, wait_for_peer, NOTHING},
    {"write to read-only memory", read_only_active, wait_for_peer, NOTHING},
    {"key of another domain", other_domain_active, wait_for_peer, NOTHING},
    {"bad local key", local_key_active, wait_for_peer, NOTHING},
    {"message longer than the receive", too_long_active, too_long_passive, NOTHING},
    {"receiver not ready, then given up", rnr_error_active, wait_for_peer, NOTHING},
    {"receiver not ready, then ready", rnr_forever_active, rnr_forever_passive, NOTHING},
    {"flush", flush_active, wait_for_peer, NOTHING},
    {"atomics under contention", atomics_active, atomics_passive, NOTHING},
    {"read behind writes", read_order_active, wait_for_peer, NOTHING},
    {"target without calls", silent_target_active, silent_target_passive, NOTHING},
    {"death of the peer", death_active, death_passive, NOTHING},
    {"limit of registered memory", memlock_active, wait_for_peer, MEMLOCK},
    {"registration of a read-only mapping", read_only_mapping_active, wait_for_peer, NOTHING},
    {"which memory gets shared pages", which_pages_active, wait_for_peer, NOTHING},
    {"out of shared pages", out_of_pages_active, out_of_pages_passive, NOTHING},
    {"parts of shared pages", parts_of_pages_active, polling_passive, NOTHING},
    {"shared pages without their descriptor", pages_lost_active, polling_passive, NOTHING},
    {"addresses with other pages", pages_anew_active, polling_passive, NOTHING},
    {"stale registration: unmapped", stale_active, stale_unmapped_passive, WATCHING},
    {"stale registration: mapped anew", stale_active, stale_mapped_anew_passive, WATCHING},
    {"stale registration: discarded", stale_active, stale_discarded_passive, WATCHING},
    {"acknowledgement before the answer", acknowledgement_first_active,
     acknowledgement_first_passive, NOTHING},
    {"word overtakes a chunk", overtake_active, wait_for_peer, PACING},
    {"completion after acknowledgement", acknowledged_active, wait_for_peer, PACING},
    {"arrival in time", arrival_active, arrival_passive, PACING},
    {"copies in time", copy_in_time_active, copy_in_time_passive, PACING},
    {"announcements from both sides", announce_active, announce_passive, PACING},
    {"time of registration", registration_time_active, wait_for_peer, COSTS},
};

/* Costs below some us would be lost in the cost of the call itself. */
static bool has_costs(const char *variable)
{
    return getenv(variable) && model_ns(variable, 1) >= 10000;
}

/* 0 is no limit. */
static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && strtoull(value, NULL, 10) > 0;
}

static const char *reason_to_skip(const struct test *test)
{
    const char *stale = getenv("SOFTHCA_CHECK_STALE");

    switch (test->needs) {
    case PACING:
        return is_set("SOFTHCA_BANDWIDTH") && is_set("SOFTHCA_LATENCY") ? NULL : "no pacing is set";
    case COSTS:
        return has_costs("SOFTHCA_REG") && has_costs("SOFTHCA_DEREG") ? NULL : "no costs are set";
    case MEMLOCK:
        return is_set("SOFTHCA_MEMLOCK") ? NULL : "no limit is set";
    case WATCHING:
        if (stale && !strcmp(stale, "0"))
            return "switched off";
        return can_watch() ? NULL : "userfaultfd is not permitted here";
    default:
        return NULL;
    }
}

int main(int argc, char **argv)
{
    unsigned n = sizeof(tests) / sizeof(tests[0]), failed = 0, at = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 1)
        printf("1..%u\n", n);
    for (unsigned i = 0; i < n; i++) {
        const char *skip = reason_to_skip(&tests[i]);

        if (argc > 1 && strcmp(argv[1], tests[i].name))
            continue;
        at++;
        if (skip) {
            printf("ok %u - %s # SKIP %s\n", at, tests[i].name, skip);
        } else if (run_pair(tests[i].active, tests[i].passive)) {
            printf("ok %u - %s\n", at, tests[i].name);
        } else {
            printf("not ok %u - %s\n", at, tests[i].name);
            failed++;
        }
    }
    return failed || !at;
}
