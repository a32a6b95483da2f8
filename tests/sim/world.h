/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A world: simulated nodes, each with a core, a processor and a user, all connected to each other.
 *
 *     world.c       nodes: processors that poll, the run, and who may write into staging
 *     world_leftover.c  what must hold at the end of a run
 *     world_start.c  the users' messages, as they start
 *     world_user.c  the users: what Open MPI does with messages, played on every node
 *     world_packed.c  likewise with packed data
 *     world_prestage.c  the paper's way with the first chunk, which core does not have
 *     world_cost.c  what copying and registering user memory costs
 *     world_raw.c   users that know each other's buffers beforehand, as in the paper's raw
 * benchmark
 *
 * A node's processor does one thing at a time. While it polls, its own clock runs ahead of the
 * network's: each block copied costs its bytes over the copy speed of its message's length, each
 * post and each poll a constant, and what it posts is posted at its own time. It polls again as
 * long as there is something to do, and then sleeps until the adapter places or completes
 * something.
 *
 * The user sends small messages as they are, and large ones by a rendezvous, a put and a FIN that
 * names the put. Each user buffer is freed as soon as core says that it may be, so that a memory
 * checker sees who is late.
 */
#ifndef RBUF_SIM_WORLD_H
#define RBUF_SIM_WORLD_H

#include "core/eager/channel.h"
#include "core/core.h"
#include "core/rendezvous/early.h"
#include "core/onesided/copied_put.h"
#include "core/onesided/get.h"
#include "core/rendezvous/grant.h"
#include "model/staged.h"
#include "core/rendezvous/put.h"
#include "core/onesided/rma.h"
#include "core/stage/staging.h"
#include "model/in_place.h"
#include "net.h"

#define WORLD_NODES_MAX 8u
#define WORLD_RINGS_MAX (2u * WORLD_NODES_MAX)

enum world_early {
    WORLD_EARLY_PUTS, /* PUT */
    WORLD_EARLY_ALL,  /* DIRECT and COPIED, too, of which nobody takes them: their sender does not
                         know the answer */
    WORLD_EARLY_NONE  /* none: their sender expects that they will go in place */
};

struct world_options {
    unsigned nodes;
    struct sim_model model;
    struct sim_faults faults;
    struct rbuf_core_options core;
    size_t send_bytes;    /* of staging, each node */
    size_t receive_bytes; /* likewise */
    size_t send_most;     /* that it may grow to; less: it does not */
    size_t receive_most;
    unsigned growths; /* that a node has memory for, of both together */
    uint32_t depth;   /* of each send queue */
    uint32_t room;    /* of each node's completion queue */
    uint32_t inline_max;
    uint16_t granted; /* the windows of all peers, where core's options say more; 0: as those */
    bool apart;       /* nobody is connected before world_connect() */
    bool zeros;       /* every other message has zeros alone */
    bool unordered;   /* writes are not placed in order, and core is told so of each peer */
    unsigned bounces; /* bounce buffers of a node, where there is less inline room than enough */
    uint32_t message_bytes; /* of a receive buffer, header included */
    double copy_bytes_per_ns;
    struct rbuf_copy_speed send_copy;    /* of user memory, by message length; count 0: as above */
    struct rbuf_copy_speed receive_copy; /* likewise */
    uint64_t block_ns;                   /* of each block that is copied to user memory, besides */
    uint64_t register_ns;                /* of user memory for an in-place transfer, and */
    uint64_t register_page_ns;           /* for each page; the processor is busy with it */
    enum rbuf_registered registered;     /* for WORLD_RAW and WORLD_DIRECT */
    uint64_t poll_ns;
    uint64_t post_ns;
    uint64_t begin_ns; /* what starting a message takes the processor, for world_begin() */
    uint64_t
        deliver_ns;     /* likewise the user, for each rendezvous, answer or FIN that it is given */
    uint64_t tick_ns;   /* a sleeping node looks around this often; 0: never */
    unsigned followers; /* messages that name the put, sent behind each FIN */
    bool prestage; /* while the rendezvous is under way the sender copies the first chunk of a put
                      that has no early data (world_prestage.c), registers the source of a DIRECT
                      one */
    bool packed_early;       /* packed data has early data, where there is a window */
    uint32_t fragment_bytes; /* of packed data, most of a fragment */
    unsigned late; /* each so-manieth put is not expected: its rendezvous is answered when the next
                      one is delivered, before that; 0: none */
    bool aside;    /* and not as if it were part of that delivery */
    enum world_early early; /* which messages behind a rendezvous have early data */
    bool gather; /* eager messages are sent from where they are, if they can go at once */
    bool
        eager_copies; /* those of eager messages take time, on both sides, and none goes in parts */
    bool refuse_registration; /* the user cannot register memory */
    unsigned ring_memory;     /* rings that a node has memory for, of both kinds together */
};

/* Denis 2011's cluster graphene (softhca/profile_figures.h), its parameters, 16 MB of staging each
 * way. */
struct world_options world_defaults(void);

enum world_kind {
    WORLD_EAGER, /* one message */
    WORLD_PUT,   /* rendezvous, staged put (or in place, if the receiver wants it), FIN */
    WORLD_WRITE, /* in place, no other message */
    WORLD_READ,
    WORLD_ADD,        /* an atomic */
    WORLD_DIRECT,     /* rendezvous, in place, FIN */
    WORLD_COPIED,     /* the same from staging: the source is not registered */
    WORLD_GET,        /* a copied get, no other message: the target is not registered */
    WORLD_COPIED_PUT, /* likewise: the source is not registered */
    WORLD_PACKED,     /* rendezvous, answer, and names of pieces, or fragments */
    WORLD_STAGED,     /* a staged put and no other message: the receiver's offer is known */
    WORLD_RAW         /* in place and no other message: the receiver sees the last byte */
};

enum world_message_state {
    WORLD_OPEN,
    WORLD_ARRIVED, /* and its bytes were right */
    WORLD_CORRUPT, /* arrived with wrong bytes, or out of order */
    WORLD_FAILED   /* its peer is lost */
};

#define WORLD_PACKED_BLOCKS 64u /* of early data, most */

/* How far a message of packed data is. */
struct world_packed {
    struct rbuf_early_data *early;       /* NULL: none */
    uint32_t bytes[WORLD_PACKED_BLOCKS]; /* in each block of it */
    uint32_t blocks;                     /* that were written */
    uint32_t named;                      /* of these, in FRAGMENTs */
    uint64_t packed;                     /* bytes of the message */
    uint64_t taken;                      /* by the receiver */
};

struct world_message {
    struct world *world;
    enum world_kind kind;
    enum world_message_state state;
    unsigned from;
    unsigned to;
    uint64_t bytes;
    uint64_t seed;    /* its number */
    uint64_t pattern; /* the seed of its bytes */
    enum rbuf_channel_id channel;
    uint64_t order;        /* among the small ones of the same two nodes and channel */
    unsigned char *source; /* NULL once it was given back */
    unsigned char *target; /* likewise */
    uint32_t source_key;   /* 0: not registered */
    uint32_t target_key;
    unsigned pending; /* events that core owes the sender */
    unsigned events;  /* that it has given: one for a put or an in-place operation */
    unsigned fins;    /* delivered so far */
    uint64_t put_id;
    struct rbuf_tx_chunk *prestaged; /* PUT: its first chunk; NULL: none */
    struct rbuf_grant *grant;
    struct rbuf_put put;
    struct rbuf_get get;
    struct rbuf_rma rma;
    struct world_packed packed;
    uint64_t started_ns;
    uint64_t offered_ns; /* when the receiver answered: its target is registered, if it has to be */
    uint64_t put_ns;     /* when the put was started, its source registered, likewise */
    uint64_t put_ended_ns; /* for its sender */
    uint64_t arrived_ns;
    struct world_message *next;
    STAILQ_ENTRY(world_message) link; /* on the sender's `beginning`, the receiver's `expected` */
};

STAILQ_HEAD(world_message_list, world_message);

struct rbuf_buffer { /* core's opaque receive buffer */
    struct sim_receive receive;
    unsigned channel;
    _Alignas(16) unsigned char data[];
};

/* An active message of the users. */
struct world_am {
    struct rbuf_am am; /* first: an event that names it is this one's */
    struct world_node *node;
    struct world_message *message;
    bool gathered; /* the message's source is given back with it */
    uint32_t key;
    unsigned char *memory; /* header and payload; as large as needed, so that misuse shows */
};

enum world_tag { TAG_EAGER = 1, TAG_RENDEZVOUS, TAG_ANSWER, TAG_FIN, TAG_PACKED };

struct world_link {
    struct sim_pair_end end[RBUF_CHANNELS];
    struct rbuf_peer *peer;
    struct rbuf_mailbox *mailbox;
    uint32_t mailbox_key;
    uint64_t sent[RBUF_CHANNELS];     /* small messages to that node */
    uint64_t received[RBUF_CHANNELS]; /* from it */
    bool failed;                      /* RBUF_EVENT_FAILED was seen */
    struct world_message *packing;    /* whose early data is being packed; NULL: none's */
};

struct world_node {
    struct world *world;
    unsigned index;
    struct sim_nic nic;
    struct rbuf_core core;
    struct world_link links[WORLD_NODES_MAX]; /* by node; its own is unused */
    void *send_memory;
    void *receive_memory;
    void *bounce_memory; /* NULL: none */
    struct rbuf_buffer **buffers;
    unsigned buffer_count;
    struct rbuf_ring_memory *ring_memory[WORLD_RINGS_MAX]; /* leased to core */
    unsigned ring_memory_count;
    unsigned growths; /* of its staging */
    uint64_t free_ns; /* when its processor has time */
    uint64_t poll_ns; /* when it polls next, if `scheduled` */
    bool scheduled;
    unsigned idle;                       /* polls without anything to do */
    unsigned ams;                        /* active messages that core has not given back */
    struct world_message *unexpected;    /* a rendezvous that is answered with the next */
    struct rbuf_peer *delivering;        /* the peer whose RTS is being delivered; NULL: none's */
    uint32_t early;                      /* of that RTS, that a grant may claim; 0: none */
    struct world_message *prestaging;    /* whose first chunk is to be copied; NULL: none's */
    struct world_message_list beginning; /* that its processor is to start */
    struct world_message_list expected;  /* whose end it looks for in its memory */
};

struct world {
    struct world_options options;
    struct sim_net net;
    struct world_node nodes[WORLD_NODES_MAX];
    struct world_message *messages;
    struct world_message *copied; /* whose memory was copied last */
    uint64_t next_seed;
    unsigned open; /* messages */
    unsigned corrupt;
    unsigned failed;
    unsigned registered; /* buffers that core asked to be registered */
    uint64_t overwrites; /* writes into staging buffers that were not free */
    uint64_t active_ns;  /* when something happened last */
    bool ticking;
};

struct world *world_open(const struct world_options *options);

/* Connects all nodes to each other; world_open() does, unless they are to begin apart. */
void world_connect(struct world *world);

void world_close(struct world *world);

/* Starts a message of `bytes` from one node to another; the world keeps it until it is closed. */
struct world_message *world_send(struct world *world, enum world_kind kind, unsigned from,
                                 unsigned to, uint64_t bytes);

/* The same, but it is the node's processor that starts it, at its next turn, and spends its time.
 */
struct world_message *world_begin(struct world *world, enum world_kind kind, unsigned from,
                                  unsigned to, uint64_t bytes);

enum world_outcome { WORLD_DONE, WORLD_DEADLOCK };

/* Runs until no message is open, or until nothing can happen any more. */
enum world_outcome world_run(struct world *world);

/* Runs until nothing is left to happen. */
void world_settle(struct world *world);

/* Answers the rendezvous that the node did not expect, out of no delivery. */
void world_expect(struct world *world, unsigned node);

/* The node's processor does nothing for core during the next `ns`. */
void world_compute(struct world *world, unsigned node, uint64_t ns);

/* Bytes on the wire of a message of the users' rendezvous, and of a FIN. */
uint32_t world_control_bytes(void);

/* NULL, or what is left over that should not be; call it after world_settle(). */
const char *world_leftover(struct world *world);

/* True if all of the receive staging is free, but for the windows that are leased. */
bool world_receive_staging_free(const struct rbuf_core *core);

/* Time at which the network is. */
uint64_t world_now(const struct world *world);

/* Between the files of the world. */
void world_ring_memory(struct world_node *node);
void world_staging(struct world_node *node, struct rbuf_arena *arena);
void world_wake(struct world_node *node);
int world_user_events(struct world_node *node);
void world_user_close(struct world *world);
void world_close_message(struct world_message *message, enum world_message_state state);
void world_give_back(struct world_message *message, unsigned char **memory, uint32_t *key);
bool world_target_right(const struct world_message *message);
uint64_t world_copy_ns(struct world_node *node, const void *to, const void *from, size_t bytes);
uint64_t world_registration_ns(const struct world *world, uint64_t bytes);
void world_register_source(struct world_message *message);
void world_register_target(struct world_message *message);
void world_register_ends(struct world_message *message);
void world_start_rma(struct world_message *message, uint64_t remote, uint32_t rkey);
struct world_am *world_am_make(struct world_node *node, struct world_message *message,
                               enum world_tag tag, const void *first, size_t first_bytes,
                               const void *second, size_t second_bytes);
void world_am_free(struct world_am *am);
void world_am_send(struct world_am *am, unsigned to, enum rbuf_channel_id channel,
                   uint64_t argument);
void world_am_sent(struct world_am *am, bool under_way); /* by the caller itself */
void world_packed_start(struct world_message *message, struct world_am *rendezvous);
void world_packed_answered(struct world_message *message);
void world_packed_take(const struct world_node *node, const struct rbuf_delivery *delivery);
int world_packed_progress(struct world_node *node);
void world_prestage(struct world_message *message);
bool world_prestage_progress(struct world_node *node);
bool world_prestage_start(struct world_message *message);
void world_in_place_start(struct world_message *message);
void world_get_start(struct world_message *message);
void world_copied_put_start(struct world_message *message);
void world_raw_start(struct world_message *message);
int world_raw_look(struct world_node *node);
void world_lose(struct world_node *node, unsigned other, int status);
void world_take_failure(struct world_node *node, struct rbuf_peer *peer);
void world_settle_failed(struct world_message *message);

#endif
