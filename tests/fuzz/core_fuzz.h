/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The world of fuzz_core.c: three simulated nodes with the real core on each.
 *
 *     fuzz_core.c   the steps of an input, its beginning and its end
 *     core_foe.c    what the foe does: raw requests on its queue pairs, with any content
 *     core_rogue.c  likewise with eager rings: offers, hand-backs, words in slots
 *     core_early_foe.c  likewise with early data: windows, RTSs, names, fragments
 *     core_user.c   the user of the victim and of the foe in their dealings with each other
 *     core_watch.c  what must hold: judges what goes into core and what state it is in
 *
 * HONEST and VICTIM exchange the simulator's own checked messages all the while. FOE is connected
 * to both like any other node, and its core runs, so that what is legal goes on deep into the
 * protocol; besides, it posts whatever the input says. The victim's user, too, does what the input
 * says, but keeps to the rules of core: it starts what it may start, and frees what it may free as
 * soon as it may.
 */
#ifndef RBUF_FUZZ_CORE_FUZZ_H
#define RBUF_FUZZ_CORE_FUZZ_H

#include "fuzz.h"
#include "records.h"
#include "world.h"

enum { HONEST, VICTIM, FOE, NODES };

#define ITEMS          16u /* of each kind that may be open at a time */
#define SCRATCH_BYTES  8192u
#define MESSAGE_BYTES  1024u /* of a receive buffer, header included */
#define LARGEST_SOURCE 65536u

/* A message that the victim's user sends to the foe. */
struct item_am {
    struct rbuf_am am;
    bool open;
    uint32_t key;
    unsigned char *memory;
};

struct item_put {
    struct rbuf_put put; /* first */
    struct rbuf_rma rma; /* when it goes in place */
    bool open;
    uint32_t key;
    unsigned char *source;
};

struct item_rma {
    struct rbuf_rma rma; /* first */
    bool open;
    uint32_t key;
    unsigned char *memory;
};

/* A buffer that is granted to the other side: the victim's to the foe, or the foe's to the victim.
 */
struct item_grant {
    struct rbuf_grant *grant; /* NULL: free */
    struct rbuf_core *core;   /* whose it is */
    struct rbuf_offer offer;
    uint32_t key;
    unsigned char *target;
};

/* A message that was announced with early data, if there is a slot. */
struct item_source {
    unsigned char *memory; /* NULL: free */
    uint64_t bytes;
    bool ends; /* without a put: nobody reads the memory behind the next progress */
};

struct item_delivery {
    struct rbuf_peer *peer;
    struct rbuf_delivery delivery;
};

enum answer { ANSWER_REGISTER, ANSWER_REFUSE, ANSWER_LATER };

struct dealings {
    struct world *world;
    struct rbuf_core *core;   /* the victim's */
    struct rbuf_peer *foe;    /* at the victim */
    struct rbuf_peer *victim; /* at the foe */
    unsigned char *scratch;   /* the foe's, registered, to send from and to be written to */
    uint32_t scratch_key;
    struct item_am ams[ITEMS];
    struct item_put puts[ITEMS];
    struct item_rma rmas[ITEMS];
    struct item_grant granted[ITEMS]; /* by the victim */
    struct item_grant offered[ITEMS]; /* by the foe */
    struct item_delivery deliveries[ITEMS];
    unsigned delivery_count;
    struct item_source sources[ITEMS]; /* of messages that the victim has announced to the foe */
    enum answer answer;                /* to a request for registration */
    bool collided;                     /* the foe wrote where the honest node's messages come */
};

extern struct dealings dealings;

/* core_user.c: the victim's user. */
void user_grant(const struct record *record);
void user_close_grant(const struct record *record);
void user_send(const struct record *record);
void user_send_now(const struct record *record);
void user_rma(const struct record *record);
void user_announce(const struct record *record); /* an RTS */
void user_packed(const struct record *record);   /* likewise, and what follows it */
void user_put(const struct record *record, const struct rbuf_offer *offer);
void user_release(unsigned keep);             /* gives deliveries back until so many are left */
void user_release_one(unsigned which);        /* out of order */
void user_offer(const struct record *record); /* the foe's core grants something */
void user_progressed(void);                   /* core has made progress */
void user_end(void);                          /* closes every grant, gives all deliveries back */
bool user_idle(void);                         /* nothing is open */
void user_free(void);                         /* the rest of the memory */
uint64_t user_open_items(void);
int __wrap_world_user_events(struct world_node *node);

/* core_foe.c: each is one step of an input. */
void foe_message(const struct record *record, const uint8_t **data, size_t *left);
void foe_grant(const struct record *record);
void foe_block(const struct record *record);
void foe_immediate(const struct record *record);
void foe_mailbox(const struct record *record);
struct rbuf_offer foe_offer(const struct record *record); /* with some fields as the input says */

/* Bits of a record's `which`: what of a message of the foe is not as it should be. */
enum header_change {
    CHANGE_KIND = 1,
    CHANGE_SEQUENCE = 2,
    CHANGE_PEER = 4,
    CHANGE_CREDIT = 8,
    NAME_GRANT = 16,
    CHANGE_ARGUMENT = 32,
    ON_BULK = 64,
    RAW = 128 /* the content is that of the records behind this one */
};

/* Between core_foe.c and core_rogue.c. */
struct rbuf_fab_queue *foe_queue(unsigned channel);
void foe_fill_header(struct rbuf_message_header *header, const struct record *record);
void foe_send_scratch(unsigned channel, uint32_t bytes);

/* core_rogue.c: likewise. */
void foe_ring_message(const struct record *record); /* one that keeps to the form */
void foe_ring_word(const struct record *record);
void foe_ring_offer(const struct record *record);
void foe_ring_step(const struct record *record);

/* core_early_foe.c: likewise. */
void foe_early(const struct record *record); /* an RTS, an EARLY or a FRAGMENT */
void foe_lease(const struct record *record); /* a LEASE, RECALL or RETURN */

/* core_watch.c */
void watch_all(void);                                /* invariants of all cores */
void watch_delivery(const struct rbuf_event *event); /* fits its place, and can be read */
void watch_writes(struct world *world);              /* by the foe, from now on */

#endif
