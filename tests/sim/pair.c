/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What requests do at the ends of a simulated queue pair: posting, placing, completions, receive
 * queues, and what remains when it dies.
 */
#include "net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RNR_WAIT_NS   10000u /* before a message that found no receive buffer is tried again */
#define DEATH_WAIT_NS 50000u /* before the other side's requests complete with an error */

static void open_end(struct sim_pair_end *end, struct sim_nic *nic, struct sim_pair_end *peer,
                     unsigned channel, uint32_t depth, uint32_t inline_max)
{
    *end = (struct sim_pair_end){.nic = nic, .peer = peer, .channel = channel};
    end->queue = (struct rbuf_fab_queue){
        .qp = end, .port = &nic->port, .depth = depth, .inline_max = inline_max};
    TAILQ_INIT(&end->requests.jobs);
    TAILQ_INIT(&end->answers.jobs);
    end->requests.to = peer;
    end->answers.to = peer;
    TAILQ_INIT(&end->outstanding);
    STAILQ_INIT(&end->waiting);
    TAILQ_INSERT_TAIL(&nic->net->ends, end, link);
}

void sim_pair_open(struct sim_pair_end *one, struct sim_nic *nic, struct sim_pair_end *other,
                   struct sim_nic *other_nic, unsigned channel, uint32_t depth, uint32_t inline_max)
{
    open_end(one, nic, other, channel, depth, inline_max);
    open_end(other, other_nic, one, channel, depth, inline_max);
}

static void wake(struct sim_nic *nic)
{
    if (nic->wake != NULL) {
        nic->wake(nic->user);
    }
}

static void complete(struct sim_nic *nic, struct sim_completion completion)
{
    struct sim_completion *kept = sim_allocate(sizeof(*kept));

    *kept = completion;
    STAILQ_INSERT_TAIL(&nic->completions, kept, link);
    wake(nic);
}

struct sim_completion *sim_poll(struct sim_nic *nic)
{
    struct sim_completion *completion = STAILQ_FIRST(&nic->completions);

    if (completion != NULL) {
        STAILQ_REMOVE_HEAD(&nic->completions, link);
    }
    return completion;
}

void sim_post_receive(struct sim_nic *nic, unsigned channel, struct sim_receive *receive)
{
    STAILQ_INSERT_TAIL(&nic->receives[channel], receive, link);
}

/* Takes a job off its end and reports it, if it was signalled or has failed. */
static void retire(struct sim_job *job, int status)
{
    struct sim_pair_end *end = job->from;

    TAILQ_REMOVE(&end->outstanding, job, end_link);
    if (job->signal != NULL) {
        complete(end->nic, (struct sim_completion){.kind = SIM_COMPLETED,
                                                   .status = status,
                                                   .queue = &end->queue,
                                                   .work = job->signal});
    } else if (status != 0) {
        complete(end->nic, (struct sim_completion){
                               .kind = SIM_FLUSHED, .status = status, .queue = &end->queue});
    }
    sim_job_drop(job);
}

/* Jobs complete in order: what is done behind one that is not has to wait. */
static void retire_done(struct sim_pair_end *end)
{
    struct sim_job *job;

    while ((job = TAILQ_FIRST(&end->outstanding)) != NULL && job->done) {
        retire(job, 0);
    }
}

static void flush(void *subject)
{
    struct sim_pair_end *end = subject;
    struct sim_job *job;

    while ((job = TAILQ_FIRST(&end->outstanding)) != NULL) {
        retire(job, -EIO);
    }
}

static void drop_waiting(struct sim_pair_end *end)
{
    struct sim_packet *packet;

    while ((packet = STAILQ_FIRST(&end->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&end->waiting, link);
        sim_packet_drop(packet);
    }
}

static void die(struct sim_pair_end *end, uint64_t flush_ns)
{
    end->state = SIM_END_DEAD;
    sim_flow_drop(&end->requests);
    sim_flow_drop(&end->answers);
    for (int i = 0; i < 2; i++) {
        struct sim_flow *flow = i == 0 ? &end->requests : &end->answers;

        if (flow->active) {
            TAILQ_REMOVE(&end->nic->flows, flow, link);
            flow->active = false;
        }
    }
    drop_waiting(end);
    sim_at(&end->nic->net->clock, flush_ns, flush, end);
}

void sim_kill(struct sim_pair_end *end)
{
    uint64_t now = end->nic->net->clock.now_ns;

    if (end->state == SIM_END_ALIVE) {
        die(end, now);
        die(end->peer, now + DEATH_WAIT_NS);
    }
}

static void kill_end(void *subject)
{
    sim_kill(subject);
}

static void violate(struct sim_pair_end *end)
{
    end->nic->net->violations++;
    sim_kill(end);
}

static void job_ready(void *subject)
{
    struct sim_job *job = subject;
    struct sim_pair_end *end = job->from;

    if (end->state == SIM_END_ALIVE) {
        sim_flow_add(&end->requests, end->nic, job);
    }
    sim_job_drop(job);
}

static bool local_memory_covered(const struct sim_nic *nic, const struct rbuf_fab_request *request)
{
    for (unsigned i = 0; i < request->count && !request->inlined; i++) {
        const struct rbuf_fab_piece *piece = &request->pieces[i];

        if (!sim_key_covers(nic, piece->lkey, (uintptr_t) piece->address, piece->bytes)) {
            return false;
        }
    }
    return true;
}

static bool fits_inline(const struct rbuf_fab_queue *queue, const struct sim_job *job)
{
    return !job->request.inlined || job->bytes <= queue->inline_max;
}

/* Whether this post is the one that is to fail. */
static bool is_to_fail(struct sim_net *net, const struct rbuf_fab_request *request)
{
    const struct sim_faults *faults = &net->faults;

    return faults->fail_at != 0 && request->operation == faults->fail_operation &&
           ++net->to_fail == faults->fail_at;
}

bool sim_post(struct rbuf_fab_queue *queue, const struct rbuf_fab_request *request,
              struct rbuf_work *signal)
{
    struct sim_pair_end *end = queue->qp;
    struct sim_nic *nic = end->nic;
    struct sim_clock *clock = &nic->net->clock;
    bool fails = is_to_fail(nic->net, request);
    struct sim_job *job;

    if (fails && nic->net->faults.fail_refused) {
        sim_at(clock, sim_now(nic), kill_end, end);
        return false;
    }
    if (end->state == SIM_END_DEAD && nic->net->faults.refuse_when_dead) {
        return false;
    }
    job = sim_allocate(sizeof(*job));
    *job = (struct sim_job){.request = *request, .signal = signal, .from = end, .references = 2};
    for (unsigned i = 0; i < request->count; i++) {
        job->bytes += request->pieces[i].bytes;
    }
    if (request->inlined) {
        unsigned char *data = sim_allocate(job->bytes);

        sim_read_source(job, 0, job->bytes, data);
        job->data = data;
    }
    nic->local_ns += nic->post_ns;
    TAILQ_INSERT_TAIL(&end->outstanding, job, end_link);
    /* A processor's clock may be ahead of what is posted next from outside: order is kept. */
    end->last_ready_ns = sim_now(nic) > end->last_ready_ns ? sim_now(nic) : end->last_ready_ns;
    sim_at(clock, end->last_ready_ns, job_ready, job);
    end->posts++;
    if (end->state == SIM_END_DEAD) {
        sim_at(clock, sim_now(nic), flush, end);
    } else if (!local_memory_covered(nic, request) || !fits_inline(queue, job)) {
        nic->net->violations++;
        sim_at(clock, sim_now(nic), kill_end, end);
    } else if (fails || (end->die_after != 0 && end->posts == end->die_after)) {
        sim_at(clock, sim_now(nic), kill_end, end);
    }
    return true;
}

void sim_read_source(const struct sim_job *job, uint32_t offset, uint32_t bytes, unsigned char *to)
{
    if (bytes == 0) {
        return;
    }
    if (job->answering) {
        memcpy(to, (const unsigned char *) (uintptr_t) job->request.remote + offset, bytes);
        return;
    }
    if (job->request.inlined && job->data != NULL) {
        memcpy(to, job->data + offset, bytes);
        return;
    }
    for (unsigned i = 0; i < job->request.count && bytes > 0; i++) {
        const struct rbuf_fab_piece *piece = &job->request.pieces[i];

        if (offset < piece->bytes) {
            uint32_t here = piece->bytes - offset < bytes ? piece->bytes - offset : bytes;

            memcpy(to, (const unsigned char *) piece->address + offset, here);
            to += here;
            bytes -= here;
            offset += here;
        }
        offset -= piece->bytes < offset ? piece->bytes : offset;
    }
}

static void acknowledged(void *subject)
{
    struct sim_job *job = subject;

    if (job->from->state == SIM_END_ALIVE) {
        if (job->request.operation == SIM_FETCH_ADD || job->request.operation == SIM_COMPARE_SWAP) {
            memcpy((void *) (uintptr_t) job->request.pieces[0].address, &job->word,
                   sizeof(job->word));
        }
        job->done = true;
        retire_done(job->from);
    }
    sim_job_drop(job);
}

/* All of the job is executed at the target: its acknowledgement goes back. */
static void acknowledge(struct sim_job *job, uint64_t way_ns)
{
    struct sim_net *net = job->from->nic->net;
    uint64_t at = net->clock.now_ns + way_ns +
                  sim_random_below(&net->random, net->faults.completion_delay_ns + 1);

    if (at < job->from->last_ack_ns) {
        at = job->from->last_ack_ns;
    }
    job->from->last_ack_ns = at;
    sim_job_hold(job);
    sim_at(&net->clock, at, acknowledged, job);
}

static bool takes_receive(const struct sim_job *job)
{
    return job->request.operation == SIM_SEND || job->request.operation == SIM_WRITE_IMMEDIATE;
}

/* The last packet of a job that uses a receive buffer is there, and so is the buffer. */
static void deliver(struct sim_pair_end *end, struct sim_job *job)
{
    struct sim_receive *receive = STAILQ_FIRST(&end->nic->receives[end->channel]);
    bool message = job->request.operation == SIM_SEND;

    if (message && job->bytes > receive->bytes) {
        violate(end);
        return;
    }
    STAILQ_REMOVE_HEAD(&end->nic->receives[end->channel], link);
    if (message && job->bytes > 0) {
        memcpy(receive->data, job->data, job->bytes);
    }
    complete(end->nic, (struct sim_completion){.kind = message ? SIM_RECEIVED : SIM_IMMEDIATE,
                                               .queue = &end->queue,
                                               .receive = receive,
                                               .bytes = job->bytes,
                                               .immediate = job->request.immediate,
                                               .channel = end->channel});
}

static void do_atomic(struct sim_job *job)
{
    uint64_t *word = (uint64_t *) (uintptr_t) job->request.remote;

    job->word = *word;
    if (job->request.operation == SIM_FETCH_ADD) {
        *word += job->request.operand;
    } else if (*word == job->request.compare) {
        *word = job->request.operand;
    }
}

/* True if the job may touch what it names at the target. */
static bool target_covered(const struct sim_pair_end *end, const struct sim_job *job)
{
    return job->request.operation == SIM_SEND ||
           sim_key_covers(end->nic, job->request.rkey, job->request.remote, job->bytes);
}

static void place_data(struct sim_pair_end *end, struct sim_packet *packet)
{
    struct sim_job *job = packet->job;
    struct sim_net *net = end->nic->net;
    unsigned char *to;

    if (net->faults.late_read) {
        sim_read_source(job, packet->offset, packet->bytes, packet->data);
    }
    if (job->request.operation == SIM_SEND) {
        if (job->data == NULL) {
            job->data = sim_allocate(job->bytes);
        }
        to = job->data;
    } else if (job->answering) {
        to = (unsigned char *) (uintptr_t) job->request.pieces[0].address;
    } else {
        to = (unsigned char *) (uintptr_t) job->request.remote;
        if (job->placed == 0 && net->placing != NULL) {
            net->placing(net->placing_user, end, job->request.remote, job->bytes);
        }
    }
    if (packet->bytes > 0) {
        memcpy(to + packet->offset, packet->data, packet->bytes);
    }
}

/* Does at the target what the packet asks for. */
static void execute(struct sim_pair_end *end, struct sim_packet *packet)
{
    struct sim_job *job = packet->job;
    struct sim_net *net = end->nic->net;

    if (!job->answering && job->placed == 0 && !target_covered(end, job)) {
        violate(end);
        return;
    }
    switch (job->request.operation) {
    case SIM_FETCH_ADD:
    case SIM_COMPARE_SWAP:
        do_atomic(job);
        break;
    case SIM_READ:
        if (!job->answering) {
            job->answering = true;
            sim_flow_add(&end->answers, end->nic, job);
            return;
        }
        place_data(end, packet);
        break;
    default:
        place_data(end, packet);
        break;
    }
    if (++job->placed == job->packets) {
        if (takes_receive(job)) {
            deliver(end, job);
        }
        acknowledge(job, job->answering ? 0 : net->model.latency_ns);
    }
    wake(end->nic);
}

static void retry(void *subject);

/* True if the packet cannot be executed because it would end a message that nobody receives. */
static bool not_ready(struct sim_pair_end *end, const struct sim_packet *packet)
{
    const struct sim_job *job = packet->job;

    return takes_receive(job) && job->placed + 1 == job->packets &&
           STAILQ_EMPTY(&end->nic->receives[end->channel]);
}

/* Executes what waits until a message finds no receive buffer. */
static void work_off(struct sim_pair_end *end)
{
    struct sim_packet *packet;

    while (end->state == SIM_END_ALIVE && (packet = STAILQ_FIRST(&end->waiting)) != NULL) {
        if (not_ready(end, packet)) {
            end->nic->net->rnr++;
            end->stalled = true;
            sim_at(&end->nic->net->clock, end->nic->net->clock.now_ns + RNR_WAIT_NS, retry, end);
            return;
        }
        STAILQ_REMOVE_HEAD(&end->waiting, link);
        execute(end, packet);
        sim_packet_drop(packet);
    }
}

static void retry(void *subject)
{
    struct sim_pair_end *end = subject;

    end->stalled = false;
    work_off(end);
}

void sim_place(struct sim_packet *packet)
{
    struct sim_pair_end *end = packet->to;

    if (end->state == SIM_END_DEAD) {
        sim_packet_drop(packet);
        return;
    }
    end->nic->net->packets++;
    if (packet->job->answering) { /* the way back does not wait for receive buffers */
        execute(end, packet);
        sim_packet_drop(packet);
        return;
    }
    STAILQ_INSERT_TAIL(&end->waiting, packet, link);
    if (!end->stalled) {
        work_off(end);
    }
}
