/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed data whose pieces are sent behind the rendezvous (core/ahead.h).
 *
 * Open MPI shows the data of a message when it prepares the rendezvous, and again for each fragment
 * once that is answered. In between a copy of its convertor packs pieces into bulk fragments and
 * sends them, the first one right behind the rendezvous and more in progress, so that some wait at
 * the receiver at any time. What Open MPI gets for a fragment then is the next of these, with room
 * for its header outside of the message.
 *
 * Open MPI asks for three fragments, and for the next when one of them is sent. As these are out of
 * its hands it is told so when the next one is named: then it asks for all of a short message in a
 * row, and the headers of several go in one message. Of the last it hears when that is sent indeed.
 * Nobody waits for the names: where credits are short they may leave when the message is complete
 * for its sender, as eager messages do.
 *
 * One message of an endpoint at a time, told by its convertor: between its rendezvous and its last
 * fragment nothing else has that one. With several ports Open MPI deals fragments out among them,
 * and nothing is sent ahead; nor where somebody has made rbuf share its peers with another BTL.
 *
 * Open MPI's convertor is made to count what the copy has packed, but the rest of it stays where it
 * was: Open MPI 4.1.4 would move it by a way that is wrong for types with nested loops.
 *
 * Should Open MPI ask for other pieces than were packed, those are passed over, the copy starts
 * anew where it is wanted, and no later message of the endpoint is sent ahead. The rest of this one
 * still goes as pieces and names: fragments on one channel would overtake names on another, and
 * Open MPI 4.1.4 unpacks what is out of order wrongly, again for types with nested loops.
 *
 * Invariants, under the module's lock: the copy is as far as the newest piece; those that wait are
 * in order and not claimed; a fragment is given back when no event of it is due.
 */
#include "btl_rbuf.h"

#include <errno.h>
#include <stdlib.h>

#include "opal/datatype/opal_convertor.h"

#define WAITING_MOST      4u     /* pieces of a message that Open MPI has not asked for */
#define WAITING_PORT_MOST 16u    /* of all messages: a quarter of the bulk fragments there may be */
#define EARLY_BYTES       65536u /* to an endpoint, that Open MPI counts as sent before they are */

static bool is_possible(const mca_btl_base_endpoint_t *endpoint,
                        const struct opal_convertor_t *convertor)
{
    return mca_btl_rbuf_params.prestage == MCA_BTL_RBUF_ON && mca_btl_rbuf_is_alone(endpoint) &&
           endpoint->state == MCA_BTL_RBUF_CONNECTED &&
           (convertor->flags & RBUF_CONVERTOR_DEVICE) == 0 &&
           convertor->bConverted < convertor->local_size;
}

/* Takes the first piece that waits. */
static mca_btl_rbuf_frag_t *take_waiting(mca_btl_rbuf_module_t *module,
                                         struct mca_btl_rbuf_ahead *ahead)
{
    mca_btl_rbuf_frag_t *frag = STAILQ_FIRST(&ahead->waiting);

    STAILQ_REMOVE_HEAD(&ahead->waiting, waiting_link);
    ahead->waiting_count--;
    module->pieces_waiting--;
    return frag;
}

/* What follows a message that is over. */
static mca_btl_rbuf_ahead_state_t state_after(mca_btl_rbuf_ahead_state_t state)
{
    return state == MCA_BTL_RBUF_AHEAD_ASKED ? MCA_BTL_RBUF_AHEAD_BARRED : MCA_BTL_RBUF_AHEAD_NONE;
}

/* Drops what waits; the caller holds the lock. */
static void drop(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                 mca_btl_rbuf_ahead_state_t state)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;

    if (ahead->state == MCA_BTL_RBUF_AHEAD_PACKING) {
        TAILQ_REMOVE(&module->packing, endpoint, packing_link);
    }
    ahead->state = state;
    ahead->unsent = NULL;
    while (!STAILQ_EMPTY(&ahead->waiting)) {
        mca_btl_rbuf_frag_t *frag = take_waiting(module, ahead);

        frag->state = MCA_BTL_RBUF_FRAG_DETACHED;
        if (frag->events_due == 0) {
            mca_btl_rbuf_frag_give(frag);
        }
    }
}

/* For an endpoint that has none yet; NULL without memory. */
static struct mca_btl_rbuf_ahead *ahead_make(void)
{
    struct mca_btl_rbuf_ahead *ahead = calloc(1, sizeof(*ahead));

    if (ahead == NULL) {
        return NULL;
    }
    ahead->copy = OBJ_NEW(opal_convertor_t);
    if (ahead->copy == NULL) {
        free(ahead);
        return NULL;
    }
    ahead->state = MCA_BTL_RBUF_AHEAD_NONE;
    STAILQ_INIT(&ahead->waiting);
    return ahead;
}

/* The endpoint's, made if it has none. Its last message is over if that did not go that way to its
 * end, which shows when Open MPI uses the convertor for another. */
static struct mca_btl_rbuf_ahead *ahead_for(mca_btl_rbuf_module_t *module,
                                            mca_btl_base_endpoint_t *endpoint,
                                            const struct opal_convertor_t *convertor)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;

    if (ahead == NULL) {
        return endpoint->ahead = ahead_make();
    }
    if (ahead->state > MCA_BTL_RBUF_AHEAD_WANTED && ahead->convertor == convertor) {
        rbuf_ahead_end(endpoint->peer);
        drop(module, endpoint, state_after(ahead->state));
    }
    return ahead;
}

void mca_btl_rbuf_ahead_want(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                             const struct opal_convertor_t *convertor, mca_btl_rbuf_frag_t *frag)
{
    struct mca_btl_rbuf_ahead *ahead;

    mca_btl_rbuf_lock(module);
    ahead = ahead_for(module, endpoint, convertor);
    if (ahead != NULL &&
        (ahead->state == MCA_BTL_RBUF_AHEAD_NONE || ahead->state == MCA_BTL_RBUF_AHEAD_WANTED) &&
        is_possible(endpoint, convertor) && rbuf_ahead_may(endpoint->peer)) {
        opal_convertor_cleanup(ahead->copy);
        opal_convertor_clone(convertor, ahead->copy, 1);
        ahead->state = MCA_BTL_RBUF_AHEAD_WANTED;
        ahead->convertor = convertor;
        ahead->claimed = convertor->bConverted;
        ahead->rendezvous = frag;
        frag->role = MCA_BTL_RBUF_HERALD;
    }
    mca_btl_rbuf_unlock(module);
}

/* ---- packing ---- */

static bool all_packed(const struct mca_btl_rbuf_ahead *ahead)
{
    return ahead->copy->bConverted >= ahead->copy->local_size;
}

/* A bulk fragment with the message's next piece, with room for its name in front if it is NAMED;
 * NULL if there is no fragment now. */
static mca_btl_rbuf_frag_t *pack_next(mca_btl_rbuf_module_t *module,
                                      mca_btl_base_endpoint_t *endpoint,
                                      mca_btl_rbuf_frag_role_t role, size_t most, bool may_grow)
{
    struct opal_convertor_t *copy = endpoint->ahead->copy;
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_take_bulk(module, may_grow);
    size_t packed = mca_btl_rbuf_packed_size(&module->super, copy, sizeof(struct rbuf_naming));
    size_t room = role == MCA_BTL_RBUF_NAMED ? sizeof(struct rbuf_naming) : 0;

    if (frag == NULL) {
        return NULL;
    }
    packed = packed < most ? packed : most;
    if (!mca_btl_rbuf_pack(copy, (unsigned char *) (frag->am.header + 1) + room, &packed) ||
        packed == 0) {
        mca_btl_rbuf_frag_give(frag);
        return NULL;
    }
    frag->role = role;
    frag->status = 0;
    frag->events_due = 0;
    frag->packed = packed;
    frag->am.bytes = (uint32_t) (room + packed);
    return frag;
}

/* Whether progress packs for the endpoint: while pieces are left, and few wait. */
static void see_to_packing(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;
    const bool wanted =
        ahead->waiting_count < WAITING_MOST && ahead->unsent == NULL && !all_packed(ahead);

    if (wanted && ahead->state == MCA_BTL_RBUF_AHEAD_OPEN) {
        ahead->state = MCA_BTL_RBUF_AHEAD_PACKING;
        TAILQ_INSERT_TAIL(&module->packing, endpoint, packing_link);
    } else if (!wanted && ahead->state == MCA_BTL_RBUF_AHEAD_PACKING) {
        ahead->state = MCA_BTL_RBUF_AHEAD_OPEN;
        TAILQ_REMOVE(&module->packing, endpoint, packing_link);
    }
}

static void send_piece(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag)
{
    frag->state = MCA_BTL_RBUF_FRAG_AHEAD;
    frag->events_due = rbuf_ahead_piece(endpoint->peer, &frag->am);
}

/* One piece more waits for its name. */
static bool pack_one(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                     bool may_grow)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;
    mca_btl_rbuf_frag_t *frag =
        module->pieces_waiting < WAITING_PORT_MOST
            ? pack_next(module, endpoint, MCA_BTL_RBUF_PIECE, SIZE_MAX, may_grow)
            : NULL;

    if (frag == NULL) {
        return false;
    }
    send_piece(endpoint, frag);
    STAILQ_INSERT_TAIL(&ahead->waiting, frag, waiting_link);
    ahead->waiting_count++;
    module->pieces_waiting++;
    see_to_packing(module, endpoint);
    return true;
}

int mca_btl_rbuf_ahead_progress(mca_btl_rbuf_module_t *module)
{
    mca_btl_base_endpoint_t *endpoint = TAILQ_FIRST(&module->packing);
    mca_btl_base_endpoint_t *next;
    int done = 0;

    for (; endpoint != NULL; endpoint = next) {
        next = TAILQ_NEXT(endpoint, packing_link);
        done += pack_one(module, endpoint, false);
    }
    return done;
}

bool mca_btl_rbuf_ahead_start(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                              mca_btl_rbuf_frag_t *frag)
{
    bool under_way = rbuf_ahead_herald(endpoint->peer, &frag->am);

    endpoint->ahead->rendezvous = NULL;
    endpoint->ahead->state = MCA_BTL_RBUF_AHEAD_OPEN;
    see_to_packing(module, endpoint);
    (void) pack_one(module, endpoint, true);
    return under_way;
}

/* ---- what Open MPI asks for ---- */

/* Whether what Open MPI asks for next is what comes next. */
static bool is_next(const struct mca_btl_rbuf_ahead *ahead,
                    const struct opal_convertor_t *convertor, size_t most)
{
    return ahead->claimed == convertor->bConverted &&
           (STAILQ_EMPTY(&ahead->waiting) || STAILQ_FIRST(&ahead->waiting)->packed <= most);
}

/* What Open MPI asks for is not what comes next: passes over what waits, and goes on where the
 * convertor counts to be. From the beginning, in one move, the copy does get there. */
static void start_anew(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                       const struct opal_convertor_t *convertor)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;
    size_t beginning = 0;
    size_t position = convertor->bConverted;

    drop(module, endpoint, MCA_BTL_RBUF_AHEAD_ASKED);
    opal_convertor_set_position(ahead->copy, &beginning);
    opal_convertor_set_position(ahead->copy, &position);
    ahead->claimed = position;
}

/* What Open MPI asks for next. Nothing waits for a piece to be packed: names that could go along
 * with its own are told before, and it brings its own, unless some before it were passed over. */
static mca_btl_rbuf_frag_t *next_piece(mca_btl_rbuf_module_t *module,
                                       mca_btl_base_endpoint_t *endpoint, size_t most)
{
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;
    mca_btl_rbuf_frag_t *frag;

    if (!STAILQ_EMPTY(&ahead->waiting)) {
        return take_waiting(module, ahead);
    }
    rbuf_ahead_tell(&module->core);
    if (rbuf_ahead_all_named(endpoint->peer)) {
        ahead->unsent = frag = pack_next(module, endpoint, MCA_BTL_RBUF_NAMED, most, true);
        return frag;
    }
    frag = pack_next(module, endpoint, MCA_BTL_RBUF_PIECE, most, true);
    if (frag != NULL) {
        send_piece(endpoint, frag);
    }
    return frag;
}

bool mca_btl_rbuf_ahead_claim(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                              struct opal_convertor_t *convertor, size_t most,
                              mca_btl_rbuf_frag_t **out)
{
    struct mca_btl_rbuf_ahead *ahead;
    mca_btl_rbuf_frag_t *frag = NULL;
    bool ours;

    mca_btl_rbuf_lock(module);
    ahead = endpoint->ahead;
    ours =
        ahead != NULL && ahead->state > MCA_BTL_RBUF_AHEAD_WANTED && ahead->convertor == convertor;
    if (ours && !is_next(ahead, convertor, most)) {
        start_anew(module, endpoint, convertor);
    }
    if (ours) {
        frag = next_piece(module, endpoint, most);
    }
    if (frag != NULL) {
        frag->state = MCA_BTL_RBUF_FRAG_USER;
        ahead->claimed += frag->packed;
        rbuf_compat_count_packed(convertor, frag->packed);
        see_to_packing(module, endpoint);
    }
    mca_btl_rbuf_unlock(module);
    *out = frag;
    return ours;
}

/* Lets Open MPI have its callback, which comes from progress. */
static void raise_sent(mca_btl_rbuf_module_t *module, mca_btl_rbuf_frag_t *frag)
{
    frag->events_due++;
    rbuf_core_raise(&module->core, RBUF_EVENT_SENT, frag->am.peer, &frag->am, frag->status);
}

/* The piece is named next: the one before may count as sent. */
static void follow(mca_btl_rbuf_module_t *module, struct mca_btl_rbuf_ahead *ahead,
                   mca_btl_rbuf_frag_t *frag)
{
    mca_btl_rbuf_frag_t *before = ahead->newest;

    if (before != NULL && ahead->early_bytes + before->packed <= EARLY_BYTES) {
        ahead->early_bytes += before->packed;
        before->state = MCA_BTL_RBUF_FRAG_EARLY;
        raise_sent(module, before);
    }
    ahead->newest = frag->events_due > 0 ? frag : NULL;
    if (frag->events_due == 0) {
        raise_sent(module, frag);
    }
}

int mca_btl_rbuf_ahead_send(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                            mca_btl_rbuf_frag_t *frag, mca_btl_base_tag_t tag)
{
    const uint32_t header = (uint32_t) (frag->segment.seg_len - frag->packed);
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;

    mca_btl_rbuf_lock(module);
    frag->state = MCA_BTL_RBUF_FRAG_SENDING;
    if (frag->role == MCA_BTL_RBUF_NAMED) {
        ahead->unsent = NULL;
        frag->events_due = rbuf_ahead_named(endpoint->peer, &frag->am, tag, frag->header, header);
        see_to_packing(module, endpoint);
    } else if (!rbuf_ahead_name(endpoint->peer, frag->am.after, tag, frag->header, header)) {
        frag->status = -ECONNRESET;
    }
    if (!mca_btl_rbuf_is_draining(module)) {
        rbuf_ahead_tell(&module->core);
    }
    follow(module, ahead, frag);
    if (all_packed(ahead) && rbuf_ahead_all_named(endpoint->peer)) {
        rbuf_ahead_end(endpoint->peer);
        ahead->state = state_after(ahead->state);
    }
    mca_btl_rbuf_unlock(module);
    return OPAL_SUCCESS;
}

/* ---- endings ---- */

/* Open MPI hears that the piece is through, unless it has or does not wait for it. The lock is let
 * go meanwhile. */
static void tell_sent(mca_btl_rbuf_module_t *module, mca_btl_rbuf_frag_t *frag)
{
    if (frag->state == MCA_BTL_RBUF_FRAG_EARLY) {
        frag->state = MCA_BTL_RBUF_FRAG_TOLD;
    } else if (frag->state != MCA_BTL_RBUF_FRAG_SENDING) {
        return;
    }
    mca_btl_rbuf_unlock(module);
    frag->base.des_cbfunc(&module->super, frag->am.peer->user, &frag->base,
                          frag->status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    mca_btl_rbuf_lock(module);
}

void mca_btl_rbuf_ahead_sent(mca_btl_rbuf_module_t *module, mca_btl_rbuf_frag_t *frag, int status)
{
    mca_btl_base_endpoint_t *endpoint = frag->am.peer->user;
    struct mca_btl_rbuf_ahead *ahead = endpoint->ahead;

    mca_btl_rbuf_lock(module);
    frag->status = frag->status == 0 ? status : frag->status;
    if (ahead->newest == frag) {
        ahead->newest = NULL;
    }
    tell_sent(module, frag);
    frag->events_due--;
    if (frag->events_due == 0 && frag->state != MCA_BTL_RBUF_FRAG_AHEAD &&
        frag->state != MCA_BTL_RBUF_FRAG_USER) {
        ahead->early_bytes -= frag->state == MCA_BTL_RBUF_FRAG_TOLD ? frag->packed : 0;
        mca_btl_rbuf_frag_give(frag);
    }
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_ahead_off(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_lock(module);
    drop(module, endpoint, state_after(endpoint->ahead->state));
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_ahead_close(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->ahead != NULL) {
        drop(endpoint->module, endpoint, MCA_BTL_RBUF_AHEAD_BARRED);
        OBJ_RELEASE(endpoint->ahead->copy);
        free(endpoint->ahead);
        endpoint->ahead = NULL;
    }
}
