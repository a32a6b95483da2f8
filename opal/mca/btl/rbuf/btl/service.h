/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Active messages for another component of ours, which rbuf's thread hands over while the process
 * computes. That component links with nothing of this one: it finds the service in Open MPI's table
 * of active messages, as the data of the tag, and takes it if versions and sizes are the same.
 *
 * One component listens at a time. Each message goes to its handler, once, in the order in which
 * its sender sent it; the handler may fill in one answer, which goes to that sender.
 *
 * Threads: see enum mca_btl_rbuf_service_caller. One call of the handler a module at a time.
 */
#ifndef BTL_RBUF_SERVICE_H
#define BTL_RBUF_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/mca/btl/btl.h"

struct opal_convertor_t;

/* Of the tags that Open MPI sets aside for BTLs; its own of any series are others. */
#define MCA_BTL_RBUF_SERVICE_TAG (MCA_BTL_TAG_BTL + 14)

/* Who calls the handler. */
enum mca_btl_rbuf_service_caller {
    MCA_BTL_RBUF_SERVICE_PROCESS, /* a thread that is inside of MPI; no lock of rbuf's is held */
    MCA_BTL_RBUF_SERVICE_THREAD   /* rbuf's own, with a module's lock: the handler waits for nobody
                                     and calls nothing of Open MPI's that is not for any thread */
};

struct mca_btl_rbuf_service_answer {
    void *data;   /* where the handler writes it */
    size_t room;  /* bytes there */
    size_t bytes; /* that the handler has written; 0: there is none */
};

struct mca_btl_rbuf_service_handler {
    /* False: not now, and nothing was done; it comes again later, before those behind it. */
    bool (*handle)(enum mca_btl_rbuf_service_caller caller, const void *message, size_t bytes,
                   struct mca_btl_rbuf_service_answer *answer);
};

struct mca_btl_rbuf_service {
    const char *version; /* RBUF_VERSION */
    size_t bytes;        /* of this struct */

    /* Longest message and answer, bytes; the same in all processes. */
    size_t (*most)(const mca_btl_base_module_t *btl);

    /* Messages go to the handler from now on, until listening ends, whose caller waits for a call
     * that is under way: no lock that the handler waits for is held. False: rbuf's thread makes no
     * progress (async_progress is 0), or there is no memory. */
    bool (*listen)(const struct mca_btl_rbuf_service_handler *handler);
    void (*end)(void);

    /* Sends a message: the header, and behind it the convertor's next bytes; NULL if there are
     * none. The memory of both is free again. False: not now, progress helps. Not from the handler.
     */
    bool (*send)(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 const void *header, size_t header_bytes, struct opal_convertor_t *convertor,
                 size_t bytes);
};

#endif
