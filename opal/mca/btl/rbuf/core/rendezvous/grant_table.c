/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of grants (core/rendezvous/grant.h), and their names: a place in it, and how often that
 * was taken. A name does not come again, so one of a grant that is closed names nothing.
 *
 * Invariants: the table only grows; a grant has its place for ever, and is FREE while it is on
 * core->grants_free.
 *
 * Threads: core's caller, one at a time.
 */
#include <stdlib.h>

#include "core/rendezvous/grant.h"

#define FIRST_GRANTS 64u
#define MOST_GRANTS  RBUF_IMMEDIATE_EARLY /* the indices below it */

struct rbuf_grant *rbuf_grant_find(struct rbuf_core *core, uint64_t id)
{
    uint32_t index = (uint32_t) id;
    struct rbuf_grant *grant =
        index < core->rendezvous.grant_count ? core->rendezvous.grants[index] : NULL;

    if (grant == NULL || grant->state == RBUF_GRANT_FREE || rbuf_grant_id(grant) != id) {
        return NULL;
    }
    return grant;
}

struct rbuf_grant *rbuf_grant_announced(struct rbuf_core *core, uint32_t immediate)
{
    uint32_t index = immediate & ((1u << RBUF_IMMEDIATE_INDEX_BITS) - 1);
    struct rbuf_grant *grant =
        index < core->rendezvous.grant_count ? core->rendezvous.grants[index] : NULL;

    if (grant == NULL || grant->state != RBUF_GRANT_STAGED ||
        rbuf_immediate(rbuf_grant_id(grant)) != immediate) {
        return NULL;
    }
    return grant;
}

/* Adds free grants to the table, which doubles. */
static bool add_grants(struct rbuf_core *core)
{
    uint32_t count =
        core->rendezvous.grant_count == 0 ? FIRST_GRANTS : 2 * core->rendezvous.grant_count;
    struct rbuf_grant **table;

    if (count > MOST_GRANTS) {
        return false;
    }
    table = realloc(core->rendezvous.grants, count * sizeof(*table));
    if (table == NULL) {
        return false;
    }
    core->rendezvous.grants = table;
    while (core->rendezvous.grant_count < count) {
        struct rbuf_grant *grant = calloc(1, sizeof(*grant));

        if (grant == NULL) {
            return !TAILQ_EMPTY(&core->rendezvous.grants_free);
        }
        grant->index = core->rendezvous.grant_count;
        STAILQ_INIT(&grant->held);
        table[core->rendezvous.grant_count++] = grant;
        TAILQ_INSERT_TAIL(&core->rendezvous.grants_free, grant, link);
    }
    return true;
}

struct rbuf_grant *rbuf_grant_take(struct rbuf_core *core)
{
    struct rbuf_grant *grant;

    if (TAILQ_EMPTY(&core->rendezvous.grants_free) && !add_grants(core)) {
        return NULL;
    }
    grant = TAILQ_FIRST(&core->rendezvous.grants_free);
    TAILQ_REMOVE(&core->rendezvous.grants_free, grant, link);
    grant->generation++;
    if (grant->generation == 0) {
        grant->generation = 1; /* an id is never 0 */
    }
    return grant;
}

void rbuf_grants_close(struct rbuf_core *core)
{
    for (uint32_t i = 0; i < core->rendezvous.grant_count; i++) {
        rbuf_grant_discard_held(core->rendezvous.grants[i]);
        free(core->rendezvous.grants[i]);
    }
    free(core->rendezvous.grants);
}
