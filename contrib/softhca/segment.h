/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The shared segment: everything that more than one process reads.
 *
 * A process that has opened a device is a node, with the ports of all its devices. A fabric is one
 * sparse file. Its head holds the directory of nodes and the state of the links; behind it every
 * node has a span of its own with its queue pairs, send queues, memory regions and datagram
 * mailbox. A process that opens the device claims a node; all that it allocates lives in that
 * node's span, so a dead process leaks nothing: whoever claims the node next starts with an empty
 * span.
 *
 * Invariants:
 *  - a node is alive exactly as long as its owner holds a POSIX record lock on the node's byte of
 * the file, which the kernel drops however the owner ends;
 *  - completion queues and receive queues are private to their process and do not appear here;
 *  - a number found in the segment (a queue pair's number, a key) is checked against the entry it
 *    names before use, so that a stale number finds nothing instead of somebody else's object.
 *
 * Who may write, beside the owner of the node before it publishes an entry:
 *
 *   word                            writer                              paired with
 *   directory, parameters           its owner, holding the claim byte   atomic loads
 *   fabric: links, active, served   who holds "advancing"               the same lock
 *   fabric: next_turn_ns, ringing   posters and who advances            see link.c
 *   node: inbox                     peers set, the owner clears         see doorbells.c
 *   node: outbox                    the owner sets, who advances clears see doorbells.c
 *   node: agent_asleep              the owner's agent sleeps, all wake  see agent.c
 *   node: polls                     the owner's application threads     relaxed, a hint
 *   node: down_until_ns             the owner                           relaxed, a hint
 *   node: mail, mail_tail           senders claim, the owner frees      see datagram.c
 *   queue pair: number              the owner, release, last            acquire in the look-up
 *   queue pair: state, attributes   the owner, under its progress lock  atomic loads
 *   queue pair: posted              the owner, under its post lock      acquire by who executes
 *   queue pair: retired             the owner, under its progress lock  acquire by its poster
 *   queue pair: on_link             its poster sets, who advances clears both look once more
 *   queue pair: responding to reads who holds "advancing"               the same lock
 *   queue pair: rnr_*, executed     who holds "executing"               the same lock, acquire
 *   request: what is to be done     the poster, before "posted"         acquire of "posted"
 *   request: times and flow         the poster, then who advances       acquire of the count
 *   request: status                 who executes it, release, last      acquire by the owner
 *   region: key                     the owner, release, last            acquire in the look-up
 *   region: stale_begin, stale_end  the owner's watcher                 see stale.c
 *   region: stale_reported          who first uses it stale             atomic exchange
 */
#ifndef SOFTHCA_SEGMENT_H
#define SOFTHCA_SEGMENT_H

#include "config.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE       64
#define ON_OWN_LINE      _Alignas(CACHE_LINE)
#define MAX_NODES        128u
#define MAX_QUEUE_PAIRS  1024u  /* a node */
#define MAX_REGIONS      32768u /* a node */
#define SHARED_FILES     128u   /* a node */
#define MAX_DATAGRAMS    512u   /* waiting at a node */
#define MAX_LINKS        512u
#define MAX_STREAMS      2048u /* a link */
#define DATAGRAM_PAYLOAD 4096u
#define MAX_READS        16u /* in flight a queue pair */
#define MAX_SGE          30u
#define MAX_INLINE       512u
#define NODE_SPAN        (512ull << 20) /* bytes of address space a node */
#define SEGMENT_VERSION  8u
#define TIME_UNKNOWN     0ull

/* A lock between processes: 0 when free, otherwise the holder's node plus one. A lock whose holder
 * has died is taken over. */
struct shared_lock {
    _Atomic uint32_t holder;
};

/* Two-level set of queue pairs of one node; see doorbells.c. */
struct doorbells {
    _Atomic uint64_t summary;
    _Atomic uint64_t word[MAX_QUEUE_PAIRS / 64];
};

enum request_status { REQUEST_PENDING = 0xffff }; /* anything else is an enum ibv_wc_status */

/* One send work request in its queue pair's ring. */
struct work_request {
    /* Written by the poster before it advances the queue pair's "posted". */
    uint64_t wr_id;
    uint64_t posted_ns;
    uint64_t remote_addr;
    uint64_t compare_add;
    uint64_t swap;
    uint32_t remote_key;
    uint32_t imm_data;
    uint32_t length; /* payload bytes */
    uint8_t opcode;
    uint8_t n_sge;
    bool is_inline;
    bool signaled;
    bool solicited;
    bool fenced;
    uint8_t local_error; /* enum ibv_wc_status found while posting */
    /* Written by whoever advances the fabric. Payload flows to the target for writes and sends, to
     * the requester for reads and atomics. Times are stored before the count they belong to. */
    ON_OWN_LINE _Atomic uint64_t request_ns; /* arrival of the whole request, TIME_UNKNOWN before */
    _Atomic uint64_t flow_ns;                /* arrival of the last of flow_bytes */
    _Atomic uint64_t flow_bytes;             /* payload that has crossed the wire */
    _Atomic uint64_t flow_done_ns;           /* arrival of the whole payload, TIME_UNKNOWN before */
    /* Written by whoever executes the request; status with release, last. */
    _Atomic uint32_t status;
    uint32_t copied; /* bytes in place */
    /* Payload of an inline request, gather list of any other. */
    ON_OWN_LINE union {
        struct ibv_sge sge[0];
        uint8_t inline_data[0];
    };
};

/* The shared half of a queue pair. */
struct queue_pair_entry {
    _Atomic uint32_t number; /* 0 when unused; stored last, with release */
    _Atomic uint32_t state;  /* enum ibv_qp_state */
    _Atomic uint32_t peer;   /* number of the connected queue pair */
    uint32_t type;
    uint32_t domain;            /* protection domain */
    uint32_t slots;             /* of the send queue, a power of two */
    uint32_t slot_size;         /* bytes */
    _Atomic uint32_t access;    /* qp_access_flags */
    _Atomic uint32_t max_reads; /* reads and atomics in flight as requester */
    _Atomic uint32_t rnr_retry;
    _Atomic uint32_t rnr_timer; /* this side's min_rnr_timer as responder */
    uint32_t qkey;
    _Atomic uint32_t port;        /* among its node's */
    _Atomic uint32_t pkey;        /* of the table's entry that it has been given */
    _Atomic uint32_t destination; /* LID of the port that it sends to; 0 if that is not reached */
    uint64_t ring;                /* offset of the send queue in the node's span */
    /* Requests are counted from 0 and never wrap; the slot is the count modulo slots. */
    ON_OWN_LINE _Atomic uint64_t posted; /* by the owner, with release */
    _Atomic uint64_t retired;            /* by the owner: completions delivered so far */
    /* Under the fabric's lock. */
    ON_OWN_LINE _Atomic uint32_t on_link; /* the request stream is known to the link */
    uint32_t responding;                  /* the response stream is known to the peer's link */
    uint32_t reads_in_flight;
    uint64_t unblocked_ns;
    uint64_t next_request;
    uint64_t next_response;
    uint64_t
        reads[MAX_READS]; /* requests whose responses are due, from next_response on, in a ring */
    /* Under "executing": executing requests in order, by the target, or the requester for it. */
    ON_OWN_LINE struct shared_lock executing;
    uint32_t rnr_tries;
    uint64_t rnr_until_ns;
    _Atomic uint64_t executed;
};

/* The file behind a region whose pages others map, see shared_pages.h. */
struct shared_pages {
    uint64_t number;        /* never the same twice in a fabric; 0: private pages */
    uint64_t offset;        /* of the region in the file */
    uint64_t device, inode; /* the file's */
    uint32_t index;         /* of the number in the owner's shared_files */
    int32_t fd;             /* the owner's */
};

struct memory_region_entry {
    _Atomic uint32_t key; /* 0 when unused; stored last, with release */
    uint32_t domain;
    uint32_t access;
    uint32_t generation; /* of the last key */
    uint64_t iova;
    uint64_t length;
    uint64_t addr; /* in the owner's address space */
    struct shared_pages pages;
    _Atomic uint64_t stale_begin; /* addresses unmapped or remapped since registration */
    _Atomic uint64_t stale_end;
    _Atomic bool stale_reported;
};

enum datagram_state { DATAGRAM_FREE, DATAGRAM_WRITING, DATAGRAM_FULL };

struct datagram {
    _Atomic uint32_t state;
    uint32_t source, target; /* queue pair numbers */
    uint32_t qkey;
    uint32_t imm_data;
    uint32_t length;
    uint16_t source_lid;
    union ibv_gid source_gid, target_gid; /* if it has a global route header */
    bool has_imm, has_grh, solicited;
    uint64_t due_ns;
    uint8_t payload[DATAGRAM_PAYLOAD];
};

/* A node's span. */
struct node {
    /* Written by others, read by the owner. */
    ON_OWN_LINE struct doorbells inbox; /* owner's queue pairs whose peers have posted */
    ON_OWN_LINE _Atomic uint64_t mail_tail;
    ON_OWN_LINE _Atomic uint32_t agent_asleep; /* futex word, enum agent_sleep */
    /* Written by the owner, read by the fabric. */
    ON_OWN_LINE struct doorbells outbox; /* owner's queue pairs with requests new to the link */
    ON_OWN_LINE _Atomic uint64_t
        down_until_ns[NODE_PORTS]; /* an injected fault: the link is down; 0 if not */
    /* Written by the owner at every poll and piece, read rarely. */
    ON_OWN_LINE _Atomic uint64_t polls;
    ON_OWN_LINE struct queue_pair_entry queue_pairs[MAX_QUEUE_PAIRS];
    struct memory_region_entry regions[MAX_REGIONS];
    _Atomic uint64_t shared_files[SHARED_FILES]; /* numbers of those that are in use, else 0 */
    struct datagram mail[MAX_DATAGRAMS];
    _Alignas(4096) uint8_t arena[];
};

enum stream_kind { STREAM_REQUESTS = 1, STREAM_RESPONSES = 2 };

/* A queue pair's share in a link: its requests on its port's egress, or the responses to its
 * reads on its peer's egress. */
struct stream {
    uint32_t queue_pair;
    uint32_t kind;
};

/* Both directions of one physical port. Under the fabric's lock. */
struct link {
    ON_OWN_LINE uint64_t bandwidth; /* bytes/s, 0 = unpaced; not changed while the link is used */
    uint64_t egress_free_ns;
    uint64_t ingress_free_ns;
    uint64_t last_served;
    uint32_t n_streams;
    uint32_t turn; /* stream whose turn is next */
    struct stream streams[MAX_STREAMS];
};

/* An entry of a port's GID table, as struct gid_setting. */
struct gid_entry {
    _Atomic uint64_t network;
    _Atomic uint32_t type;
    _Atomic bool is_ipv4;
};

/* A port of a node, as others see it. Written while its node is claimed. */
struct port_entry {
    _Atomic uint32_t link;
    _Atomic uint32_t link_layer; /* enum link_layer */
    _Atomic uint32_t n_gids;
    struct gid_entry gids[MAX_GIDS];
    char link_name[44]; /* SOFTHCA_PORT, a colon, a number */
};

struct node_directory_entry {
    _Atomic uint32_t incarnation; /* 0 before first use */
    _Atomic int32_t pid;
    _Atomic uint32_t n_ports;
    struct port_entry ports[NODE_PORTS];
};

/* What all processes of a fabric agree on: taken from the environment of the first. */
struct fabric_parameters {
    uint64_t bandwidth; /* bytes/s, 0 = unpaced */
    uint64_t latency_ns;
    uint64_t gap_ns;
    uint64_t paced; /* 1: links are modelled, as these or some device's settings ask for */
};

struct fabric {
    _Atomic uint32_t version;
    uint32_t incarnations;
    _Atomic uint64_t shared_files; /* numbers given out */
    struct fabric_parameters parameters;
    struct node_directory_entry nodes[MAX_NODES];
    /* Nothing can be served before; UINT64_MAX when idle. Lowered by who announces a queue pair. */
    ON_OWN_LINE _Atomic uint64_t next_turn_ns;
    _Atomic uint64_t ringing[MAX_NODES / 64]; /* nodes with a full outbox */
    /* Held by whoever executes an atomic: processes of one adapter may share the memory. */
    ON_OWN_LINE struct shared_lock atomics;
    ON_OWN_LINE struct shared_lock advancing;
    uint64_t served;
    uint32_t link_words;             /* of active, that links in use have bits in */
    uint64_t active[MAX_LINKS / 64]; /* links with streams */
    ON_OWN_LINE struct link links[MAX_LINKS];
};

/* This process's view of the fabric. */
struct attachment {
    struct fabric *fabric;
    struct node *node; /* own */
    uint32_t slot;     /* own */
    int32_t pid;
};
extern struct attachment self;
/* Whom the calling thread works for. */
enum worker {
    APPLICATION,
    AGENT,        /* leaves writes to requesters that poll */
    CALLED_AGENT, /* is needed for something that requesters cannot do */
};
extern _Thread_local enum worker worker;

/* Claims a node for this process unless it has one (again after a fork). 0, or an errno value that
 * has been reported. Any thread. */
int segment_attach(void);
/* Gives the node back. */
void segment_detach(void);

/* The spans mapped so far; stored with release by who maps one. */
extern _Atomic(struct node *) segment_spans[MAX_NODES];
struct node *segment_map_node(uint32_t slot);
/* Another node's span, mapped on first use. NULL if slot was never used or mapping failed. Several
 * times in every poll, so the usual case is here. */
static inline struct node *segment_node(uint32_t slot)
{
    struct node *node =
        slot < MAX_NODES ? atomic_load_explicit(&segment_spans[slot], memory_order_acquire) : NULL;

    return node ? node : segment_map_node(slot);
}
/* Whether the owner of the node lives; a system call, so ask rarely. */
bool segment_node_alive(uint32_t slot);

/* Memory of this node's span, for rings: page-aligned, zeroed and present. 0 when none is left. */
uint64_t segment_alloc(size_t bytes);
void segment_free(uint64_t offset, size_t bytes);

/* Counts a poll, or a piece copied: others take a node whose count stands still for one that does
 * not poll. The agent does not count, since it comes only now and then: a requester that took it
 * for the application would leave the work to it. Only this process writes the counter, and lost
 * increments do not matter. */
static inline void node_count_poll(void)
{
    if (worker != APPLICATION)
        return;
    atomic_store_explicit(&self.node->polls,
                          atomic_load_explicit(&self.node->polls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Whether nothing gets through to or from a node's port. */
static inline bool link_is_down(struct node *node, uint32_t port)
{
    return atomic_load_explicit(&node->down_until_ns[port], memory_order_relaxed) != 0;
}

/* LIDs: the node's slot and, above it, the place of the port among the node's; from 1. RoCE has
 * them, too, in its GIDs. */
static inline uint32_t lid_make(uint32_t slot, uint32_t port)
{
    return port * MAX_NODES + slot + 1;
}
static inline uint32_t lid_slot(uint32_t lid)
{
    return (lid - 1) % MAX_NODES;
}
static inline uint32_t lid_port(uint32_t lid)
{
    return (lid - 1) / MAX_NODES;
}
/* The directory's entry of the port that has a LID; NULL if none has. */
struct port_entry *segment_port(uint32_t lid);

/* Queue pair numbers: 7 bits of generation, 7 of node, 10 of index. */
static inline uint32_t number_slot(uint32_t number)
{
    return (number >> 10) & (MAX_NODES - 1);
}
static inline uint32_t number_index(uint32_t number)
{
    return number & (MAX_QUEUE_PAIRS - 1);
}
static inline uint32_t number_make(uint32_t generation, uint32_t slot, uint32_t index)
{
    return (generation & 0x7f) << 17 | slot << 10 | index;
}

/* The entry of a queue pair of any node; NULL if the number names none. */
static inline struct queue_pair_entry *segment_queue_pair(uint32_t number)
{
    struct node *node = segment_node(number_slot(number));
    struct queue_pair_entry *qp;

    if (!node || !number)
        return NULL;
    qp = &node->queue_pairs[number_index(number)];
    return atomic_load_explicit(&qp->number, memory_order_acquire) == number ? qp : NULL;
}

/* The LID of the port that a queue pair is bound to. */
static inline uint32_t queue_pair_lid(const struct queue_pair_entry *qp)
{
    return lid_make(number_slot(atomic_load_explicit(&qp->number, memory_order_relaxed)),
                    atomic_load_explicit(&qp->port, memory_order_relaxed));
}

/* Whether two queue pairs are in one partition, and not both as limited members. What others send
 * is dropped, and not answered. */
static inline bool share_partition(const struct queue_pair_entry *a,
                                   const struct queue_pair_entry *b)
{
    uint32_t one = atomic_load_explicit(&a->pkey, memory_order_relaxed);
    uint32_t other = atomic_load_explicit(&b->pkey, memory_order_relaxed);

    return (one & 0x7fff) && (one & 0x7fff) == (other & 0x7fff) && ((one | other) & 0x8000);
}

/* Whether what one queue pair sends arrives at another: it names it and the port that it is bound
 * to. */
static inline bool is_sent_to(const struct queue_pair_entry *from,
                              const struct queue_pair_entry *to)
{
    return atomic_load(&from->peer) == atomic_load_explicit(&to->number, memory_order_relaxed) &&
           atomic_load_explicit(&from->destination, memory_order_relaxed) == queue_pair_lid(to);
}

/* Whether two queue pairs send to each other, and receive that. */
static inline bool are_connected(const struct queue_pair_entry *a, const struct queue_pair_entry *b)
{
    return is_sent_to(a, b) && is_sent_to(b, a) && share_partition(a, b);
}

/* A request's slot, through the mapping of the node that owns the queue pair. */
static inline struct work_request *request_slot(struct node *owner, struct queue_pair_entry *qp,
                                                uint64_t count)
{
    return (struct work_request *) ((uint8_t *) owner + qp->ring +
                                    (count & (qp->slots - 1)) * qp->slot_size);
}

/* Whether a request returns data to its requester. */
static inline bool request_has_response(const struct work_request *request)
{
    return request->opcode == IBV_WR_RDMA_READ || request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Keys: 8 bits of generation above 15 of index. */
struct memory_region_entry *segment_region(struct node *node, uint32_t key);

bool shared_trylock(struct shared_lock *lock);
void shared_lock_take(struct shared_lock *lock);
void shared_unlock(struct shared_lock *lock);

#endif
