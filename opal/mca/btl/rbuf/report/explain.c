/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which path messages of each size take (report/report.h).
 *
 * Nothing is decided here: each limit is the largest size for which the function holds that decides
 * for a message, too, found by trying sizes; chunks are cut by the schedule that cuts messages. So
 * what is shown is what the settings have become, those that were lowered among them. What a
 * protocol does is asked of its row (params/protocol.h) and of its policy
 * (registration/registrar.h).
 */
#include "report/report.h"

#include <inttypes.h>

#include "module/thresholds.h"
#include "core/rendezvous/early.h"
#include "core/eager/ring_long.h"

#define KIB ((uint64_t) 1024)
#define MIB (1024 * KIB)

struct amount {
    char text[24];
};

/* "48 KB", "2080 bytes": exact. */
static struct amount amount_of(uint64_t bytes)
{
    struct amount amount;

    if (bytes >= MIB && bytes % MIB == 0) {
        snprintf(amount.text, sizeof(amount.text), "%" PRIu64 " MB", bytes / MIB);
    } else if (bytes >= KIB && bytes % KIB == 0) {
        snprintf(amount.text, sizeof(amount.text), "%" PRIu64 " KB", bytes / KIB);
    } else {
        snprintf(amount.text, sizeof(amount.text), "%" PRIu64 " bytes", bytes);
    }
    return amount;
}

/* ---- limits ---- */

typedef bool holds_t(const mca_btl_rbuf_module_t *module, size_t bytes);

static bool has_rings(const mca_btl_rbuf_module_t *module)
{
    return module->core.options.ring.slots > 0;
}

static bool by_ring(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return has_rings(module) && bytes <= rbuf_ring_longest(&module->core.options.ring);
}

static bool by_one_slot(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return by_ring(module, bytes) && mca_btl_rbuf_is_one_slot(bytes);
}

static bool by_ring_inline(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return by_one_slot(module, bytes) &&
           rbuf_ring_length((uint32_t) bytes) <= rbuf_queue_inline(module->port, RBUF_CONTROL);
}

static bool by_one_write(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return by_ring(module, bytes) && !mca_btl_rbuf_is_cut(bytes, mca_btl_rbuf_params.ring_c0);
}

static bool is_eager(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return bytes <= module->super.btl_eager_limit;
}

/* What ends with the largest size for which it holds, and which setting says so. */
static const struct {
    holds_t *holds;
    const char *setting;
} limits[] = {{by_ring_inline, "the request's room for a ring's message"},
              {by_one_slot, "ring_slot_size"},
              {by_one_write, "ring_c0"},
              {by_ring, "ring_longest"},
              {mca_btl_rbuf_is_sent_inline, "the request's room for a sent message"},
              {mca_btl_rbuf_fits_control, "control_size"},
              {is_eager, "eager_limit"}};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

/* The first size for which it does not hold, `most` at most. */
static size_t end_of(const mca_btl_rbuf_module_t *module, holds_t *holds, size_t most)
{
    size_t from = 0;

    while (from < most) {
        const size_t middle = from + (most - from) / 2;

        if (holds(module, middle)) {
            from = middle + 1;
        } else {
            most = middle;
        }
    }
    return from;
}

/* ---- eager messages ---- */

static void print_ring(const mca_btl_rbuf_module_t *module, size_t first, size_t end, FILE *stream)
{
    const uint32_t slot = module->core.options.ring.slot_bytes;
    const uint32_t from = rbuf_ring_long_slots((uint32_t) first, slot);
    const uint32_t to = rbuf_ring_long_slots((uint32_t) (end - 1), slot);

    if (by_one_slot(module, first)) {
        fprintf(stream, "eager ring, one slot, %s",
                by_ring_inline(module, first) ? "inside the request" : "one write");
        return;
    }
    fprintf(stream, "eager ring, %" PRIu32, from);
    if (from < to) {
        fprintf(stream, " to %" PRIu32, to);
    }
    if (by_one_write(module, first)) {
        fputs(" slots, one write", stream);
    } else {
        fprintf(stream, " slots, written in chunks from %s on",
                amount_of(mca_btl_rbuf_params.ring_c0).text);
    }
}

/* How messages of at least `first` and less than `end` bytes go, and why the range ends. */
static void print_range(const mca_btl_rbuf_module_t *module, size_t first, size_t end,
                        const size_t ends[LIMITS], FILE *stream)
{
    const char *separator = " (to ";

    fprintf(stream, "rbuf-show: %10zu to %8zu  ", first, end - 1);
    if (by_ring(module, first)) {
        print_ring(module, first, end, stream);
        fputs("; without a ring ", stream);
    }
    fprintf(stream, "send/receive, %s",
            mca_btl_rbuf_is_sent_inline(module, first) ? "inside the request"
            : mca_btl_rbuf_fits_control(module, first) ? "control buffer"
                                                       : "bulk buffer");
    for (size_t i = 0; i < LIMITS; i++) {
        if (ends[i] == end) {
            fprintf(stream, "%s%s", separator, limits[i].setting);
            separator = ", ";
        }
    }
    fputs(separator[0] == ',' ? ")\n" : "\n", stream);
}

/* Returns the first size that is not eager. */
static size_t show_eager(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    const size_t all = module->super.btl_eager_limit + 1;
    size_t ends[LIMITS];
    size_t end;

    for (size_t i = 0; i < LIMITS; i++) {
        ends[i] = end_of(module, limits[i].holds, all + 1);
    }
    for (size_t first = 0; first < all; first = end) {
        end = all;
        for (size_t i = 0; i < LIMITS; i++) {
            end = ends[i] > first && ends[i] < end ? ends[i] : end;
        }
        print_range(module, first, end, ends, stream);
    }
    return all;
}

/* ---- messages with a rendezvous ---- */

/* Whether some peers may have windows for early data. */
static bool is_early(const mca_btl_rbuf_module_t *module)
{
    return mca_btl_rbuf_begins_early() && rbuf_lease_most(&module->core) > 0 &&
           module->super.btl_rndv_eager_limit > 0;
}

/* A line's beginning. */
static void print_label(const char *label, FILE *stream)
{
    fprintf(stream, "rbuf-show: %24s  ", label);
}

static void show_schedule(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    const struct rbuf_core_options *options = &module->core.options;
    const struct rbuf_schedule *schedule = &options->schedule;
    const char *settings = mca_btl_rbuf_cut_settings()->all;
    const uint64_t block = schedule->block_bytes;
    const bool checked = options->arrival == RBUF_ARRIVAL_BLOCK_CHECKED;

    print_label("", stream);
    if (options->pipeline_gap > 0) {
        fprintf(stream, "chunks of sqrt(length * %" PRIu64 " / 2) bytes (pipeline_gap)",
                options->pipeline_gap);
    } else {
        fprintf(stream, "chunks from %s on, each %.4g times the one before",
                amount_of(schedule->first_blocks * block).text,
                (double) schedule->growth / RBUF_GROWTH_ONE);
    }
    fprintf(stream, ", %s at most; %u buffers; ", amount_of(schedule->buffer_blocks * block).text,
            schedule->buffers);
    if (options->arrival == RBUF_ARRIVAL_BLOCK || checked) {
        fprintf(stream, "blocks of %s are taken as they arrive%s (%s, block_size; %s)\n",
                amount_of(block).text, checked ? ", with checksums" : "", settings,
                module->port->in_order_why);
    } else {
        fprintf(stream, "chunks are taken as a whole (%s; %s)\n", settings,
                options->arrival == RBUF_ARRIVAL_IMMEDIATE ? module->port->in_order_why
                                                           : "protocol");
    }
}

static const char *print_lowered(const char *separator, const char *setting, uint64_t wanted,
                                 uint64_t is, bool bytes, FILE *stream)
{
    if (is >= wanted) {
        return separator;
    }
    fprintf(stream, "%s%s", separator, setting);
    if (bytes) {
        fprintf(stream, " from %s to %s", amount_of(wanted).text, amount_of(is).text);
    } else {
        fprintf(stream, " from %" PRIu64 " to %" PRIu64, wanted, is);
    }
    return ", ";
}

/* What is less than it was set to, since the buffers of a message would not fit into the staging.
 * What is not cut takes what fits. */
static void show_lowered(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    const struct rbuf_schedule *is = &module->core.options.schedule;
    const struct rbuf_schedule wanted = mca_btl_rbuf_schedule();
    const uint64_t half = mca_btl_rbuf_staging_half(module);
    const uint64_t block = is->block_bytes;
    const char *first = mca_btl_rbuf_cut_settings()->first;
    const char *separator = "";

    if (mca_btl_rbuf_protocol()->cut == MCA_BTL_RBUF_CUT_WHOLE ||
        (is->buffer_blocks == wanted.buffer_blocks && is->buffers == wanted.buffers)) {
        return;
    }
    print_label("", stream);
    fputs("lowered: ", stream);
    separator = print_lowered(separator, "largest_chunk", wanted.buffer_blocks * block,
                              is->buffer_blocks * block, true, stream);
    separator = print_lowered(separator, "buffers", wanted.buffers, is->buffers, false, stream);
    if (first != NULL) {
        (void) print_lowered(separator, first, wanted.first_blocks * block,
                             is->first_blocks * block, true, stream);
    }
    if (rbuf_schedule_lane(&wanted) <= half) {
        fprintf(stream, "; a request is %s at most (the adapter)\n",
                amount_of(module->core.options.max_message).text);
        return;
    }
    fprintf(stream, "; the staging of this port is %s in each direction at most (%s)\n",
            amount_of(half).text,
            mca_btl_rbuf_params.staging_size > 0 ? "staging_size" : "RLIMIT_MEMLOCK");
}

static void print_extent(const struct rbuf_schedule *schedule, uint64_t bytes, FILE *stream)
{
    struct rbuf_extent extent;

    rbuf_schedule_measure(schedule, bytes, &extent);
    fprintf(stream, "%" PRIu64 " chunk%s, the largest %s", extent.chunks,
            extent.chunks == 1 ? "" : "s",
            amount_of((uint64_t) extent.largest_blocks * schedule->block_bytes).text);
}

/* How a message of that size is cut. */
static void show_example(const mca_btl_rbuf_module_t *module, uint64_t bytes, FILE *stream)
{
    const struct rbuf_peer any = {.core = (struct rbuf_core *) (uintptr_t) &module->core};
    const uint32_t slot = module->core.options.early.slot_blocks;
    const struct rbuf_schedule whole = rbuf_peer_schedule(&any, bytes);
    const struct rbuf_schedule cut = rbuf_lease_schedule(&any);
    const uint64_t early = is_early(module) ? rbuf_early_bytes(&cut, slot, bytes) : 0;

    print_label(amount_of(bytes).text, stream);
    if (early > 0) {
        fprintf(stream, "%" PRIu64 " bytes early in ", early);
        print_extent(&cut, early, stream);
    }
    if (early < bytes) {
        const struct rbuf_schedule rest = rbuf_schedule_rest(&cut, slot, &whole);

        fputs(early > 0 ? "; then " : "", stream);
        print_extent(early > 0 ? &rest : &whole, bytes - early, stream);
    }
    fputc('\n', stream);
}

static void show_staged(const mca_btl_rbuf_module_t *module, size_t first, FILE *stream)
{
    static const uint64_t examples[] = {64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB};

    show_schedule(module, stream);
    show_lowered(module, stream);
    if (is_early(module)) {
        print_label("", stream);
        fprintf(stream,
                "begins behind its rendezvous, for %" PRIu32 " peers at a time, %" PRIu32
                " with more staging (early_data, early_peers, early_size, early_c0)\n",
                rbuf_lease_most(&module->core), module->core.options.early.peers);
    }
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        if (examples[i] >= first) {
            show_example(module, examples[i], stream);
        }
    }
}

static void show_rendezvous(const mca_btl_rbuf_module_t *module, size_t first, FILE *stream)
{
    const char *protocol = mca_btl_rbuf_protocol_name();

    fprintf(stream, "rbuf-show: %10zu and more     rendezvous, ", first);
    if (mca_btl_rbuf_registers()) {
        fprintf(stream, "written in place: buffers are %s (protocol %s)\n",
                module->registrar.policy->text, protocol);
        return;
    }
    fprintf(stream, "through staging buffers (protocol %s%s)\n", protocol,
            module->registrar.choice != NULL ? ", in place where that was seen to be worth it"
                                             : "");
    if (mca_btl_rbuf_default_why()[0] != '\0') {
        print_label("", stream);
        fprintf(stream, "%s (protocol)\n", mca_btl_rbuf_default_why());
    }
    show_staged(module, first, stream);
}

/* ---- the rest ---- */

static void show_packed(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    fprintf(
        stream,
        "rbuf-show: packed data behind a rendezvous: fragments of at most %s by send/receive, bulk "
        "buffers%s (max_send_size)\n",
        amount_of(module->super.btl_max_send_size).text,
        rbuf_lease_most(&module->core) > 0 ? "; the first ones as early data" : "");
}

static void show_one_sided(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    const mca_btl_base_module_t *btl = &module->super;
    const size_t small = end_of(module, mca_btl_rbuf_fits_control, MIB) - 1;
    const size_t inlined = end_of(module, mca_btl_rbuf_is_inline, small + 1) - 1;

    fprintf(stream,
            "rbuf-show: puts up to %s travel inside the request; puts and gets up to %s are "
            "copied%s (control_size)\n",
            amount_of(inlined).text, amount_of(small).text,
            module->registrar.reuse != NULL ? ", but from and to buffers of frequent use" : "");
    if (mca_btl_rbuf_copies()) {
        fputs("rbuf-show: larger ones are copied in chunks (protocol)", stream);
    } else {
        fprintf(stream, "rbuf-show: larger ones in place: buffers are %s%s (protocol)",
                module->registrar.policy->text,
                module->registrar.choice != NULL ? ", or copied in chunks where that is better"
                                                 : "");
    }
    fprintf(stream, "; %s\n",
            (btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS) != 0 ? "atomics by the adapter"
            : OPAL_MAJOR_VERSION < 5 ? "no atomics by the adapter, so that osc/rdma makes no window"
                                     : "atomics by the processor");
}

static void show_module(const mca_btl_rbuf_module_t *module, FILE *stream)
{
    const struct rbuf_eager *eager = &module->eager;

    fprintf(stream,
            "rbuf-show: port %s, %u Mbit/s. Sizes are bytes with Open MPI's header; settings are "
            "btl_rbuf_*\n",
            module->port->name, module->port->bandwidth_mbps);
    if (has_rings(module)) {
        fprintf(stream,
                "rbuf-show: rings are for %" PRIu32 " peers, after %" PRIu32
                " messages of each (polling_set, ring_threshold)\n",
                module->core.options.ring.set, module->core.options.ring.threshold);
    } else {
        fprintf(stream, "rbuf-show: no eager rings (%s)\n",
                mca_btl_rbuf_params.polling_set == 0 ? "polling_set" : module->port->in_order_why);
    }
    show_rendezvous(module, show_eager(module, stream), stream);
    if (eager->far > eager->most) {
        fprintf(stream, "rbuf-show: where all peers are far, up to %s are eager (eager_limit)\n",
                amount_of(eager->far).text);
    }
    show_packed(module, stream);
    show_one_sided(module, stream);
}

static void show_all(FILE *stream)
{
    const struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;

    for (size_t i = 0; i < process->module_count; i++) {
        if (process->modules[i]->state == MCA_BTL_RBUF_RUNNING) {
            show_module(process->modules[i], stream);
        }
    }
}

void mca_btl_rbuf_explain(void)
{
    if (mca_btl_rbuf_params.show != 0 && OPAL_PROC_MY_NAME.vpid == 0) {
        mca_btl_rbuf_print_whole(show_all);
    }
}
