/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One function for each pattern; those whose time only one rank knows tell the other.
 */
#define _GNU_SOURCE
#include "bench/patterns.h"
#include "bench/compute.h"
#include "common/clock.h"

enum { TAG = 7, ANSWER_TAG = 8 };

/* The overlap patterns first send a message without computing: it needs buffers of its own. */
int bench_slots(enum bench_pattern pattern, int window, int sets)
{
    switch (pattern) {
    case BENCH_OVERLAP_SEND:
    case BENCH_OVERLAP_RECV:
    case BENCH_OVERLAP:
        return 2;
    case BENCH_PROCESSOR:
    case BENCH_PUTS_GETS: /* the first half is got, the other one put */
    case BENCH_PUT_GET_PSCW:
        return 2 * window * sets;
    default:
        return window * sets;
    }
}

int bench_received(enum bench_pattern pattern, int slots, int rank, int *first)
{
    *first = 0;
    switch (pattern) {
    case BENCH_PINGPONG:
    case BENCH_SPECTRUM:
    case BENCH_BOTH:
    case BENCH_ALLREDUCE:
        return slots;
    case BENCH_GET:
    case BENCH_GET_SPECTRUM:
        return rank == 0 ? slots : 0;
    case BENCH_PUTS_GETS:
        return rank == 0 ? slots / 2 : 0;
    case BENCH_PUT_GET_PSCW:
        return slots / 2;
    case BENCH_BARRIER:
        return 0;
    case BENCH_SCATTER:
        *first = rank;
        return rank > 0;
    default:
        return rank > 0 ? slots : 0;
    }
}

static void send_message(const struct bench_exchange *x, int m)
{
    const struct bench_layout *layout = x->buffers->layout;

    MPI_Send(x->buffers->send[m], layout->count, layout->type, 1 - x->rank, TAG, MPI_COMM_WORLD);
}

static void recv_message(const struct bench_exchange *x, int m)
{
    const struct bench_layout *layout = x->buffers->layout;

    MPI_Recv(x->buffers->recv[m], layout->count, layout->type, 1 - x->rank, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void start_send(const struct bench_exchange *x, int m, MPI_Request *request)
{
    const struct bench_layout *layout = x->buffers->layout;

    MPI_Isend(x->buffers->send[m], layout->count, layout->type, 1 - x->rank, TAG, MPI_COMM_WORLD,
              request);
}

static void start_recv(const struct bench_exchange *x, int m, MPI_Request *request)
{
    const struct bench_layout *layout = x->buffers->layout;

    MPI_Irecv(x->buffers->recv[m], layout->count, layout->type, 1 - x->rank, TAG, MPI_COMM_WORLD,
              request);
}

/* The first message of the i-th exchange of a burst. */
static int first_of(const struct bench_exchange *x, int i)
{
    return i % x->sets * x->window;
}

/* Half of a round trip. */
static double pingpong(const struct bench_exchange *x)
{
    const double start = clock_us();

    for (int i = 0; i < x->burst; i++) {
        if (x->rank == 0) {
            send_message(x, first_of(x, i));
            recv_message(x, first_of(x, i));
        } else {
            recv_message(x, first_of(x, i));
            send_message(x, first_of(x, i));
        }
    }
    return (clock_us() - start) / (2 * x->burst);
}

/* The same with as many buffers as the window has messages, the i-th used i times. */
static double spectrum(const struct bench_exchange *x)
{
    const double start = clock_us();

    for (int m = 0; m < x->window; m++) {
        for (int use = 0; use <= m; use++) {
            if (x->rank == 0) {
                send_message(x, m);
                recv_message(x, m);
            } else {
                recv_message(x, m);
                send_message(x, m);
            }
        }
    }
    return (clock_us() - start) / ((double) x->window * (x->window + 1));
}

/* The receiver's, that a window is there. */
static void answer(const struct bench_exchange *x)
{
    if (x->rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER_TAG, MPI_COMM_WORLD);
    }
}

/* A window one way, then the answer that it is there. */
static double stream(const struct bench_exchange *x)
{
    const double start = clock_us();

    for (int i = 0; i < x->burst; i++) {
        for (int m = 0; m < x->window; m++) {
            x->requests[m] = MPI_REQUEST_NULL;
            if (x->rank == 0 && x->pattern == BENCH_SENDS) {
                send_message(x, first_of(x, i) + m);
            } else if (x->rank == 0) {
                start_send(x, first_of(x, i) + m, &x->requests[m]);
            } else {
                start_recv(x, first_of(x, i) + m, &x->requests[m]);
            }
        }
        MPI_Waitall(x->window, x->requests, MPI_STATUSES_IGNORE);
        answer(x);
    }
    return (clock_us() - start) / ((double) x->window * x->burst);
}

static double both(const struct bench_exchange *x)
{
    const double start = clock_us();

    for (int i = 0; i < x->burst; i++) {
        for (int m = 0; m < x->window; m++) {
            start_recv(x, first_of(x, i) + m, &x->requests[m]);
        }
        for (int m = 0; m < x->window; m++) {
            start_send(x, first_of(x, i) + m, &x->requests[x->window + m]);
        }
        MPI_Waitall(2 * x->window, x->requests, MPI_STATUSES_IGNORE);
    }
    return (clock_us() - start) / ((double) x->window * x->burst);
}

/* Message `m` one way, with so much computing on this rank before it is waited for. */
static double one_way(const struct bench_exchange *x, int m, double work)
{
    MPI_Request request;
    const double start = clock_us();

    if (x->rank == 0) {
        start_send(x, m, &request);
    } else {
        start_recv(x, m, &request);
    }
    bench_compute(0, work);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return clock_us() - start;
}

static double slower_of_both(double time)
{
    double slower;

    MPI_Allreduce(&time, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slower;
}

static double compute_alone(size_t bytes, double work)
{
    const double start = clock_us();

    bench_compute(bytes, work);
    return clock_us() - start;
}

/*
 * The transfer alone, as much computing alone, then both. What the two take together is between
 * their sum, where nothing was hidden, and the longer of them, where the shorter was hidden wholly.
 */
static double overlap(struct bench_exchange *x, bool sender_computes, bool receiver_computes)
{
    const bool computes = x->rank == 0 ? sender_computes : receiver_computes;
    const double transfer = slower_of_both(one_way(x, 0, 0));
    const double work = bench_compute_work(0, transfer);
    const double computing = slower_of_both(computes ? compute_alone(0, work) : 0);

    MPI_Barrier(MPI_COMM_WORLD);
    const double together = slower_of_both(one_way(x, 1, computes ? work : 0));
    const double shorter = transfer < computing ? transfer : computing;
    const double hidden = (transfer + computing - together) / shorter;
    x->hidden = hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
    return together;
}

/* Bursts of windows one way from message `first` on, the sender computing behind each; the time of
 * a window until its sends are over. */
static double computing_windows(const struct bench_exchange *x, int first, double work)
{
    double time = 0;

    for (int i = 0; i < x->burst; i++) {
        const double start = clock_us();

        for (int m = first + first_of(x, i), k = 0; k < x->window; k++) {
            if (x->rank == 0) {
                start_send(x, m + k, &x->requests[k]);
            } else {
                start_recv(x, m + k, &x->requests[k]);
            }
        }
        if (x->rank == 0) {
            bench_compute(x->working_set, work);
        }
        MPI_Waitall(x->window, x->requests, MPI_STATUSES_IGNORE);
        time += clock_us() - start;
        answer(x);
    }
    return time / x->burst;
}

/* What the sends take of the sender's processor: how much longer computing takes with them, which
 * goes on for longer than they are under way. */
static double processor(const struct bench_exchange *x)
{
    const double work =
        bench_compute_work(x->working_set, 2 * slower_of_both(computing_windows(x, 0, 0)));
    double alone = 0;

    for (int i = 0; i < x->burst && x->rank == 0; i++) {
        alone += compute_alone(x->working_set, work) / x->burst;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return (computing_windows(x, x->buffers->slots / 2, work) - alone) / x->window;
}

/* The receive's own time, known to rank 1. */
static double late(const struct bench_exchange *x)
{
    const double start = clock_us();

    if (x->rank == 0) {
        send_message(x, 0);
        return 0;
    }
    while (clock_us() - start < x->late_us) {
    }
    const double comes = clock_us();
    recv_message(x, 0);
    return clock_us() - comes;
}

static bool is_put(enum bench_pattern pattern)
{
    return pattern == BENCH_PUT || pattern == BENCH_PUT_SPECTRUM || pattern == BENCH_PUT_PSCW;
}

void bench_exchange_open(struct bench_exchange *x)
{
    char *const *exposed = is_put(x->pattern) ? x->buffers->recv : x->buffers->send;
    const int last = x->buffers->slots - 1;

    if (bench_is_one_sided(x->pattern) && x->win == MPI_WIN_NULL) {
        MPI_Win_create(exposed[0], exposed[last] - exposed[0] + (MPI_Aint) x->buffers->layout->span,
                       1, MPI_INFO_NULL, MPI_COMM_WORLD, &x->win);
    }
}

void bench_exchange_close(struct bench_exchange *x)
{
    if (x->win != MPI_WIN_NULL) {
        MPI_Win_free(&x->win);
    }
}

static void put(const struct bench_exchange *x, int m)
{
    const struct bench_layout *layout = x->buffers->layout;
    const MPI_Aint at = x->buffers->send[m] - x->buffers->send[0];

    MPI_Put(x->buffers->send[m], layout->count, layout->type, 1 - x->rank, at, layout->count,
            layout->type, x->win);
}

static void get(const struct bench_exchange *x, int m)
{
    const struct bench_layout *layout = x->buffers->layout;
    const MPI_Aint at = x->buffers->send[m] - x->buffers->send[0];

    MPI_Get(x->buffers->recv[m], layout->count, layout->type, 1 - x->rank, at, layout->count,
            layout->type, x->win);
}

/* Puts message `m` to the other rank, or gets it. */
static void move(const struct bench_exchange *x, int m)
{
    if (is_put(x->pattern)) {
        put(x, m);
    } else {
        get(x, m);
    }
}

/* Epochs of a window of puts or gets. */
static double fenced(const struct bench_exchange *x)
{
    MPI_Win_fence(0, x->win);
    const double start = clock_us();

    for (int i = 0; i < x->burst; i++) {
        for (int m = 0; m < x->window && x->rank == 0; m++) {
            move(x, first_of(x, i) + m);
        }
        MPI_Win_fence(0, x->win);
    }
    return (clock_us() - start) / ((double) x->window * x->burst);
}

static double fenced_spectrum(const struct bench_exchange *x)
{
    MPI_Win_fence(0, x->win);
    const double start = clock_us();

    for (int m = 0; m < x->window; m++) {
        for (int use = 0; use <= m; use++) {
            if (x->rank == 0) {
                move(x, m);
            }
            MPI_Win_fence(0, x->win);
        }
    }
    return (clock_us() - start) / (x->window * (x->window + 1.0) / 2);
}

/* An access epoch for the other rank, or an exposure epoch. */
static void access_epoch(const struct bench_exchange *x, MPI_Group other, int first)
{
    const bool both = x->pattern == BENCH_PUTS_GETS || x->pattern == BENCH_PUT_GET_PSCW;

    MPI_Win_start(other, 0, x->win);
    for (int m = 0; m < x->window && both; m++) {
        put(x, x->buffers->slots / 2 + first + m);
    }
    for (int m = 0; m < x->window; m++) {
        move(x, first + m);
    }
    MPI_Win_complete(x->win);
}

static void exposure_epoch(const struct bench_exchange *x, MPI_Group other)
{
    MPI_Win_post(other, 0, x->win);
    MPI_Win_wait(x->win);
}

/* After Huang, Santhanaraman, Jin and Panda 2005, sections 5.2 and 5.3; in puts-gets, whose time is
 * that of a message, all epochs are of rank 0. */
static double epochs(const struct bench_exchange *x)
{
    const bool in_turn = x->pattern != BENCH_PUTS_GETS;
    const int peer = 1 - x->rank;
    MPI_Group all, other;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = clock_us();

    for (int i = 0; i < x->burst; i++) {
        if (x->rank == 0) {
            access_epoch(x, other, first_of(x, i));
        }
        if (x->rank == 1 || in_turn) {
            exposure_epoch(x, other);
        }
        if (x->rank == 1 && in_turn) {
            access_epoch(x, other, first_of(x, i));
        }
    }
    const double time = (clock_us() - start) / (2.0 * x->window * x->burst);

    MPI_Group_free(&other);
    MPI_Group_free(&all);
    return time;
}

/* One operation of all ranks; from rank 0, where there is one that others get something from. */
static void take_part(const struct bench_exchange *x, int m)
{
    const struct bench_layout *layout = x->buffers->layout;

    switch (x->pattern) {
    case BENCH_BCAST:
        MPI_Bcast(x->rank == 0 ? x->buffers->send[m] : x->buffers->recv[m], layout->count,
                  layout->type, 0, MPI_COMM_WORLD);
        break;
    case BENCH_SCATTER:
        MPI_Scatter(x->buffers->send[0], layout->count, layout->type,
                    x->rank == 0 ? MPI_IN_PLACE : x->buffers->recv[x->rank], layout->count,
                    layout->type, 0, MPI_COMM_WORLD);
        break;
    case BENCH_ALLREDUCE:
        MPI_Allreduce(x->buffers->send[m], x->buffers->recv[m], layout->count, layout->type,
                      MPI_BXOR, MPI_COMM_WORLD);
        break;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
}

/* The mean of all ranks. */
static double collective(const struct bench_exchange *x)
{
    double time = 0, sum;

    for (int i = 0; i < x->burst; i++) {
        const double start = clock_us();

        take_part(x, first_of(x, i));
        time += clock_us() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / (x->ranks * x->burst);
}

double bench_exchange_time(struct bench_exchange *x)
{
    double time = 0;

    switch (x->pattern) {
    case BENCH_PINGPONG:
        time = pingpong(x);
        break;
    case BENCH_STREAM:
    case BENCH_RATE:
    case BENCH_SENDS:
        time = stream(x);
        break;
    case BENCH_PROCESSOR:
        time = processor(x);
        break;
    case BENCH_SPECTRUM:
        time = spectrum(x);
        break;
    case BENCH_PUT:
    case BENCH_GET:
        time = fenced(x);
        break;
    case BENCH_PUT_SPECTRUM:
    case BENCH_GET_SPECTRUM:
        time = fenced_spectrum(x);
        break;
    case BENCH_PUT_PSCW:
    case BENCH_GET_PSCW:
    case BENCH_PUTS_GETS:
    case BENCH_PUT_GET_PSCW:
        time = epochs(x);
        break;
    case BENCH_BCAST:
    case BENCH_SCATTER:
    case BENCH_ALLREDUCE:
    case BENCH_BARRIER:
        return collective(x);
    case BENCH_BOTH:
        return slower_of_both(both(x));
    case BENCH_OVERLAP_SEND:
        return overlap(x, true, false);
    case BENCH_OVERLAP_RECV:
        return overlap(x, false, true);
    case BENCH_OVERLAP:
        return overlap(x, true, true);
    case BENCH_LATE:
        return slower_of_both(late(x));
    case BENCH_PATTERNS:
    default:
        break;
    }
    /* Rank 0 knows; the broadcast also keeps the ranks together until the clock has stopped. */
    MPI_Bcast(&time, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return time;
}
