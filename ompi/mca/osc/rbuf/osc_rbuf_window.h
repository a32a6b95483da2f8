/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The state of a window and of its peers, which the files above share. osc_rbuf_module.c makes it
 * and frees it. In between each part has an owner, which is named at the part, and no other file
 * changes it. Where several files do, the part names all of them.
 *
 * One mutex serves all windows: "the lock" in all files here. It is held while messages are packed,
 * sent and scattered, and never around a call below or a function that waits for a peer. Open MPI's
 * progress and rbuf's thread only try it (osc_rbuf_windows.c, osc_rbuf_am.c). It guards everything
 * here, but for two things:
 *
 *   - What does not change while the window is in use needs no lock.
 *   - `passage`, and what the parts `sync` and `fence` name are touched by the program's calls of
 *     MPI alone, never by a message. A program does not let a synchronisation and an operation of
 *     the same epoch run at the same time, nor two synchronisations. So these read it without the
 *     lock, and end epochs without it. They read the states of epochs without the lock, too, and
 *     change them with it (osc_rbuf_epoch.h).
 */
#ifndef OSC_RBUF_WINDOW_H
#define OSC_RBUF_WINDOW_H

#include "osc_rbuf_compat.h"
#include "osc_rbuf_epoch.h"
#include "osc_rbuf_lock.h"
#include "osc_rbuf_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mpi.h"
#include "ompi/win/win.h"
#include "opal/class/opal_pointer_array.h"

/* Sums of a fence for each process: its messages, whether there are any, whether a barrier follows
 * (osc_rbuf_fence.c). */
enum { OSC_RBUF_SUMS = 3 };

/* The epoch below for what is passed (osc_rbuf_below.h has the states). */
enum osc_rbuf_passage { OSC_RBUF_CLOSED, OSC_RBUF_OPENING, OSC_RBUF_OPEN };

struct osc_rbuf_buffer;
struct osc_rbuf_comm;
struct osc_rbuf_cursor;
struct osc_rbuf_flush;

/* How packed operations go to a peer: those of active epochs as messages of MPI. */
enum osc_rbuf_path {
    OSC_RBUF_BY_MPI, /* or done here, for this process itself */
    OSC_RBUF_BY_AM,
    OSC_RBUF_PATHS
};

enum { OSC_RBUF_ALL = -1 }; /* targets */

/* What accumulates do with their target. */
enum { OSC_RBUF_READS = 1, OSC_RBUF_WRITES = 2 };

/* Which pairs of accumulates of this process on one address keep their order, of MPI's info key
 * accumulate_ordering: of a pair, the second is named first. */
enum {
    OSC_RBUF_READ_READ = 1,   /* rar */
    OSC_RBUF_READ_WRITE = 2,  /* raw */
    OSC_RBUF_WRITE_READ = 4,  /* war */
    OSC_RBUF_WRITE_WRITE = 8, /* waw */
    OSC_RBUF_ALL_ORDERED = 15
};

/* Another process, as this one sees it. */
struct osc_rbuf_peer {
    /* osc_rbuf_module.c: what it told when the window was made. */
    uint64_t bytes; /* of its window */
    osc_rbuf_unit_t displacement_unit;
    uint64_t key; /* of its window there; 0: it takes no active messages */

    /* osc_rbuf_message.c. osc_rbuf_am.c takes what it has sent out of `packing`, and
     * osc_rbuf_comm.c counts what has left. */
    struct osc_rbuf_buffer *packing[OSC_RBUF_PATHS]; /* being filled for it, or NULL */
    unsigned under_way;                              /* messages of MPI for it that have not left */

    int locks; /* osc_rbuf_passive.c: passive epochs that it is open in */

    /* osc_rbuf_scatter.c */
    unsigned char *description;     /* of the type that its accumulates use, as it comes */
    MPI_Datatype type;              /* that type, or NULL */
    struct osc_rbuf_cursor *cursor; /* of an operation on it that comes in pieces, or NULL */

    /* osc_rbuf_sync.c. Starts and posts between two processes match in their order. Numbers are
     * modulo 2^32. */
    struct {
        bool accessed;      /* one of the start's targets */
        uint32_t completed; /* completes of ours for it */
        uint32_t opened;    /* number of its last post for us that we know of */
        uint32_t posted;    /* posts of ours for it */
        uint32_t completes; /* that came from it */
        uint32_t asks_post; /* it asks about the post of that number; 0: about none */
        /* As they are sent: posts by turns, since the one before may be under way. */
        struct osc_rbuf_header post[2];
        struct osc_rbuf_header post_question;
    } sync;

    /* osc_rbuf_fence.c */
    struct {
        int sent;       /* messages for it in this epoch: osc_rbuf_message.c counts them */
        uint64_t ended; /* fences that have ended there, as it said last */
        uint64_t asks;  /* it asks to be told when so many have ended here; 0: no */
        bool asked;     /* we asked it, and it has not answered */
        /* As they are sent. Each may be written anew: the one before has come. */
        struct osc_rbuf_header question;
        struct osc_rbuf_header answer;
    } fence;

    /* osc_rbuf_flush.c */
    struct {
        LIST_ENTRY(osc_rbuf_peer) link; /* in the window's list if `unflushed` has anything */
        bool unflushed[OSC_RBUF_PATHS]; /* it has operations that no flush has asked for */
        SLIST_HEAD(, osc_rbuf_flush) unanswered; /* the oldest first */
    } flush;

    /* osc_rbuf_path.c */
    struct {
        enum osc_rbuf_path chosen; /* for the operation that is being packed in a passive epoch */
        unsigned pending[OSC_RBUF_PATHS]; /* what accumulates do that may not be done yet: READS,
                                            WRITES */
        size_t answer_bytes;              /* of what is packed for an active message */
        size_t most;                      /* bytes of an active message for it, as found last */
    } path;
};

/* Memory of a dynamic window. */
struct osc_rbuf_region {
    LIST_ENTRY(osc_rbuf_region) link;
    const unsigned char *base;
    size_t bytes;
};

struct osc_rbuf_window {
    LIST_ENTRY(osc_rbuf_window) link; /* osc_rbuf_windows.c */
    ompi_win_t *win;
    ompi_osc_base_module_t below;
    unsigned char *base; /* NULL in a dynamic window: displacements are addresses */
    bool dynamic;
    LIST_HEAD(, osc_rbuf_region) regions; /* osc_rbuf_module.c */
    struct osc_rbuf_comm *comm;           /* osc_rbuf_comm.c: of its messages */
    uint32_t number;                      /* osc_rbuf_comm.c: in that, alike at all processes */
    uint64_t key; /* osc_rbuf_am.c: of active messages for it; 0: it takes none */
    int rank;
    int size;
    struct osc_rbuf_peer *peers;
    enum osc_rbuf_access access;   /* osc_rbuf_fence.c, osc_rbuf_sync.c, osc_rbuf_passive.c */
    enum osc_rbuf_passage passage; /* osc_rbuf_below.c */
    int locks;                     /* osc_rbuf_passive.c: passive epochs that are open */
    int error; /* MPI's, of an operation, by any file: the next synchronisation returns it */

    /* osc_rbuf_info.c */
    struct {
        unsigned ordered;  /* OSC_RBUF_READ_READ and the others */
        char ordering[16]; /* the same for MPI_Win_get_info() */
        char ops[16];      /* likewise, accumulate_ops */
    } info;

    /* osc_rbuf_sync.c */
    struct {
        int target_count; /* of a start; for calls of MPI alone */
        int *targets;     /* their ranks; likewise */
        int access_error; /* MPI's: a post had MPI_MODE_NOCHECK, and the start had not */
        enum osc_rbuf_exposure exposure;
        int origins;        /* processes that the post was for */
        int completes;      /* of these, whose complete has come */
        int exposure_error; /* MPI's: of post and a start, one alone had MPI_MODE_NOCHECK */
    } sync;

    /* osc_rbuf_fence.c */
    struct {
        int *sums;         /* OSC_RBUF_SUMS for each process; for the fence alone */
        uint64_t ended;    /* fences that have ended here */
        uint64_t settled;  /* so many have ended everywhere, as all know */
        uint64_t received; /* messages of fence epochs, ever */
        uint64_t expected; /* likewise, by the sums of the fences that ended */
    } fence;

    /* osc_rbuf_flush.c */
    struct {
        LIST_HEAD(, osc_rbuf_peer) unflushed;
        TAILQ_HEAD(, osc_rbuf_flush) unanswered; /* those of all peers, by number */
        uint64_t last;                           /* number of the last one */
    } flush;

    /* osc_rbuf_results.c */
    struct {
        opal_pointer_array_t table; /* by number */
        int unanswered;             /* that have not come in full */
    } results;
};

/* How many fence epochs a message is ahead of this process: 0 or 1; less if it is late. */
static inline int osc_rbuf_epochs_ahead(const struct osc_rbuf_window *window, uint32_t fences)
{
    return (int) (int32_t) (fences - (uint32_t) window->fence.ended);
}

#endif
