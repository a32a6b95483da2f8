/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which memory gets shared pages when it is registered, and that what is sent out of them is what
 * is in them, however keys and addresses come again. With SOFTHCA_SHARE_PAGES=0 none does, and the
 * same holds.
 */
#define _GNU_SOURCE

#include "litmus_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POOL_BYTES = 1 << 20, READ_BACK = 1 << 20 };

static uint8_t *map_pool(void *at)
{
    int fixed = at ? MAP_FIXED_NOREPLACE : 0;
    void *pool =
        mmap(at, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

    if (pool == MAP_FAILED || (at && pool != at))
        fail("mapping a pool: %s", strerror(errno));
    return pool;
}

static struct ibv_mr *enrol(struct side *side, void *addr, size_t length)
{
    struct ibv_mr *mr = ibv_reg_mr(side->pd, addr, length, IBV_ACCESS_LOCAL_WRITE);

    if (!mr)
        fail("registering: %s", strerror(errno));
    return mr;
}

/* Whether the pages at an address are shared ones; `*others` counts mappings of such
 * elsewhere. */
static bool is_shared(const void *addr, unsigned *others)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool shared = false;
    uint64_t from, to;
    char line[512];

    *others = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        if (!strstr(line, "/memfd:softhca") ||
            sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
            continue;
        if (from <= (uintptr_t) addr && (uintptr_t) addr < to)
            shared = true;
        else
            ++*others;
    }
    if (maps)
        fclose(maps);
    return shared;
}

static bool is_off(const char *variable)
{
    const char *value = getenv(variable);

    return value && !strcmp(value, "0");
}

/* Only where memory is watched for being unmapped, too. */
static bool sharing(void)
{
    return !is_off("SOFTHCA_SHARE_PAGES") && !is_off("SOFTHCA_CHECK_STALE") && can_watch();
}

static void expect_shared(const void *addr, bool expected, const char *what)
{
    unsigned others;

    if (is_shared(addr, &others) != (expected && sharing()))
        fail("%s: %s pages", what, expected ? "private" : "shared");
}

static void fill(uint8_t *to, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t) (i * 7 + i / 251 + seed);
}

/* Writes a gather list to the peer, reads it back and compares it. */
static void expect_sent(struct side *side, struct ibv_sge *sge, int n_sge, const char *what)
{
    struct ibv_send_wr wr = {.sg_list = sge,
                             .num_sge = n_sge,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    size_t at = READ_BACK, length = 0;

    for (int i = 0; i < n_sge; i++)
        length += sge[i].length;
    wr.wr.rdma.remote_addr = side->peer.addr + 8;
    wr.wr.rdma.rkey = side->peer.rkey;
    post_wr(side, 0, &wr);
    expect_completion(side, IBV_WC_SUCCESS);
    post(side, 0, IBV_WR_RDMA_READ, at, length, 8, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    for (int i = 0; i < n_sge; i++) {
        if (memcmp(side->buffer + at, (void *) (uintptr_t) sge[i].addr, sge[i].length))
            fail("%s: other bytes in part %d", what, i);
        at += sge[i].length;
    }
}

/* A file of a page's and more: untouched pages of its mapping hold data all the same. */
static uint8_t *map_file(void)
{
    static uint8_t page[4096];
    FILE *file = tmpfile();
    void *mapped;

    memset(page, 'x', sizeof(page));
    for (size_t i = 0; file && i < POOL_BYTES / sizeof(page); i++) {
        if (fwrite(page, sizeof(page), 1, file) != 1)
            fail("writing a file");
    }
    if (!file || fflush(file))
        fail("a file: %s", strerror(errno));
    mapped = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    if (mapped == MAP_FAILED)
        fail("mapping a file: %s", strerror(errno));
    fclose(file);
    return mapped;
}

void polling_passive(struct side *side)
{
    struct ibv_wc wc;
    char token;

    while (recv(side->socket, &token, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
        ibv_poll_cq(side->cq, 1, &wc);
}

void which_pages_active(struct side *side)
{
    uint8_t *pool = map_pool(NULL), *used = map_pool(NULL), *small = map_pool(NULL);
    uint8_t *unaligned = map_pool(NULL), *file = map_file();

    used[POOL_BYTES - 1] = 1;
    enrol(side, pool, POOL_BYTES);
    enrol(side, used, POOL_BYTES);
    enrol(side, small, 32768);
    enrol(side, unaligned + 8, 131072);
    enrol(side, file, POOL_BYTES);
    expect_shared(pool, true, "untouched");
    expect_shared(used, false, "touched in its last byte");
    expect_shared(small, false, "32 KB");
    expect_shared(unaligned, false, "no whole pages");
    expect_shared(file, false, "of a file");
    for (size_t i = 0; i < POOL_BYTES; i++) {
        if (pool[i] || used[i] != (i == POOL_BYTES - 1) || file[i] != 'x')
            fail("registration changed byte %zu", i);
    }
}

void out_of_pages_active(struct side *side)
{
    uint8_t *pool = map_pool(NULL), *private = map_pool(NULL);
    struct ibv_mr *mr = enrol(side, pool, POOL_BYTES), *part, *private_mr;
    struct ibv_sge sge[3];

    fill(pool, POOL_BYTES, 1);
    fill(private, POOL_BYTES, 2);
    private_mr = enrol(side, private, POOL_BYTES);
    part = enrol(side, pool + 65536, 131072);
    sge[0] = (struct ibv_sge){(uintptr_t) pool + 5, 70001, mr->lkey};
    sge[1] = (struct ibv_sge){(uintptr_t) pool + 65537, 100000, part->lkey};
    sge[2] = (struct ibv_sge){(uintptr_t) private + 3, 50000, private_mr->lkey};
    for (int i = 0; i < 1000; i++) /* some are pushed, should the other side not get to poll */
        expect_sent(side, sge, 1, "of a pool");
    expect_sent(side, sge, 2, "of a pool and a part of it");
    expect_sent(side, sge, 3, "of shared and private pages");
    ibv_dereg_mr(mr);
    fill(pool, POOL_BYTES, 3);
    expect_sent(side, sge + 1, 1, "of a part that outlives the whole");
    ibv_dereg_mr(part);
    ibv_dereg_mr(private_mr);
}

void out_of_pages_passive(struct side *side)
{
    unsigned others;

    polling_passive(side);
    (void) is_shared(side->buffer, &others);
    if (sharing() && !others)
        fail("nothing of the other side's is mapped here");
}

/* How many descriptors this process has of shared pages; each is put on `instead` if that is one.
 */
static unsigned descriptors(int instead)
{
    unsigned n = 0;

    for (int fd = 3; fd < 1024; fd++) {
        char path[64], target[64] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof(target) - 1) < 0 || !strstr(target, "memfd:softhca"))
            continue;
        n++;
        if (instead >= 0 && dup2(instead, fd) < 0)
            fail("dup2: %s", strerror(errno));
    }
    return n;
}

/* A pool that is registered in many parts costs one descriptor, and none when they are gone. */
void parts_of_pages_active(struct side *side)
{
    unsigned before = descriptors(-1), during;
    struct ibv_mr *mr[16];
    uint8_t *pool = map_pool(NULL);

    mr[0] = enrol(side, pool, POOL_BYTES);
    for (unsigned i = 1; i < 16; i++)
        mr[i] = enrol(side, pool + (i - 1) * 65536, 65536);
    fill(pool, POOL_BYTES, 5);
    during = descriptors(-1);
    for (unsigned i = 0; i < 16; i++) {
        struct ibv_sge sge = {(uintptr_t) mr[i]->addr, 65536, mr[i]->lkey};

        expect_sent(side, &sge, 1, "of a part");
        ibv_dereg_mr(mr[i]);
    }
    if (during != before + (sharing() ? 1 : 0) || descriptors(-1) != before)
        fail("%u, %u, %u descriptors", before, during, descriptors(-1));
}

/* Programs close descriptors that they did not open, and others take their numbers. */
void pages_lost_active(struct side *side)
{
    uint8_t *pool = map_pool(NULL);
    struct ibv_mr *mr = enrol(side, pool, POOL_BYTES);
    struct ibv_sge sge = {(uintptr_t) pool, 100000, mr->lkey};
    FILE *other = tmpfile();

    if (!other || ftruncate(fileno(other), POOL_BYTES))
        fail("a file: %s", strerror(errno));
    fill(pool, POOL_BYTES, 6);
    (void) descriptors(fileno(other));
    for (int i = 0; i < 100; i++)
        expect_sent(side, &sge, 1, "of pages whose descriptor is another file's");
}

/* The same addresses again and again, in order and with a registration left behind. */
void pages_anew_active(struct side *side)
{
    uint8_t *pool = map_pool(NULL);
    struct ibv_sge sge = {(uintptr_t) pool + 64, 90000, 0};

    for (unsigned round = 0; round < 8; round++) {
        struct ibv_mr *mr = enrol(side, pool, POOL_BYTES);

        fill(pool, POOL_BYTES, round);
        sge.lkey = mr->lkey;
        expect_sent(side, &sge, 1, "mapped again");
        if (round % 2 == 0)
            ibv_dereg_mr(mr);
        munmap(pool, POOL_BYTES);
        map_pool(pool);
        if (round % 4 == 3) /* private this time, where another registration had shared pages */
            fill(pool, POOL_BYTES, 99);
    }
}
