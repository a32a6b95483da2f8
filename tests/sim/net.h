/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A simulated verbs network: adapters (nics), reliable connected queue pairs, memory keys, shared
 * receive queues and completions, in discrete-event time. All adapters live in one process, so a
 * remote address is a pointer; keys decide what may be reached through which adapter.
 *
 * Links: each adapter has an outgoing and an incoming link. A message is cut into packets of at
 * most `packet_bytes`; queue pairs take turns, a packet each, and are FIFO within themselves. A
 * packet whose sending starts at t reaches the other side from t + latency on, and is placed when
 * the incoming link has carried it, so that one message alone takes latency + bytes / bandwidth.
 * After each message the outgoing link rests for the gap.
 *
 * Bus: where the model has one, each packet also takes its time on the bus between adapter and
 * memory, at either end, in the order in which they come, whichever way they go (PCI-X). The links
 * wait for it.
 *
 *     net.c    links, packets, faults
 *     pair.c   what requests do at their ends, completions, receive queues, death
 *     keys.c   memory keys
 *
 * Data: payload is read from the sender's memory when its packet is sent, inline payload when it is
 * posted, and written to the target when its packet is placed. With `late_read` it is read only
 * when it is placed, as a retransmission would.
 *
 * Nothing in here is thread-safe; nothing depends on anything but its inputs and the seed.
 */
#ifndef RBUF_SIM_NET_H
#define RBUF_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "clock.h"
#include "fabric.h"
#include "random.h"

struct sim_model {
    double bytes_per_ns;
    uint64_t latency_ns;
    uint64_t gap_ns;
    uint32_t packet_bytes;
    double bus_bytes_per_ns; /* both ways together; 0: never waited for */
};

enum sim_order { SIM_IN_ORDER, SIM_TAIL_FIRST, SIM_RANDOM_ORDER };

struct sim_faults {
    uint64_t seed;
    enum sim_order order;         /* of the packets of one write */
    uint64_t completion_delay_ns; /* at most this much later than the acknowledgement */
    uint64_t jitter_ns;           /* at most this much later at the target; order is kept */
    uint64_t small_delay_ns;      /* inline writes (acknowledgements, credits): likewise */
    uint64_t overtake_ns; /* a write is placed at most this much later, so that writes overtake it;
                             nothing else does */
    bool overtake_words;  /* also writes of one word */
    bool scatter;         /* some packets are late, each by a time of its own */
    bool late_read;
    bool refuse_when_dead; /* posts on a dead queue pair fail; else they complete with an error */
    uint64_t fail_at;      /* the n-th post of an operation in the whole network kills its queue
                              pair; 0: none */
    enum sim_operation fail_operation;
    bool fail_refused; /* and is refused itself */
};

struct sim_net;
struct sim_nic;
struct sim_pair_end;
struct sim_packet;
struct sim_job;

TAILQ_HEAD(sim_job_list, sim_job);
STAILQ_HEAD(sim_packet_list, sim_packet);

/* One request on its way through the network. */
struct sim_job {
    struct rbuf_fab_request request;
    struct rbuf_work *signal;
    struct sim_pair_end *from; /* where it was posted */
    struct sim_flow *flow;     /* where it waits to be sent, or NULL */
    bool answering;            /* a read: the data is on its way back */
    bool done;
    uint32_t bytes;
    uint32_t packets;
    uint32_t sent;            /* packets */
    uint32_t placed;          /* packets */
    uint32_t *order;          /* of the packets; NULL for 0, 1, 2... */
    uint64_t late_ns;         /* a write that others may overtake */
    uint64_t last_arrival_ns; /* of its packets */
    unsigned char *data;      /* inline payload, and what was gathered of a send */
    uint64_t word;            /* old value that an atomic brings back */
    unsigned references;
    TAILQ_ENTRY(sim_job) flow_link;
    TAILQ_ENTRY(sim_job) end_link;
};

/* A stream of jobs that share the outgoing link with other flows, a packet a turn. */
struct sim_flow {
    struct sim_job_list jobs;
    struct sim_pair_end *to;
    bool active;
    uint64_t last_arrival_ns;
    uint64_t last_barrier_ns; /* arrival of what no write overtakes */
    TAILQ_ENTRY(sim_flow) link;
};

struct sim_packet {
    struct sim_job *job;
    struct sim_pair_end *to;
    uint32_t offset;
    uint32_t bytes;
    STAILQ_ENTRY(sim_packet) link;
    unsigned char data[];
};

enum sim_end_state { SIM_END_ALIVE, SIM_END_DEAD };

/* One end of a queue pair. */
struct sim_pair_end {
    struct rbuf_fab_queue queue;
    struct sim_nic *nic;
    struct sim_pair_end *peer;
    unsigned channel; /* which receive queue it takes from */
    enum sim_end_state state;
    uint64_t posts;
    uint64_t die_after; /* posts; 0: never */
    struct sim_flow requests;
    struct sim_flow answers;
    struct sim_job_list outstanding; /* in order of posting */
    uint64_t last_ack_ns;
    uint64_t last_ready_ns; /* when the newest request was there to be sent */
    bool stalled;           /* no receive buffer: packets wait */
    struct sim_packet_list waiting;
    TAILQ_ENTRY(sim_pair_end) link;
};

enum sim_completion_kind {
    SIM_COMPLETED, /* a work */
    SIM_FLUSHED,   /* an unsignalled request failed */
    SIM_RECEIVED,
    SIM_IMMEDIATE
};

struct sim_receive {
    void *owner;
    unsigned char *data;
    uint32_t bytes;
    STAILQ_ENTRY(sim_receive) link;
};

STAILQ_HEAD(sim_receive_list, sim_receive);

struct sim_completion {
    enum sim_completion_kind kind;
    int status;
    struct rbuf_fab_queue *queue;
    struct rbuf_work *work;
    struct sim_receive *receive;
    uint32_t bytes;
    uint32_t immediate;
    unsigned channel;
    STAILQ_ENTRY(sim_completion) link;
};

STAILQ_HEAD(sim_completion_list, sim_completion);
TAILQ_HEAD(sim_flow_list, sim_flow);
TAILQ_HEAD(sim_end_list, sim_pair_end);
TAILQ_HEAD(sim_nic_list, sim_nic);

#define SIM_CHANNELS 2

struct sim_nic {
    struct sim_net *net;
    void *user;
    sim_action *wake;           /* something was placed or completed; gets `user` */
    struct sim_flow_list flows; /* active ones, the next to send first */
    bool sending;
    uint64_t incoming_free_ns;
    double outgoing_rest_ns; /* fractions of a nanosecond that the links' times lack so far */
    double incoming_rest_ns;
    uint64_t bus_free_ns;
    double bus_rest_ns;
    struct sim_receive_list receives[SIM_CHANNELS];
    struct sim_completion_list completions;
    struct rbuf_fab_port port;
    bool running;      /* its processor is in the middle of something that began earlier */
    uint64_t local_ns; /* and has come so far */
    uint64_t post_ns;  /* processor time of a post */
    TAILQ_ENTRY(sim_nic) link;
};

struct sim_region {
    struct sim_nic *nic; /* NULL: free */
    unsigned char *base;
    size_t bytes;
    uint32_t generation;
};

/* A write is about to be placed, its first packet: where, how much, and through which queue. */
typedef void sim_placing(void *user, struct sim_pair_end *to, uint64_t remote, uint32_t bytes);

struct sim_net {
    struct sim_clock clock;
    struct sim_model model;
    struct sim_faults faults;
    struct sim_random random;
    struct sim_nic_list nics;
    struct sim_end_list ends;
    struct sim_region *regions;
    uint32_t region_count;
    uint64_t rnr;        /* messages that found no receive buffer, counted at each try */
    uint64_t violations; /* accesses that keys do not cover */
    uint64_t packets;    /* placed */
    uint64_t to_fail;    /* posts of the operation that is to fail */
    sim_placing *placing;
    void *placing_user;
};

void sim_net_open(struct sim_net *net, const struct sim_model *model,
                  const struct sim_faults *faults);

/* Drops what is under way and frees all but the nics and ends themselves. */
void sim_net_close(struct sim_net *net);

void sim_nic_open(struct sim_nic *nic, struct sim_net *net, uint32_t completion_room,
                  sim_action *wake, void *user);

/* Connects two ends; queue parameters are those of both. */
void sim_pair_open(struct sim_pair_end *one, struct sim_nic *nic, struct sim_pair_end *other,
                   struct sim_nic *other_nic, unsigned channel, uint32_t depth,
                   uint32_t inline_max);

/* The time at a nic's processor. */
uint64_t sim_now(const struct sim_nic *nic);

uint32_t sim_register(struct sim_nic *nic, void *base, size_t bytes);
void sim_deregister(struct sim_net *net, uint32_t key);
bool sim_key_covers(const struct sim_nic *nic, uint32_t key, uint64_t address, uint64_t bytes);

void sim_post_receive(struct sim_nic *nic, unsigned channel, struct sim_receive *receive);

/* The oldest completion, which the caller frees; NULL if there is none. Successful and failed works
 * are still to be retired. */
struct sim_completion *sim_poll(struct sim_nic *nic);

/* Both ends take nothing more; what they had outstanding completes with an error. */
void sim_kill(struct sim_pair_end *end);

/* Between net.c and pair.c. */
void sim_flow_add(struct sim_flow *flow, struct sim_nic *nic, struct sim_job *job);
void sim_flow_drop(struct sim_flow *flow);
void sim_job_hold(struct sim_job *job);
void sim_job_drop(struct sim_job *job);
void sim_packet_drop(struct sim_packet *packet);
void sim_read_source(const struct sim_job *job, uint32_t offset, uint32_t bytes, unsigned char *to);
void sim_place(struct sim_packet *packet);

#endif
