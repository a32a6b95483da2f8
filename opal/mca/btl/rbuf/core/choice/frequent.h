/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Frequently used buffers: buffers of eager messages and of small puts and gets that the program
 * uses so often that a registration pays. With it they need no copy. After M. J. Rashti and
 * A. Afsahi, "Exploiting application buffer reuse to improve MPI small message transfer protocols
 * over RDMA-enabled networks", Cluster Computing 14, 2011.
 *
 * A buffer is an address. A registration pays after n uses, n > R / (C - V) (inequality 3):
 *   R  ns to register the buffer;
 *   C  ns to send a message with a copy; of a put or get the copy alone, as the rest is the same;
 *   V  ns to send it gathered from the buffer, and to be told that it was fetched.
 * R, C and V are measured in this run, C and V by size and kind. The buffer is registered at a
 * share of n uses (section 3.3.1), since what was used so often is expected to be used on. A
 * registration that goes before it has paid doubles that share, one that has paid halves it again.
 *
 * To look a buffer up takes a quarter of the time of a small message. So while all messages are
 * copied only some are looked up, and each stands for those before it.
 *
 * The table has a fixed number of places, two for an address, where the paper has chains (section
 * 3.3.3). When both are taken, the less used buffer makes room. If under 20 % of the buffers are
 * frequently used (section 3.4), it stays, and loses one use. This is not the table of
 * core/choice/reuse.h: there a buffer is a page and grows, and a look-up takes as long as a small
 * copy.
 *
 * Invariants: a buffer whose data is being fetched (under_way) keeps its registration. What is
 * registered lies in [begin, end) of its `mr`. A `released` one serves no more messages.
 *
 * Threads: rbuf_frequent_release() may run in any thread, at any time, also inside munmap(): it
 * takes no lock and only sets marks. Nobody sends from memory that is being given back, so a thread
 * that sends from new memory at the same address sees the mark. All other functions are called
 * under the module's lock. No clock: times are given.
 */
#ifndef RBUF_CORE_FREQUENT_H
#define RBUF_CORE_FREQUENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/choice/preference.h"
#include "core/choice/registration_cost.h"

#define RBUF_FREQUENT_NEVER  UINT32_MAX
#define RBUF_FREQUENT_SIZES  18u /* octaves of message sizes, up to 128 KB */
#define RBUF_FREQUENT_SHARE  5u  /* 1 of 5 buffers is frequently used, or a full table adds none */
#define RBUF_FREQUENT_RAISED 4u  /* doublings of the share of n, at most: from 1/4 to 4 */
#define RBUF_FREQUENT_TIMED  17u /* uses, one of which is timed; odd, as kinds may take turns */
#define RBUF_FREQUENT_GAP    32u /* messages a look-up, at most, where few buffers pay; */
#define RBUF_FREQUENT_LOOKS  32u /* look-ups until that grows by one message */
#define RBUF_FREQUENT_COPIES 8u  /* in a row, until ob1 no longer hands messages over in place */
#define RBUF_FREQUENT_TIMES  4u  /* times of a kind, size and path, until they say anything */

/* Registrations are counted by region of memory; regions that lie so many apart share a count. */
#define RBUF_FREQUENT_REGIONS      1024u
#define RBUF_FREQUENT_REGION_SHIFT 21u /* a region is 2 MB */

enum rbuf_frequent_kind {
    RBUF_FREQUENT_SEND,
    RBUF_FREQUENT_PUT,
    RBUF_FREQUENT_GET, /* into the buffer */
    RBUF_FREQUENT_KINDS
};

/* How long uses of one kind and size take, copied or gathered. */
struct rbuf_frequent_time {
    double ns; /* newer ones count for more */
    uint32_t count;
};

/* A registration, and who has it; `registration` NULL: a free place. */
struct rbuf_frequent_mr {
    _Atomic uint64_t begin;
    _Atomic uint64_t end;
    _Atomic bool released; /* some of it was given back to the system */
    uint32_t lkey;
    uint32_t under_way;           /* uses whose data may still be fetched, or arrive */
    uint32_t gathered;            /* uses so far */
    enum rbuf_frequent_kind kind; /* that it was made for */
    void *registration;           /* the user's */
    struct rbuf_frequent_buffer *buffer;
};

struct rbuf_frequent_buffer {
    uint64_t base; /* 0: a free place */
    uint32_t uses;
    uint32_t bytes; /* of the longest */
    struct rbuf_frequent_mr *mr;
};

struct rbuf_frequent_options {
    uint64_t buffers;              /* places of the table, half as many are registered, at most;
                                    * rounded up to a power of two */
    uint64_t most_bytes;           /* registered at a time */
    double speculation;            /* share of n: 0.25; 0: all buffers, at once */
    double gather_ns;              /* V: assumed until measured, to post a gathered message, */
    double fetched_ns;             /* and that part of it which is not measured: its completion */
    uint64_t registration_ns;      /* R: assumed until measured, */
    uint64_t registration_page_ns; /* and of each 4 KB */
};

/* The terms of inequality 3 for uses of a kind and size, ns. */
struct rbuf_frequent_cost {
    double copied;       /* C */
    double gathered;     /* V */
    double registration; /* R */
};

struct rbuf_frequent_counters {
    uint64_t looked_up;
    uint64_t added;   /* first uses, as far as is known here */
    uint64_t refused; /* of those looked up, not added: too few are frequently used */
    uint64_t registered;
    uint64_t given_up; /* of these, gone again: released, or for others */
};

struct rbuf_frequent {
    struct rbuf_frequent_options options;
    struct rbuf_registration_cost cost;
    struct rbuf_frequent_buffer *place;
    unsigned shift; /* of a hash: to its place */
    uint64_t taken; /* places */
    struct rbuf_frequent_mr *mrs;
    uint32_t mr_most; /* places of `mrs` */
    uint32_t mr_free; /* those before this are taken */
    uint64_t mr_bytes;
    uint32_t mr_count;
    uint32_t hand;             /* of `mrs`, looked at next */
    _Atomic uint32_t mr_end;   /* none at or behind this was ever in use */
    _Atomic uint32_t releases; /* marked since the last look for them */
    /* Registrations that lie in a region, in part: who gives back memory where none does need not
     * look at each. Written under the lock, before one is found or behind its last use. */
    _Atomic uint32_t in_region[RBUF_FREQUENT_REGIONS];
    uint32_t raised;        /* doublings of the share */
    uint32_t untimed;       /* uses before the next one that is timed */
    bool in_place;          /* messages are handed over where they are; else they are copied, */
    _Atomic uint32_t to_go; /* and so many come up to the one that is looked at, */
    uint32_t gap;           /* which stands for this many */
    uint32_t copies;        /* in place, in a row, that were copied all the same */
    struct rbuf_frequent_time time[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES][RBUF_PATHS];
    /* Uses at which one is registered. */
    uint32_t threshold[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES];
    struct rbuf_frequent_counters counters;
};

/* 0 or -ENOMEM. Closed when no registration is left. */
int rbuf_frequent_open(struct rbuf_frequent *frequent, const struct rbuf_frequent_options *options);
void rbuf_frequent_close(struct rbuf_frequent *frequent);

/* The buffer, entered if it is new; NULL: there is no place for it. */
struct rbuf_frequent_buffer *rbuf_frequent_find(struct rbuf_frequent *frequent, uint64_t base);

static inline uint64_t rbuf_frequent_hash(const struct rbuf_frequent *frequent, uint64_t base)
{
    return base * UINT64_C(0x9e3779b97f4a7c15) >> frequent->shift;
}

static inline uint32_t rbuf_frequent_size(uint64_t bytes)
{
    const uint32_t size = 63u - (uint32_t) __builtin_clzll(bytes | 1);

    return size < RBUF_FREQUENT_SIZES ? size : RBUF_FREQUENT_SIZES - 1;
}

/* [base, base + bytes) is used once more, and stands for so many uses; NULL: its buffer is not in
 * the table. */
static inline struct rbuf_frequent_buffer *
rbuf_frequent_use(struct rbuf_frequent *frequent, uint64_t base, uint32_t bytes, uint32_t uses)
{
    struct rbuf_frequent_buffer *buffer = &frequent->place[rbuf_frequent_hash(frequent, base)];

    frequent->counters.looked_up++;
    frequent->untimed = (frequent->untimed > 0 ? frequent->untimed : RBUF_FREQUENT_TIMED) - 1;
    if (buffer->base != base && (buffer = rbuf_frequent_find(frequent, base)) == NULL) {
        return NULL;
    }
    buffer->uses += buffer->uses > 0 ? uses : 1; /* a new one's may be the only use */
    buffer->bytes = bytes > buffer->bytes ? bytes : buffer->bytes;
    return buffer;
}

/* Whether a message that is copied is to be looked at, as one of `gap`. Any thread: of two messages
 * at once one may not count. */
static inline bool rbuf_frequent_is_due(struct rbuf_frequent *frequent)
{
    const uint32_t to_go = atomic_load_explicit(&frequent->to_go, memory_order_relaxed);

    if (to_go <= 1) {
        return true;
    }
    atomic_store_explicit(&frequent->to_go, to_go - 1, memory_order_relaxed);
    return false;
}

/* Uses that the one which is looked at stands for. */
static inline uint32_t rbuf_frequent_stands_for(const struct rbuf_frequent *frequent,
                                                enum rbuf_frequent_kind kind)
{
    return kind == RBUF_FREQUENT_SEND && !frequent->in_place ? frequent->gap : 1;
}

/* A message was looked at, and is gathered, or will be when it is handed over in place. True: the
 * next ones are to be handed over otherwise than it was. */
bool rbuf_frequent_turn(struct rbuf_frequent *frequent, bool gathered);

/* Whether a use of `bytes` may go without a copy, by what the buffer has registered. */
static inline bool rbuf_frequent_covers(const struct rbuf_frequent *frequent,
                                        const struct rbuf_frequent_buffer *buffer,
                                        enum rbuf_frequent_kind kind, uint32_t bytes)
{
    const struct rbuf_frequent_mr *mr = buffer->mr;

    return mr != NULL && !atomic_load_explicit(&mr->released, memory_order_relaxed) &&
           buffer->base + bytes <= atomic_load_explicit(&mr->end, memory_order_relaxed) &&
           frequent->threshold[kind][rbuf_frequent_size(bytes)] != RBUF_FREQUENT_NEVER;
}

/* Whether a buffer that is not registered is to be. */
static inline bool rbuf_frequent_wants(const struct rbuf_frequent *frequent,
                                       const struct rbuf_frequent_buffer *buffer,
                                       enum rbuf_frequent_kind kind, uint32_t bytes)
{
    return buffer->uses >= frequent->threshold[kind][rbuf_frequent_size(bytes)];
}

/* All of the buffer was registered, which took `ns` (0: not known), or could not be: NULL. False:
 * that, or there is no room and the registration stays the caller's. */
bool rbuf_frequent_hold(struct rbuf_frequent *frequent, struct rbuf_frequent_buffer *buffer,
                        enum rbuf_frequent_kind kind, void *registration, uint32_t lkey,
                        uint64_t ns);

/* A use without a copy begins; it ended. */
static inline struct rbuf_frequent_mr *rbuf_frequent_start(struct rbuf_frequent_buffer *buffer)
{
    buffer->mr->under_way++;
    buffer->mr->gathered++;
    return buffer->mr;
}

static inline void rbuf_frequent_end(struct rbuf_frequent *frequent, struct rbuf_frequent_mr *mr)
{
    if (--mr->under_way == 0 && atomic_load_explicit(&mr->released, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&frequent->releases, 1, memory_order_relaxed); /* now */
    }
}

enum rbuf_frequent_which {
    RBUF_FREQUENT_RELEASED, /* those whose memory was given back */
    RBUF_FREQUENT_ANY
};

/* Forgets a registration that no message needs, and returns it to be given back. */
void *rbuf_frequent_forget(struct rbuf_frequent *frequent, struct rbuf_frequent_mr *mr);

/* Whether a message of `bytes` is longer than what the buffer has registered, which no message
 * needs: forget that. The buffer is registered anew when it has been used as often again. */
static inline bool rbuf_frequent_is_outgrown(const struct rbuf_frequent_buffer *buffer,
                                             uint32_t bytes)
{
    const struct rbuf_frequent_mr *mr = buffer->mr;

    return mr != NULL && mr->under_way == 0 &&
           buffer->base + bytes > atomic_load_explicit(&mr->end, memory_order_relaxed);
}

/* The same with one of that kind ; NULL: there is none. */
void *rbuf_frequent_drop(struct rbuf_frequent *frequent, enum rbuf_frequent_which which);

/* Whether to drop: some were released, or there is no room for `bytes` more. */
static inline bool rbuf_frequent_has_released(const struct rbuf_frequent *frequent)
{
    return atomic_load_explicit(&frequent->releases, memory_order_relaxed) != 0;
}

bool rbuf_frequent_is_full(const struct rbuf_frequent *frequent, uint64_t bytes);

/* Whether the newest use is to be timed. */
static inline bool rbuf_frequent_times(const struct rbuf_frequent *frequent)
{
    return frequent->untimed == 0;
}

/* A use of `bytes` on that path took `ns` of this process. */
void rbuf_frequent_took(struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                        enum rbuf_path path, uint32_t bytes, uint64_t ns);

/* What uses of that kind and size (rbuf_frequent_size()) cost in this run. False: too few were
 * copied to say. */
bool rbuf_frequent_cost(const struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                        uint32_t size, struct rbuf_frequent_cost *cost);

/* [base, base + bytes) is given back to the system. Any thread. */
void rbuf_frequent_release(struct rbuf_frequent *frequent, uint64_t base, uint64_t bytes);

/* The buffer that was used most, as far as is known; uses 0: none. Without the lock what it says
 * may be torn. */
struct rbuf_frequent_buffer rbuf_frequent_top(const struct rbuf_frequent *frequent);

#endif
