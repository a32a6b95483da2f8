/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A port: what it can do, and what was made on it.
 *
 * A struct rbuf_port is an active port of an opened device. It owns its device context and
 * protection domain (ports of one device have one each of their own), its completion queues, and
 * knows its queue pairs. Everything made on it is closed before it.
 *
 * Threads: opening and closing in one thread; afterwards the constant part is read by anybody, the
 * rest (below "module's lock") is used with the module's lock held.
 */
#ifndef RBUF_VERBS_PORT_H
#define RBUF_VERBS_PORT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/problem.h"
#include "connect/port_address.h"
#include "core/base/wire.h"
#include "verbs/fabric.h"
#include "verbs/fork.h"

#define RBUF_PORT_NAME_MAX 72u /* "device:port" with its final zero */
#define RBUF_SEND_CQS_MAX  16u
#define RBUF_GID_AUTOMATIC (-1)

/* What parameter `subblock` asks for. */
enum rbuf_in_order_choice {
    RBUF_IN_ORDER_AUTO,
    RBUF_IN_ORDER_CHECKED,
    RBUF_IN_ORDER_ON,
    RBUF_IN_ORDER_OFF
};

/* How a port sees what peers write into its memory. */
enum rbuf_subblock {
    RBUF_SUBBLOCK_OFF,     /* as a whole: announced, over send/receive */
    RBUF_SUBBLOCK_CHECKED, /* by flags with checksums: the bytes of a write come in any order */
    RBUF_SUBBLOCK_ON       /* by flags alone: one write's bytes appear in ascending order */
};

struct rbuf_device_options {
    const char *include; /* comma list of DEVICE or DEVICE:PORT; NULL: as selection.h says */
    const char *exclude; /* the same form; not together with include; NULL: none */
    int gid_index;       /* or RBUF_GID_AUTOMATIC: on Ethernet RoCE v2 before v1 and routable IPv4
                            before other routable before link-local, on InfiniBand 0 */
    unsigned mtu;        /* bytes: 256, 512, 1024, 2048, 4096; 0: what the port has active */
    unsigned pkey;       /* partition key; 0: the first valid one of the port's table, full members
                            before limited */
    unsigned service_level; /* 0 to 15 */
    unsigned traffic_class; /* 0 to 255, in the global route header */
    unsigned timeout;       /* local acknowledgement time-out, 4.096 us * 2^timeout; 0 to 31 */
    unsigned retry_count;   /* 0 to 7 */
    unsigned rnr_retry;     /* 0 to 7; 7: for ever */
    unsigned min_rnr_timer; /* code of the wait that this side asks for, 0 to 31 */
    enum rbuf_in_order_choice subblock;
    enum rbuf_fork_choice fork;
    bool gather; /* queue pairs are to take as many pieces as rbuf_fab_gather() */
};

/* A send completion queue; queue pairs of `reserved` requests together flush into it. */
struct rbuf_send_cq {
    struct ibv_cq *cq;
    uint32_t size;     /* entries */
    uint32_t reserved; /* sum of the depths of its queue pairs, <= size: it cannot overflow */
};

/* Whose the receive queues of a port are (verbs/receive.h). */
enum rbuf_receive_kind {
    RBUF_RECEIVE_SHARED, /* of all queue pairs of a channel */
    RBUF_RECEIVE_OWN     /* of one queue pair: the adapter has no shared ones */
};

/* What the queue pairs of a channel receive into. */
struct rbuf_receive_plan {
    uint32_t shared; /* buffers of a shared receive queue */
    uint16_t window; /* messages that a peer may have under way */
    uint32_t bytes;  /* capacity of a buffer; 0: the channel is not open */
};

/* The first peers of a process get long queues and many buffers, later ones a half or a quarter, as
 * a driver keeps memory for each request and each buffer (docs/large-jobs.md). Returns the divisor
 * for the next peer of a port with `open` queue pairs: 1, 2 or 4. */
static inline uint32_t rbuf_parts_of(uint32_t open)
{
    const uint32_t peers = open / RBUF_CHANNELS;

    return peers < 64 ? 1 : peers < 256 ? 2 : 4;
}

/* For people. */
static inline const char *rbuf_channel_name(enum rbuf_channel_id channel)
{
    return channel == RBUF_CONTROL ? "control" : "bulk";
}

struct rbuf_queue_pair;
struct rbuf_receive;
TAILQ_HEAD(rbuf_queue_pair_list, rbuf_queue_pair);
TAILQ_HEAD(rbuf_receive_list, rbuf_receive);

struct rbuf_port {
    char name[RBUF_PORT_NAME_MAX]; /* "mlx5_0:1" */
    struct ibv_context *context;
    struct ibv_pd *pd;
    uint8_t number;                   /* of the port, from 1 */
    struct rbuf_port_address address; /* for the other side: gid, lid, subnet, partition, MTU */
    unsigned gid_index;
    unsigned mtu_bytes;
    uint16_t pkey_index;
    uint32_t bandwidth_mbps; /* of the link, after encoding */
    uint64_t max_message;    /* bytes of one request */
    uint32_t max_queues;     /* queue pairs */
    uint32_t max_depth;      /* requests of one queue pair */
    uint32_t max_cq;         /* entries of one completion queue */
    uint32_t max_srq;        /* entries of one shared receive queue; 0: there are none */
    uint32_t pieces;         /* of a request's gather list */
    uint32_t max_inline;     /* bytes; what queue pairs of so many pieces get here */
    uint8_t max_rd_atomic;   /* in flight as initiator */
    bool atomics;            /* atomic towards other atomics of this adapter, at least */
    bool atomics_with_cpu;   /* and towards the processor's own */
    enum rbuf_receive_kind receive_kind;
    enum rbuf_subblock subblock;
    bool in_order_queried; /* subblock is ON as the adapter said so of one queue pair: others may
                              differ */
    char in_order_why[128];
    struct rbuf_device_options options; /* include and exclude are NULL */

    /* Module's lock. */
    struct rbuf_fab_port fab;
    struct rbuf_send_cq send_cq[RBUF_SEND_CQS_MAX];
    unsigned send_cqs;
    unsigned send_cq_next;     /* polled first next time */
    unsigned sends_skipped;    /* calls of rbuf_poll() since the last that looked at these */
    struct ibv_cq *receive_cq; /* of all receive queues; made by the first one */
    uint32_t receive_cq_size;  /* entries */
    uint32_t receive_entries;  /* buffers of all receive queues together, <= that */
    uint32_t receives_drained; /* times that rbuf_poll() left receive_cq empty; wraps */
    struct rbuf_receive_plan receive_plan[RBUF_CHANNELS];
    struct rbuf_receive *receive[RBUF_CHANNELS]; /* shared ones */
    struct rbuf_receive_list unposted;           /* with buffers to be posted again */
    struct rbuf_queue_pair_list queues;
    uint32_t queue_count;               /* on that list */
    struct rbuf_queue_pair_list closed; /* destroyed, freed when their completions are polled off */
};

#endif
