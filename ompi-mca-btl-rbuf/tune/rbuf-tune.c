/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * rbuf-tune: measures a pair of ranks, predicts, recommends and writes a parameter file.
 *
 * Both ranks go through the same phases. Before each that can fail on one of them alone they agree
 * on whether both can; the one that cannot says why. Only rank 0 prints results.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/advice.h"
#include "tune/copy.h"
#include "tune/file.h"
#include "tune/machine.h"
#include "tune/network.h"
#include "tune/options.h"
#include "tune/parameters.h"
#include "tune/plot.h"
#include "tune/registration.h"
#include "tune/report.h"
#include "tune/rounds.h"
#include "tune/settings.h"
#include "tune/traffic.h"
#include "tune/wire.h"

#define STAGING_BYTES (1u << 20) /* most staging of a message that is recommended */

enum status { GOOD, FAILED, USAGE, NO_PICTURE };

struct tune {
    struct tune_options options;
    struct tune_settings settings;
    struct tune_wire wire;
    struct tune_measured measured;
    struct tune_file output;
    struct tune_file csv;
    char temporary[32]; /* the CSV file that only a picture needs; "" if there is none */
    int rank;
};

/* The shares of the time that is given. */
static const struct {
    double copy, registration, requests, word, streams, traffic;
} shares = {.copy = 0.24,
            .registration = 0.14,
            .requests = 0.04,
            .word = 0.05,
            .streams = 0.28,
            .traffic = 0.25};

static void say(const char *why)
{
    fprintf(stderr, "rbuf-tune: %s\n", why);
}

/* Whether both ranks say yes. */
static bool both(bool mine)
{
    int all = mine;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static bool say_problem(int error, const struct rbuf_problem *problem)
{
    if (error != 0) {
        fprintf(stderr, "rbuf-tune: %s: %s: %s. Remedy: %s\n", problem->topic, problem->what,
                problem->value, problem->remedy);
    }
    return error == 0;
}

static const char *csv_path(struct tune *tune)
{
    int file;

    if (tune->options.csv != NULL || tune->options.plot == NULL) {
        return tune->options.csv;
    }
    snprintf(tune->temporary, sizeof tune->temporary, "/tmp/rbuf-tune.XXXXXX");
    file = mkstemp(tune->temporary);
    if (file >= 0) {
        (void) close(file);
    }
    return tune->temporary;
}

/* Rank 0's files, before any time is spent. */
static bool open_files(struct tune *tune)
{
    char why[600];

    if (tune->rank != 0) {
        return true;
    }
    if (!tune_file_open(&tune->output, tune->options.output, why, sizeof why)) {
        say(why);
        return false;
    }
    if (!tune_file_open(&tune->csv, csv_path(tune), why, sizeof why)) {
        say(why);
        tune_file_abandon(&tune->output);
        return false;
    }
    return true;
}

static bool open_wire(struct tune *tune)
{
    struct rbuf_problem problem;
    struct tune_side *side = &tune->measured.side[tune->rank];
    int error = tune_wire_open(&tune->wire, &tune->settings.device, &problem);

    if (!both(say_problem(error, &problem))) {
        if (error == 0) {
            tune_wire_close(&tune->wire);
        }
        return false;
    }
    error = tune_wire_connect(&tune->wire, 1 - tune->rank, &problem);
    if (!both(say_problem(error, &problem))) {
        tune_wire_close(&tune->wire);
        return false;
    }
    snprintf(side->port, sizeof side->port, "%s", tune->wire.port->name);
    (void) gethostname(side->host, sizeof side->host - 1);
    side->mtu = tune->wire.port->mtu_bytes;
    side->subblock = tune->wire.port->subblock;
    return true;
}

/* Everything that needs both ranks. */
static bool measure(struct tune *tune)
{
    struct tune_side *side = &tune->measured.side[tune->rank];
    struct tune_side *sides = tune->measured.side;
    const double seconds = tune->options.seconds;
    const struct rbuf_schedule schedule = tune_settings_schedule(&tune->settings, true);
    const size_t staging = rbuf_schedule_lane(&schedule);
    struct rbuf_problem problem;
    int error;

    if (!both(tune_copy(side, staging, tune->settings.block, shares.copy * seconds))) {
        say("no memory to copy in: 70 MB a rank are wanted");
        return false;
    }
    error = tune_registration(tune->wire.port, side, shares.registration * seconds, &problem);
    if (!both(say_problem(error, &problem))) {
        return false;
    }
    tune_requests(&tune->wire, side, shares.requests * seconds);
    tune_word(&tune->wire, tune->rank, &tune->measured, shares.word * seconds);
    tune_streams(&tune->wire, tune->rank, &tune->measured, shares.streams * seconds);
    if (!tune_traffic(&tune->measured.traffic, tune->rank, shares.traffic * seconds)) {
        say("no memory for messages");
        return false;
    }
    MPI_Gather(tune->rank == 0 ? MPI_IN_PLACE : side, sizeof *side, MPI_BYTE, sides, sizeof *side,
               MPI_BYTE, 0, MPI_COMM_WORLD);
    return true;
}

/* Open MPI 5.0's launcher does not take the path from a file. */
static const char *path_option(void)
{
    return OMPI_MAJOR_VERSION < 5
               ? ""
               : " --mca mca_base_component_path SYS_DEFAULT:" TUNE_COMPONENT_DIRECTORY;
}

static bool finish_files(struct tune *tune)
{
    char why[600];

    if (!tune_file_finish(&tune->output, why, sizeof why)) {
        say(why);
        return false;
    }
    if (!tune_file_finish(&tune->csv, why, sizeof why)) {
        say(why);
        return false;
    }
    if (tune->options.output != NULL) {
        printf("\nParameters are in %s; take them with: mpirun --tune %s%s\n", tune->options.output,
               tune->options.output, path_option());
    }
    return true;
}

/* How messages begin whose receiver waits for them. Whether there are early data depends on more
 * than parameters (core/rendezvous/early.h): where the job's own messages are the superpipeline's
 * they show it. */
static enum rbuf_rendezvous rendezvous_of(const struct tune *tune)
{
    const struct tune_settings *settings = &tune->settings;
    const struct tune_traffic *traffic = &tune->measured.traffic;
    const bool shown = traffic->over_rbuf && strcmp(settings->protocol, "superpipeline") == 0;
    const bool early = shown ? traffic->early_data : settings->early_peers > 0;

    return settings->early_data && early ? RBUF_RENDEZVOUS_EARLY : RBUF_RENDEZVOUS_SERIAL;
}

/* Rank 0, with all that was measured. */
static bool conclude(struct tune *tune)
{
    const struct tune_settings *settings = &tune->settings;
    const struct tune_measured *measured = &tune->measured;
    const bool in_order = measured->side[0].subblock != RBUF_SUBBLOCK_OFF &&
                          measured->side[1].subblock != RBUF_SUBBLOCK_OFF;
    const struct rbuf_machine machine = tune_machine(measured, (uint32_t) settings->quantum);
    const struct rbuf_schedule current = tune_settings_schedule(settings, in_order);
    const uint64_t staging = tune_settings_staging(settings);
    const struct tune_conditions conditions = {
        .in_order = in_order,
        .rendezvous = rendezvous_of(tune),
        .early_bytes = (uint32_t) settings->early_size,
        .total_staging_bytes = staging,
        .opening_bytes = (uint32_t) settings->early_opening,
        .staging_bytes = staging < STAGING_BYTES ? staging : STAGING_BYTES};
    const struct tune_advice advice = tune_advise(&machine, &current, &conditions);

    tune_print_constants(stdout, measured, &machine);
    tune_print_times(stdout, measured, &advice, settings->protocol, settings->eager_limit);
    tune_print_advice(stdout, &advice);
    tune_print_doubts(stdout, measured);
    if (tune->output.stream != NULL) {
        tune_print_parameters(tune->output.stream, measured, &advice);
    }
    if (tune->csv.stream != NULL) {
        tune_print_csv(tune->csv.stream, measured, &advice, settings->protocol);
    }
    return finish_files(tune);
}

static enum status run(struct tune *tune)
{
    char bad[TUNE_TEXT_MAX];
    enum status status = FAILED;

    if (!tune_settings_read(&tune->settings, bad)) {
        if (tune->rank == 0) {
            say(bad);
        }
        return USAGE;
    }
    if (!both(open_files(tune))) {
        return FAILED;
    }
    if (open_wire(tune)) {
        if (measure(tune)) {
            status = tune->rank != 0 || conclude(tune) ? GOOD : FAILED;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        tune_wire_close(&tune->wire);
    }
    tune_file_abandon(&tune->output);
    tune_file_abandon(&tune->csv);
    return status;
}

static enum status draw(struct tune *tune)
{
    const char *csv = tune->options.csv != NULL ? tune->options.csv : tune->temporary;

    return tune_plot(csv, tune->options.plot, tune->measured.traffic.over_rbuf) ? GOOD : NO_PICTURE;
}

int main(int argc, char **argv)
{
    static struct tune tune;
    enum options_result result;
    enum status status = GOOD;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &tune.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    result = tune_parse(&tune.options, argc, argv);
    if (result == OPTIONS_RUN && ranks != TUNE_SIDES) {
        snprintf(tune.options.message, sizeof tune.options.message,
                 "%d rank%s: it measures between two, start it with -np 2", ranks,
                 ranks == 1 ? "" : "s");
        result = OPTIONS_BAD;
    }
    if (result == OPTIONS_HELP && tune.rank == 0) {
        tune_print_help(stdout);
    }
    if (result == OPTIONS_VERSION && tune.rank == 0) {
        options_print_version(stdout, "rbuf-tune");
    }
    if (result == OPTIONS_BAD) {
        status = USAGE;
        if (tune.rank == 0) {
            fprintf(stderr, "rbuf-tune: %s (--help explains)\n", tune.options.message);
        }
    }
    if (result == OPTIONS_RUN) {
        if (tune.options.quiet) {
            tune_rounds_quiet();
        }
        status = run(&tune);
    }
    MPI_Finalize();
    if (status == GOOD && tune.rank == 0 && result == OPTIONS_RUN && tune.options.plot != NULL) {
        status = draw(&tune);
    }
    if (tune.temporary[0] != '\0') {
        (void) unlink(tune.temporary);
    }
    return status;
}
