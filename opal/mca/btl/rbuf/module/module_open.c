/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A port as a BTL module: what it owns, from opening to closing. Open MPI has to be given all
 * modules before it is known which are needed, so what costs memory is made when a module starts.
 */

#include <stdlib.h>
#include <sys/random.h>

#include "registration/auto.h"
#include "params/help.h"
#include "module/thresholds.h"
#include "verbs/queue_pair.h"
#include "verbs/receive.h"

#define ATOMIC_WORDS   64u
#define BOUNCE_BUFFERS 64u /* a port */

/* The schedule and arrival of the protocol; protocols without staging keep the superpipeline's for
 * what cannot be registered. `half` is half of the staging, bytes, a block at least. The staging
 * may be too little for what the parameters say. */
static void choose_protocol(const struct rbuf_port *port, size_t half,
                            struct rbuf_core_options *options)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    const enum mca_btl_rbuf_cut cut = mca_btl_rbuf_protocol()->cut;
    struct rbuf_schedule *schedule = &options->schedule;
    uint64_t room = half / params->block_size;

    *schedule = mca_btl_rbuf_schedule();
    options->arrival = cut == MCA_BTL_RBUF_CUT_GROWING ? RBUF_ARRIVAL_BLOCK : RBUF_ARRIVAL_CHUNK;
    options->pipeline_gap = cut == MCA_BTL_RBUF_CUT_EQUAL ? params->pipeline_gap : 0;
    if (cut == MCA_BTL_RBUF_CUT_WHOLE) { /* as far as two messages fit into the staging */
        room = room > 1 ? room / 2 : 1;
    }
    rbuf_schedule_shrink(schedule, room, options->max_message);
    if (port->subblock == RBUF_SUBBLOCK_CHECKED) {
        options->arrival = rbuf_arrival_checked(options->arrival);
    } else if (port->subblock == RBUF_SUBBLOCK_OFF) {
        options->arrival = RBUF_ARRIVAL_IMMEDIATE;
        schedule->taper = RBUF_TAPER_TAIL;
    }
}

/* Peers that may write early data. Where these are announced they take receive buffers, half of a
 * peer's credits at most, and all of them together no more than there are, if they share them. */
static uint32_t early_peers(const struct rbuf_port *port, enum rbuf_arrival arrival)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    const uint64_t most = params->bulk_buffers / (params->bulk_credits / 2);
    const bool bounded =
        arrival == RBUF_ARRIVAL_IMMEDIATE && port->receive_kind == RBUF_RECEIVE_SHARED;

    return (uint32_t) (bounded && most < params->early_peers ? most : params->early_peers);
}

/* Bits that no other process knows; 0 from a kernel that has none yet. */
static uint64_t random_bits(void)
{
    uint64_t bits = 0;

    (void) getrandom(&bits, sizeof(bits), GRND_NONBLOCK);
    return bits;
}

static struct rbuf_core_options core_options(const struct rbuf_port *port, size_t half)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    struct rbuf_core_options options = {
        .grant_wait_ns = params->grant_wait,
        .direct_limit = 2 * half,
        .probe_interval_ns = params->probe_interval,
        .check_timeout_ns = params->check_timeout,
        .random = random_bits(),
        .quantum = (uint32_t) params->quantum,
        .window = {(uint16_t) params->control_credits, (uint16_t) params->bulk_credits},
        .max_message = (uint32_t) (port->max_message < (1u << 30) ? port->max_message : 1u << 30),
        .reads = port->max_rd_atomic};

    if (params->async_progress > 0) { /* else nobody would see to what is held */
        options.rma_order = (enum rbuf_rma_order) params->rma_order;
    }
    choose_protocol(port, half, &options);
    options.ring = mca_btl_rbuf_ring_options(port);
    if (params->early_data == MCA_BTL_RBUF_ON) {
        options.early = (struct rbuf_early_options){
            .peers = early_peers(port, options.arrival),
            .slot_blocks = (uint32_t) (params->early_size / params->block_size),
            .opening_blocks = (uint16_t) (params->early_c0 / params->block_size)};
    }
    return options;
}

/* False, after a message: there is none. */
static bool allocate(mca_btl_rbuf_module_t *module, size_t bytes, struct rbuf_memory *memory)
{
    struct rbuf_problem problem;

    if (rbuf_memory_allocate(module->port, bytes, 0, memory, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        return false;
    }
    return true;
}

static bool open_atomic_words(mca_btl_rbuf_module_t *module)
{
    module->atomic_words_free = UINT64_MAX;
    return allocate(module, ATOMIC_WORDS * sizeof(uint64_t), &module->atomic_words);
}

/* For an adapter that does not take all of core's own messages inline. */
static bool open_bounce(mca_btl_rbuf_module_t *module, struct rbuf_region *region)
{
    if (rbuf_queue_inline(module->port, RBUF_CONTROL) >= RBUF_INLINE_ENOUGH) {
        return true;
    }
    if (!allocate(module, BOUNCE_BUFFERS * RBUF_BOUNCE_BYTES, &module->core_bounce)) {
        return false;
    }
    *region = (struct rbuf_region){.base = module->core_bounce.base,
                                   .bytes = module->core_bounce.bytes,
                                   .lkey = module->core_bounce.mr->lkey};
    return true;
}

static bool open_core(mca_btl_rbuf_module_t *module, const struct rbuf_core_options *options)
{
    const struct rbuf_region send = mca_btl_rbuf_staging_region(&module->send_staging);
    const struct rbuf_region receive = mca_btl_rbuf_staging_region(&module->receive_staging);

    if (rbuf_core_open(&module->core, options, &send, &receive) != 0) {
        mca_btl_rbuf_help("no memory", opal_process_info.nodename, "opening a port", NULL);
        return false;
    }
    return true;
}

/* Every eager message has a channel that takes it. */
static void set_room(mca_btl_rbuf_module_t *module)
{
    const size_t eager = mca_btl_rbuf_eager_most(&module->super);
    const size_t most = module->super.btl_max_send_size;
    const size_t control = mca_btl_rbuf_params.control_size;

    module->room[RBUF_CONTROL] = control < eager ? control : eager;
    module->room[RBUF_BULK] = most > eager ? most : eager;
}

static bool open_receives(mca_btl_rbuf_module_t *module)
{
    const uint64_t shared[RBUF_CHANNELS] = {mca_btl_rbuf_params.control_buffers,
                                            mca_btl_rbuf_params.bulk_buffers};
    const uint64_t window[RBUF_CHANNELS] = {mca_btl_rbuf_params.control_credits,
                                            mca_btl_rbuf_params.bulk_credits};
    struct rbuf_problem problem;

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        const struct rbuf_receive_plan plan = {
            .shared = (uint32_t) shared[i],
            .window = (uint16_t) window[i],
            .bytes = (uint32_t) (module->room[i] + sizeof(struct rbuf_message_header))};

        if (rbuf_receive_open(module->port, (enum rbuf_channel_id) i, &plan, &problem) != 0) {
            mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_RECEIVE, &problem);
            return false;
        }
    }
    return true;
}

/* What was never opened is empty. */
void mca_btl_rbuf_module_close(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_auto_close(&module->registrar);
    mca_btl_rbuf_registrar_close(&module->registrar);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_receive_close(module->port, (enum rbuf_channel_id) i);
    }
    mca_btl_rbuf_rings_close(module);
    mca_btl_rbuf_pools_close(module);
    mca_btl_rbuf_mailboxes_close(module);
    rbuf_events_close(&module->serving.waiting);
    rbuf_memory_free(&module->atomic_words);
    rbuf_memory_free(&module->core_bounce);
    rbuf_range_close(&module->receive_staging);
    rbuf_range_close(&module->send_staging);
    mca_btl_rbuf_lock_close(&module->lock);
    free(module);
}

/* Up to there osc/rdma neither copies nor registers: it would do so through a buffer of 32 KB,
 * which 4.1 registers anew whenever it was full, and register each operation that finds it so.
 * Protocols that copy have all of it. */
static void set_registration_thresholds(mca_btl_rbuf_module_t *module)
{
    const size_t most = mca_btl_rbuf_copies() ? SIZE_MAX : module->room[RBUF_CONTROL];

    module->super.btl_put_local_registration_threshold = most;
    module->super.btl_get_local_registration_threshold = most;
}

mca_btl_rbuf_module_t *mca_btl_rbuf_module_open(struct rbuf_port *port, uint32_t index)
{
    mca_btl_rbuf_module_t *module = calloc(1, sizeof(*module));

    if (module == NULL) {
        return NULL;
    }
    /* component_register() has left what Open MPI's own parameters say in the template. */
    module->super = mca_btl_rbuf_process.module_template;
    module->state = MCA_BTL_RBUF_STANDBY;
    module->port = port;
    module->index = index;
    set_room(module);
    set_registration_thresholds(module);
    mca_btl_rbuf_lock_open(&module->lock);
    TAILQ_INIT(&module->endpoints);
    TAILQ_INIT(&module->packing);
    TAILQ_INIT(&module->under_way);
    if (module->super.btl_bandwidth == 0) {
        module->super.btl_bandwidth = port->bandwidth_mbps;
    }
    if (!port->atomics) {
        module->super.btl_flags &= ~(uint32_t) MCA_BTL_FLAGS_ATOMIC_FOPS;
        module->super.btl_atomic_flags = 0;
    }
    if (port->atomics_with_cpu) {
        module->super.btl_atomic_flags |= MCA_BTL_ATOMIC_SUPPORTS_GLOB;
    }
    module->registrar.port = port;
    module->registrar.lock = &module->lock;
    module->registrar.core = &module->core;
    if (!mca_btl_rbuf_params_check_staging(2 * mca_btl_rbuf_staging_half(module),
                                           mca_btl_rbuf_process.module_count) ||
        mca_btl_rbuf_registrar_open(&module->registrar) != OPAL_SUCCESS ||
        mca_btl_rbuf_auto_open(&module->registrar) != OPAL_SUCCESS) {
        mca_btl_rbuf_module_close(module);
        return NULL;
    }
    return module;
}

/* What was made before something failed is freed with the module. */
bool mca_btl_rbuf_module_start(mca_btl_rbuf_module_t *module)
{
    const size_t half = mca_btl_rbuf_staging_half(module);
    struct rbuf_core_options options;

    if (module->state != MCA_BTL_RBUF_STANDBY) {
        return module->state == MCA_BTL_RBUF_RUNNING;
    }
    options = core_options(module->port, half);
    if (!mca_btl_rbuf_staging_open(module, &options, half) || !open_atomic_words(module) ||
        !open_bounce(module, &options.bounce) || !open_receives(module) ||
        !mca_btl_rbuf_pools_open(module) || !open_core(module, &options)) {
        module->state = MCA_BTL_RBUF_BROKEN;
        return false;
    }
    mca_btl_rbuf_eager_open(module);
    module->state = MCA_BTL_RBUF_RUNNING;
    atomic_fetch_or_explicit(&mca_btl_rbuf_process.started, 1u << module->index,
                             memory_order_relaxed);
    return true;
}
