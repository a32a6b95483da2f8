/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reuse: registrations of frequently used buffers (core/choice/frequent.h), with which eager
 * messages (btl/in_place.c) and small puts and gets (btl/operation.c) do without a copy, unless
 * that makes the program slower (core/choice/gather.h).
 *
 * A registration is kept until its memory is given back, of which the memory hooks tell: a cache is
 * not asked for each message, as that takes as long as a copy. It is made and let go without the
 * lock.
 */
#include "registration/frequent.h"

#include <stdlib.h>

#include "common/monotonic.h"
#include "params/help.h"
#include "verbs/port.h"
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

static int open_reuse(mca_btl_rbuf_registrar_t *registrar)
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

    if (!mca_btl_rbuf_hooks_install()) {
        mca_btl_rbuf_help("no reuse", opal_process_info.nodename, NULL);
        return OPAL_SUCCESS;
    }
    if (registrar->port->pieces < RBUF_FAB_PIECES) {
        mca_btl_rbuf_help("no gather", opal_process_info.nodename, registrar->port->name, NULL);
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
    frequent->least = registrar->port->max_inline + 1;
    frequent->least = params->reuse_min > frequent->least ? params->reuse_min : frequent->least;
    registrar->reuse = &mca_btl_rbuf_reuse;
    registrar->frequent = frequent;
    return OPAL_SUCCESS;
}

/* What uses cost in this run, for diagnostics, and which way is preferred. */
static void tell_costs(const mca_btl_rbuf_registrar_t *registrar)
{
    static const char *const names[RBUF_FREQUENT_KINDS] = {"send", "put", "get"};
    const struct mca_btl_rbuf_frequent *frequent = registrar->frequent;
    struct rbuf_frequent_cost cost;

    for (uint32_t i = 0; i < RBUF_FREQUENT_KINDS * RBUF_FREQUENT_SIZES; i++) {
        const uint32_t kind = i / RBUF_FREQUENT_SIZES;
        const uint32_t size = i % RBUF_FREQUENT_SIZES;

        if (rbuf_frequent_cost(&frequent->table, kind, size, &cost)) {
            mca_btl_rbuf_verbose(
                "rbuf: %s: reuse: rank=%u kind=%s from=%u copied_ns=%.0f gathered_ns=%.0f "
                "registration_ns=%.0f way=%s",
                registrar->port->name, (unsigned) OPAL_PROC_MY_NAME.vpid, names[kind], 1u << size,
                cost.copied, cost.gathered, cost.registration,
                frequent->gather[kind][size].paths.preferred == RBUF_PREFER_IN_PLACE ? "gather"
                                                                                     : "copy");
        }
    }
}

static void close_reuse(mca_btl_rbuf_registrar_t *registrar)
{
    struct mca_btl_rbuf_frequent *frequent = registrar->frequent;
    mca_btl_rbuf_registration_t *registration;

    tell_costs(registrar);
    mca_btl_rbuf_hooks_remove(&frequent->table);
    while ((registration = rbuf_frequent_drop(&frequent->table, RBUF_FREQUENT_ANY)) != NULL) {
        mca_btl_rbuf_registration_free(registration);
    }
    rbuf_frequent_close(&frequent->table);
    free(frequent);
    registrar->reuse = NULL;
    registrar->frequent = NULL;
}

void mca_btl_rbuf_frequent_give_released(mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_registration_t *registration;

    do {
        mca_btl_rbuf_registrar_lock(registrar);
        registration = rbuf_frequent_drop(&registrar->frequent->table, RBUF_FREQUENT_RELEASED);
        mca_btl_rbuf_registrar_unlock(registrar);
        mca_btl_rbuf_registration_free(registration);
    } while (registration != NULL);
}

/* Registers [base, base + bytes), of a buffer that wants it, in place of
 * another if need be. No lock is held, so the buffer may have gone. */
static void enter(mca_btl_rbuf_registrar_t *registrar, enum rbuf_frequent_kind kind, void *base,
                  size_t bytes)
{
    struct rbuf_frequent *table = &registrar->frequent->table;
    struct rbuf_frequent_buffer *buffer;
    struct rbuf_problem problem; /* no reason to complain: messages are copied */
    mca_btl_rbuf_registration_t *spare = NULL;
    mca_btl_rbuf_registration_t *registration = mca_btl_rbuf_registrar_new(
        registrar, base, bytes,
        kind == RBUF_FREQUENT_GET ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE, &problem);
    const uint64_t ns = registration == NULL ? 0 : registration->unreported_ns;

    mca_btl_rbuf_registrar_lock(registrar);
    if (registration != NULL) {
        rbuf_gather_registered(&registrar->frequent->gather[kind][rbuf_frequent_size(bytes)], ns);
    }
    if (rbuf_frequent_is_full(table, bytes)) {
        spare = rbuf_frequent_drop(table, RBUF_FREQUENT_ANY);
    }
    buffer = rbuf_frequent_find(table, (uintptr_t) base);
    if (buffer != NULL && buffer->mr == NULL && buffer->bytes == bytes &&
        rbuf_frequent_hold(table, buffer, kind, registration,
                           registration != NULL ? registration->mr->lkey : 0, ns)) {
        registration = NULL;
    }
    mca_btl_rbuf_registrar_unlock(registrar);
    mca_btl_rbuf_registration_free(registration);
    mca_btl_rbuf_registration_free(spare);
}

/* Whether uses of that kind and size go without a copy at present, if their buffers are registered.
 * The sizes have blocks of unlike lengths, lest the one is always tried when the other is. */
static bool is_faster(struct mca_btl_rbuf_frequent *frequent, struct rbuf_gather *gather,
                      uint32_t size, uint32_t uses)
{
    if (mca_btl_rbuf_params.reuse_speculation == 0) {
        return true;
    }
    if (frequent->table.mr_count > 0 && rbuf_gather_count(gather, uses, BLOCK + size)) {
        rbuf_gather_turn(gather, mca_btl_rbuf_now_ns());
    }
    return gather->path == RBUF_PATH_IN_PLACE;
}

/* The buffer wants to be registered, or no longer has what this use needs: changes that as far as
 * it can be now. The lock is held, and let go meanwhile. */
static __attribute__((noinline)) struct rbuf_frequent_buffer *
settle(mca_btl_rbuf_registrar_t *registrar, struct rbuf_frequent_buffer *buffer,
       enum rbuf_frequent_kind kind, uint32_t bytes)
{
    struct rbuf_frequent *table = &registrar->frequent->table;
    const uint64_t base = buffer->base;
    mca_btl_rbuf_registration_t *outgrown =
        rbuf_frequent_is_outgrown(buffer, bytes) ? rbuf_frequent_forget(table, buffer->mr) : NULL;
    const bool wants = buffer->mr == NULL && rbuf_frequent_wants(table, buffer, kind, bytes);

    if (wants) {
        buffer->bytes = bytes; /* no more is known to be there until it is registered */
    }
    mca_btl_rbuf_registrar_unlock(registrar);
    mca_btl_rbuf_registration_free(outgrown);
    if (wants) {
        enter(registrar, kind, (void *) (uintptr_t) base, bytes);
    }
    mca_btl_rbuf_registrar_lock(registrar);
    return rbuf_frequent_find(table, base);
}

/* Whether the buffer's registration is good for a use of that kind. */
static bool serves(const struct rbuf_frequent_mr *mr, enum rbuf_frequent_kind kind)
{
    const mca_btl_rbuf_registration_t *registration = mr->registration;

    return kind != RBUF_FREQUENT_GET || registration->rights == MCA_BTL_RBUF_TARGET;
}

struct rbuf_frequent_mr *mca_btl_rbuf_frequent_look(mca_btl_rbuf_registrar_t *registrar,
                                                    enum rbuf_frequent_kind kind, const void *base,
                                                    uint32_t bytes, bool *timed)
{
    struct rbuf_frequent *table = &registrar->frequent->table;
    const uint32_t uses = rbuf_frequent_stands_for(table, kind);
    const uint32_t size = rbuf_frequent_size(bytes);
    struct rbuf_gather *gather = &registrar->frequent->gather[kind][size];
    struct rbuf_frequent_buffer *buffer = rbuf_frequent_use(table, (uintptr_t) base, bytes, uses);
    const bool faster = is_faster(registrar->frequent, gather, size, uses);

    *timed = rbuf_frequent_times(table);
    if (buffer != NULL && (buffer->mr == NULL ? rbuf_frequent_wants(table, buffer, kind, bytes) &&
                                                    rbuf_gather_needs_registrations(gather)
                                              : rbuf_frequent_is_outgrown(buffer, bytes))) {
        buffer = settle(registrar, buffer, kind, bytes);
    }
    if (buffer == NULL || !rbuf_frequent_covers(table, buffer, kind, bytes)) {
        return NULL;
    }
    registrar->frequent->spared += !faster;
    if (!faster || !serves(buffer->mr, kind)) {
        return NULL;
    }
    registrar->frequent->in_place[kind]++;
    return rbuf_frequent_start(buffer);
}

void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_registrar_t *registrar, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns)
{
    const uint64_t ns = mca_btl_rbuf_now_ns() - start_ns;

    mca_btl_rbuf_registrar_lock(registrar);
    rbuf_frequent_took(&registrar->frequent->table, kind, RBUF_PATH_COPY, bytes, ns);
    mca_btl_rbuf_registrar_unlock(registrar);
}

/* ---- for puts and gets ---- */

static enum rbuf_frequent_kind kind_of(enum mca_btl_rbuf_purpose purpose)
{
    return purpose == MCA_BTL_RBUF_SOURCE ? RBUF_FREQUENT_PUT : RBUF_FREQUENT_GET;
}

static struct mca_btl_rbuf_use find(mca_btl_rbuf_registrar_t *registrar,
                                    enum mca_btl_rbuf_purpose purpose, const void *base,
                                    uint32_t bytes)
{
    struct mca_btl_rbuf_use use = {.mr = NULL};

    if (bytes < mca_btl_rbuf_params.reuse_min) {
        return use;
    }
    mca_btl_rbuf_frequent_tidy(registrar);
    mca_btl_rbuf_registrar_lock(registrar);
    use.mr = mca_btl_rbuf_frequent_look(registrar, kind_of(purpose), base, bytes, &use.timed);
    use.lkey = use.mr != NULL ? use.mr->lkey : 0;
    mca_btl_rbuf_registrar_unlock(registrar);
    return use;
}

static void copied(mca_btl_rbuf_registrar_t *registrar, enum mca_btl_rbuf_purpose purpose,
                   uint32_t bytes, uint64_t start_ns)
{
    mca_btl_rbuf_frequent_copied(registrar, kind_of(purpose), bytes, start_ns);
}

static void end(mca_btl_rbuf_registrar_t *registrar, struct rbuf_frequent_mr *mr)
{
    rbuf_frequent_end(&registrar->frequent->table, mr);
}

static void count(const mca_btl_rbuf_registrar_t *registrar,
                  struct mca_btl_rbuf_reuse_counters *sum)
{
    const struct mca_btl_rbuf_frequent *frequent = registrar->frequent;
    const struct rbuf_frequent_counters *counters = &frequent->table.counters;
    const struct rbuf_frequent_buffer top = rbuf_frequent_top(&frequent->table);

    sum->looked_up += counters->looked_up;
    sum->added += counters->added;
    sum->refused += counters->refused;
    sum->registered += counters->registered;
    sum->given_up += counters->given_up;
    sum->spared += frequent->spared;
    sum->puts += frequent->in_place[RBUF_FREQUENT_PUT];
    sum->gets += frequent->in_place[RBUF_FREQUENT_GET];
    sum->held += frequent->table.mr_count;
    if (top.uses > sum->most) {
        sum->most = top.uses;
        sum->most_bytes = top.bytes;
    }
}

const struct mca_btl_rbuf_reuse mca_btl_rbuf_reuse = {.open = open_reuse,
                                                      .close = close_reuse,
                                                      .find = find,
                                                      .copied = copied,
                                                      .end = end,
                                                      .count = count};
