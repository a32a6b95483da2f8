/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * osc/rbuf stands between MPI and the component that moves one-sided data (osc/rdma, "below"). In
 * fence and post-start-complete-wait epochs it packs small puts, small gets and all accumulates for
 * one target into one message, together with the synchronisation, and the target scatters it.
 * After W. Huang, G. Santhanaraman, H.-W. Jin and D. K. Panda, "Scheduling of MPI-2 One Sided
 * Operations over InfiniBand", IPDPS 2005, section 4.2. Everything else goes to the functions
 * below, unchanged: passive target epochs, large puts and gets, targets with gaps. With parameter
 * `passive` accumulates of passive target epochs are packed as well (osc_rbuf_passive.c).
 *
 * How the two live together. Active epochs are ours alone: below never hears of fence, post or
 * start. What has to go below inside of one goes under lock_all(MPI_MODE_NOCHECK) there, which is
 * opened with the first such operation and closed, and with it complete, before the
 * synchronisation is sent. Accumulates of one epoch never take both ways, as they would not be
 * atomic with each other: all of them are packed, long ones in several messages.
 *
 * A fence sums up how many messages of the epoch each process has to expect, and ends when they are
 * scattered. So one process may begin the next epoch while another still waits for messages of the
 * one before (osc_rbuf_fence.c): packed operations of the next epoch are held there, and operations
 * below ask first. A barrier ends a fence whose epoch had operations below, as the next may.
 *
 * Threads: one mutex for all windows. It is held while messages are packed, sent and scattered, and
 * never around a function that waits or a call below. The transport's thread tries it, for what
 * osc_rbuf_am.h says.
 */
#ifndef OSC_RBUF_H
#define OSC_RBUF_H

#include "osc_rbuf_compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mpi.h"
#include "ompi/win/win.h"
#include "opal/class/opal_pointer_array.h"

/* Which operations a window is open for here. Passive epochs are below's. */
enum osc_rbuf_access {
    OSC_RBUF_ACCESS_NONE,
    OSC_RBUF_ACCESS_FENCE,  /* all ranks, since a fence */
    OSC_RBUF_ACCESS_GROUP,  /* `targets`, since a start */
    OSC_RBUF_ACCESS_PASSIVE /* between lock and unlock: below, or accumulates packed */
};

/* Sums of a fence for each process: its messages, whether there are any, whether a barrier follows
 * (osc_rbuf_fence.c). */
enum { OSC_RBUF_SUMS = 3 };

/* The epoch below for what is passed. */
enum osc_rbuf_passage { OSC_RBUF_CLOSED, OSC_RBUF_OPENING, OSC_RBUF_OPEN };

struct osc_rbuf_buffer;
struct osc_rbuf_comm;

/* Stands before a message that goes as an active message of the transport (osc_rbuf_am.h). */
struct osc_rbuf_envelope {
    uint64_t key;   /* of the receiver's window */
    int64_t origin; /* the sender's rank in it */
};

/* How packed operations go to a peer: those of active epochs as messages of MPI. */
enum osc_rbuf_way {
    OSC_RBUF_BY_MPI, /* or done here, for this process itself */
    OSC_RBUF_BY_AM,
    OSC_RBUF_WAYS
};

/* What accumulates do with their target. */
enum { OSC_RBUF_READS = 1, OSC_RBUF_WRITES = 2 };

/* Which pairs of accumulates of this process on one place keep their order, of MPI's info key
 * accumulate_ordering: of a pair, the second is named first. */
enum {
    OSC_RBUF_READ_READ = 1,   /* rar */
    OSC_RBUF_READ_WRITE = 2,  /* raw */
    OSC_RBUF_WRITE_READ = 4,  /* war */
    OSC_RBUF_WRITE_WRITE = 8, /* waw */
    OSC_RBUF_ALL_ORDERED = 15
};

/* Begins every message. */
struct osc_rbuf_header {
    uint32_t kind;
    uint32_t fences; /* that had ended at the sender, modulo 2^32: the number of its epoch; of a
                        post, its number */
};

/* Another process, as this one sees it. */
struct osc_rbuf_peer {
    struct osc_rbuf_buffer *packing[OSC_RBUF_WAYS]; /* being filled for it, or NULL */
    unsigned char *description;     /* of the type that its accumulates use, as it comes */
    MPI_Datatype type;              /* that type, or NULL */
    struct osc_rbuf_cursor *cursor; /* of an operation on it that comes in pieces, or NULL */
    uint64_t bytes;                 /* of its window */
    osc_rbuf_unit_t displacement_unit;
    int sent;      /* messages for it in this fence epoch */
    bool accessed; /* one of `targets` */

    /* Starts and posts between two processes match in their order. All modulo 2^32. */
    uint32_t completed; /* completes of ours for it */
    uint32_t opened;    /* number of its last post for us that we know of */
    uint32_t posted;    /* posts of ours for it */
    uint32_t completes; /* that came from it */
    uint32_t asks_post; /* it asks about the post of that number; 0: about none */
    struct osc_rbuf_header
        post[2]; /* as they are sent, by turns: the one before may be under way */
    struct osc_rbuf_header post_question;

    int locks;                                /* passive epochs that it is open in */
    LIST_ENTRY(osc_rbuf_peer) unflushed_link; /* in the window's list if `unflushed` has anything */
    bool unflushed[OSC_RBUF_WAYS];   /* accumulates of passive epochs that no flush has asked for */
    unsigned pending[OSC_RBUF_WAYS]; /* what those do that may not be done yet: READS, WRITES */
    SLIST_HEAD(, osc_rbuf_flush) flushes; /* that it has not answered, the oldest first */
    unsigned under_way;                   /* messages of MPI for it that have not left */
    uint64_t key;                         /* of its window there; 0: it takes no active messages */
    enum osc_rbuf_way way; /* of the operation that is being packed in a passive epoch */
    size_t answer_bytes;   /* of what is packed for an active message */
    size_t most;           /* bytes of an active message for it, as found last */

    uint64_t ended;                  /* fences that have ended there, as it said last */
    uint64_t asks;                   /* it asks to be told when so many have ended here; 0: no */
    bool asked;                      /* we asked it, and it has not answered */
    struct osc_rbuf_header question; /* as it is sent, and its answer: the one before has come */
    struct osc_rbuf_header answer;
};

/* Memory of a dynamic window. */
struct osc_rbuf_region {
    LIST_ENTRY(osc_rbuf_region) link;
    const unsigned char *base;
    size_t bytes;
};

struct osc_rbuf_window {
    LIST_ENTRY(osc_rbuf_window) link;
    ompi_win_t *win;
    ompi_osc_base_module_t below;
    unsigned char *base; /* NULL in a dynamic window: displacements are addresses */
    bool dynamic;
    LIST_HEAD(, osc_rbuf_region) regions;
    struct osc_rbuf_comm *comm; /* of its messages */
    uint32_t number;            /* in that, alike at all processes */
    uint64_t key;               /* of active messages for it; 0: it takes none */
    int rank;
    int size;
    struct osc_rbuf_peer *peers;
    unsigned ordered;  /* OSC_RBUF_READ_READ and the others */
    char ordering[16]; /* the same for MPI_Win_get_info() */
    char ops[16];      /* likewise, accumulate_ops */

    enum osc_rbuf_access access;
    bool unchecked;    /* the start had MPI_MODE_NOCHECK: no posts are waited for */
    bool unlike_posts; /* and one of the posts had it, if the start had not */
    enum osc_rbuf_passage passage;
    int locks; /* passive epochs that are open */
    LIST_HEAD(, osc_rbuf_peer) unflushed;
    TAILQ_HEAD(, osc_rbuf_flush) flushes; /* those of all peers that are not answered, by number */
    uint64_t last_flush;                  /* number of the last one */
    int target_count;                     /* of a start */
    int *targets;

    int exposed;         /* processes that the post was for */
    int completes;       /* of these, whose complete has come */
    bool post_unchecked; /* the post had MPI_MODE_NOCHECK */
    bool unlike_starts;  /* and one of the starts had it not, or the other way round */
    int *sums;           /* of a fence, OSC_RBUF_SUMS for each process */
    uint64_t fences;     /* that have ended here */
    uint64_t settled;    /* so many have ended everywhere, as all know */
    int askers;          /* peers whose `asks` is not 0 */
    uint64_t received;   /* messages of fence epochs, ever */
    uint64_t expected;   /* likewise, by the sums of the fences that ended */
    int unanswered;      /* results that have not come in full */
    int error;           /* MPI's, of an operation: the next synchronisation returns it */
    opal_pointer_array_t results;
};

/* Which windows are packed. */
enum osc_rbuf_aggregate {
    OSC_RBUF_AGGREGATE_OFF,
    OSC_RBUF_AGGREGATE_ON,
    OSC_RBUF_AGGREGATE_AUTO /* those whose processes are on several nodes */
};

struct osc_rbuf_params {
    enum osc_rbuf_aggregate aggregate;
    bool passive;         /* accumulates of passive epochs, too */
    bool active_messages; /* these as active messages, where they can */
    size_t limit;         /* bytes */
    size_t message_size;  /* bytes */
};

extern struct osc_rbuf_params osc_rbuf_params;

struct osc_rbuf_counters {
    unsigned long long packed;
    unsigned long long passed;
    unsigned long long messages;
    unsigned long long active;    /* of them, active messages of passive epochs */
    unsigned long long by_thread; /* that came, and rbuf's thread did */
};

extern struct osc_rbuf_counters osc_rbuf_counters;

/* ---- osc_rbuf_component.c ---- */

/* Shows a topic of this component's help texts with MCA_BTL_RBUF_HELP_VALUES values. */
void osc_rbuf_help(const char *topic, const char *const *values);

/* ---- osc_rbuf_window.c ---- */

void osc_rbuf_lock(void);
bool osc_rbuf_trylock(void); /* false: somebody holds it */
void osc_rbuf_unlock(void);

/* Puts this component in front of the one that win's module belongs to. Collective over comm; on
 * all processes or on none. What fails leaves the window as it is, and returns an error of Open
 * MPI. `comm_id` is that of the communicator that its messages take, alike at all processes
 * (osc_rbuf_comm.h). */
int osc_rbuf_window_attach(ompi_win_t *win, void *base, size_t bytes,
                           osc_rbuf_unit_t displacement_unit, MPI_Comm comm, long comm_id,
                           int flavor);

/* Of a window that osc_rbuf_window_attach() succeeded for. */
struct osc_rbuf_window *osc_rbuf_window_of(const ompi_win_t *win);

int osc_rbuf_free(ompi_win_t *win);

/* Regions of a dynamic window, beside those below. */
int osc_rbuf_attach(ompi_win_t *win, void *base, size_t bytes);
int osc_rbuf_detach(ompi_win_t *win, const void *base);

/* Whether all of it is in one region. The lock is held. */
bool osc_rbuf_is_attached(const struct osc_rbuf_window *window, const unsigned char *first,
                          size_t bytes);

/* Before what goes below: nothing in a passive epoch; in an active one it waits for the target's
 * post, or for its last fence, and opens an epoch below. An error of Open MPI if the target is not
 * accessed. No lock is held. */
int osc_rbuf_pass(struct osc_rbuf_window *window, int target);

/* Forgets the type that a peer's accumulates use. The lock is held. */
void osc_rbuf_forget_type(struct osc_rbuf_peer *peer);

/* Calls Open MPI's progress until `done` says so, or forever. No lock is held. */
void osc_rbuf_wait(struct osc_rbuf_window *window,
                   bool (*done)(struct osc_rbuf_window *window, int argument), int argument);

/* ---- osc_rbuf_info.c ---- */

/* Heeds MPI's info keys of accumulates, those that the window has and those that it will get. The
 * window is listed, and no lock is held. */
void osc_rbuf_info_heed(struct osc_rbuf_window *window);

/* ---- osc_rbuf_fence.c: units and errors are MPI's ---- */

int osc_rbuf_fence(int mode, ompi_win_t *win);

/* Waits until the target's last fence has ended: what goes below must not overtake operations that
 * it has yet to scatter. No lock is held. */
int osc_rbuf_settle(struct osc_rbuf_window *window, int target);
int osc_rbuf_settle_all(struct osc_rbuf_window *window);

/* How many fence epochs a message is ahead of this process: 0 or 1; less if it is late. */
static inline int osc_rbuf_epochs_ahead(const struct osc_rbuf_window *window, uint32_t fences)
{
    return (int) (int32_t) (fences - (uint32_t) window->fences);
}

/* A peer asks for the end of fences, or has answered. The lock is held. */
void osc_rbuf_fence_asked(struct osc_rbuf_window *window, int origin, uint32_t fences);
void osc_rbuf_fence_told(struct osc_rbuf_window *window, int origin, uint32_t fences);

/* ---- osc_rbuf_sync.c: MPI's synchronisation; units and errors are MPI's ---- */

/* Ends the epoch below, and with it all operations there: they have arrived. No lock is held. */
int osc_rbuf_close_below(struct osc_rbuf_window *window);

/* Waits until the target has opened its window for this process. No lock is held. */
void osc_rbuf_await_post(struct osc_rbuf_window *window, int target);

/* A peer's post is known; it has asked about the post of that number; or its epoch is over. The
 * lock is held. */
void osc_rbuf_opened(struct osc_rbuf_window *window, int target, uint32_t number, bool unchecked);
void osc_rbuf_post_asked(struct osc_rbuf_window *window, int origin, uint32_t number);
void osc_rbuf_completed(struct osc_rbuf_window *window, int origin, bool unchecked);

/* What the operations of the epoch have met, which is told once. */
int osc_rbuf_take_error(struct osc_rbuf_window *window);

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_start(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_complete(ompi_win_t *win);
int osc_rbuf_wait_completes(ompi_win_t *win);
int osc_rbuf_test_completes(ompi_win_t *win, int *flag);

/* ---- osc_rbuf_passive.c: passive target epochs; likewise ---- */

int osc_rbuf_passive_lock(int type, int target, int mode, ompi_win_t *win);
int osc_rbuf_passive_unlock(int target, ompi_win_t *win);
int osc_rbuf_passive_lock_all(int mode, ompi_win_t *win);
int osc_rbuf_passive_unlock_all(ompi_win_t *win);
/* A peer gets a packed operation; has answered a flush, the way it was asked. The lock is held. */
void osc_rbuf_unflushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way);
void osc_rbuf_flushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way);

static inline bool osc_rbuf_is_unflushed(const struct osc_rbuf_peer *peer)
{
    return peer->unflushed[OSC_RBUF_BY_MPI] || peer->unflushed[OSC_RBUF_BY_AM];
}

/* Asks the target for an answer to all operations so far, if there is anything to answer for. The
 * lock is held, and may be given up meanwhile. */
int osc_rbuf_ask(struct osc_rbuf_window *window, int target);

int osc_rbuf_flush(int target, ompi_win_t *win);
int osc_rbuf_flush_all(ompi_win_t *win);
int osc_rbuf_flush_local(int target, ompi_win_t *win);
int osc_rbuf_flush_local_all(ompi_win_t *win);

/* ---- osc_rbuf_put_get.c ---- */

int osc_rbuf_put(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                 int target, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                 MPI_Datatype target_type, ompi_win_t *win);
int osc_rbuf_get(void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type, int target,
                 ptrdiff_t displacement, osc_rbuf_count_t target_count, MPI_Datatype target_type,
                 ompi_win_t *win);
/* ---- osc_rbuf_accumulate.c ---- */

int osc_rbuf_accumulate(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                        int target, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                        MPI_Datatype target_type, MPI_Op op, ompi_win_t *win);
int osc_rbuf_get_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                            MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                            MPI_Datatype result_type, int target, ptrdiff_t displacement,
                            osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                            ompi_win_t *win);
int osc_rbuf_fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target,
                          ptrdiff_t displacement, MPI_Op op, ompi_win_t *win);
int osc_rbuf_compare_and_swap(const void *origin, const void *compare, void *result,
                              MPI_Datatype type, int target, ptrdiff_t displacement,
                              ompi_win_t *win);

int osc_rbuf_raccumulate(const void *origin, osc_rbuf_count_t origin_count,
                         MPI_Datatype origin_type, int target, ptrdiff_t displacement,
                         osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                         ompi_win_t *win, MPI_Request *request);
int osc_rbuf_rget_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                             MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                             MPI_Datatype result_type, int target, ptrdiff_t displacement,
                             osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                             ompi_win_t *win, MPI_Request *request);

#endif
