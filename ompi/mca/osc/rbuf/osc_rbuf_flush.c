/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Flushes that are not answered (osc_rbuf_flush.h), in two lists by number: those of the window,
 * and those of each peer.
 */
#include "osc_rbuf_flush.h"

#include <stdlib.h>

/* One that a target was asked for. */
struct osc_rbuf_flush {
    TAILQ_ENTRY(osc_rbuf_flush) link;
    SLIST_ENTRY(osc_rbuf_flush) link_of_peer;
    uint64_t number;
    enum osc_rbuf_path path;
};

struct osc_rbuf_flush *osc_rbuf_flush_begin(struct osc_rbuf_window *window, int target,
                                            enum osc_rbuf_path path)
{
    struct osc_rbuf_flush *flush = malloc(sizeof(*flush));
    struct osc_rbuf_flush *last = SLIST_FIRST(&window->peers[target].flush.unanswered);

    if (flush == NULL) {
        return NULL;
    }
    *flush = (struct osc_rbuf_flush){.number = ++window->flush.last, .path = path};
    TAILQ_INSERT_TAIL(&window->flush.unanswered, flush, link);
    while (last != NULL && SLIST_NEXT(last, link_of_peer) != NULL) {
        last = SLIST_NEXT(last, link_of_peer); /* one for each thread at most, or nearly */
    }
    if (last == NULL) {
        SLIST_INSERT_HEAD(&window->peers[target].flush.unanswered, flush, link_of_peer);
    } else {
        SLIST_INSERT_AFTER(last, flush, link_of_peer);
    }
    return flush;
}

void osc_rbuf_flush_end(struct osc_rbuf_window *window, int target, struct osc_rbuf_flush *flush)
{
    TAILQ_REMOVE(&window->flush.unanswered, flush, link);
    SLIST_REMOVE(&window->peers[target].flush.unanswered, flush, osc_rbuf_flush, link_of_peer);
    free(flush);
}

bool osc_rbuf_is_flushed(const struct osc_rbuf_window *window, int target, uint64_t number)
{
    const struct osc_rbuf_flush *oldest =
        target == OSC_RBUF_ALL ? TAILQ_FIRST(&window->flush.unanswered)
                               : SLIST_FIRST(&window->peers[target].flush.unanswered);

    return oldest == NULL || oldest->number > number;
}

void osc_rbuf_unflushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_path path)
{
    struct osc_rbuf_peer *peer = &window->peers[target];

    if (!osc_rbuf_is_unflushed(peer)) {
        LIST_INSERT_HEAD(&window->flush.unflushed, peer, flush.link);
    }
    peer->flush.unflushed[path] = true;
}

void osc_rbuf_flushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_path path)
{
    struct osc_rbuf_flush *flush;

    SLIST_FOREACH(flush, &window->peers[target].flush.unanswered, link_of_peer)
    {
        if (flush->path == path) {
            osc_rbuf_flush_end(window, target, flush);
            return;
        }
    }
}

void osc_rbuf_flush_asked(struct osc_rbuf_peer *peer)
{
    LIST_REMOVE(peer, flush.link);
    peer->flush.unflushed[OSC_RBUF_BY_MPI] = false;
    peer->flush.unflushed[OSC_RBUF_BY_AM] = false;
}
