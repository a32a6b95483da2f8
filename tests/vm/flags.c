/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Does a block's flag ever show before its payload? Raw verbs, nothing of rbuf: blocks of 4 KB
 * or another size, each ending in an 8-byte flag, are sent in one RDMA write, while the receiver
 * polls the flags in memory. From the last to the first: a flag that is set, and then a lower one
 * that is not, is out of order. Once a flag is seen its block must be whole.
 *
 *     flags [-e ordered|any] [-w WRITES] [-b BLOCKS] [-s BLOCK-SIZE] [-g GID-INDEX]
 *           SENDER-DEVICE RECEIVER-DEVICE
 *
 * Then the same of the words of an eager ring: messages of many lengths, each in one write that
 * ends with the last word of its slot, several under way at once. Once the word is seen the message
 * must be whole.
 *
 * Sender and receiver are threads with a processor of their own, where there are two: on one,
 * neither would ever see the other halfway. The receiver then does nothing but look.
 *
 * Every MTU that the port has, and starts that are not aligned to pages: a driver that copies by
 * the processor may choose its direction by the low bytes of the addresses. How many words were
 * early is printed by the low byte of their own address, too.
 *
 * -e says what the device promises: a write in order (the default), or any order.
 * Exit status 0: as expected; 1: a word was early though order is promised, a payload never became
 * right, or nothing was seen arriving by and by, so that the test says nothing; 2: it could not be
 * run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET(), sched_setaffinity() */
#endif
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bring_up.h"

enum { PAGE = 4096, PATIENCE_S = 60 };
enum { LOOKS = 1 << 16 /* between two looks at the clock */ };
enum { SETTLES_US = 1000, SETTLE_LOOKS = 1000 /* at a payload that was late */ };
enum { STRIDE = 32 /* words */ };
enum { SLOTS = 4, SLOT_WORDS = 256, SLOT = 8 * SLOT_WORDS, A_WRITE = 20 /* messages for each */ };

struct side {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    union ibv_gid gid;
    uint16_t lid; /* 0 on RoCE */
    int gid_index;
    enum ibv_mtu mtu; /* the most */
    char *memory;
};

struct counts {
    long early;    /* flags seen before their payload */
    long corrupt;  /* of those, the ones whose payload never became right */
    long disorder; /* flags seen before those of lower blocks */
    long partial;  /* sweeps that saw a part of the write */
};

enum expected { ORDERED, ANY_ORDER };

static enum expected expected = ORDERED;
static long early_at[256]; /* by the low byte of the word's address */
static bool alone;         /* one processor is all that the two threads have */
static unsigned writes = 60;
static unsigned blocks = 16;
static size_t block_bytes = 4096;
static int asked_gid = -1;
static struct side sender, receiver;

/* The two threads: the receiver is at write `wanted` (it stores, the sender reads), so the sender
 * may change its memory and send. */
static _Atomic uint64_t wanted;
static size_t start; /* of the blocks within both memories, in bytes; constant while threads run */

/* Where a block's flag is; its payload are the words before. */
static size_t flag_word(void)
{
    return block_bytes / 8 - 1;
}

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "flags: %s failed (%s); GID indices %d and %d\n", what, strerror(errno),
                sender.gid_index, receiver.gid_index);
        exit(2);
    }
}

static uint64_t pattern(uint64_t write, unsigned block, unsigned word)
{
    return write * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t) block << 40 ^
           word * UINT64_C(0xd1342543de82ef95);
}

/* The calling thread runs on the first or the last of the processors that we may use. */
static void run_on(bool last)
{
    static cpu_set_t allowed; /* as the process began */
    cpu_set_t one;
    int chosen = -1;

    if (CPU_COUNT(&allowed) == 0) {
        check(sched_getaffinity(0, sizeof(allowed), &allowed) == 0, "sched_getaffinity");
        alone = CPU_COUNT(&allowed) == 1;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && (last || chosen < 0); cpu++) {
        chosen = CPU_ISSET(cpu, &allowed) ? cpu : chosen;
    }
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    check(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
}

/* A wait that looks at memory. It gives its processor away only if the other thread needs it. */
struct wait {
    time_t since; /* of the first look at the clock, or 0 */
    unsigned looks;
};

static bool patience_ends(struct wait *wait)
{
    if (alone) {
        sched_yield();
    }
    if (++wait->looks % LOOKS != 0) {
        return false;
    }
    if (wait->since == 0) {
        wait->since = time(NULL);
    }
    return time(NULL) - wait->since > PATIENCE_S;
}

/* ---- devices and queue pairs ---- */

static void choose_gid(struct side *side)
{
    for (int i = 0; i < 16 && asked_gid < 0; i++) {
        if (ibv_query_gid(side->context, 1, i, &side->gid) == 0 && side->gid.raw[10] == 0xff &&
            side->gid.raw[11] == 0xff) {
            side->gid_index = i;
            return;
        }
    }
    side->gid_index = asked_gid < 0 ? 0 : asked_gid;
    check(ibv_query_gid(side->context, 1, side->gid_index, &side->gid) == 0, "ibv_query_gid");
}

static void open_side(struct side *side, const char *name, int access)
{
    size_t bytes = (size_t) blocks * block_bytes + 2 * PAGE;
    struct ibv_port_attr port;
    struct ibv_device **list = ibv_get_device_list(NULL);

    for (int i = 0; list != NULL && list[i] != NULL; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
            side->context = ibv_open_device(list[i]);
        }
    }
    check(side->context != NULL, name);
    check(ibv_query_port(side->context, 1, &port) == 0, "ibv_query_port");
    side->mtu = port.active_mtu;
    side->lid = port.lid;
    choose_gid(side);
    side->pd = ibv_alloc_pd(side->context);
    side->cq = ibv_create_cq(side->context, 16, NULL, NULL, 0);
    side->memory = aligned_alloc(PAGE, bytes);
    check(side->pd != NULL && side->cq != NULL && side->memory != NULL, "opening a device");
    memset(side->memory, 0, bytes);
    side->mr = ibv_reg_mr(side->pd, side->memory, bytes, access);
    check(side->mr != NULL, "ibv_reg_mr");
}

static void create_pair(struct side *side)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

    side->qp = ibv_create_qp(side->pd, &attributes);
    check(side->qp != NULL, "ibv_create_qp");
}

static void connect_pair(struct side *side, const struct side *other, enum ibv_mtu mtu)
{
    const struct bring_up how = {.port = 1,
                                 .access = IBV_ACCESS_REMOTE_WRITE,
                                 .mtu = mtu,
                                 .reads = 1,
                                 .rnr_timer = 12,
                                 .timeout = 14};
    const struct ibv_ah_attr peer = {
        .dlid = other->lid,
        .is_global = 1,
        .grh = {.dgid = other->gid, .sgid_index = (uint8_t) side->gid_index, .hop_limit = 64}};

    errno = bring_up(side->qp, &how, other->qp->qp_num, &peer);
    check(errno == 0, "bringing up a queue pair");
}

/* ---- the two threads ---- */

static void send_blocks(uint64_t write)
{
    struct ibv_sge piece = {.addr = (uintptr_t) (sender.memory + start),
                            .length = (uint32_t) (blocks * block_bytes),
                            .lkey = sender.mr->lkey};
    struct ibv_send_wr request = {.sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_RDMA_WRITE,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .wr.rdma = {.remote_addr = (uintptr_t) (receiver.memory + start),
                                              .rkey = receiver.mr->rkey}};
    struct ibv_send_wr *bad;
    struct ibv_wc completion;
    int found;

    for (unsigned block = 0; block < blocks; block++) {
        uint64_t *words =
            (uint64_t *) (void *) (sender.memory + start + (size_t) block * block_bytes);

        for (unsigned word = 0; word < flag_word(); word++) {
            words[word] = pattern(write, block, word);
        }
        words[flag_word()] = write;
    }
    check(ibv_post_send(sender.qp, &request, &bad) == 0, "ibv_post_send");
    while ((found = ibv_poll_cq(sender.cq, 1, &completion)) == 0) {
        sched_yield();
    }
    check(found == 1 && completion.status == IBV_WC_SUCCESS,
          found == 1 ? ibv_wc_status_str(completion.status) : "ibv_poll_cq");
}

static void *send_all(void *nothing)
{
    (void) nothing;
    run_on(true);
    for (uint64_t write = 1; write <= writes; write++) {
        struct wait wait = {0};

        while (atomic_load_explicit(&wanted, memory_order_acquire) != write) {
            check(!patience_ends(&wait), "waiting for the receiver");
        }
        send_blocks(write);
    }
    return NULL;
}

static uint64_t *block_at(unsigned block)
{
    return (uint64_t *) (void *) (receiver.memory + start + (size_t) block * block_bytes);
}

/* Looks at the beginning of each 256 bytes first, so at that of each packet: what is copied from
 * its end comes there last. */
static bool is_whole(const uint64_t *payload, unsigned words, uint64_t write, unsigned block)
{
    for (unsigned first = 0; first < STRIDE; first++) {
        for (unsigned word = first; word < words; word += STRIDE) {
            if (__atomic_load_n(&payload[word], __ATOMIC_RELAXED) != pattern(write, block, word)) {
                return false;
            }
        }
    }
    return true;
}

/* Called when the word behind a payload was seen: counts it if the payload is not there yet. */
static void check_payload(const uint64_t *payload, unsigned words, uint64_t write, unsigned block,
                          struct counts *counts)
{
    if (is_whole(payload, words, write, block)) {
        return;
    }
    counts->early++;
    early_at[(uintptr_t) (payload + words) % 256]++;
    for (unsigned look = 0; look < SETTLE_LOOKS; look++) {
        if (is_whole(payload, words, write, block)) {
            return;
        }
        usleep(SETTLES_US);
    }
    counts->corrupt++;
}

/* One look at all flags from the last down to `next`: the number of blocks that are there. */
static unsigned sweep(uint64_t write, unsigned next, struct counts *counts)
{
    unsigned there = next;

    for (unsigned block = blocks; block-- > next;) {
        bool set = __atomic_load_n(&block_at(block)[flag_word()], __ATOMIC_ACQUIRE) == write;

        if (set && there == next) {
            there = block + 1;
        } else if (!set && there != next) {
            counts->disorder++;
        }
    }
    return there;
}

static void receive_blocks(uint64_t write, struct counts *counts)
{
    struct wait wait = {0};

    for (unsigned next = 0; next < blocks;) {
        unsigned there = sweep(write, next, counts);

        if (there == next) {
            check(!patience_ends(&wait), "waiting for a block");
            continue;
        }
        counts->partial += there < blocks;
        for (; next < there; next++) {
            check_payload(block_at(next), (unsigned) flag_word(), write, next, counts);
        }
    }
}

static struct counts run_case(enum ibv_mtu mtu, size_t at)
{
    struct counts counts = {0};
    pthread_t thread;

    start = at;
    memset(receiver.memory, 0, (size_t) blocks * block_bytes + 2 * PAGE);
    create_pair(&sender);
    create_pair(&receiver);
    connect_pair(&sender, &receiver, mtu);
    connect_pair(&receiver, &sender, mtu);
    atomic_store(&wanted, 0);
    check(pthread_create(&thread, NULL, send_all, NULL) == 0, "pthread_create");
    for (uint64_t write = 1; write <= writes; write++) {
        atomic_store_explicit(&wanted, write, memory_order_release);
        receive_blocks(write, &counts);
    }
    check(pthread_join(thread, NULL) == 0, "pthread_join");
    check(ibv_destroy_qp(sender.qp) == 0 && ibv_destroy_qp(receiver.qp) == 0, "ibv_destroy_qp");
    return counts;
}

/* ---- a ring ---- */

/* Payload of a message, in words; its last word is `message`. */
static unsigned ring_words(uint64_t message)
{
    return (unsigned) (message * 37 % SLOT_WORDS);
}

static uint64_t *slot_end(struct side *side, uint64_t message)
{
    return (uint64_t *) (void *) (side->memory + (message % SLOTS + 1) * SLOT);
}

static void send_message(uint64_t message)
{
    unsigned words = ring_words(message);
    uint64_t *end = slot_end(&sender, message);
    struct ibv_sge piece = {
        .addr = (uintptr_t) (end - words - 1), .length = (words + 1) * 8, .lkey = sender.mr->lkey};
    struct ibv_send_wr request = {
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = (uintptr_t) (slot_end(&receiver, message) - words - 1),
                    .rkey = receiver.mr->rkey}};
    struct ibv_send_wr *bad;

    for (unsigned word = 0; word < words; word++) {
        end[(int) word - (int) words - 1] = pattern(message, 0, word);
    }
    end[-1] = message;
    check(ibv_post_send(sender.qp, &request, &bad) == 0, "ibv_post_send");
}

/* A slot is used again when the receiver wants the message after it, and its write has completed.
 */
static void *send_ring(void *nothing)
{
    uint64_t completed = 0, last = (uint64_t) writes * A_WRITE;

    (void) nothing;
    run_on(true);
    for (uint64_t message = 1; completed < last;) {
        struct ibv_wc completion;
        struct wait wait = {0};
        int found;

        while (message <= last && message < completed + SLOTS &&
               message < atomic_load_explicit(&wanted, memory_order_acquire) + SLOTS) {
            send_message(message++);
        }
        while ((found = ibv_poll_cq(sender.cq, 1, &completion)) == 0 && completed + 1 < message) {
            check(!patience_ends(&wait), "waiting for a completion");
        }
        check(found == 0 || (found == 1 && completion.status == IBV_WC_SUCCESS),
              "writing a message");
        completed += (uint64_t) found;
    }
    return NULL;
}

static void receive_message(uint64_t message, struct counts *counts)
{
    unsigned words = ring_words(message);
    uint64_t *end = slot_end(&receiver, message);
    uint64_t *payload = end - words - 1;
    bool begun = false;
    struct wait wait = {0};

    while (__atomic_load_n(&end[-1], __ATOMIC_ACQUIRE) != message) {
        begun = begun ||
                (words > 0 && __atomic_load_n(payload, __ATOMIC_RELAXED) == pattern(message, 0, 0));
        check(!patience_ends(&wait), "waiting for a message");
    }
    counts->partial += begun;
    check_payload(payload, words, message, 0, counts);
}

static struct counts run_ring(enum ibv_mtu mtu)
{
    struct counts counts = {0};
    pthread_t thread;

    memset(receiver.memory, 0, (size_t) SLOTS * SLOT);
    create_pair(&sender);
    create_pair(&receiver);
    connect_pair(&sender, &receiver, mtu);
    connect_pair(&receiver, &sender, mtu);
    atomic_store(&wanted, 1);
    check(pthread_create(&thread, NULL, send_ring, NULL) == 0, "pthread_create");
    for (uint64_t message = 1; message <= (uint64_t) writes * A_WRITE; message++) {
        receive_message(message, &counts);
        atomic_store_explicit(&wanted, message + 1, memory_order_release);
    }
    check(pthread_join(thread, NULL) == 0, "pthread_join");
    check(ibv_destroy_qp(sender.qp) == 0 && ibv_destroy_qp(receiver.qp) == 0, "ibv_destroy_qp");
    return counts;
}

static void read_options(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "e:w:b:s:g:")) != -1) {
        switch (option) {
        case 'e':
            expected = strcmp(optarg, "any") == 0 ? ANY_ORDER : ORDERED;
            check(expected == ANY_ORDER || strcmp(optarg, "ordered") == 0, "reading -e");
            break;
        case 'w':
            writes = (unsigned) atoi(optarg);
            break;
        case 'b':
            blocks = (unsigned) atoi(optarg);
            break;
        case 's':
            block_bytes = (size_t) atoi(optarg);
            check(block_bytes >= 64 && block_bytes % 8 == 0, "a block of that size");
            break;
        case 'g':
            asked_gid = atoi(optarg);
            break;
        default:
            check(false, "reading the options");
        }
    }
    check(argc - optind == 2, "reading two devices from the command line");
}

static void add(struct counts *all, const struct counts *some)
{
    all->early += some->early;
    all->corrupt += some->corrupt;
    all->disorder += some->disorder;
    all->partial += some->partial;
}

/* Soft-RoCE copies what lies in one page at a time. Where a block begins close to the end of a page
 * (the last two) most of it and its flag are one copy, to the beginning of the next page; which way
 * that goes depends on the length of the packet's headers. Elsewhere the flag is in a short copy,
 * or in one that goes to an address with the start's low byte. */
static void run_mtu(enum ibv_mtu mtu, struct counts *all)
{
    static const size_t starts[] = {0, 8, 1032, 4088, 0x60, 0x68, 0xe68, 0xe80};
    struct counts counts;

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        counts = run_case(mtu, starts[i]);
        printf("MTU %4d, start %4zu: %u writes of %u blocks, %ld partial views, %ld flags before "
               "payload (%ld corrupt), %ld out of order\n",
               128 << mtu, starts[i], writes, blocks, counts.partial, counts.early, counts.corrupt,
               counts.disorder);
        add(all, &counts);
    }
    counts = run_ring(mtu);
    printf("MTU %4d, ring: %u messages, %ld partial views, %ld words before payload (%ld "
           "corrupt)\n",
           128 << mtu, writes * A_WRITE, counts.partial, counts.early, counts.corrupt);
    add(all, &counts);
}

int main(int argc, char **argv)
{
    struct counts all = {0};
    bool disordered;

    read_options(argc, argv);
    open_side(&sender, argv[optind], IBV_ACCESS_LOCAL_WRITE);
    open_side(&receiver, argv[optind + 1], IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    run_on(false);
    for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= sender.mtu && mtu <= receiver.mtu; mtu++) {
        run_mtu(mtu, &all);
    }
    for (unsigned ending = 0; ending < 256; ending++) {
        if (early_at[ending] > 0) {
            printf("%ld early words at addresses that end in 0x%02x\n", early_at[ending], ending);
        }
    }
    if (all.partial == 0) {
        printf("no write was ever seen arriving: this says nothing\n");
    }
    disordered = all.early != 0 || all.disorder != 0;
    return (disordered && expected == ORDERED) || all.corrupt != 0 || all.partial == 0 ? 1 : 0;
}
