/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Writes the parameter file: where its values come from, then the values.
 */
#include "tune/parameters.h"

#include <inttypes.h>
#include <math.h>

#include "common/values.h"

static void print_origin(FILE *stream, const struct tune_measured *measured,
                         const struct rbuf_machine *machine)
{
    fputs("# Parameters of Open MPI's transport rbuf, measured and chosen by rbuf-tune.\n"
          "#\n"
          "#   mpirun --tune THIS_FILE ...\n"
          "#\n"
          "# Open MPI 5.0 wants the component path on the command line, too:\n"
          "# --mca mca_base_component_path SYS_DEFAULT:" TUNE_COMPONENT_DIRECTORY "\n"
          "#\n",
          stream);
    for (int rank = 0; rank < TUNE_SIDES; rank++) {
        fprintf(stream, "# rank %d: %s, port %s\n", rank, measured->side[rank].host,
                measured->side[rank].port);
    }
    fprintf(stream,
            "# network: B_net %.3f GB/s, lambda %.0f ns, g %.0f ns, o %.0f ns\n"
            "# registration and release, of one side: %.0f ns and %.0f ns a page of 4 KB\n"
            "# copies, GB/s, in and out of staging:",
            machine->bytes_per_ns, machine->latency_ns, machine->gap_ns, machine->overhead_ns,
            machine->register_ns, machine->register_page_ns);
    for (uint64_t bytes = 16384; bytes <= TUNE_LARGEST; bytes *= 16) {
        char size[VALUE_SIZE_MAX];

        value_size_text(size, bytes);
        fprintf(stream, " %s %.1f %.1f%s", size, rbuf_copy_speed_at(&machine->send_copy, bytes),
                rbuf_copy_speed_at(&machine->receive_copy, bytes),
                bytes * 16 <= TUNE_LARGEST ? "," : "\n");
    }
}

static void print_crossing(FILE *stream, const char *what, uint64_t bytes)
{
    if (bytes == TUNE_NO_SIZE) {
        fprintf(stream, "# %s: nowhere\n", what);
    } else {
        fprintf(stream, "# %s: from %" PRIu64 " bytes on\n", what, bytes);
    }
}

static void print_size(FILE *stream, const char *name, uint64_t bytes)
{
    char text[VALUE_SIZE_MAX];

    value_size_text(text, bytes);
    fprintf(stream, "btl_rbuf_%s=%s\n", name, text);
}

static void print_plan(FILE *stream, const struct rbuf_plan *plan)
{
    const struct rbuf_schedule *schedule = &plan->schedule;

    print_size(stream, "block_size", schedule->block_bytes);
    print_size(stream, "c0", (uint64_t) schedule->first_blocks * schedule->block_bytes);
    fprintf(stream, "btl_rbuf_q=%.4g\n", schedule->growth / (double) RBUF_GROWTH_ONE);
    fprintf(stream, "btl_rbuf_buffers=%u\n", schedule->buffers);
    print_size(stream, "largest_chunk", (uint64_t) schedule->buffer_blocks * schedule->block_bytes);
    if (plan->rendezvous == RBUF_RENDEZVOUS_EARLY) {
        print_size(stream, "early_size", (uint64_t) plan->early_blocks * schedule->block_bytes);
    }
}

/* Of the slower side; what the component measures by itself is the registering alone. */
static void print_registration(FILE *stream, const struct tune_measured *measured)
{
    const struct tune_line *one = &measured->side[0].registration;
    const struct tune_line *other = &measured->side[1].registration;

    fprintf(stream,
            "btl_rbuf_registration_time=%.0fns\n"
            "btl_rbuf_registration_page_time=%.0fns\n",
            fmax(fmax(one->base.value, other->base.value), 0),
            fmax(fmax(one->page.value, other->page.value), 0));
}

/* With these the file is enough by itself; what stands on mpirun's command line wins over it. */
static void print_selection(FILE *stream)
{
    fputs("# Messages between machines go by rbuf, those within one by shared memory.\n"
          "pml=ob1\n"
          "btl=rbuf," TUNE_SHARED_MEMORY ",self\n"
          "mca_base_component_path=SYS_DEFAULT:" TUNE_COMPONENT_DIRECTORY "\n",
          stream);
}

void tune_print_parameters(FILE *stream, const struct tune_measured *measured,
                           const struct tune_advice *advice)
{
    print_origin(stream, measured, &advice->machine);
    fputc('\n', stream);
    print_selection(stream);
    fprintf(
        stream,
        "\n# The superpipeline's schedule and early data: predicted %.1f %% of the wire's speed, "
        "16 KB to 16 MB; %.1f %% before.\n",
        100 * advice->recommended_efficiency, 100 * advice->current_efficiency);
    print_plan(stream, &advice->recommended);
    fputs("\n# What protocol auto assumes until it has measured it.\n", stream);
    print_registration(stream, measured);
    fputc('\n', stream);
    print_crossing(stream, "the superpipeline is faster than eager copies", advice->beats_eager);
    print_crossing(stream, "a buffer that is registered is faster in place", advice->in_place_wins);
    print_crossing(stream, "a copy is no faster than the network", advice->copy_ends);
    if (advice->copy_ends != TUNE_NO_SIZE) {
        fputs("# Programs that use buffers of that size again want btl_rbuf_protocol=auto.\n",
              stream);
    }
}
