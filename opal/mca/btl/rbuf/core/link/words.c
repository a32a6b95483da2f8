/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Writes of single words into a peer's mailbox (core/link/words.h).
 */
#include "core/link/words.h"

#include <stdlib.h>

#include <assert.h>
#include <string.h>

#include "core/state/state.h"
#include "core/link/credit.h"

static_assert(sizeof(struct rbuf_mailbox) / sizeof(uint64_t) <=
                  sizeof(((struct rbuf_words *) NULL)->under_way) * 8,
              "there is a bit for each word of a mailbox");

/* A write that was waited for is back: it may be repeated. */
static void written(struct rbuf_work *work, int status)
{
    struct rbuf_word_write *write =
        (struct rbuf_word_write *) (void *) ((char *) work -
                                             offsetof(struct rbuf_word_write, work));
    struct rbuf_peer *peer = work->peer;

    (void) status;
    if (write->bounce != NULL) {
        rbuf_bounce_give(&peer->core->bounces, write->bounce);
    }
    peer->link.words.under_way[write->index / 64] &= ~(1ull << write->index % 64);
    SLIST_INSERT_HEAD(&peer->core->link.word_writes.free, write, link);
}

void rbuf_words_open(struct rbuf_core *core)
{
    struct rbuf_word_writes *writes = &core->link.word_writes;

    SLIST_INIT(&writes->free);
    for (unsigned i = 0; i < RBUF_WORDS_UNDER_WAY; i++) {
        writes->all[i].work.completed = written;
        SLIST_INSERT_HEAD(&writes->free, &writes->all[i], link);
    }
}

static enum rbuf_fab_status write_inline(struct rbuf_peer *peer, unsigned index, uint64_t value,
                                         struct rbuf_work *work)
{
    return rbuf_fab_write_inline(peer->queue[RBUF_CONTROL], &value, sizeof(value),
                                 peer->their_mailbox + index * sizeof(value),
                                 peer->their_mailbox_rkey, work);
}

/* The same from a bounce buffer, which is the write's if that is posted. */
static enum rbuf_fab_status write_bounced(struct rbuf_peer *peer, unsigned index, uint64_t value,
                                          struct rbuf_word_write *write)
{
    struct rbuf_bounces *bounces = &peer->core->bounces;
    enum rbuf_fab_status status;

    write->bounce = rbuf_bounce_take(bounces);
    if (write->bounce == NULL) {
        return RBUF_FAB_AGAIN;
    }
    memcpy(write->bounce->data, &value, sizeof(value));
    status = rbuf_fab_write(peer->queue[RBUF_CONTROL], write->bounce->data, bounces->lkey,
                            sizeof(value), peer->their_mailbox + index * sizeof(value),
                            peer->their_mailbox_rkey, &write->work);
    if (status != RBUF_FAB_OK) {
        rbuf_bounce_give(bounces, write->bounce);
    }
    return status;
}

bool rbuf_words_write(struct rbuf_peer *peer, unsigned index, uint64_t value)
{
    const bool inlined = rbuf_fab_inline_max(peer->queue[RBUF_CONTROL]) >= sizeof(value);
    struct rbuf_word_writes *writes = &peer->core->link.word_writes;
    struct rbuf_word_write *write = SLIST_FIRST(&writes->free);
    uint64_t *under_way = &peer->link.words.under_way[index / 64];
    const uint64_t bit = 1ull << index % 64;

    rbuf_credit_learn_order(peer);
    if (inlined && peer->link.words.order == RBUF_WORDS_IN_ORDER) {
        return rbuf_peer_posted(peer, write_inline(peer, index, value, NULL));
    }
    if (write == NULL ||
        (peer->link.words.order == RBUF_WORDS_ONE_BY_ONE && (*under_way & bit) != 0)) {
        return false;
    }
    write->bounce = NULL;
    if (!rbuf_peer_posted(peer, inlined ? write_inline(peer, index, value, &write->work)
                                        : write_bounced(peer, index, value, write))) {
        return false;
    }
    SLIST_REMOVE_HEAD(&writes->free, link);
    write->work.peer = peer;
    write->index = index;
    *under_way |= bit;
    peer->in_flight++;
    return true;
}

void rbuf_words_connected(struct rbuf_peer *peer, enum rbuf_words_order order)
{
    peer->link.counts.mine[RBUF_COUNTED] =
        order == RBUF_WORDS_IN_ORDER ? RBUF_COUNTED_IN_ORDER : RBUF_COUNTED_UNORDERED;
}

void rbuf_words_remove(struct rbuf_peer *peer)
{
    free(peer->link.words.acks);
}

bool rbuf_acks_open(struct rbuf_peer *peer)
{
    struct rbuf_words *words = &peer->link.words;

    if (words->acks == NULL) {
        words->acks = calloc(RBUF_ACK_SLOTS, sizeof(*words->acks));
    }
    return words->acks != NULL;
}

int rbuf_acks_write(struct rbuf_peer *peer)
{
    uint64_t due = peer->link.words.acks_due;
    int done = 0;

    while (due != 0 && peer->state == RBUF_PEER_CONNECTED) {
        const unsigned slot = (unsigned) __builtin_ctzll(due);

        due &= due - 1;
        if (rbuf_words_write(peer, RBUF_WORD_ACK + slot, rbuf_acks_count(peer, slot))) {
            peer->link.words.acks_due &= ~(1ull << slot);
            peer->core->stats.acks_written++;
            done++;
        } else { /* others may go */
            rbuf_peer_wake(peer);
        }
    }
    return done;
}
