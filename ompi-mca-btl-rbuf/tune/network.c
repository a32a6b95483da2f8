/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Times requests on the sender, and streams by round trips.
 */
#include "tune/network.h"

#include <math.h>

#include <mpi.h>

#include "common/clock.h"
#include "tune/rounds.h"
#include "verbs/completion.h"

#define BURST       16   /* requests timed at once: fewer than a send queue signals at */
#define POSTED      4096 /* bytes of each */
#define IDLE_POLLS  64
#define REQUEST_NS  5000 /* on the wire, at least, where gaps are looked for */
#define FEWEST      4    /* requests of a stream */
#define ROUND_TRIPS 8    /* of a word, timed at once */

enum { POST, POST_WORD, PASS, REQUESTS };

static double time_posts(struct tune_wire *wire)
{
    const double start = clock_ns();
    double end;

    for (int i = 0; i < BURST; i++) {
        tune_wire_write(wire, POSTED);
    }
    end = clock_ns();
    tune_wire_drain(wire);
    return (end - start) / BURST;
}

/* The words are counted by the other rank as well, which need not look at each. */
static double time_words(struct tune_wire *wire)
{
    const double start = clock_ns();
    double end;

    for (int i = 0; i < BURST; i++) {
        tune_wire_word(wire);
    }
    end = clock_ns();
    tune_wire_drain(wire);
    wire->received += BURST;
    return (end - start) / BURST;
}

static double time_passes(struct tune_wire *wire)
{
    const double start = clock_ns();
    struct rbuf_completion completion;

    for (int i = 0; i < IDLE_POLLS; i++) {
        (void) rbuf_poll(wire->port, &completion, 1);
    }
    return (clock_ns() - start) / IDLE_POLLS;
}

static void as_they_are(const void *about, const double *times, double *values)
{
    const int *count = about;

    for (int i = 0; i < *count; i++) {
        values[i] = times[i];
    }
}

void tune_requests(struct tune_wire *wire, struct tune_side *side, double seconds)
{
    static struct tune_samples samples;
    const int count = REQUESTS;
    struct tune_constant constants[REQUESTS];
    struct tune_rounds rounds;

    samples.points = REQUESTS;
    tune_rounds_open(&rounds, "what a request costs", seconds);
    while (tune_rounds_next(&rounds, &samples)) {
        samples.ns[POST][samples.rounds] = time_posts(wire);
        samples.ns[POST_WORD][samples.rounds] = time_words(wire);
        samples.ns[PASS][samples.rounds] = time_passes(wire);
        MPI_Barrier(MPI_COMM_WORLD); /* the words of both have arrived */
    }
    tune_constants(&samples, as_they_are, &count, constants, REQUESTS);
    side->post = constants[POST];
    side->post_word = constants[POST_WORD];
    side->pass = constants[PASS];
}

/* One way of `requests` writes of `bytes` each and a word, half of a round trip, ns. */
static double time_stream(struct tune_wire *wire, int rank, int requests, size_t bytes)
{
    const double start = clock_ns();

    for (int turn = 0; turn < 2; turn++) {
        if (turn != rank) {
            tune_wire_wait(wire);
            continue;
        }
        for (int i = 0; i < requests; i++) {
            tune_wire_write(wire, bytes);
        }
        tune_wire_word(wire);
    }
    return (clock_ns() - start) / 2;
}

void tune_word(struct tune_wire *wire, int rank, struct tune_measured *measured, double seconds)
{
    static struct tune_samples samples;
    const int count = 1;
    struct tune_rounds rounds;

    samples.points = 1;
    tune_rounds_open(&rounds, "the network's latency", seconds);
    while (tune_rounds_next(&rounds, &samples)) {
        double sum = 0;

        (void) time_stream(wire, rank, 0, 0);
        for (int i = 0; i < ROUND_TRIPS; i++) {
            sum += time_stream(wire, rank, 0, 0);
        }
        samples.ns[0][samples.rounds] = sum / ROUND_TRIPS;
    }
    tune_constants(&samples, as_they_are, &count, &measured->word, 1);
}

/* What a grid is made of. */
struct grid {
    int points;
    int requests[TUNE_POINTS];
    size_t bytes[TUNE_POINTS]; /* of each request */
};

/* Totals from an eighth of the memory on, cut into 4 to 64 requests of `least` bytes or more: whole
 * messages are never one request here. */
static struct grid make_grid(size_t largest, size_t least)
{
    struct grid grid = {0};

    for (size_t total = largest / 8; total <= largest; total *= 2) {
        for (int requests = FEWEST; requests <= 64; requests *= 2) {
            if (requests == FEWEST || total / (size_t) requests >= least) {
                grid.requests[grid.points] = requests;
                grid.bytes[grid.points] = total / (size_t) requests;
                grid.points++;
            }
        }
    }
    return grid;
}

/* c + bytes / B_net + requests * g: gap and speed. */
static void to_plane(const void *about, const double *times, double *values)
{
    const struct grid *grid = about;
    double x[TUNE_POINTS][TUNE_TERMS], factors[TUNE_TERMS] = {0, 1, 0};

    for (int i = 0; i < grid->points; i++) {
        x[i][0] = 1;
        x[i][1] = (double) grid->bytes[i] * grid->requests[i];
        x[i][2] = grid->requests[i];
    }
    (void) tune_least_squares(3, grid->points, x, times, factors);
    values[0] = fmax(factors[2], 0);
    values[1] = 1 / fmax(factors[1], 1e-6);
}

/* The shortest request, after a first look at the speed: one that holds up the link, and neither
 * the processor that posts it nor the adapter. Chunks are of about that size. */
static size_t least_request(struct tune_wire *wire, int rank, const struct tune_measured *measured)
{
    double least, best = 0;

    for (int i = 0; i < 3; i++) {
        const double time = time_stream(wire, rank, 1, wire->bytes / 4);
        const double speed = (double) (wire->bytes / 4) / (time - measured->word.value);

        best = fmax(best, speed);
    }
    least = best * fmax(2 * measured->side[rank].post.value, REQUEST_NS);
    MPI_Bcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return (size_t) least;
}

void tune_streams(struct tune_wire *wire, int rank, struct tune_measured *measured, double seconds)
{
    static struct tune_samples samples;
    struct tune_constant constants[2];
    struct tune_rounds rounds;
    struct grid grid;

    tune_rounds_open(&rounds, "the network's bandwidth and gap", seconds);
    grid = make_grid(wire->bytes, least_request(wire, rank, measured));
    samples.points = grid.points;
    while (tune_rounds_next(&rounds, &samples)) {
        for (int i = 0; i < grid.points; i++) {
            samples.ns[i][samples.rounds] =
                time_stream(wire, rank, grid.requests[i], grid.bytes[i]);
        }
    }
    tune_constants(&samples, to_plane, &grid, constants, 2);
    measured->gap = constants[0];
    measured->bandwidth = constants[1];
}
