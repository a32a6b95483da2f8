/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The helper that registers by prediction, simulated beside its rivals (helper_run.h), and what the
 * paper that core/helper/predictor.h cites says of it.
 *
 *     helper sequences     time and registered memory, by sequence of messages and strategy, as CSV
 *     helper predictions   of the helper, by sequence and window (the paper's figures 5 and 6)
 *     helper statements    the paper's numbers, ours, and whether ours hold
 *
 * Exit status 1 if a statement does not hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper_run.h"
#include "verdict.h"

#define WINDOW 2u /* the paper's */

static const char *const strategy_name[SIM_STRATEGIES] = {"helper", "on-demand", "leave-pinned",
                                                          "pipeline"};
static struct sim_calls calls;

static const struct sim_calls *make(const struct sim_sequence *sequence)
{
    calls.count = 0;
    sequence->make(&calls);
    return &calls;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double) part / (double) whole;
}

static double within_5(const struct rbuf_prediction_counters *counters)
{
    return percent(counters->near + counters->close, counters->predicted);
}

static void print_sequences(void)
{
    printf("sequence,strategy,ns a message,peak KB,average KB,registered before %%\n");
    for (unsigned i = 0; i < sim_sequence_count; i++) {
        const struct sim_calls *made = make(&sim_sequences[i]);

        for (int strategy = 0; strategy < SIM_STRATEGIES; strategy++) {
            struct sim_outcome out = sim_run(made, (enum sim_strategy) strategy, WINDOW);

            printf("%s,%s,%llu,%llu,%llu,%.2f\n", sim_sequences[i].name, strategy_name[strategy],
                   (unsigned long long) (out.message_ns / made->count),
                   (unsigned long long) (out.peak_bytes / 1024),
                   (unsigned long long) (out.average_bytes / 1024),
                   percent(out.foreseen, made->count));
        }
    }
}

static void print_predictions(void)
{
    printf(
        "sequence,window,points,predicted,within 0.5 %%,within 5 %%,early %%,late %%,missed %%\n");
    for (unsigned i = 0; i < sim_sequence_count; i++) {
        const struct sim_calls *made = make(&sim_sequences[i]);

        for (uint32_t window = 0; window <= RBUF_WINDOW_LONGEST; window++) {
            struct sim_outcome out = sim_run(made, SIM_HELPER, window);
            const struct rbuf_prediction_counters *counters = &out.predictions;

            printf("%s,%u,%u,%llu,%.2f,%.2f,%.2f,%.2f,%.2f\n", sim_sequences[i].name, window,
                   made->count, (unsigned long long) counters->predicted,
                   percent(counters->near, counters->predicted), within_5(counters),
                   percent(counters->early, counters->predicted),
                   percent(counters->late, counters->predicted),
                   percent(counters->missed, counters->predicted));
        }
    }
}

static bool all_hold = true;

static void state(const char *sequence, const char *what, const char *paper, double ours,
                  const char *bound, bool holds)
{
    printf("%s,%s,%s,%.2f,%s,%s\n", sequence, what, paper, ours, bound,
           sim_verdict(sim_standing_of(bound), holds));
    all_hold = all_hold && holds;
}

static double ratio(uint64_t a, uint64_t b)
{
    return (double) a / (double) b;
}

static void state_of(const struct sim_sequence *sequence)
{
    const struct sim_calls *made = make(sequence);
    struct sim_outcome helper = sim_run(made, SIM_HELPER, WINDOW);
    struct sim_outcome demand = sim_run(made, SIM_ON_DEMAND, WINDOW);
    struct sim_outcome pinned = sim_run(made, SIM_LEAVE_PINNED, WINDOW);
    double ready = percent(helper.foreseen, made->count);
    double slower = 100 * (ratio(helper.message_ns, demand.message_ns) - 1);
    double saved = 100 * (1 - ratio(helper.average_bytes, pinned.average_bytes));
    char bound[24];

    if (sequence->periodic) {
        snprintf(bound, sizeof(bound), "at least %.0f", sequence->ready);
        state(sequence->name, "found their memory registered %", "", ready, bound,
              ready >= sequence->ready);
        state(sequence->name, "predictions within 5 % (theirs; rival 84.93)", "94.68",
              within_5(&helper.predictions), "at least 94", within_5(&helper.predictions) >= 94);
        state(sequence->name, "predictions within 0.5 %", "74.89",
              percent(helper.predictions.near, helper.predictions.predicted), "", true);
    }
    state(sequence->name, "slower than on demand %", "", slower, "at most 2", slower <= 2);
    state(sequence->name, "slower than leave-pinned %", "",
          100 * (ratio(helper.message_ns, pinned.message_ns) - 1), "", true);
    state(sequence->name, "less registered than leave-pinned on average %", "23.62", saved,
          "at least 0", saved >= 0);
    state(sequence->name, "less at the peak %", "24.75",
          100 * (1 - ratio(helper.peak_bytes, pinned.peak_bytes)), "", true);
}

static void print_statements(void)
{
    printf("sequence,statement,paper,ours,bound,\n");
    for (unsigned i = 0; i < sim_sequence_count; i++) {
        state_of(&sim_sequences[i]);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "sequences") == 0) {
        print_sequences();
    } else if (strcmp(what, "predictions") == 0) {
        print_predictions();
    } else if (strcmp(what, "statements") == 0) {
        print_statements();
    } else {
        fprintf(stderr, "usage: helper sequences | predictions | statements\n");
        return 2;
    }
    return all_hold ? EXIT_SUCCESS : EXIT_FAILURE;
}
