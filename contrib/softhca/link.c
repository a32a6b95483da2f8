/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The links: each port has an egress and an ingress, each carries one turn at a time, at a speed of
 * its own.
 *
 * A turn is at most 4 KB of one queue pair's oldest request; the queue pairs of an egress take
 * turns, so a short message waits behind a turn and not behind another queue pair's long message. A
 * turn starts when its request is there and both its egress and the ingress at the other end are
 * free; of the turns that could start, the earliest goes first. Turns arrive after the latency, so
 * the links run behind the clock by that much, and what is posted meanwhile still takes part
 * fairly. Nobody drives them in the background: whoever polls advances all of them, one process at
 * a time under the fabric's lock, when something is due that it waits for. When that is has no part
 * in the times given.
 *
 * A read or atomic crosses its own egress as a short request; its response is a stream of its own
 * on the peer's egress and starts when the request has arrived.
 *
 * States of a stream, a queue pair's requests or the responses to its reads:
 *
 *   EMPTY     is not on its link; link_announce(), or a read that arrives, puts it there
 *   READY     its oldest request takes part in the choice of the next turn
 *   BLOCKED   waits for responses: a fence, or as many reads under way as are allowed
 *
 * Invariants: only links with streams are in "active"; a request is in one stream at a time, and
 * its times are stored before the counts that they belong to (flow_ns before flow_bytes, all before
 * flow_done_ns, with release; who executes it acquires).
 *
 * Threads and processes: link_prepare() and link_first_turn() by the poster under its post lock,
 * link_announce() by it under no lock; all else under the caller's progress lock. What is in the
 * segment changes under the fabric's "advancing", which one process holds at a time.
 */
#define _GNU_SOURCE

#include "link.h"
#include "config.h"
#include "doorbells.h"

#include <math.h>
#include <string.h>

#define TURN_BYTES   4096u
#define HEADER_BYTES 30u /* a message */

struct candidate {
    bool valid;
    bool first; /* turn of its message, which pays the gap */
    uint32_t stream;
    uint32_t ingress; /* link */
    uint32_t bytes;
    uint64_t start, end; /* at the receiver, less the latency */
    uint64_t egress_end, ingress_end;
};

static uint64_t most_lookahead_ns;
static uint64_t wanted_ns; /* by link_look_ahead(); under the progress lock */

void link_look_ahead(uint64_t ns)
{
    if (ns > wanted_ns)
        wanted_ns = ns < most_lookahead_ns ? ns : most_lookahead_ns;
}

void link_limit_lookahead(uint64_t ns)
{
    most_lookahead_ns = ns;
}

static bool is_paced(void)
{
    return self.fabric->parameters.paced;
}

/* The link of the port that has a LID. */
static uint32_t link_of(uint32_t lid)
{
    const struct node_directory_entry *node = &self.fabric->nodes[lid_slot(lid)];

    return atomic_load_explicit(&node->ports[lid_port(lid) % NODE_PORTS].link,
                                memory_order_relaxed) %
           MAX_LINKS;
}

static uint32_t turn_bytes(uint32_t left)
{
    return left < TURN_BYTES ? left : TURN_BYTES;
}

/* What a turn takes on a link; the first of its message pays for that as well. */
static uint64_t turn_ns(uint64_t bandwidth, uint32_t bytes, bool first)
{
    uint64_t wire = bytes + (first ? HEADER_BYTES : 0);

    return (bandwidth ? (uint64_t) lrint((double) wire * 1e9 / (double) bandwidth) : 0) +
           (first ? self.fabric->parameters.gap_ns : 0);
}

void link_prepare(struct work_request *request)
{
    uint64_t latency = self.fabric->parameters.latency_ns;
    uint64_t arrival = request->posted_ns + latency;
    uint64_t flow = request_has_response(request) ? arrival + latency : arrival;
    bool paced = is_paced();

    atomic_store_explicit(&request->request_ns, paced ? TIME_UNKNOWN : arrival,
                          memory_order_relaxed);
    atomic_store_explicit(&request->flow_done_ns, paced ? TIME_UNKNOWN : flow,
                          memory_order_relaxed);
    atomic_store_explicit(&request->flow_ns, flow, memory_order_relaxed);
    atomic_store_explicit(&request->flow_bytes, paced ? 0 : request->length, memory_order_relaxed);
}

/* The links are to be advanced when the turn of a request posted just now could end, not before.
 * The nodes that ring are stored before the time is lowered, and link_advance() stores the time
 * before it looks at them once more, all sequentially consistent: a time that it takes back is not
 * lost. */
static void lower_next_turn(uint64_t end)
{
    uint64_t next = atomic_load(&self.fabric->next_turn_ns);

    while (next > end && !atomic_compare_exchange_weak(&self.fabric->next_turn_ns, &next, end))
        ;
}

uint64_t link_first_turn(const struct queue_pair_entry *qp, const struct work_request *request)
{
    uint64_t bandwidth = self.fabric->links[link_of(queue_pair_lid(qp))].bandwidth;

    return request->posted_ns +
           turn_ns(bandwidth, request_has_response(request) ? 0 : turn_bytes(request->length),
                   true);
}

uint64_t link_bandwidth(const struct queue_pair_entry *qp)
{
    uint64_t own = self.fabric->links[link_of(queue_pair_lid(qp))].bandwidth;
    uint32_t destination = atomic_load(&qp->destination);
    uint64_t other = destination ? self.fabric->links[link_of(destination)].bandwidth : own;

    return other && (!own || other < own) ? other : own;
}

void link_announce(struct queue_pair_entry *qp, uint64_t first_turn)
{
    uint32_t number;

    if (!is_paced() || atomic_load(&qp->on_link) || atomic_exchange(&qp->on_link, 1))
        return;
    number = atomic_load_explicit(&qp->number, memory_order_relaxed);
    doorbells_ring(&self.node->outbox, number_index(number));
    atomic_fetch_or(&self.fabric->ringing[self.slot / 64], 1ull << (self.slot % 64));
    lower_next_turn(first_turn);
}

static bool add_stream(uint32_t link_index, uint32_t queue_pair, enum stream_kind kind)
{
    struct link *link = &self.fabric->links[link_index];

    if (link->n_streams == MAX_STREAMS)
        return false;
    link->streams[link->n_streams++] = (struct stream){.queue_pair = queue_pair, .kind = kind};
    self.fabric->active[link_index / 64] |= 1ull << (link_index % 64);
    return true;
}

static void remove_stream(uint32_t link_index, uint32_t at)
{
    struct link *link = &self.fabric->links[link_index];

    /* Keep the order, it is the order of turns. */
    memmove(&link->streams[at], &link->streams[at + 1],
            (link->n_streams - at - 1) * sizeof(struct stream));
    link->n_streams--;
    if (link->turn > at)
        link->turn--;
    if (!link->n_streams)
        self.fabric->active[link_index / 64] &= ~(1ull << (link_index % 64));
}

static void collect_node(uint32_t slot)
{
    struct node *node = segment_node(slot);
    uint64_t words = node ? atomic_exchange(&node->outbox.summary, 0) : 0;

    while (words) {
        uint32_t w = (uint32_t) __builtin_ctzll(words);
        uint64_t bits = atomic_exchange(&node->outbox.word[w], 0);

        words &= words - 1;
        for (; bits; bits &= bits - 1) {
            uint32_t index = w * 64 + (uint32_t) __builtin_ctzll(bits);
            uint32_t number = atomic_load(&node->queue_pairs[index].number);

            if (number && !add_stream(link_of(queue_pair_lid(&node->queue_pairs[index])), number,
                                      STREAM_REQUESTS))
                report("more than %u queue pairs on one link", MAX_STREAMS);
        }
    }
}

static bool anyone_rings(void)
{
    for (uint32_t w = 0; w < MAX_NODES / 64; w++) {
        if (atomic_load(&self.fabric->ringing[w]))
            return true;
    }
    return false;
}

static void collect(void)
{
    for (uint32_t w = 0; w < MAX_NODES / 64; w++) {
        uint64_t nodes;

        if (!atomic_load(&self.fabric->ringing[w]))
            continue;
        nodes = atomic_exchange(&self.fabric->ringing[w], 0);
        for (; nodes; nodes &= nodes - 1)
            collect_node(w * 64 + (uint32_t) __builtin_ctzll(nodes));
    }
}

enum readiness { STREAM_READY, STREAM_BLOCKED, STREAM_EMPTY };

/* The oldest request of a queue pair that has not fully left. */
static enum readiness next_request(struct queue_pair_entry *qp, struct work_request **request,
                                   uint64_t *ready)
{
    struct node *owner = segment_node(number_slot(atomic_load(&qp->number)));
    uint32_t limit = atomic_load_explicit(&qp->max_reads, memory_order_relaxed);

    if (qp->next_request >= atomic_load(&qp->posted)) {
        atomic_store(&qp->on_link, 0);
        if (qp->next_request >= atomic_load(&qp->posted) || atomic_exchange(&qp->on_link, 1))
            return STREAM_EMPTY;
    }
    *request = request_slot(owner, qp, qp->next_request);
    *ready = (*request)->posted_ns;
    if (request_has_response(*request) && qp->reads_in_flight >= (limit ? limit : 1))
        return STREAM_BLOCKED;
    if ((*request)->fenced && qp->reads_in_flight)
        return STREAM_BLOCKED;
    if (qp->unblocked_ns > *ready)
        *ready = qp->unblocked_ns;
    return STREAM_READY;
}

static enum readiness next_response(struct queue_pair_entry *qp, struct work_request **request,
                                    uint64_t *ready)
{
    struct node *owner = segment_node(number_slot(atomic_load(&qp->number)));

    if (!qp->reads_in_flight) {
        qp->responding = 0;
        return STREAM_EMPTY;
    }
    *request = request_slot(owner, qp, qp->reads[qp->next_response % MAX_READS]);
    *ready = atomic_load_explicit(&(*request)->request_ns, memory_order_relaxed);
    return STREAM_READY;
}

/* Where a stream's turns arrive. What is sent to a port that is not there takes its time on the
 * sender's. */
static uint32_t ingress_of(const struct stream *stream, const struct queue_pair_entry *qp)
{
    uint32_t destination = atomic_load_explicit(&qp->destination, memory_order_relaxed);

    return link_of(stream->kind == STREAM_REQUESTS && destination ? destination
                                                                  : queue_pair_lid(qp));
}

/* When a turn that starts then leaves both links free. A slower one holds up the other's queue pair
 * alone: what is on its way waits in the network. */
static void set_ends(struct candidate *turn, const struct link *egress, const struct link *ingress)
{
    turn->egress_end = turn->start + turn_ns(egress->bandwidth, turn->bytes, turn->first);
    turn->ingress_end = ingress->bandwidth == egress->bandwidth
                            ? turn->egress_end
                            : turn->start + turn_ns(ingress->bandwidth, turn->bytes, turn->first);
    turn->end = turn->egress_end > turn->ingress_end ? turn->egress_end : turn->ingress_end;
}

static enum readiness examine(const struct stream *stream, struct candidate *turn)
{
    struct queue_pair_entry *qp = segment_queue_pair(stream->queue_pair);
    struct work_request *request;
    uint64_t ready, sent;
    enum readiness readiness;

    if (!qp)
        return STREAM_EMPTY;
    readiness = stream->kind == STREAM_REQUESTS ? next_request(qp, &request, &ready)
                                                : next_response(qp, &request, &ready);
    if (readiness != STREAM_READY)
        return readiness;
    sent = atomic_load_explicit(&request->flow_bytes, memory_order_relaxed);
    turn->first = !sent;
    if (stream->kind == STREAM_REQUESTS && request_has_response(request))
        turn->bytes = 0;
    else
        turn->bytes = turn_bytes(request->length - (uint32_t) sent);
    turn->ingress = ingress_of(stream, qp);
    turn->start = ready;
    return STREAM_READY;
}

/* The turn this egress would take next: the earliest, and among equals the one in turn. */
static struct candidate choose(uint32_t link_index)
{
    struct link *link = &self.fabric->links[link_index];
    struct candidate best = {.valid = false};
    uint32_t i = 0;

    while (i < link->n_streams) {
        uint32_t at = (link->turn + i) % link->n_streams;
        struct candidate turn = {.valid = true, .stream = at};
        const struct link *ingress;

        switch (examine(&link->streams[at], &turn)) {
        case STREAM_EMPTY:
            remove_stream(link_index, at);
            best.valid = false; /* positions have moved */
            i = 0;
            continue;
        case STREAM_BLOCKED:
            break;
        case STREAM_READY:
            ingress = &self.fabric->links[turn.ingress];
            if (turn.start < link->egress_free_ns)
                turn.start = link->egress_free_ns;
            if (turn.start < ingress->ingress_free_ns)
                turn.start = ingress->ingress_free_ns;
            set_ends(&turn, link, ingress);
            if (!best.valid || turn.start < best.start)
                best = turn;
            break;
        }
        i++;
    }
    return best;
}

static void serve_response(struct queue_pair_entry *qp, struct work_request *request,
                           const struct candidate *turn)
{
    uint64_t arrival = turn->end + self.fabric->parameters.latency_ns;
    uint64_t sent = atomic_load_explicit(&request->flow_bytes, memory_order_relaxed) + turn->bytes;

    atomic_store_explicit(&request->flow_ns, arrival, memory_order_relaxed);
    atomic_store_explicit(&request->flow_bytes, sent, memory_order_release);
    if (sent < request->length)
        return;
    atomic_store_explicit(&request->flow_done_ns, arrival, memory_order_release);
    qp->next_response++;
    qp->unblocked_ns = arrival;
    qp->reads_in_flight--;
}

static void serve_request(uint32_t number, struct queue_pair_entry *qp,
                          struct work_request *request, const struct candidate *turn)
{
    uint64_t arrival = turn->end + self.fabric->parameters.latency_ns;
    uint64_t sent = atomic_load_explicit(&request->flow_bytes, memory_order_relaxed) + turn->bytes;

    if (request_has_response(request)) {
        atomic_store_explicit(&request->request_ns, arrival, memory_order_release);
        qp->reads[(qp->next_response + qp->reads_in_flight) % MAX_READS] = qp->next_request;
        qp->reads_in_flight++;
        qp->next_request++;
        if (!qp->responding)
            qp->responding = add_stream(turn->ingress, number, STREAM_RESPONSES);
        return;
    }
    atomic_store_explicit(&request->flow_ns, arrival, memory_order_relaxed);
    atomic_store_explicit(&request->flow_bytes, sent, memory_order_release);
    if (sent < request->length)
        return;
    qp->next_request++;
    atomic_store_explicit(&request->request_ns, arrival, memory_order_relaxed);
    atomic_store_explicit(&request->flow_done_ns, arrival, memory_order_release);
}

/* Whether the streams of the link at the other end may be others now: a read has come there that is
 * to be responded to, or a response for which a request waited. */
static bool serve(uint32_t link_index, const struct candidate *turn)
{
    struct link *link = &self.fabric->links[link_index];
    struct stream stream = link->streams[turn->stream];
    struct queue_pair_entry *qp = segment_queue_pair(stream.queue_pair);
    struct node *owner = segment_node(number_slot(stream.queue_pair));
    struct work_request *request;

    link->egress_free_ns = turn->egress_end;
    self.fabric->links[turn->ingress].ingress_free_ns = turn->ingress_end;
    link->last_served = ++self.fabric->served;
    link->turn = (turn->stream + 1) % link->n_streams;
    if (!qp)
        return false;
    if (stream.kind == STREAM_RESPONSES) {
        serve_response(qp, request_slot(owner, qp, qp->reads[qp->next_response % MAX_READS]), turn);
        return true;
    }
    request = request_slot(owner, qp, qp->next_request);
    serve_request(stream.queue_pair, qp, request, turn);
    return request_has_response(request);
}

/* Serves turns that end by the horizon, in order of their starts; returns the end of the earliest
 * that does not. */
static uint64_t serve_until(uint64_t horizon)
{
    struct fabric *fabric = self.fabric;
    struct candidate turns[MAX_LINKS];
    uint64_t fresh[MAX_LINKS / 64] = {0}; /* links whose candidate is up to date */

    for (;;) {
        uint64_t next = UINT64_MAX;
        uint32_t best = MAX_LINKS, others;

        for (uint32_t w = 0; w < fabric->link_words; w++) {
            for (uint64_t bits = fabric->active[w]; bits; bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t) __builtin_ctzll(bits);

                if (!(fresh[w] & 1ull << (i % 64)))
                    turns[i] = choose(i);
                fresh[w] |= 1ull << (i % 64);
                if (!turns[i].valid)
                    continue;
                if (turns[i].end > horizon) {
                    next = turns[i].end < next ? turns[i].end : next;
                    continue;
                }
                if (best == MAX_LINKS || turns[i].start < turns[best].start ||
                    (turns[i].start == turns[best].start &&
                     fabric->links[i].last_served < fabric->links[best].last_served))
                    best = i;
            }
        }
        if (best == MAX_LINKS)
            return next;
        others = serve(best, &turns[best]) ? turns[best].ingress : best;
        fresh[best / 64] &= ~(1ull << (best % 64));
        for (uint32_t w = 0; w < fabric->link_words; w++) {
            for (uint64_t bits = fabric->active[w] & fresh[w]; bits; bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t) __builtin_ctzll(bits);

                /* What may have changed: blocked streams, those to the ingress just taken, and
                 * those of the link there where a read or a response has come. */
                if (!turns[i].valid || turns[i].ingress == turns[best].ingress || i == others)
                    fresh[w] &= ~(1ull << (i % 64));
            }
        }
    }
}

/* Turns are served as late as they are wanted and then as far ahead as is allowed, several at once:
 * what this costs is the way of a dozen cache lines from the process that did it last. Their times
 * are the same whenever they are served. */
void link_advance(uint64_t now)
{
    struct fabric *fabric = self.fabric;
    uint64_t lookahead = wanted_ns, sent, next;

    wanted_ns = 0;
    if (!is_paced())
        return;
    sent = now - fabric->parameters.latency_ns;
    if (atomic_load_explicit(&fabric->next_turn_ns, memory_order_relaxed) > sent + lookahead)
        return;
    if (!shared_trylock(&fabric->advancing))
        return;
    collect();
    next = serve_until(sent + most_lookahead_ns);
    atomic_store(&fabric->next_turn_ns, next);
    if (anyone_rings())
        atomic_store(&fabric->next_turn_ns, 0);
    shared_unlock(&fabric->advancing);
}

void link_drop(struct queue_pair_entry *qp)
{
    shared_lock_take(&self.fabric->advancing);
    qp->next_request = atomic_load(&qp->posted);
    qp->reads_in_flight = 0;
    qp->next_response = 0;
    qp->unblocked_ns = 0;
    shared_unlock(&self.fabric->advancing);
}
