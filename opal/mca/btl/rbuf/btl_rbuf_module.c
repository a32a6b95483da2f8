/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A port as a BTL module: what it owns, from opening to finalize. Open MPI has to be given all
 * modules before it is known which are needed, so what costs memory is made when a module starts.
 *
 * Finalize and del_procs first let what is queued and under way come to its end, for a bounded
 * time, then say DREQ and wait until the peers have heard it, then bring the queue pairs to error
 * and wait for their completions, and only then free. So a peer never sees a broken queue pair of a
 * process that ends in order without having its DREQ.
 */
#include "btl_rbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define DRAIN_SECONDS  10
#define ATOMIC_WORDS   64u
#define BOUNCE_BUFFERS 64u /* a port */

static int register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t callback)
{
    mca_btl_rbuf_module(btl)->error_callback = callback;
    return OPAL_SUCCESS;
}

const mca_btl_base_module_t mca_btl_rbuf_template = {
    .btl_component = &mca_btl_rbuf_component.super,
    .btl_add_procs = mca_btl_rbuf_add_procs,
    .btl_del_procs = mca_btl_rbuf_del_procs,
    .btl_finalize = mca_btl_rbuf_finalize,
    .btl_alloc = mca_btl_rbuf_alloc,
    .btl_free = mca_btl_rbuf_free,
    .btl_prepare_src = mca_btl_rbuf_prepare_src,
    .btl_send = mca_btl_rbuf_send,
    .btl_sendi = mca_btl_rbuf_sendi,
    .btl_put = mca_btl_rbuf_put,
    .btl_get = mca_btl_rbuf_get,
    .btl_dump = mca_btl_base_dump,
    .btl_atomic_fop = mca_btl_rbuf_atomic_fop,
    .btl_atomic_cswap = mca_btl_rbuf_atomic_cswap,
    .btl_register_mem = mca_btl_rbuf_register_mem,
    .btl_deregister_mem = mca_btl_rbuf_deregister_mem,
    .btl_register_error = register_error,
};

/* ---- opening ---- */

/* The schedule and arrival of the protocol; protocols without staging keep the superpipeline's for
 * what cannot be registered. `half` is half of the staging, bytes. */
static void choose_protocol(const struct rbuf_port *port, size_t half,
                            struct rbuf_core_options *options)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    struct rbuf_schedule *schedule = &options->schedule;
    uint64_t largest = params->largest_chunk;
    uint64_t first = params->c0;
    uint64_t fits = half / params->buffers / params->block_size * params->block_size;

    largest = largest < fits ? largest : fits; /* staging may be less than asked: memlock */
    schedule->growth = (uint32_t) params->q;
    schedule->buffers = (uint8_t) params->buffers;
    options->arrival = RBUF_ARRIVAL_BLOCK;
    if (params->protocol == MCA_BTL_RBUF_PIPELINE) {
        first = params->pipeline_chunk;
        schedule->growth = RBUF_GROWTH_ONE;
        options->arrival = RBUF_ARRIVAL_CHUNK;
    } else if (params->protocol == MCA_BTL_RBUF_COPY) {
        /* The whole message, as far as two of them fit into the staging. */
        largest = half / 2 / params->block_size * params->block_size;
        largest = largest / params->block_size > RBUF_BUFFER_BLOCKS
                      ? RBUF_BUFFER_BLOCKS * params->block_size
                      : largest;
        first = largest;
        schedule->growth = RBUF_GROWTH_ONE;
        schedule->buffers = 1;
        options->arrival = RBUF_ARRIVAL_CHUNK;
    }
    if (!port->in_order) {
        options->arrival = RBUF_ARRIVAL_IMMEDIATE;
        schedule->taper = RBUF_TAPER_TAIL;
    }
    schedule->block_bytes = (uint32_t) params->block_size;
    schedule->buffer_blocks = (uint16_t) (largest / params->block_size);
    schedule->first_blocks = (uint16_t) ((first < largest ? first : largest) / params->block_size);
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

static struct rbuf_core_options core_options(const struct rbuf_port *port, size_t half)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    struct rbuf_core_options options = {
        .grant_wait_ns = params->grant_wait,
        .direct_limit = 2 * half,
        .probe_interval_ns = params->probe_interval,
        .quantum = (uint32_t) params->quantum,
        .window = {(uint16_t) params->control_credits, (uint16_t) params->bulk_credits},
        .max_message = (uint32_t) (port->max_message < (1u << 30) ? port->max_message : 1u << 30)};

    choose_protocol(port, half, &options);
    options.ring = mca_btl_rbuf_ring_options(port, options.arrival);
    if (params->early_data == MCA_BTL_RBUF_ON) {
        options.early = (struct rbuf_early_options){
            .peers = early_peers(port, options.arrival),
            .slot_blocks = (uint32_t) (params->early_size / params->block_size),
            .opening_blocks = (uint16_t) (params->early_c0 / params->block_size)};
    }
    return options;
}

static int open_atomic_words(mca_btl_rbuf_module_t *module)
{
    struct rbuf_problem problem;

    if (rbuf_memory_allocate(module->port, ATOMIC_WORDS * sizeof(uint64_t), 0,
                             &module->atomic_words, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    module->atomic_words_free = UINT64_MAX;
    return OPAL_SUCCESS;
}

/* For an adapter that does not take all of core's own messages inline. */
static int open_bounce(mca_btl_rbuf_module_t *module, struct rbuf_region *region)
{
    struct rbuf_problem problem;

    if (rbuf_queue_inline(module->port, RBUF_CONTROL) >= RBUF_INLINE_ENOUGH) {
        return OPAL_SUCCESS;
    }
    if (rbuf_memory_allocate(module->port, BOUNCE_BUFFERS * RBUF_BOUNCE_BYTES, 0,
                             &module->core_bounce, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *region = (struct rbuf_region){.base = module->core_bounce.base,
                                   .bytes = module->core_bounce.bytes,
                                   .lkey = module->core_bounce.mr->lkey};
    return OPAL_SUCCESS;
}

static int open_core(mca_btl_rbuf_module_t *module, const struct rbuf_core_options *options)
{
    const struct rbuf_region send = mca_btl_rbuf_staging_region(&module->send_staging);
    const struct rbuf_region receive = mca_btl_rbuf_staging_region(&module->receive_staging);

    if (rbuf_core_open(&module->core, options, &send, &receive) != 0) {
        mca_btl_rbuf_help("no memory", opal_process_info.nodename, "opening a port", NULL);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return OPAL_SUCCESS;
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

static int open_receives(mca_btl_rbuf_module_t *module)
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
            mca_btl_rbuf_help_problem(&problem);
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
    }
    return OPAL_SUCCESS;
}

/* Frees everything; the endpoints are gone, and what was never opened is empty. */
static void module_free(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_handle_t *handle;
    mca_btl_rbuf_operation_t *operation;

    mca_btl_rbuf_auto_close(module);
    mca_btl_rbuf_registrar_close(module);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_receive_close(module->port, (enum rbuf_channel_id) i);
    }
    mca_btl_rbuf_rings_close(module);
    mca_btl_rbuf_pools_close(module);
    mca_btl_rbuf_mailboxes_close(module);
    while ((handle = SLIST_FIRST(&module->handles)) != NULL) {
        SLIST_REMOVE_HEAD(&module->handles, link);
        free(handle);
    }
    while ((operation = SLIST_FIRST(&module->operations)) != NULL) {
        SLIST_REMOVE_HEAD(&module->operations, link);
        free(operation);
    }
    rbuf_memory_free(&module->atomic_words);
    rbuf_memory_free(&module->core_bounce);
    rbuf_range_close(&module->receive_staging);
    rbuf_range_close(&module->send_staging);
    mca_btl_rbuf_lock_close(&module->lock);
    free(module);
}

int mca_btl_rbuf_module_open(struct rbuf_port *port, uint32_t index, mca_btl_rbuf_module_t **out)
{
    mca_btl_rbuf_module_t *module = calloc(1, sizeof(*module));
    int status;

    if (module == NULL) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    /* component_register() has left what Open MPI's own parameters say in the template. */
    module->super = mca_btl_rbuf_component.module_template;
    module->state = MCA_BTL_RBUF_STANDBY;
    module->port = port;
    module->index = index;
    set_room(module);
    mca_btl_rbuf_lock_open(&module->lock);
    TAILQ_INIT(&module->endpoints);
    TAILQ_INIT(&module->packing);
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
    if ((status = mca_btl_rbuf_registrar_open(module)) != OPAL_SUCCESS ||
        (status = mca_btl_rbuf_auto_open(module)) != OPAL_SUCCESS) {
        module_free(module);
        return status;
    }
    *out = module;
    return OPAL_SUCCESS;
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
    if (mca_btl_rbuf_staging_open(module, &options, half) != OPAL_SUCCESS ||
        open_atomic_words(module) != OPAL_SUCCESS ||
        open_bounce(module, &options.bounce) != OPAL_SUCCESS ||
        open_receives(module) != OPAL_SUCCESS || mca_btl_rbuf_pools_open(module) != OPAL_SUCCESS ||
        open_core(module, &options) != OPAL_SUCCESS) {
        module->state = MCA_BTL_RBUF_BROKEN;
        return false;
    }
    mca_btl_rbuf_eager_open(module);
    module->state = MCA_BTL_RBUF_RUNNING;
    return true;
}

/* ---- processes ---- */

int mca_btl_rbuf_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);

    for (size_t i = 0; i < count; i++) {
        mca_btl_base_endpoint_t *endpoint = mca_btl_rbuf_endpoint_for(module, procs[i]);

        if (endpoint == NULL) {
            continue;
        }
        endpoints[i] = endpoint;
        if (reachable != NULL) {
            opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

static bool time_is_up(time_t since)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - since > DRAIN_SECONDS;
}

/* What is waited for in drain(). */
typedef enum { UNTIL_SENT, UNTIL_HEARD, UNTIL_RETURNED, UNTIL_ACTED_ON } drain_t;

/* True when no event is left to act on, nor being acted on by another thread. */
static bool is_acted_on(const mca_btl_rbuf_module_t *module)
{
    const struct mca_btl_rbuf_drain *drain = &module->drain;

    return rbuf_events_empty(&module->core.events) &&
           (drain->depth == 0 || pthread_equal(drain->thread, pthread_self()));
}

static bool is_drained(mca_btl_base_endpoint_t *endpoint, drain_t until)
{
    switch (until) {
    case UNTIL_SENT:
        return endpoint->state == MCA_BTL_RBUF_IDLE || endpoint->state == MCA_BTL_RBUF_FAILED ||
               endpoint->departed || rbuf_peer_flush(endpoint->peer);
    case UNTIL_HEARD:
        return endpoint->connection == NULL || endpoint->state != MCA_BTL_RBUF_CONNECTED ||
               endpoint->departed;
    case UNTIL_RETURNED:
        return endpoint->peer->in_flight == 0;
    case UNTIL_ACTED_ON:
        return is_acted_on(endpoint->module);
    }
    return true;
}

/* Progresses until every endpoint (or just `only`) is as wanted, or the time is up. */
static void drain(mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *only, drain_t until)
{
    struct timespec start;
    bool drained = false;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!drained && !time_is_up(start.tv_sec)) {
        mca_btl_base_endpoint_t *endpoint;

        mca_btl_rbuf_connections_progress();
        mca_btl_rbuf_module_progress(module);
        drained = true;
        mca_btl_rbuf_lock(module);
        TAILQ_FOREACH(endpoint, &module->endpoints, link)
        {
            if ((only == NULL || only == endpoint) && !is_drained(endpoint, until)) {
                drained = false;
                break;
            }
        }
        mca_btl_rbuf_unlock(module);
    }
}

/* Lets every endpoint (or just `only`) end what it has to send, and its peer know that we go. */
static void take_leave(mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *only)
{
    mca_btl_base_endpoint_t *endpoint;

    drain(module, only, UNTIL_SENT);
    mca_btl_rbuf_lock(module);
    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if ((only == NULL || only == endpoint) && !is_drained(endpoint, UNTIL_HEARD)) {
            rbuf_connection_disconnect(endpoint->connection);
        }
    }
    mca_btl_rbuf_unlock(module);
    drain(module, only, UNTIL_HEARD);
}

/* There are at most as many as buffers; others' come too. */
void mca_btl_rbuf_sweep_receives(mca_btl_rbuf_module_t *module)
{
    const uint32_t drained = module->port->receives_drained;

    for (uint32_t i = 0; i < module->port->receive_entries; i++) {
        if (module->port->receives_drained != drained) {
            break;
        }
        mca_btl_rbuf_collect(module);
    }
}

/* Ends an endpoint whose queue is empty, as far as its peer let it. */
static void retire(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_endpoint_not_first(endpoint);
    mca_btl_rbuf_lock(module);
    endpoint->departed = true; /* what fails now is no loss */
    if (endpoint->connection != NULL) {
        rbuf_connection_close(endpoint->connection);
        endpoint->connection = NULL;
    }
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (endpoint->queue[i] != NULL) {
            rbuf_queue_error(endpoint->queue[i]);
        }
    }
    rbuf_peer_fail(endpoint->peer, -ECONNRESET);
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_connections_settle();
    drain(module, endpoint, UNTIL_RETURNED);
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_sweep_receives(module);
    mca_btl_rbuf_unlock(module);
    /* Events may still name the peer: let them be acted on before it goes. */
    drain(module, endpoint, UNTIL_ACTED_ON);
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_destroy(endpoint);
    mca_btl_rbuf_unlock(module);
}

int mca_btl_rbuf_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);

    (void) procs;
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] != NULL) {
            take_leave(module, endpoints[i]);
            retire(module, endpoints[i]);
        }
    }
    return OPAL_SUCCESS;
}

int mca_btl_rbuf_finalize(mca_btl_base_module_t *btl)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_base_endpoint_t *endpoint;

    mca_btl_rbuf_lock(module);
    module->departed = MCA_BTL_RBUF_DEPARTED_KEPT;
    mca_btl_rbuf_unlock(module);
    take_leave(module, NULL);
    while ((endpoint = TAILQ_FIRST(&module->endpoints)) != NULL) {
        retire(module, endpoint);
    }
    mca_btl_rbuf_counters_keep(module);
    mca_btl_rbuf_async_forget(module->index);
    if (module->state == MCA_BTL_RBUF_RUNNING) {
        rbuf_core_close(&module->core);
    }
    module_free(module);
    return OPAL_SUCCESS;
}
