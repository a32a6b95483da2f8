/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staging memory: address space for all that a module may come to need, half to send from and half
 * to receive into. It is registered as core asks for it, from a start that holds one message of any
 * length in both directions, and kept as long as the module.
 *
 * Who asks pays for the registration, a fraction of a ms for each MB. It happens a few times in the
 * life of a process, since each time there is twice as much; a thread for it would take a core from
 * the ranks that share them.
 */
#include "module/module.h"

#include <unistd.h>

#include "params/help.h"
#include "params/params.h"
#include "params/protocol.h"
#include "core/stage/staging.h"

#define MIB       (1024ull * 1024ull)
#define START     (4 * MIB)
#define MOST      (32 * MIB)
#define MOST_COPY (128 * MIB)

static size_t more(size_t one, size_t other)
{
    return one > other ? one : other;
}

/* Ports that may never be used are left as much as a process begins with, if there is plenty. */
static size_t share_of(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    const size_t all = mca_btl_rbuf_process.module_count;
    const size_t first = mca_btl_rbuf_process.first_count;
    const size_t left = (all - first) * START;

    if (left > bytes / 2) {
        return bytes / all;
    }
    return module->index < first ? (bytes - left) / first : START;
}

size_t mca_btl_rbuf_staging_half(const mca_btl_rbuf_module_t *module)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    size_t bytes = params->staging_size;

    if (bytes == 0) {
        size_t limit = rbuf_memlock_limit();

        bytes = mca_btl_rbuf_protocol()->cut == MCA_BTL_RBUF_CUT_WHOLE ? MOST_COPY : MOST;
        if (limit != SIZE_MAX && bytes > limit / 2) {
            bytes = limit / 2;
        }
    }
    bytes = share_of(module, bytes) / 2;
    return params->staging_size != 0 ? bytes : more(bytes, params->block_size);
}

/* What must be there for one message of any length, and for the window of one peer. */
static size_t least_start(const struct rbuf_core_options *options)
{
    const struct rbuf_schedule *schedule = &options->schedule;
    size_t message = (size_t) schedule->buffers * schedule->buffer_blocks;
    size_t window = options->early.peers > 0 ? rbuf_early_window_blocks(&options->early) : 0;

    return more(message + window, 2 * window) * schedule->block_bytes;
}

/* Bytes to begin with, in each direction: whole pages and whole blocks, or more than there are. */
static size_t start_bytes(const struct rbuf_core_options *options)
{
    size_t wanted =
        mca_btl_rbuf_params.staging_start == 0 ? START : mca_btl_rbuf_params.staging_start;
    size_t share = wanted / mca_btl_rbuf_process.first_count / 2;
    size_t unit = more((size_t) sysconf(_SC_PAGESIZE), options->schedule.block_bytes);

    return (more(share, least_start(options)) + unit - 1) / unit * unit;
}

/* Registers the next `bytes` bytes, or what is left. Quiet. */
static int extend(mca_btl_rbuf_module_t *module, struct rbuf_range *range, size_t bytes,
                  struct rbuf_problem *problem)
{
    unsigned access = range == &module->receive_staging ? IBV_ACCESS_REMOTE_WRITE : 0;

    return rbuf_range_extend(module->port, range, bytes, access, problem);
}

bool mca_btl_rbuf_staging_open(mca_btl_rbuf_module_t *module,
                               const struct rbuf_core_options *options, size_t half)
{
    const size_t start = start_bytes(options);
    struct rbuf_problem problem;

    if (rbuf_range_open(module->port, half, &module->send_staging, &problem) != 0 ||
        rbuf_range_open(module->port, half, &module->receive_staging, &problem) != 0 ||
        extend(module, &module->send_staging, start, &problem) != 0 ||
        extend(module, &module->receive_staging, start, &problem) != 0) {
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_STAGING, &problem);
        return false;
    }
    return true;
}

struct rbuf_region mca_btl_rbuf_staging_region(const struct rbuf_range *range)
{
    return (struct rbuf_region){.base = range->base,
                                .bytes = range->registered,
                                .lkey = range->mr[0]->lkey,
                                .rkey = range->mr[0]->rkey,
                                .most_bytes = range->bytes};
}

/* RBUF_EVENT_STAGING. That there is no more is no error: messages wait for what there is. Core asks
 * for one extent of an arena at a time, so that nobody else is at this range. */
void mca_btl_rbuf_staging_wanted(mca_btl_rbuf_module_t *module, struct rbuf_arena *arena)
{
    const bool sends = arena == &module->core.send_arena;
    struct rbuf_range *range = sends ? &module->send_staging : &module->receive_staging;
    size_t bytes = (size_t) rbuf_arena_step(arena) * arena->block_bytes;
    struct rbuf_problem problem;
    int status = extend(module, range, bytes, &problem);

    if (status != 0) {
        mca_btl_rbuf_verbose(
            "rbuf: %s: staging to %s stays at %zu bytes: %zu more cannot be pinned",
            module->port->name, sends ? "send from" : "receive into", range->registered, bytes);
    }
    mca_btl_rbuf_lock(module);
    if (status == 0) {
        const struct ibv_mr *mr = range->mr[range->regions - 1];

        rbuf_core_grow(&module->core, arena, mr->lkey, mr->rkey);
    } else {
        rbuf_staging_refuse(arena);
    }
    mca_btl_rbuf_unlock(module);
}
