/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Open MPI's eager_limit, which ob1 reads anew for each message of the module, whoever it is for:
 * core/eager/limit.h says how long it is, here what becomes of messages is counted. The lesser
 * limit is control_size; what is longer and finds its ring full may take bulk buffers.
 *
 * The rendezvous of a buffered send is not seen here, and counts for nothing; with rndv_eager_limit
 * 0 none is, so that the limit is the lesser one from the start.
 *
 * Where all peers are far a longer message is sent eagerly, too: a rendezvous is over when the
 * sender's last message has come, which leaves when it has the answer. That is two latencies
 * behind the data at the most, and hidden as long as these take as long; an eager message costs a
 * copy behind the data instead.
 *
 * Under the module's lock; ob1 and others read the limit without it, and may do so a message too
 * late. A limit that the user has given stays.
 */
#include "module/module.h"

#include "core/eager/ring_long.h"
#include "opal/mca/base/mca_base_var.h"

#define BESIDE_MOST 16u /* messages that wait for a peer over send/receive */
#define FAR_BYTES                                                                                  \
    (66u * 1024u)             /* of a message of 64 KB with Open MPI's header, and less than half  \
                                 a ring */
#define COPY_BYTES_PER_NS 8.0 /* of a core, about; what is near enough does not depend on it */

static bool is_given(void)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    const int index = mca_base_var_find("opal", "btl", "rbuf", "eager_limit");

    return index >= 0 && mca_base_var_get_value(index, NULL, &source, NULL) == OPAL_SUCCESS &&
           source != MCA_BASE_VAR_SOURCE_DEFAULT;
}

size_t mca_btl_rbuf_eager_most(const mca_btl_base_module_t *btl)
{
    return is_given() || btl->btl_eager_limit > FAR_BYTES ? btl->btl_eager_limit : FAR_BYTES;
}

void mca_btl_rbuf_eager_open(mca_btl_rbuf_module_t *module)
{
    const struct rbuf_ring_options *options = &module->core.options.ring;
    const size_t by_ring = options->slots > 0 ? rbuf_ring_longest(options) : 0;
    struct rbuf_eager *eager = &module->eager;

    *eager = (struct rbuf_eager){.most = module->super.btl_eager_limit,
                                 .least = module->super.btl_eager_limit,
                                 .near = module->super.btl_eager_limit,
                                 .far = module->super.btl_eager_limit};
    if (!is_given()) {
        eager->far = by_ring < FAR_BYTES ? by_ring : FAR_BYTES;
        eager->most = by_ring < eager->most ? by_ring : eager->most;
        eager->most = module->super.btl_rndv_eager_limit > 0 ? eager->most : 0;
        eager->least = module->room[RBUF_CONTROL];
        eager->most = eager->most > eager->least ? eager->most : eager->least;
        eager->near = eager->most;
        module->super.btl_eager_limit = rbuf_eager_limit(eager);
    }
}

/* The longest messages are the last that gain: the longer, the more of the way the data hide, and
 * the more there is to copy. */
uint64_t mca_btl_rbuf_eager_near_ns(const mca_btl_rbuf_module_t *module)
{
    const struct rbuf_eager *eager = &module->eager;
    const double wire = module->super.btl_bandwidth / 8000.0; /* bytes a ns */

    return eager->far <= eager->near || wire <= 0
               ? 0
               : (uint64_t) ((double) eager->far * (1 / wire + 1 / COPY_BYTES_PER_NS));
}

void mca_btl_rbuf_eager_all_far(mca_btl_rbuf_module_t *module, bool far)
{
    struct rbuf_eager *eager = &module->eager;

    eager->most = far ? eager->far : eager->near;
    module->super.btl_eager_limit = rbuf_eager_limit(eager);
}

/* Whether the peer leases no ring that takes such a message. */
void mca_btl_rbuf_eager_beside(mca_btl_rbuf_module_t *module, const struct rbuf_peer *peer,
                               uint32_t waiting, size_t bytes)
{
    mca_btl_rbuf_lock(module);
    if (!rbuf_ring_out_carries(peer, bytes) || waiting >= BESIDE_MOST) {
        rbuf_eager_missed(&module->eager);
        module->super.btl_eager_limit = rbuf_eager_limit(&module->eager);
    }
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_eager_rendezvous(mca_btl_rbuf_module_t *module, size_t bytes)
{
    struct rbuf_eager *eager = &module->eager;

    if (module->super.btl_eager_limit == eager->most || bytes > eager->most) {
        return; /* as nearly always, without the lock */
    }
    mca_btl_rbuf_lock(module);
    rbuf_eager_rendezvous(eager, bytes);
    module->super.btl_eager_limit = rbuf_eager_limit(eager);
    mca_btl_rbuf_unlock(module);
}
