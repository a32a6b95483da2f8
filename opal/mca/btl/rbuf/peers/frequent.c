/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reuse: eager messages of frequently used buffers (core/choice/frequent.h) leave without a copy,
 * and small puts and gets do without one, unless that makes the program slower
 * (core/choice/trial.h).
 *
 * Open MPI hands messages to sendi, where they can but be copied, or to prepare_src and send, which
 * takes a hundred instructions more. So it does the latter while messages are gathered, and is told
 * when that begins and ends (peers/bml.h), of each endpoint with the next message for it that is
 * looked at; by sendi one in some is.
 *
 * A registration is held until its memory is given back, of which the memory hooks tell: a cache is
 * not asked for each message, as that takes as long as a copy. It is made and let go without the
 * lock.
 */
#include "peers/frequent.h"

#include <stdlib.h>
#include <string.h>

#include "peers/bml.h"
#include "module/convertor.h"
#include "module/eager_limit.h"
#include "params/help.h"
#include "registration/hooks.h"
#include "params/params.h"

#define MOST_BYTES (64ull << 20) /* registered */
#define PART       8u            /* of what may be locked, at most */
#define GATHER_NS  150.0         /* assumed, until it was done */
#define BLOCK      32u           /* messages, and the logarithm of their size */
#define FETCHED_NS 100.0         /* a completion, and to tell Open MPI of it */

static void released(void *table, uint64_t base, uint64_t bytes)
{
    rbuf_frequent_release(table, base, bytes);
}

static uint64_t most_bytes(void)
{
    const size_t part = rbuf_memlock_limit() / PART;

    return part < MOST_BYTES ? part : MOST_BYTES;
}

int mca_btl_rbuf_frequent_open(mca_btl_rbuf_module_t *module)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    struct rbuf_frequent_options options = {.buffers = params->reuse_buffers,
                                            .most_bytes = most_bytes(),
                                            .speculation = (double) params->reuse_speculation / 100,
                                            .gather_ns = GATHER_NS,
                                            .fetched_ns = FETCHED_NS,
                                            .registration_ns = params->registration_time,
                                            .registration_page_ns = params->registration_page_time};
    struct mca_btl_rbuf_frequent *frequent;

    if (params->reuse != MCA_BTL_RBUF_ON) {
        return OPAL_SUCCESS;
    }
    if (!mca_btl_rbuf_hooks_install()) {
        mca_btl_rbuf_help("no reuse", opal_process_info.nodename, NULL);
        return OPAL_SUCCESS;
    }
    if (module->port->pieces < RBUF_FAB_PIECES) {
        mca_btl_rbuf_help("no gather", opal_process_info.nodename, module->port->name, NULL);
        return OPAL_SUCCESS;
    }
    frequent = calloc(1, sizeof(*frequent));
    if (frequent == NULL || rbuf_frequent_open(&frequent->table, &options) != 0) {
        free(frequent);
        mca_btl_rbuf_help("no memory", opal_process_info.nodename, "opening a port", NULL);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (!mca_btl_rbuf_hooks_add(released, &frequent->table)) {
        rbuf_frequent_close(&frequent->table);
        free(frequent);
        return OPAL_SUCCESS;
    }
    frequent->least = module->port->max_inline + 1;
    frequent->least = params->reuse_min > frequent->least ? params->reuse_min : frequent->least;
    module->frequent = frequent;
    if (frequent->table.in_place) {
        module->super.btl_flags |=
            MCA_BTL_FLAGS_SEND_INPLACE; /* of all endpoints, from the start */
    }
    return OPAL_SUCCESS;
}

/* What uses cost in this run, for diagnostics, and which way is preferred. */
static void tell_costs(const mca_btl_rbuf_module_t *module)
{
    static const char *const names[RBUF_FREQUENT_KINDS] = {"send", "put", "get"};
    const struct mca_btl_rbuf_frequent *frequent = module->frequent;
    struct rbuf_frequent_cost cost;

    for (uint32_t i = 0; i < RBUF_FREQUENT_KINDS * RBUF_FREQUENT_SIZES; i++) {
        const uint32_t kind = i / RBUF_FREQUENT_SIZES;
        const uint32_t size = i % RBUF_FREQUENT_SIZES;

        if (rbuf_frequent_cost(&frequent->table, kind, size, &cost)) {
            mca_btl_rbuf_verbose(
                "rbuf: %s: reuse: rank=%u kind=%s from=%u copied_ns=%.0f gathered_ns=%.0f "
                "registration_ns=%.0f way=%s",
                module->port->name, (unsigned) OPAL_PROC_MY_NAME.vpid, names[kind], 1u << size,
                cost.copied, cost.gathered, cost.registration,
                frequent->pace[kind][size].preferred == RBUF_PACE_GATHER ? "gather" : "copy");
        }
    }
}

void mca_btl_rbuf_frequent_close(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_frequent *frequent = module->frequent;
    mca_btl_rbuf_registration_t *registration;

    if (frequent == NULL) {
        return;
    }
    tell_costs(module);
    mca_btl_rbuf_hooks_remove(&frequent->table);
    while ((registration = rbuf_frequent_drop(&frequent->table, RBUF_FREQUENT_ANY)) != NULL) {
        mca_btl_rbuf_registration_free(registration);
    }
    rbuf_frequent_close(&frequent->table);
    free(frequent);
    module->frequent = NULL;
}

/* Gives back all whose memory is gone. No lock is held. */
static void give_released(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_registration_t *registration;

    do {
        mca_btl_rbuf_lock(module);
        registration = rbuf_frequent_drop(&module->frequent->table, RBUF_FREQUENT_RELEASED);
        mca_btl_rbuf_unlock(module);
        mca_btl_rbuf_registration_free(registration);
    } while (registration != NULL);
}

/* Registers [base, base + bytes), of a buffer that wants it, in place of
 * another if need be. No lock is held, so the buffer may have gone. */
static void enter(mca_btl_rbuf_module_t *module, enum rbuf_frequent_kind kind, void *base,
                  size_t bytes)
{
    struct rbuf_frequent *table = &module->frequent->table;
    struct rbuf_frequent_buffer *buffer;
    struct rbuf_problem problem; /* no reason to complain: messages are copied */
    mca_btl_rbuf_registration_t *spare = NULL;
    mca_btl_rbuf_registration_t *registration = mca_btl_rbuf_registration_hold(
        module, base, bytes, kind == RBUF_FREQUENT_GET ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE,
        &problem);
    uint64_t ns = registration == NULL ? 0
                                       : atomic_exchange_explicit(&registration->unreported_ns, 0,
                                                                  memory_order_relaxed);

    mca_btl_rbuf_lock(module);
    if (registration != NULL) {
        rbuf_pace_spare(&module->frequent->pace[kind][rbuf_frequent_size(bytes)], ns);
    }
    if (rbuf_frequent_is_full(table, bytes)) {
        spare = rbuf_frequent_drop(table, RBUF_FREQUENT_ANY);
    }
    buffer = rbuf_frequent_find(table, (uintptr_t) base);
    if (buffer != NULL && buffer->held == NULL && buffer->bytes == bytes &&
        rbuf_frequent_hold(table, buffer, kind, registration,
                           registration != NULL ? registration->mr->lkey : 0, ns)) {
        registration = NULL;
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_registration_free(registration);
    mca_btl_rbuf_registration_free(spare);
}

/* Whether uses of that kind and size go without a copy at present, if their buffers are registered.
 * The sizes have blocks of unlike lengths, lest the one is always tried when the other is. */
static bool is_faster(struct mca_btl_rbuf_frequent *frequent, struct rbuf_pace *pace, uint32_t size,
                      uint32_t uses)
{
    if (mca_btl_rbuf_params.reuse_speculation == 0) {
        return true;
    }
    if (frequent->table.held_count > 0 && rbuf_pace_count(pace, uses, BLOCK + size)) {
        rbuf_pace_turn(pace, mca_btl_rbuf_now_ns());
    }
    return pace->path == RBUF_PACE_GATHER;
}

/* The buffer wants to be registered, or no longer has what this use needs: changes that as far as
 * it can be now. The lock is held, and let go meanwhile. */
static __attribute__((noinline)) struct rbuf_frequent_buffer *
settle(mca_btl_rbuf_module_t *module, struct rbuf_frequent_buffer *buffer,
       enum rbuf_frequent_kind kind, uint32_t bytes)
{
    struct rbuf_frequent *table = &module->frequent->table;
    const uint64_t base = buffer->base;
    mca_btl_rbuf_registration_t *outgrown =
        rbuf_frequent_is_outgrown(buffer, bytes) ? rbuf_frequent_forget(table, buffer->held) : NULL;
    const bool wants = buffer->held == NULL && rbuf_frequent_wants(table, buffer, kind, bytes);

    if (wants) {
        buffer->bytes = bytes; /* no more is known to be there until it is registered */
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_registration_free(outgrown);
    if (wants) {
        enter(module, kind, (void *) (uintptr_t) base, bytes);
    }
    mca_btl_rbuf_lock(module);
    return rbuf_frequent_find(table, base);
}

/* A use of the buffer; NULL if it takes a copy. `timed`: how long that takes is to be told. The
 * lock is held, and may be let go meanwhile. */
static struct rbuf_frequent_buffer *look_up(mca_btl_rbuf_module_t *module,
                                            enum rbuf_frequent_kind kind, const void *base,
                                            uint32_t bytes, bool *timed)
{
    struct rbuf_frequent *table = &module->frequent->table;
    const uint32_t uses = rbuf_frequent_stands_for(table, kind);
    const uint32_t size = rbuf_frequent_size(bytes);
    struct rbuf_pace *pace = &module->frequent->pace[kind][size];
    struct rbuf_frequent_buffer *buffer = rbuf_frequent_use(table, (uintptr_t) base, bytes, uses);
    const bool faster = is_faster(module->frequent, pace, size, uses);

    *timed = rbuf_frequent_times(table);
    if (buffer != NULL && (buffer->held == NULL ? rbuf_frequent_wants(table, buffer, kind, bytes) &&
                                                      rbuf_pace_needs_registrations(pace)
                                                : rbuf_frequent_is_outgrown(buffer, bytes))) {
        buffer = settle(module, buffer, kind, bytes);
    }
    if (buffer == NULL || !rbuf_frequent_covers(table, buffer, kind, bytes)) {
        return NULL;
    }
    module->frequent->spared += !faster;
    return faster ? buffer : NULL;
}

static bool is_target(const struct rbuf_frequent_held *held)
{
    const mca_btl_rbuf_registration_t *registration = held->registration;

    return registration->rights == MCA_BTL_RBUF_TARGET;
}

/* A message for the endpoint was looked at. The lock is held. */
static void message_seen(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         bool gathered)
{
    struct rbuf_frequent *table = &module->frequent->table;

    (void) rbuf_frequent_turn(table, gathered);
    if (endpoint->in_place != table->in_place) {
        mca_btl_rbuf_bml_set_in_place(endpoint, table->in_place);
    }
}

/* As mca_btl_rbuf_frequent_find(), also of a message, for the endpoint, else NULL. */
static struct rbuf_frequent_held *find(mca_btl_rbuf_module_t *module,
                                       mca_btl_base_endpoint_t *endpoint,
                                       enum rbuf_frequent_kind kind, const void *base,
                                       uint32_t bytes, bool *timed)
{
    struct mca_btl_rbuf_frequent *frequent = module->frequent;
    struct rbuf_frequent_held *held = NULL;
    struct rbuf_frequent_buffer *buffer;

    if (rbuf_frequent_has_released(&frequent->table)) {
        give_released(module);
    }
    mca_btl_rbuf_lock(module);
    buffer = look_up(module, kind, base, bytes, timed);
    if (buffer != NULL && (kind != RBUF_FREQUENT_GET || is_target(buffer->held))) {
        held = rbuf_frequent_start(buffer);
        frequent->in_place[kind]++;
    }
    if (endpoint != NULL) {
        message_seen(module, endpoint, held != NULL);
    }
    mca_btl_rbuf_unlock(module);
    return held;
}

struct rbuf_frequent_held *mca_btl_rbuf_frequent_find(mca_btl_rbuf_module_t *module,
                                                      enum rbuf_frequent_kind kind,
                                                      const void *base, uint32_t bytes, bool *timed)
{
    *timed = false;
    return bytes < mca_btl_rbuf_params.reuse_min ? NULL
                                                 : find(module, NULL, kind, base, bytes, timed);
}

/* Where the data of a message is held, as above. */
static struct rbuf_frequent_held *find_source(mca_btl_rbuf_module_t *module,
                                              mca_btl_base_endpoint_t *endpoint,
                                              const struct opal_convertor_t *convertor,
                                              size_t bytes, bool *timed)
{
    void *data = NULL;

    if (bytes >= module->frequent->least && mca_btl_rbuf_is_in_place(convertor)) {
        opal_convertor_get_current_pointer(convertor, &data);
        return find(module, endpoint, RBUF_FREQUENT_SEND, data, (uint32_t) bytes, timed);
    }
    *timed = false;
    mca_btl_rbuf_lock(module);
    message_seen(module, endpoint, false);
    mca_btl_rbuf_unlock(module);
    return NULL;
}

bool mca_btl_rbuf_frequent_sample(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  const struct opal_convertor_t *convertor, size_t bytes)
{
    bool timed;
    struct rbuf_frequent_held *held = find_source(module, endpoint, convertor, bytes, &timed);

    mca_btl_rbuf_frequent_end(module, held);
    return timed && held == NULL;
}

mca_btl_rbuf_frag_t *mca_btl_rbuf_frequent_prepare(mca_btl_rbuf_module_t *module,
                                                   mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   size_t reserve, size_t bytes)
{
    bool timed;
    struct rbuf_frequent_held *held = find_source(module, endpoint, convertor, bytes, &timed);
    mca_btl_rbuf_frag_t *frag;
    void *data = NULL;

    mca_btl_rbuf_lock(module);
    frag = mca_btl_rbuf_frag_take_locked(module, reserve + bytes);
    if (frag == NULL && held != NULL) {
        rbuf_frequent_end(&module->frequent->table, held);
    }
    mca_btl_rbuf_unlock(module);
    if (frag != NULL) {
        if (held != NULL) {
            opal_convertor_get_current_pointer(convertor, &data);
        }
        frag->role = MCA_BTL_RBUF_IN_PLACE;
        frag->source = data;
        frag->source_bytes = bytes;
        frag->convertor = convertor;
        frag->held = held;
        frag->timed = timed;
        frag->segment.seg_addr.pval = frag->am.header + 1;
        frag->segment.seg_len = reserve + bytes;
        frag->am.channel =
            (uint8_t) (reserve + bytes <= module->room[RBUF_CONTROL] ? RBUF_CONTROL : RBUF_BULK);
    }
    return frag;
}

bool mca_btl_rbuf_frequent_gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  mca_btl_rbuf_frag_t *frag)
{
    const struct rbuf_fab_piece data = {frag->source, (uint32_t) frag->source_bytes,
                                        frag->held->lkey};
    struct rbuf_frequent *table = &module->frequent->table;
    const uint64_t start = frag->timed ? mca_btl_rbuf_now_ns() : 0;
    bool sent;

    mca_btl_rbuf_lock(module);
    sent = rbuf_am_gather(endpoint->peer, &frag->am, &data);
    if (!sent) {
        rbuf_frequent_end(table, frag->held);
    } else {
        frag->state = MCA_BTL_RBUF_FRAG_SENDING;
    }
    if (sent && frag->timed) {
        rbuf_frequent_took(table, RBUF_FREQUENT_SEND, RBUF_FREQUENT_GATHERED, data.bytes,
                           mca_btl_rbuf_now_ns() - start);
    }
    if (sent && frag->am.bytes > module->room[RBUF_CONTROL] && frag->am.kind == RBUF_MESSAGE_USER) {
        mca_btl_rbuf_eager_by_ring(module);
    }
    mca_btl_rbuf_unlock(module);
    return sent;
}

void mca_btl_rbuf_frequent_end(mca_btl_rbuf_module_t *module, struct rbuf_frequent_held *held)
{
    if (held != NULL) {
        mca_btl_rbuf_lock(module);
        rbuf_frequent_end(&module->frequent->table, held);
        mca_btl_rbuf_unlock(module);
    }
}

void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_module_t *module, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns)
{
    const uint64_t ns = mca_btl_rbuf_now_ns() - start_ns;

    mca_btl_rbuf_lock(module);
    rbuf_frequent_took(&module->frequent->table, kind, RBUF_FREQUENT_COPIED, bytes, ns);
    mca_btl_rbuf_unlock(module);
}
