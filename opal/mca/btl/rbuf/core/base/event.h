/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Events: what core has to say to glue. Core never calls upwards; glue takes events out under the
 * module's lock and acts on them outside of it.
 *
 * First in, first out, but for answers, which go ahead, in the order of their own as long as few
 * wait. Nothing waits for ever: answers come of what we have sent, and how that ended is an event
 * that does not go ahead. The ring grows when it is half full; growing is the only thing here that
 * can fail. Then, and once the ring is full:
 *
 *   a message   is not added, and who adds it hears so
 *   an end      waits in a place of its subject's own, and comes into the ring behind what is there
 *               (rbuf_events_catch_up()): nothing else is added before it
 */
#ifndef RBUF_CORE_EVENT_H
#define RBUF_CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct rbuf_peer;
struct rbuf_am;
struct rbuf_put;
struct rbuf_get;
struct rbuf_rma;
struct rbuf_grant;
struct rbuf_buffer;
struct rbuf_arena;

enum rbuf_event_kind {
    RBUF_EVENT_DELIVER,  /* a message: hand it up, then rbuf_core_release() */
    RBUF_EVENT_SENT,     /* an active message's buffer is free; status */
    RBUF_EVENT_PUT,      /* a staged put's last chunk is posted, or it failed; status */
    RBUF_EVENT_GET,      /* a copied get's data has arrived, or it failed; status */
    RBUF_EVENT_DIRECT,   /* a deferred put is to be written in place: its offer now says where */
    RBUF_EVENT_RMA,      /* an in-place operation has completed; status */
    RBUF_EVENT_REGISTER, /* a grant has waited too long: register its buffer, rbuf_grant_direct() */
    RBUF_EVENT_RING_MEMORY, /* memory for one more ring is wanted: rbuf_ring_memory_give() */
    RBUF_EVENT_STAGING,     /* an arena is to grow: rbuf_core_grow() */
    RBUF_EVENT_FAILED       /* a peer is lost; once a peer */
};

enum rbuf_origin {                        /* where the payload of a message stands */
                   RBUF_ORIGIN_BUFFER,    /* in a receive buffer */
                   RBUF_ORIGIN_RING,      /* in a slot of the peer's ring */
                   RBUF_ORIGIN_RING_LONG, /* in several, from `slot` on */
                   RBUF_ORIGIN_HELD       /* in a copy that core made */
};

enum rbuf_extra { /* what there is to a message besides its payload */
                  RBUF_EXTRA_NONE,
                  RBUF_EXTRA_RTS,      /* it announces another one: `early` */
                  RBUF_EXTRA_FRAGMENT, /* a struct rbuf_fragment, the message, and early data:
                                          `early` */
                  RBUF_EXTRA_ANSWER    /* nothing; it goes ahead */
};

struct rbuf_delivery {
    struct rbuf_buffer *buffer; /* BUFFER: to give back; else NULL */
    void *data;
    uint32_t bytes;
    uint8_t tag;
    uint8_t channel; /* BUFFER: enum rbuf_channel_id */
    uint8_t slot;    /* RING, RING_LONG: which one it is */
    uint8_t origin;  /* enum rbuf_origin */
    uint8_t extra;   /* enum rbuf_extra */
    uint32_t early;  /* RTS: sequence number of early data that a grant may claim; 0: none.
                        FRAGMENT: block of the receive arena where they begin */
};

struct rbuf_event {
    enum rbuf_event_kind kind;
    int status; /* 0, or a negative errno */
    struct rbuf_peer *peer;
    union {
        struct rbuf_delivery delivery;
        struct rbuf_am *am;
        struct rbuf_put *put;
        struct rbuf_get *get;
        struct rbuf_rma *rma;
        struct rbuf_grant *grant;
        struct rbuf_arena *arena;
        struct rbuf_buffer *buffer;
    };
};

/* Where the end of something waits for the ring, within what has ended: this file's until the event
 * is taken. An end is about one pointer. */
struct rbuf_event_place {
    STAILQ_ENTRY(rbuf_event_place) link;
    struct rbuf_peer *peer;
    void *subject;
    enum rbuf_event_kind kind;
    int status;
};

struct rbuf_events {
    struct rbuf_event *ring;
    uint32_t head;  /* next to take; wraps */
    uint32_t tail;  /* next to fill; wraps */
    uint32_t size;  /* a power of two */
    uint32_t limit; /* as many are added without a look at the room: half of it; 0: some are late */
    STAILQ_HEAD(, rbuf_event_place) late; /* ends without a place in the ring, in order */
};

int rbuf_events_open(struct rbuf_events *events);
void rbuf_events_close(struct rbuf_events *events);

/* Appends; grows the ring when it is half full. False, and the event is not added: the ring is full
 * and the process out of memory. */
bool rbuf_events_push(struct rbuf_events *events, const struct rbuf_event *event);

/* The end in `place`, which has no room in the ring, comes with rbuf_events_catch_up(). */
void rbuf_events_add_late(struct rbuf_events *events, struct rbuf_event_place *place);

/* Moves what is late into the ring, as far as there is room. True if nothing is late any more. */
bool rbuf_events_catch_up(struct rbuf_events *events);

/* The same of a message with RBUF_EXTRA_ANSWER, ahead of all but the answers that are first
 * already; behind all, if these are many. */
bool rbuf_events_push_ahead(struct rbuf_events *events, const struct rbuf_event *answer);

/* For a ring that holds `limit` events: true if there is room for one more. */
bool rbuf_events_make_room(struct rbuf_events *events);

/* The same as rbuf_events_push(), for who fills the event where it is: all of it, at once. NULL
 * without memory. */
static inline struct rbuf_event *rbuf_events_add(struct rbuf_events *events)
{
    if (events->tail - events->head >= events->limit && !rbuf_events_make_room(events)) {
        return NULL;
    }
    return &events->ring[events->tail++ & (events->size - 1)];
}

/* Nothing is to be taken now. */
static inline bool rbuf_events_empty(const struct rbuf_events *events)
{
    return events->head == events->tail;
}

/* Some ends are to come with rbuf_events_catch_up(). */
static inline bool rbuf_events_are_late(const struct rbuf_events *events)
{
    return events->limit == 0;
}

static inline uint32_t rbuf_events_count(const struct rbuf_events *events)
{
    return events->tail - events->head;
}

/* The next one to be taken, which stays; there is one. */
static inline struct rbuf_event rbuf_events_first(const struct rbuf_events *events)
{
    return events->ring[events->head & (events->size - 1)];
}

static inline bool rbuf_events_pop(struct rbuf_events *events, struct rbuf_event *event)
{
    if (rbuf_events_empty(events)) {
        return false;
    }
    *event = events->ring[events->head++ & (events->size - 1)];
    if (rbuf_events_empty(events)) { /* the first slots again, which are in the cache */
        events->head = events->tail = 0;
    }
    return true;
}

#endif
