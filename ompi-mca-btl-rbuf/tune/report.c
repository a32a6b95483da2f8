/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Prints what a person reads. What a program reads is printed by parameters.c and plot.c.
 */
#include "tune/report.h"

#include <inttypes.h>
#include <string.h>

#include "common/values.h"
#include "tune/machine.h"

#define DOUBTFUL 0.1 /* of a constant: its spread */

static void print_constant(FILE *stream, const char *name, const char *unit,
                           const struct tune_constant *constant)
{
    fprintf(stream, "  %-34s %10.3f %-5s (%.3f - %.3f)\n", name, constant->value, unit,
            constant->low, constant->high);
}

static const char *const subblock_texts[] = {[RBUF_SUBBLOCK_OFF] = "no",
                                             [RBUF_SUBBLOCK_CHECKED] = "yes, with checksums",
                                             [RBUF_SUBBLOCK_ON] = "yes"};

static void print_side(FILE *stream, int rank, const struct tune_side *side)
{
    fprintf(stream, "\nrank %d: %s, port %s, MTU %u, blocks taken as they arrive: %s\n", rank,
            side->host, side->port, side->mtu, subblock_texts[side->subblock]);
    print_constant(stream, "o, a write posted", "ns", &side->post);
    print_constant(stream, "an acknowledgement posted", "ns", &side->post_word);
    print_constant(stream, "a look at the completion queues", "ns", &side->pass);
    print_constant(stream, "registration", "ns", &side->registration.base);
    print_constant(stream, "  and for each 4 KB page", "ns", &side->registration.page);
    print_constant(stream, "deregistration", "ns", &side->release.base);
    print_constant(stream, "  and for each 4 KB page", "ns", &side->release.page);
    fprintf(stream, "  copy speed, GB/s: message     into staging            out of staging\n");
    for (int i = 0; i < TUNE_COPIES; i++) {
        const struct tune_constant *in = &side->send_copy[i], *out = &side->receive_copy[i];
        char size[VALUE_SIZE_MAX];

        value_size_text(size, tune_copy_bytes(i));
        fprintf(stream, "  %25s %8.2f (%.2f - %.2f) %8.2f (%.2f - %.2f)\n", size, in->value,
                in->low, in->high, out->value, out->low, out->high);
    }
}

void tune_print_constants(FILE *stream, const struct tune_measured *measured,
                          const struct rbuf_machine *machine)
{
    const struct tune_constant latency = tune_latency(measured);

    fputs("Measured, and from what to what in four shares of the rounds\n", stream);
    for (int rank = 0; rank < TUNE_SIDES; rank++) {
        print_side(stream, rank, &measured->side[rank]);
    }
    fputs("\nthe network between them\n", stream);
    print_constant(stream, "lambda, latency", "ns", &latency);
    print_constant(stream, "g, gap between requests", "ns", &measured->gap);
    print_constant(stream, "B_net, bandwidth", "GB/s", &measured->bandwidth);
    fprintf(stream, "  %-34s %10.3f ns    (%s)\n", "software of a rendezvous",
            machine->rendezvous_ns,
            measured->traffic.over_rbuf ? "from this job's messages" : "assumed");
}

static void print_time(FILE *stream, double ns)
{
    fprintf(stream, "%13.1f", ns / 1000);
}

/* The measured time and how far the prediction is off, where there is one. */
static void print_measured(FILE *stream, const struct tune_traffic *traffic, uint64_t bytes,
                           double predicted)
{
    for (int i = 0; i < traffic->points; i++) {
        if (traffic->bytes[i] == bytes) {
            print_time(stream, traffic->ns[i].value);
            fprintf(stream, "  (%+.1f %%)", 100 * (predicted / traffic->ns[i].value - 1));
        }
    }
}

void tune_print_times(FILE *stream, const struct tune_measured *measured,
                      const struct tune_advice *advice, const char *protocol, uint64_t eager_limit)
{
    const struct tune_traffic *traffic = &measured->traffic;
    const bool compare = traffic->over_rbuf && strcmp(protocol, "superpipeline") == 0;

    fprintf(stream, "\nPredicted: one message, one way, in us\n%8s", "size");
    for (int i = 0; i < TUNE_PROTOCOLS; i++) {
        fprintf(stream, "%13s", tune_protocol_names[i]);
    }
    fputs(compare ? "     measured  (prediction)\n" : "\n", stream);
    for (uint64_t bytes = TUNE_SMALLEST; bytes <= TUNE_LARGEST; bytes *= 2) {
        char size[VALUE_SIZE_MAX];

        value_size_text(size, bytes);
        fprintf(stream, "%8s", size);
        for (int i = 0; i < TUNE_PROTOCOLS; i++) {
            print_time(stream, tune_predict(advice, (enum tune_protocol) i, bytes));
        }
        if (compare) {
            const enum tune_protocol taken = bytes <= eager_limit ? TUNE_EAGER : TUNE_CURRENT;

            print_measured(stream, traffic, bytes, tune_predict(advice, taken, bytes));
        }
        fputc('\n', stream);
    }
    if (!traffic->over_rbuf) {
        fputs("This job's messages do not go over rbuf, so there are no measured ones to compare "
              "with.\nWith mpirun --mca pml ob1 --mca btl rbuf,self they do.\n",
              stream);
    } else if (!compare) {
        fprintf(stream,
                "This job runs with btl_rbuf_protocol %s; without it the superpipeline is "
                "measured, too.\n",
                protocol);
    }
}

static bool doubtful(const struct tune_constant *constant)
{
    return constant->high - constant->low > DOUBTFUL * constant->value;
}

void tune_print_doubts(FILE *stream, const struct tune_measured *measured)
{
    if (doubtful(&measured->bandwidth) || doubtful(&measured->word)) {
        fputs("\nThe network's figures differ a lot between the rounds: the machine or the network "
              "was busy.\nMeasure again, or longer (--seconds 30), before you rely on this.\n",
              stream);
    }
}

static void print_plan(FILE *stream, const char *name, const struct rbuf_plan *plan,
                       double efficiency)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    char first[VALUE_SIZE_MAX], largest[VALUE_SIZE_MAX], block[VALUE_SIZE_MAX];

    value_size_text(first, (uint64_t) schedule->first_blocks * schedule->block_bytes);
    value_size_text(largest, (uint64_t) schedule->buffer_blocks * schedule->block_bytes);
    value_size_text(block, schedule->block_bytes);
    fprintf(stream,
            "  %-12s first chunk %s, growth q %.3f, %u buffers, largest chunk %s, blocks of %s",
            name, first, schedule->growth / (double) RBUF_GROWTH_ONE, schedule->buffers, largest,
            block);
    if (plan->rendezvous == RBUF_RENDEZVOUS_EARLY) {
        char early[VALUE_SIZE_MAX];

        value_size_text(early, (uint64_t) plan->early_blocks * schedule->block_bytes);
        fprintf(stream, ", early data of %s", early);
    }
    fprintf(stream, ": %.1f %% of the wire\n", 100 * efficiency);
}

static void print_uses(FILE *stream, const struct tune_advice *advice)
{
    fputs("\nA buffer is faster in place, its registration included, from this many uses on:\n",
          stream);
    for (uint64_t bytes = 16384; bytes <= TUNE_LARGEST; bytes *= 4) {
        const double uses = tune_uses(advice, bytes);
        char size[VALUE_SIZE_MAX];

        value_size_text(size, bytes);
        if (uses == TUNE_NO_COUNT) {
            fprintf(stream, "%8s  never\n", size);
        } else {
            fprintf(stream, "%8s  %.0f\n", size, uses);
        }
    }
}

static void print_from(FILE *stream, const char *what, uint64_t bytes)
{
    if (bytes == TUNE_NO_SIZE) {
        fprintf(stream, "%s: nowhere\n", what);
    } else {
        fprintf(stream, "%s: from %" PRIu64 " bytes on\n", what, bytes);
    }
}

void tune_print_advice(FILE *stream, const struct tune_advice *advice)
{
    fprintf(stream, "\nSchedules, and their mean share of the wire's speed%s, 16 KB to 16 MB\n",
            advice->current.rendezvous == RBUF_RENDEZVOUS_EARLY ? ""
                                                                : " behind the same rendezvous");
    print_plan(stream, "as it is", &advice->current, advice->current_efficiency);
    print_plan(stream, "recommended", &advice->recommended, advice->recommended_efficiency);
    if (advice->current.rendezvous == RBUF_RENDEZVOUS_EARLY) {
        fputs("For messages whose receiver waits: their early data go right behind the\n"
              "rendezvous. A receiver that copies meanwhile answers later: no less is recommended "
              "than\n"
              "btl_rbuf_early_size has. The more it is, the fewer peers may send early data.\n",
              stream);
    }
    fputc('\n', stream);
    print_from(stream, "The superpipeline is faster than eager copies", advice->beats_eager);
    print_from(stream, "A registered buffer is faster in place", advice->in_place_wins);
    print_from(stream, "A copy is no faster than the network (q falls to 1)", advice->copy_ends);
    if (advice->copy_ends != TUNE_NO_SIZE) {
        fputs("There copying does not pay where buffers are used again: protocol auto or rcache.\n",
              stream);
    }
    print_uses(stream, advice);
}
