/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fault of disorder: the bytes of a write or send land in another order than that of their
 * addresses, with pauses in between in which the target may look.
 *
 * What has arrived is cut into pieces, at multiples of the unit in the target's memory: 8 bytes, or
 * 128 where the device promises the order within these. The pieces are put into an order, and land
 * in it. Within 128 bytes that are promised to be in order they land by rising addresses.
 *
 * Owns the state of its random numbers, the plan and the bytes on their way. Under the progress
 * lock, as all copying is.
 */
#define _GNU_SOURCE

#include "disorder.h"
#include "clock.h"
#include "config.h"

#include <string.h>

#define PAUSE_NS      3000u
#define PAUSES        4u     /* about so many a plan */
#define RANDOM_PIECES 64u    /* at most, of order=random */
#define CHUNK         65536u /* at most at once; a multiple of every MTU */
#define WORD          8u
#define GROUP         32u /* bytes that Linux' memcpy_orig() moves at once */
#define PAGE          4096u
#define EACH_WORD     4096u /* a write up to that long lands word by word */
#define LAST_WORDS    64u   /* bytes at the end of a longer one that do, too */
/* Words, and the begins and ends of packets of 256 bytes and of pages. */
#define MAX_PIECES (CHUNK / WORD + 4 * (CHUNK / 256 + CHUNK / PAGE + 2))

/* Bytes in front of the payload in a receive buffer of Soft-RoCE, which begins at a multiple of 64:
 * room that Linux leaves for the link layer, Ethernet, IPv4 and UDP headers, and the BTH. */
#define RECEIVED_AT (16u + 14u + 20u + 8u + 12u)
#define RETH        16u /* more, in the first packet of a write */
#define IPV6        20u /* more than IPv4 */
#define BUFFER_STEP 64u

static struct plan {
    uint64_t address; /* of the first byte, at the target */
    uint32_t length;
    unsigned n;
    struct piece pieces[MAX_PIECES]; /* in the order in which they land */
    bool pause[MAX_PIECES];          /* after the piece */
} plan;

static uint64_t random_state;

/* xorshift64*: under the progress lock, as all copying is. */
static uint64_t random_next(void)
{
    if (!random_state)
        random_state = (config.faults.seed + self.slot) * 0x9e3779b97f4a7c15ull | 1;
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dull;
}

static uint32_t unit(void)
{
    return config.data_in_order == IN_ORDER_ALIGNED ? 128 : WORD;
}

static void add_piece(uint32_t begin, uint32_t end)
{
    plan.pieces[plan.n] = (struct piece){begin, end - begin};
    plan.pause[plan.n++] = false;
}

/* The last multiple of the unit in the target's memory up to `at`, unless that is before `least`.
 */
static uint32_t unit_before(uint32_t at, uint32_t least)
{
    uint32_t beyond = (uint32_t) ((plan.address + at) % unit());

    return at - least < beyond ? least : at - beyond;
}

/* The first one behind `at`, or the end. */
static uint32_t unit_after(uint32_t at)
{
    uint32_t step = unit() - (uint32_t) ((plan.address + at) % unit());

    return plan.length - at < step ? plan.length : at + step;
}

/* Cuts [begin, end) into units. */
static void add_units(uint32_t begin, uint32_t end)
{
    for (uint32_t next; begin < end; begin = next) {
        next = unit_after(begin);
        next = next < end ? next : end;
        add_piece(begin, next);
    }
}

/* Adds pieces up to `end` of a random number of bytes, which is `least` times a power of two below
 * 2^powers; the last of them is the rest if they are `most` without. */
static void add_random_pieces(uint32_t end, uint32_t least, unsigned powers, unsigned most)
{
    for (uint32_t at = 0, next; at < end; at = next) {
        uint32_t length = least << (random_next() % powers);

        next = plan.n + 1 < most && length < end - at ? unit_before(at + length, at) : end;
        if (next == at)
            next = unit_after(at) < end ? unit_after(at) : end;
        add_piece(at, next);
    }
}

static void swap_pieces(unsigned i, unsigned j)
{
    struct piece piece = plan.pieces[i];

    plan.pieces[i] = plan.pieces[j];
    plan.pieces[j] = piece;
}

static void shuffle(void)
{
    for (unsigned i = plan.n; i > 1; i--)
        swap_pieces(i - 1, (unsigned) (random_next() % i));
}

static void plan_tail_first(void)
{
    uint32_t middle = unit_before(plan.length / 2, 0);

    if (middle)
        add_piece(middle, plan.length);
    add_piece(0, middle ? middle : plan.length);
    plan.pause[0] = true;
}

static void plan_random(void)
{
    add_random_pieces(plan.length, 64, 7, RANDOM_PIECES);
    shuffle();
    memset(plan.pause, true, plan.n * sizeof(plan.pause[0]));
}

/* The last word lands among the first quarter: it is the one that receivers wait for. */
static void plan_words(void)
{
    uint32_t singly = plan.length <= EACH_WORD ? 0 : unit_before(plan.length - LAST_WORDS, 0);
    unsigned early;

    add_random_pieces(singly, WORD, 8, MAX_PIECES);
    add_units(singly, plan.length);
    swap_pieces(0, plan.n - 1);
    early = (unsigned) (random_next() % (plan.n / 4 + 1));
    for (unsigned i = plan.n; i > 2; i--)
        swap_pieces(i - 1, 1 + (unsigned) (random_next() % (i - 1)));
    swap_pieces(0, early);
    for (unsigned i = 0; i < plan.n; i++)
        plan.pause[i] = i == early || random_next() % plan.n < PAUSES;
}

/* Whether the address is behind an IPv6 header: that of no IPv4 address. */
static bool has_ipv6(const struct ibv_ah_attr *ah)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return ah->is_global && memcmp(ah->grh.dgid.raw, mapped, sizeof(mapped)) != 0;
}

/* Linux copies a packet into each page of the target by memcpy(). Its memcpy_orig(), in
 * arch/x86/lib/memcpy_64.S, goes backwards if the low byte of the source's address, as a signed
 * number, is below the target's. */
static bool goes_backward(uint64_t to, uint64_t from, uint32_t length)
{
    return length >= GROUP && (int8_t) from < (int8_t) to;
}

/* From the end, as far as that goes in groups; the rest in front of them comes last. */
static void add_backward(uint32_t begin, uint32_t end)
{
    uint32_t rest = unit_before(begin + (end - begin) % GROUP, begin);
    unsigned first = plan.n;

    for (uint32_t at = end, next; at > rest; at = next) {
        next = unit_before(at - 1, rest);
        add_piece(next, at);
    }
    plan.pause[first] = true;
    plan.pause[first + random_next() % (plan.n - first)] = true;
    if (rest > begin)
        add_piece(begin, rest);
}

/* Where in its receive buffer the payload of the packet begins that is `offset` bytes behind the
 * start of its write. */
static uint64_t received_at(const struct ibv_qp_attr *path, uint64_t offset)
{
    return (config.faults.seed - 1) * BUFFER_STEP + RECEIVED_AT + (offset ? 0 : RETH) +
           (has_ipv6(&path->ah_attr) ? IPV6 : 0);
}

/* What begins `offset` bytes behind the start of its write, in packets. */
static void plan_backward(const struct ibv_qp_attr *path, uint64_t offset)
{
    uint32_t mtu = 128u << (path->path_mtu ? path->path_mtu : IBV_MTU_4096);

    for (uint32_t at = 0, end; at < plan.length; at = end) {
        uint64_t into = (offset + at) % mtu;
        uint64_t from = received_at(path, offset + at - into) + into;
        uint64_t part = mtu - into, page = PAGE - (plan.address + at) % PAGE;

        part = part < page ? part : page;
        end = plan.length - at < part ? plan.length : at + (uint32_t) part;
        if (goes_backward(plan.address + at, from, end - at))
            add_backward(at, end);
        else
            add_units(at, end);
    }
}

static void make_plan(const struct ibv_qp_attr *path, uint64_t address, uint64_t offset,
                      uint32_t length)
{
    plan.address = address;
    plan.length = length;
    plan.n = 0;
    switch (config.faults.order) {
    case ORDER_TAIL_FIRST:
        plan_tail_first();
        break;
    case ORDER_RANDOM:
        plan_random();
        break;
    case ORDER_WORDS:
        plan_words();
        break;
    case ORDER_BACKWARD:
        plan_backward(path, offset);
        break;
    case ORDER_KEPT:
        add_piece(0, length);
        break;
    }
    plan.pause[plan.n - 1] = false;
}

/* Copies up to each pause at once. */
static int follow_plan(int32_t pid, const uint8_t *data)
{
    for (unsigned begin = 0, end; begin < plan.n; begin = end) {
        int err;

        for (end = begin; !plan.pause[end] && end + 1 < plan.n;)
            end++;
        end++;
        err = copy_pieces(pid, plan.address, data, plan.pieces + begin, end - begin);
        if (err)
            return err;
        if (end < plan.n)
            spin_until(clock_now() + PAUSE_NS);
    }
    return 0;
}

/* The same into one range of the target, whose first byte is `offset` behind the start of the
 * write. */
static int copy_range(const struct ibv_qp_attr *path, int32_t pid, uint64_t address,
                      const struct memory_list *from, const uint8_t *inline_data, uint64_t offset,
                      uint64_t length)
{
    static uint8_t fetched[CHUNK];

    while (length) {
        uint32_t part = CHUNK - (uint32_t) (offset % CHUNK);
        int err = 0;

        part = length < part ? (uint32_t) length : part;
        if (from)
            err = copy_fetch(fetched, from, offset, part);
        if (err)
            return err;
        make_plan(path, address, offset, part);
        err = follow_plan(pid, from ? fetched : inline_data + offset);
        if (err)
            return err;
        address += part, offset += part, length -= part;
    }
    return 0;
}

int disorder_copy(const struct ibv_qp_attr *path, const struct memory_list *to,
                  const struct memory_list *from, const uint8_t *inline_data, uint64_t offset,
                  uint64_t length)
{
    uint64_t begin = 0, end = offset + length;

    for (uint32_t i = 0; i < to->n_sge && offset < end; i++) {
        uint64_t part = begin + to->sge[i].length;
        int err;

        part = part < end ? part : end;
        if (part > offset) {
            err = copy_range(path, to->pid, to->sge[i].addr + offset - begin, from, inline_data,
                             offset, part - offset);
            if (err)
                return err;
            offset = part;
        }
        begin += to->sge[i].length;
    }
    return 0;
}
