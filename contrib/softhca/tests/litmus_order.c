/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The order in which the words of a write become visible, with each fault of order and without one.
 * TAP, as litmus.c; each test sets its environment before its sides open the device.
 *
 * The passive side looks at the words of the write from the last to the first, again and again, and
 * never polls: what it finds new behind something old is there before it. Each write fills its
 * words with one byte, another one than the write before. Without a fault a part of a word may be
 * new, as the kernel copies it; with one words are whole.
 */
#define _GNU_SOURCE
#include "litmus.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITES  100u
#define BLOCK   128u
#define ROCE    "SOFTHCA_LINK_LAYER=roce"
#define PRIVATE "SOFTHCA_SHARE_PAGES=0"
#define ALIGNED "SOFTHCA_DATA_IN_ORDER=aligned"

/* Whether the last word is found before others. */
enum early { NEVER, SEEN };

static const struct test {
    const char *fault;
    const char *more; /* of the environment, A=B, two with a blank between */
    enum early early;
    uint32_t at; /* in the peer's pages, bytes */
    uint32_t length;
    unsigned flags;
} tests[] = {
    {NULL, "", NEVER, 0, 4096, 0},
    {NULL, "", NEVER, 0x60, 4096, 0},
    {NULL, "", NEVER, 0x60, 64, IBV_SEND_INLINE},
    {NULL, PRIVATE, NEVER, 0x60, 100000, 0},
    {"order=tail-first", "", SEEN, 0, 8192, 0},
    {"order=tail-first", "", SEEN, 0x60, 64, IBV_SEND_INLINE},
    {"order=tail-first", ALIGNED, SEEN, 0x60, 1024, 0},
    {"order=tail-first", ALIGNED, NEVER, 0, 128, 0},
    {"order=random,seed=3", "", SEEN, 0x60, 8192, 0},
    {"order=random,seed=3", ALIGNED, SEEN, 0x60, 8192, 0},
    /* In one page: the packet's address is compared with 0x56. */
    {"order=backward", "", NEVER, 0, 2048, 0},
    {"order=backward", "", NEVER, 0x20, 2048, 0},
    {"order=backward", "", NEVER, 0x50, 2048, 0},
    {"order=backward", "", SEEN, 0x58, 2048, 0},
    {"order=backward", "", SEEN, 0x60, 2048, 0},
    {"order=backward", "", SEEN, 0x78, 2048, 0},
    {"order=backward", "", NEVER, 0x80, 2048, 0},
    {"order=backward", "", NEVER, 0x60, 24, 0},
    {"order=backward", "", SEEN, 0x60, 40, 0},
    {"order=backward", "", SEEN, 0x60, 64, IBV_SEND_INLINE},
    {"order=backward", PRIVATE, SEEN, 0x60, 2048, 0},
    {"order=backward", PRIVATE, NEVER, 0x50, 2048, 0},
    {"order=backward", ALIGNED, SEEN, 0x60, 2048, 0},
    {"order=backward", ALIGNED, NEVER, 0x160, 32, 0},
    {"order=backward,seed=3", "", SEEN, 0, 2048, 0},
    {"order=backward,seed=3", "", NEVER, 0x180, 2048, 0},
    /* An IPv6 header more: 0x6a. */
    {"order=backward", ROCE, NEVER, 0x60, 2048, 0},
    {"order=backward", ROCE, SEEN, 0x70, 2048, 0},
    /* The part in the second page is compared for itself, 0x56 - 0x20 and 0x56 - 0x80 with 0. */
    {"order=backward", "", NEVER, 0x20, 4096, 0},
    {"order=backward", "", SEEN, 0x80, 4096, 0},
    /* So is the second packet, whose payload begins 0x46 behind. */
    {"order=backward", "", NEVER, 0x48, 4096, 0},
    {"order=backward", "", SEEN, 0x48, 8192, 0},
    {"order=words", "", SEEN, 0, 16, 0},
    {"order=words", "", SEEN, 0x60, 64, IBV_SEND_INLINE},
    {"order=words", "", SEEN, 0, 4096, 0},
    {"order=words", PRIVATE, SEEN, 0x60, 4096, 0},
    {"order=words", "", SEEN, 0x60, 100000, 0},
    {"order=words", PRIVATE, SEEN, 0x60, 100000, 0},
    {"order=words", ALIGNED, SEEN, 0x60, 4096, 0},
    {"order=words", ALIGNED, SEEN, 0x60, 100000, 0},
    {"order=words", ALIGNED, NEVER, 0x80, 128, 0},
    {"order=words", ALIGNED " " PRIVATE, SEEN, 0x60, 4096, 0},
    {"order=words", ALIGNED " " PRIVATE, NEVER, 0x80, 128, 0},
    {"order=backward", ALIGNED " " PRIVATE, SEEN, 0x60, 2048, 0},
};
static const struct test *test; /* of the pair that runs */

static bool is_aligned(void)
{
    return strstr(test->more, ALIGNED) != NULL;
}

static uint64_t filled(unsigned write)
{
    return write * 0x0101010101010101ull;
}

static void active(struct side *side)
{
    for (unsigned write = 1; write <= WRITES; write++) {
        memset(side->buffer, (int) write, test->length);
        post(side, 0, IBV_WR_RDMA_WRITE, 0, test->length, test->at,
             IBV_SEND_SIGNALED | test->flags);
        expect_completion(side, IBV_WC_SUCCESS);
        await_peer(side);
    }
}

struct sweep {
    bool last, old;  /* the last word was new, some word old */
    bool disordered; /* within a block of 128 bytes a later word was new */
};

static struct sweep look(volatile uint64_t *words, unsigned write)
{
    struct sweep sweep = {false, false, false};
    unsigned n = test->length / 8;
    bool new_in_block = false;

    for (unsigned i = n; i-- > 0;) {
        uint64_t word = words[i];

        if (test->fault && word != filled(write) && word != filled(write - 1))
            fail("a torn word: %016lx in write %u", (unsigned long) word, write);
        sweep.last |= i == n - 1 && word == filled(write);
        sweep.old |= word != filled(write);
        sweep.disordered |= new_in_block && word != filled(write);
        new_in_block |= word == filled(write);
        new_in_block &= (uintptr_t) &words[i] % BLOCK != 0;
    }
    return sweep;
}

static void passive(struct side *side)
{
    volatile uint64_t *words = (volatile uint64_t *) (void *) (side->buffer + test->at);
    unsigned early = 0, disordered = 0;

    for (unsigned write = 1; write <= WRITES; write++) {
        bool was_early = false;
        struct sweep sweep;

        do {
            sweep = look(words, write);
            was_early |= sweep.last && sweep.old;
            disordered += sweep.disordered;
        } while (sweep.old);
        early += was_early;
        notify(side);
    }
    if (test->early == NEVER ? early : early < WRITES / 10)
        fail("the last word was early in %u of %u writes", early, WRITES);
    if (is_aligned() && disordered)
        fail("disorder within 128 bytes, %u times", disordered);
}

static void set(const char *name, const char *value)
{
    if (value ? setenv(name, value, 1) : unsetenv(name))
        fail("cannot set %s", name);
}

/* Sets what the test asks for of those variables, and unsets the others. */
static void set_environment(void)
{
    static const char *const asked[] = {ROCE, PRIVATE, ALIGNED};

    set("SOFTHCA_FAULT", test->fault);
    for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        char name[64];
        int length = (int) (strchr(asked[i], '=') - asked[i]);

        snprintf(name, sizeof(name), "%.*s", length, asked[i]);
        set(name, strstr(test->more, asked[i]) ? asked[i] + length + 1 : NULL);
    }
}

int main(void)
{
    unsigned n = sizeof(tests) / sizeof(tests[0]), failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    printf("1..%u\n", n);
    for (unsigned i = 0; i < n; i++) {
        bool well;

        test = &tests[i];
        set_environment();
        well = run_pair(active, passive);
        failed += !well;
        printf("%sok %u - %s%s%s, %u%s bytes at 0x%x: %s\n", well ? "" : "not ", i + 1,
               test->fault ? test->fault : "no fault", *test->more ? " " : "", test->more,
               test->length, test->flags ? " inline" : "", test->at,
               test->early == SEEN ? "last word early" : "last word last");
    }
    return failed != 0;
}
