/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component: registering parameters, opening ports and the listener, publishing both.
 *
 * Order: listener, ports, modules, modex. Closed in the other order; Open MPI finalizes the modules
 * before it closes the component.
 */

#include <stdlib.h>

#include "btl/btl.h"
#include "btl/in_place.h"
#include "report/counters.h"
#include "registration/fork.h"
#include "params/help.h"
#include "params/help_show.h"
#include "params/params.h"
#include "report/report.h"
#include "verbs/in_order.h"

#define RETRIED 3u /* times connect_timeout, that a request is tried again */

/* Open MPI finds it by its name. */
OPAL_DECLSPEC extern mca_btl_base_component_3_0_0_t mca_btl_rbuf_component;

static int register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t callback)
{
    mca_btl_rbuf_module(btl)->error_callback = callback;
    return OPAL_SUCCESS;
}

static const mca_btl_base_module_t template = {
    .btl_component = &mca_btl_rbuf_component,
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
    .btl_flush = mca_btl_rbuf_flush,
    .btl_dump = mca_btl_base_dump,
    .btl_atomic_fop = mca_btl_rbuf_atomic_fop,
    .btl_atomic_cswap = mca_btl_rbuf_atomic_cswap,
    .btl_register_mem = mca_btl_rbuf_register_mem,
    .btl_deregister_mem = mca_btl_rbuf_deregister_mem,
    .btl_register_error = register_error,
    .btl_exclusivity = MCA_BTL_RBUF_EXCLUSIVITY,
    /* Up to here one copy on each side, the sender's hidden by chunks (ring_c0), is about level
     * with a rendezvous where nothing else goes on, and faster where both send at once, in streams,
     * and if the receive comes late: contrib/speed.sh eager. */
    .btl_eager_limit = 48 * 1024,
    /* Nothing: payload in the rendezvous was measured, and is no faster at any size. What is behind
     * the rendezvous hides its time. */
    .btl_rndv_eager_limit = MCA_BTL_RBUF_RENDEZVOUS_LOOK,
    .btl_max_send_size = 64 * 1024,
    .btl_rdma_pipeline_frag_size = SIZE_MAX, /* one put a message */
    .btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_PUT | MCA_BTL_FLAGS_GET |
                 MCA_BTL_FLAGS_ATOMIC_FOPS | RBUF_FLAG_REMOTE_COMPLETION,
    .btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_CSWAP,
    .btl_put_limit = SIZE_MAX,
    .btl_get_limit = SIZE_MAX,
    .btl_latency = 2,
    /* 0 is what is not here: the bandwidth, which is the port's; what of a message is sent before
     * the rest is put; and what is too short to be put. */
    .btl_registration_handle_size = sizeof(struct rbuf_offer),
};

/* Open MPI raises min_rdma_pipeline_size to eager_limit, but the longest message that goes eagerly
 * is shorter, by the longest header of ob1: those between would have a rendezvous and still be sent
 * in fragments, a round trip later, a message of eager_limit bytes among them. All that have a
 * rendezvous may be put. */
static void close_gap(mca_btl_base_module_t *btl)
{
    const size_t raised = btl->btl_eager_limit + btl->btl_rdma_pipeline_send_length;

    if (btl->btl_min_rdma_pipeline_size == raised) {
        btl->btl_min_rdma_pipeline_size = btl->btl_rdma_pipeline_send_length;
    }
}

static int register_params(void)
{
    mca_base_component_t *component = &mca_btl_rbuf_component.btl_version;
    mca_btl_base_module_t *btl = &mca_btl_rbuf_process.module_template;
    int status;

    mca_btl_rbuf_help_files(&mca_btl_rbuf_help_texts);
    if (!rbuf_compat_same_series(opal_version_string)) {
        mca_btl_rbuf_help("wrong series", OPAL_VERSION, opal_version_string, NULL);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    *btl = template;
    status = mca_btl_rbuf_params_register(component);
    if (status == OPAL_SUCCESS) {
        status = mca_btl_rbuf_counters_register(component);
    }
    if (status == OPAL_SUCCESS) {
        status = mca_btl_base_param_register(component, btl);
    }
    close_gap(btl);
    return status;
}

/* Closes what init() opened and the modules do not own. */
static void close_all(void)
{
    struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;

    rbuf_listener_close(process->listener);
    process->listener = NULL;
    if (process->ports != NULL) {
        rbuf_ports_close(process->ports, process->port_count);
        process->ports = NULL;
    }
    process->module_count = 0;
    mca_btl_rbuf_registrars_close();
}

static int close_component(void)
{
    mca_btl_rbuf_serving_take_back();
    if (mca_btl_rbuf_process.module_count > 0) {
        mca_btl_rbuf_counters_close();
        mca_btl_rbuf_report();
    }
    close_all();
    return OPAL_SUCCESS;
}

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static bool open_listener(void)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    mca_btl_rbuf_modex_t *modex = &mca_btl_rbuf_process.modex;
    const struct rbuf_listener_options options = {
        .interfaces = text_or_null(params->listen_if),
        .port_min = (unsigned) params->port_min,
        .port_max = (unsigned) params->port_max,
        .timeout_ms = (unsigned) (params->connect_timeout / 1000000),
        .retry_ms = (unsigned) (RETRIED * params->connect_timeout / 1000000),
        .answer_ms = params->answer_timeout / 1000000,
        .raise_descriptors = params->raise_descriptors == MCA_BTL_RBUF_ON,
        .tick = mca_btl_rbuf_async_tick,
        .tick_ms = mca_btl_rbuf_async_first_ms()};
    struct rbuf_problem problem;

    if (rbuf_listener_open(&options, modex->token, &modex->addresses,
                           &mca_btl_rbuf_process.listener, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        return false;
    }
    return true;
}

/* Whether somebody named this transport, wherever: then its absence is worth a message. */
static bool asked_for(void)
{
    const char *btls = opal_btl_base_framework.framework_selection;

    return btls != NULL && btls[0] != '^' && strstr(btls, "rbuf") != NULL;
}

static struct rbuf_device_options device_options(void)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    return (struct rbuf_device_options){
        .include = text_or_null(params->if_include),
        .exclude = text_or_null(params->if_exclude),
        .gid_index = params->gid_index == UINT64_MAX ? RBUF_GID_AUTOMATIC : (int) params->gid_index,
        .mtu = (unsigned) params->mtu,
        .pkey = (unsigned) params->pkey,
        .service_level = (unsigned) params->service_level,
        .traffic_class = (unsigned) params->traffic_class,
        .timeout = (unsigned) params->timeout,
        .retry_count = (unsigned) params->retry_count,
        .rnr_retry = (unsigned) params->rnr_retry,
        .min_rnr_timer = (unsigned) params->min_rnr_timer,
        .subblock = (enum rbuf_in_order_choice) params->subblock,
        .fork = mca_btl_rbuf_fork_choice((enum rbuf_fork_choice) params->fork_support),
        .gather = params->reuse == MCA_BTL_RBUF_ON};
}

/* Whether two processes alike use both ports, of which one is the first. */
static bool is_beside(const struct rbuf_port *first, const struct rbuf_port *port)
{
    return rbuf_address_reach(&first->address, &port->address) == RBUF_REACHABLE &&
           port->address.place == first->address.place &&
           port->address.speed == first->address.speed;
}

/* Of the ports, how many are to be used from the start: those that the user named, or those that
 * go with the first one. */
static size_t count_first(size_t count)
{
    struct rbuf_port **ports = mca_btl_rbuf_process.ports;
    size_t first = 1;

    while (first < count &&
           (mca_btl_rbuf_process.modex.chosen != 0 || is_beside(ports[0], ports[first]))) {
        first++;
    }
    return first;
}

static bool open_ports(void)
{
    const struct rbuf_device_options options = device_options();
    struct rbuf_problem problem;
    size_t count;

    if (rbuf_ports_open(&options, &mca_btl_rbuf_process.ports, &count, &problem) != 0) {
        if (asked_for() || strcmp(problem.topic, "no-device") != 0) {
            mca_btl_rbuf_help_problem(&problem);
        }
        return false;
    }
    mca_btl_rbuf_process.port_count = count;
    mca_btl_rbuf_process.module_count = count < RBUF_PORTS_MAX ? count : RBUF_PORTS_MAX;
    mca_btl_rbuf_process.modex.chosen = rbuf_device_options_name(&options);
    mca_btl_rbuf_process.first_count = count_first(mca_btl_rbuf_process.module_count);
    return true;
}

static bool publish(void)
{
    struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;
    mca_btl_rbuf_modex_t *modex = &process->modex;
    size_t bytes;
    int status;

    modex->port_count = (uint32_t) process->module_count;
    for (size_t i = 0; i < process->module_count; i++) {
        modex->port[i] = process->ports[i]->address;
    }
    bytes = mca_btl_rbuf_modex_seal(modex);
    OPAL_MODEX_SEND(status, RBUF_MODEX_SCOPE, &mca_btl_rbuf_component.btl_version, modex, bytes);
    return status == OPAL_SUCCESS;
}

/* "10.1.0.1, RoCE v2", "fe80::1"; returns `text`. */
static const char *gid_text(const struct rbuf_port *port, char text[RBUF_PORT_TRAIT_MAX + 16])
{
    static const char *const kinds[] = {[RBUF_GID_INFINIBAND] = "",
                                        [RBUF_GID_ROCE_V1] = ", RoCE v1",
                                        [RBUF_GID_ROCE_V2] = ", RoCE v2"};

    rbuf_gid_text(port->address.gid, text);
    strcat(text, kinds[port->address.gid_kind]);
    return text;
}

/* Of ports whose order was the user's word, which a test has refuted. */
static void report_refuted(void)
{
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        const struct rbuf_port *port = mca_btl_rbuf_process.ports[i];

        if (rbuf_in_order_is_refuted(port)) {
            mca_btl_rbuf_help("no order", opal_process_info.nodename, port->name,
                              port->in_order_why, NULL);
        }
    }
}

static const char *subblock_text(enum rbuf_subblock subblock)
{
    static const char *const texts[] = {[RBUF_SUBBLOCK_OFF] = "announced by the chunk",
                                        [RBUF_SUBBLOCK_CHECKED] =
                                            "taken when their checksum is right",
                                        [RBUF_SUBBLOCK_ON] = "taken as they arrive"};

    return texts[subblock];
}

static void say_what_is_used(void)
{
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        const struct rbuf_port *port = mca_btl_rbuf_process.ports[i];
        char gid[RBUF_PORT_TRAIT_MAX + 16];

        mca_btl_rbuf_verbose(
            "rbuf: port %s%s, %u Mbit/s, MTU %u, GID index %u (%s), partition key 0x%04x (%s), "
            "blocks %s (%s), protocol %s%s%s",
            port->name, i < mca_btl_rbuf_process.first_count ? "" : " if no better one reaches",
            port->bandwidth_mbps, port->mtu_bytes, port->gid_index, gid_text(port, gid),
            port->address.pkey,
            (port->address.pkey & RBUF_PKEY_FULL) != 0 ? "full member" : "limited member",
            subblock_text(port->subblock), port->in_order_why, mca_btl_rbuf_protocol_name(),
            mca_btl_rbuf_default_why()[0] != '\0' ? ", " : "", mca_btl_rbuf_default_why());
    }
}

static int mca_btl_rbuf_progress(void)
{
    int done = 0;

    if (rbuf_listener_pending(mca_btl_rbuf_process.listener)) {
        done += mca_btl_rbuf_connections_progress();
    }
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        if (mca_btl_rbuf_process.modules[i] != NULL) {
            done += mca_btl_rbuf_module_progress(mca_btl_rbuf_process.modules[i]);
        }
    }
    return done;
}

/* Eager messages have entry points of their own where their buffers may be reused. */
static void enter_reuse(mca_btl_rbuf_module_t *module)
{
#if RBUF_HAVE_REUSE
    if (module->registrar.reuse != NULL) {
        mca_btl_rbuf_in_place_enter(module);
    }
#else
    (void) module;
#endif
}

static mca_btl_base_module_t **init(int *count, bool progress_threads, bool mpi_threads)
{
    struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;
    mca_btl_base_module_t **modules;
    size_t opened = 0;

    (void) progress_threads;
    (void) mpi_threads;
    *count = 0;
    if (!mca_btl_rbuf_params_check() || !open_ports()) {
        return NULL;
    }
    mca_btl_rbuf_default_choose();
    mca_btl_rbuf_registrars_open();
    modules = calloc(process->module_count, sizeof(*modules));
    if (modules == NULL || !open_listener()) {
        goto close_ports;
    }
    for (; opened < process->module_count; opened++) {
        process->modules[opened] =
            mca_btl_rbuf_module_open(process->ports[opened], (uint32_t) opened);
        if (process->modules[opened] == NULL) {
            goto finalize_modules;
        }
        enter_reuse(process->modules[opened]);
        modules[opened] = &process->modules[opened]->super;
        if (opened < process->first_count && !mca_btl_rbuf_module_start(process->modules[opened])) {
            opened++;
            goto finalize_modules;
        }
    }
    if (!publish()) {
        goto finalize_modules;
    }
    report_refuted();
    say_what_is_used();
    mca_btl_rbuf_explain();
    mca_btl_rbuf_report_open();
    mca_btl_rbuf_serving_offer();
    *count = (int) opened;
    return modules;

finalize_modules:
    while (opened-- > 0) {
        mca_btl_rbuf_finalize(modules[opened]);
    }
close_ports:
    free(modules);
    close_all();
    return NULL;
}

mca_btl_base_component_3_0_0_t mca_btl_rbuf_component = {
    .btl_version = {MCA_BTL_DEFAULT_VERSION("rbuf"), .mca_close_component = close_component,
                    .mca_register_component_params = register_params},
    .btl_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .btl_init = init,
    .btl_progress = mca_btl_rbuf_progress};
MCA_BASE_COMPONENT_INIT(opal, btl, rbuf)
