/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Links and packets of the simulated network, and its faults: late, merged, overtaking (see net.h).
 */
#include "net.h"

#include <stdlib.h>
#include <string.h>

void sim_net_open(struct sim_net *net, const struct sim_model *model,
                  const struct sim_faults *faults)
{
    *net = (struct sim_net){.model = *model, .faults = *faults, .random = {faults->seed}};
    sim_clock_open(&net->clock);
    TAILQ_INIT(&net->nics);
    TAILQ_INIT(&net->ends);
}

static void free_completions(struct sim_nic *nic)
{
    struct sim_completion *completion;

    while ((completion = sim_poll(nic)) != NULL) {
        free(completion);
    }
}

void sim_net_close(struct sim_net *net)
{
    struct sim_pair_end *end;
    struct sim_nic *nic;

    TAILQ_FOREACH(nic, &net->nics, link)
    {
        nic->wake = NULL;
    }
    TAILQ_FOREACH(end, &net->ends, link)
    {
        sim_kill(end);
    }
    while (sim_step(&net->clock)) {
    }
    TAILQ_FOREACH(nic, &net->nics, link)
    {
        free_completions(nic);
    }
    sim_clock_close(&net->clock);
    free(net->regions);
    net->regions = NULL;
    net->region_count = 0; /* keys given back from now on are nobody's */
}

void sim_nic_open(struct sim_nic *nic, struct sim_net *net, uint32_t completion_room,
                  sim_action *wake, void *user)
{
    *nic =
        (struct sim_nic){.net = net, .port = {.room = completion_room}, .wake = wake, .user = user};
    TAILQ_INIT(&nic->flows);
    STAILQ_INIT(&nic->completions);
    for (int i = 0; i < SIM_CHANNELS; i++) {
        STAILQ_INIT(&nic->receives[i]);
    }
    TAILQ_INSERT_TAIL(&net->nics, nic, link);
}

uint64_t sim_now(const struct sim_nic *nic)
{
    return nic->running ? nic->local_ns : nic->net->clock.now_ns;
}

void sim_job_hold(struct sim_job *job)
{
    job->references++;
}

void sim_job_drop(struct sim_job *job)
{
    if (--job->references == 0) {
        free(job->order);
        free(job->data);
        free(job);
    }
}

void sim_packet_drop(struct sim_packet *packet)
{
    sim_job_drop(packet->job);
    free(packet);
}

#define LATE_OF 16u /* packets, of which one is late where they scatter */

/* In which order the packets of a job go: a permutation, or NULL for the natural one. */
static uint32_t *packet_order(struct sim_net *net, const struct sim_job *job)
{
    bool write =
        job->request.operation == SIM_WRITE || job->request.operation == SIM_WRITE_IMMEDIATE;
    uint32_t *order;

    if (net->faults.order == SIM_IN_ORDER || !write || job->packets < 2) {
        return NULL;
    }
    order = sim_allocate(job->packets * sizeof(*order));
    for (uint32_t i = 0; i < job->packets; i++) {
        order[i] = net->faults.order == SIM_TAIL_FIRST ? job->packets - 1 - i : i;
    }
    if (net->faults.order == SIM_RANDOM_ORDER) {
        for (uint32_t i = job->packets - 1; i > 0; i--) {
            uint32_t other = (uint32_t) sim_random_below(&net->random, i + 1);
            uint32_t kept = order[i];

            order[i] = order[other];
            order[other] = kept;
        }
    }
    return order;
}

static void place(void *subject)
{
    sim_place(subject);
}

/* Time of a packet at that speed, whole nanoseconds; what is cut off is kept for the next one. */
static uint64_t time_ns(uint32_t bytes, double bytes_per_ns, double *rest)
{
    double exact = (double) bytes / bytes_per_ns + *rest;
    uint64_t whole = (uint64_t) exact;

    *rest = exact - (double) whole;
    return whole;
}

static uint64_t link_ns(const struct sim_net *net, uint32_t bytes, double *rest)
{
    return time_ns(bytes, net->model.bytes_per_ns, rest);
}

/* When a packet that begins now is over the bus; 0: there is none. */
static uint64_t over_bus(struct sim_nic *nic, uint32_t bytes)
{
    const uint64_t now = nic->net->clock.now_ns;
    const double speed = nic->net->model.bus_bytes_per_ns;

    if (speed == 0) {
        return 0;
    }
    if (nic->bus_free_ns < now) {
        nic->bus_free_ns = now;
    }
    nic->bus_free_ns += time_ns(bytes, speed, &nic->bus_rest_ns);
    return nic->bus_free_ns;
}

static void arrive(void *subject)
{
    struct sim_packet *packet = subject;
    struct sim_nic *nic = packet->to->nic;
    struct sim_net *net = nic->net;
    uint64_t start = net->clock.now_ns, stored;

    if (nic->incoming_free_ns > start) {
        start = nic->incoming_free_ns;
    }
    nic->incoming_free_ns = start + link_ns(net, packet->bytes, &nic->incoming_rest_ns);
    stored = over_bus(nic, packet->bytes);
    if (stored > nic->incoming_free_ns) {
        nic->incoming_free_ns = stored;
    }
    sim_at(&net->clock, nic->incoming_free_ns, place, packet);
}

static bool may_overtake(const struct sim_net *net, const struct sim_job *job)
{
    return net->faults.overtake_ns > 0 && job->request.operation == SIM_WRITE &&
           job->bytes > (net->faults.overtake_words ? 0 : sizeof(uint64_t));
}

/* When a packet of the job arrives that may be there at `arrival`: not before what it may not
 * overtake. */
static uint64_t in_turn(struct sim_net *net, struct sim_flow *flow, struct sim_job *job,
                        uint64_t arrival)
{
    const bool overtakes = may_overtake(net, job);
    uint64_t before = overtakes ? flow->last_barrier_ns : flow->last_arrival_ns;

    if (overtakes && net->faults.scatter) {
        job->late_ns = sim_random_below(&net->random, LATE_OF) == 0
                           ? sim_random_below(&net->random, net->faults.overtake_ns + 1)
                           : 0;
    } else {
        before = job->last_arrival_ns > before ? job->last_arrival_ns : before;
    }
    arrival = arrival + job->late_ns > before ? arrival + job->late_ns : before;
    job->last_arrival_ns = arrival;
    flow->last_arrival_ns = arrival > flow->last_arrival_ns ? arrival : flow->last_arrival_ns;
    if (!overtakes) {
        flow->last_barrier_ns = arrival;
    }
    return arrival;
}

/* Cuts the next packet off the job and puts it on its way. Returns its time on the link. */
static uint64_t send_packet(struct sim_nic *nic, struct sim_flow *flow, struct sim_job *job)
{
    struct sim_net *net = flow->to->nic->net;
    const struct sim_faults *faults = &net->faults;
    uint32_t unit = net->model.packet_bytes;
    uint32_t number = job->order != NULL ? job->order[job->sent] : job->sent;
    uint32_t offset = number * unit;
    uint32_t bytes = job->bytes - offset < unit ? job->bytes - offset : unit;
    bool asking = job->request.operation == SIM_READ && !job->answering;
    struct sim_packet *packet = sim_reallocate(NULL, sizeof(*packet) + (asking ? 0 : bytes));
    uint64_t arrival = net->clock.now_ns + net->model.latency_ns;
    uint64_t busy, fetched;

    *packet = (struct sim_packet){
        .job = job, .to = flow->to, .offset = offset, .bytes = asking ? 0 : bytes};
    sim_job_hold(job);
    if (!faults->late_read || job->request.inlined) {
        sim_read_source(job, offset, packet->bytes, packet->data);
    }
    busy = link_ns(net, packet->bytes, &nic->outgoing_rest_ns);
    fetched = over_bus(nic, packet->bytes);
    if (fetched > net->clock.now_ns + busy) {
        arrival += fetched - (net->clock.now_ns + busy);
        busy = fetched - net->clock.now_ns;
    }
    arrival += sim_random_below(&net->random, faults->jitter_ns + 1);
    if (job->request.inlined && job->request.operation == SIM_WRITE) {
        arrival += sim_random_below(&net->random, faults->small_delay_ns + 1);
    }
    sim_at(&net->clock, in_turn(net, flow, job, arrival), arrive, packet);
    job->sent++;
    return busy;
}

static void send_next(void *subject);

/* The flow at the head sends one packet and goes to the end of the turn. */
static void take_turn(struct sim_nic *nic)
{
    struct sim_flow *flow = TAILQ_FIRST(&nic->flows);
    struct sim_job *job;
    uint64_t busy;

    if (flow == NULL) {
        nic->sending = false;
        return;
    }
    job = TAILQ_FIRST(&flow->jobs);
    nic->sending = true;
    busy = send_packet(nic, flow, job);
    if (job->sent == job->packets) {
        TAILQ_REMOVE(&flow->jobs, job, flow_link);
        job->flow = NULL;
        sim_job_drop(job);
        busy += nic->net->model.gap_ns;
    }
    TAILQ_REMOVE(&nic->flows, flow, link);
    flow->active = !TAILQ_EMPTY(&flow->jobs);
    if (flow->active) {
        TAILQ_INSERT_TAIL(&nic->flows, flow, link);
    }
    sim_at(&nic->net->clock, nic->net->clock.now_ns + busy, send_next, nic);
}

static void send_next(void *subject)
{
    take_turn(subject);
}

void sim_flow_add(struct sim_flow *flow, struct sim_nic *nic, struct sim_job *job)
{
    struct sim_net *net = nic->net;
    uint32_t unit = net->model.packet_bytes;
    bool asking = job->request.operation == SIM_READ && !job->answering;

    job->packets = asking || job->bytes == 0 ? 1 : (job->bytes + unit - 1) / unit;
    job->sent = 0;
    job->placed = 0;
    job->late_ns =
        may_overtake(net, job) ? sim_random_below(&net->random, net->faults.overtake_ns + 1) : 0;
    if (job->order == NULL) {
        job->order = packet_order(net, job);
    }
    job->flow = flow;
    sim_job_hold(job);
    TAILQ_INSERT_TAIL(&flow->jobs, job, flow_link);
    if (!flow->active) {
        flow->active = true;
        TAILQ_INSERT_TAIL(&nic->flows, flow, link);
    }
    if (!nic->sending) {
        take_turn(nic);
    }
}

void sim_flow_drop(struct sim_flow *flow)
{
    struct sim_job *job;

    while ((job = TAILQ_FIRST(&flow->jobs)) != NULL) {
        TAILQ_REMOVE(&flow->jobs, job, flow_link);
        job->flow = NULL;
        sim_job_drop(job);
    }
}
