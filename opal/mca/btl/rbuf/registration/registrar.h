/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Every registration of user memory of a registrar, by a policy that is chosen once, when the
 * component opens (registrar.c):
 *
 * - on demand: made for each use (registrar.c);
 * - cached: kept in OPAL's grdma cache (registration/cache.c), protocols rcache and auto;
 * - helped: made by a thread shortly before their use (registration/helper.c), protocol helper.
 *
 * Beside it reuse has registrations of buffers that the program uses often
 * (registration/reuse.h).
 *
 * Who has a reference:
 *
 *   get      the caller, until put; made if the policy has none for the memory
 *   lookup   likewise, of one that is there already; none is made
 *   put      nobody: the policy keeps the registration, or frees it
 *   new      no references: the caller owns it, and frees it; the policy does not know it
 *
 * A registration with a reference stays registered. A policy keeps one without references only
 * until its memory is given back to the system.
 *
 * A registration that is had as a target may be written by the adapter and by peers. Nothing here
 * reports that the adapter refuses. No lock is held, but for mca_btl_rbuf_memory_allocate().
 */
#ifndef BTL_RBUF_REGISTRAR_H
#define BTL_RBUF_REGISTRAR_H

#include "common/lock.h"
#include "registration/registration.h"

struct mca_btl_rbuf_frequent;
struct mca_btl_rbuf_reuse;
struct rbuf_choice;
struct rbuf_core;

typedef struct mca_btl_rbuf_registrar mca_btl_rbuf_registrar_t;

/* What a policy that predicts has counted. All uint64_t, to be added up. */
struct mca_btl_rbuf_helper_counters {
    uint64_t points;       /* uses of memory that the thread has seen */
    uint64_t points_lost;  /* that it has not, as they were too many */
    uint64_t predicted;    /* uses whose time was predicted: the sum of these: */
    uint64_t near;         /* within 0.5 % */
    uint64_t close;        /* within 5 % */
    uint64_t early;        /* sooner */
    uint64_t late;         /* later */
    uint64_t missed;       /* so much later that a use was predicted in vain */
    uint64_t ready;        /* takes that found their memory registered */
    uint64_t mispredicted; /* that did not, though their use was predicted */
    uint64_t unknown;      /* likewise, and it was not */
    uint64_t ahead;        /* registrations of the thread */
    uint64_t kept;         /* times that a registration was kept, as the next use was near */
    uint64_t lapsed;       /* registrations whose use has not come in time */
    uint64_t stale;        /* regions whose memory was given back */
};

/* How registrations are made. Those of the process are called once each, the others for each
 * registrar, in any thread, and no lock is held, but for evict. What may be NULL says so. */
typedef struct {
    const char *text; /* what it does with buffers, for `show` */

    /* Before the first registrar opens, and behind the last; both NULL: nothing to do. */
    void (*process_open)(void);
    void (*process_close)(void);

    /* Sets registrar->kept. False after a help message: registrations are made on demand. Both
     * NULL: nothing to do. */
    bool (*open)(mca_btl_rbuf_registrar_t *registrar);
    void (*close)(mca_btl_rbuf_registrar_t *registrar);

    /* As mca_btl_rbuf_registration_get() and _put(). */
    mca_btl_rbuf_registration_t *(*get)(mca_btl_rbuf_registrar_t *registrar, uint32_t rank,
                                        void *base, size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                        struct rbuf_problem *problem);
    void (*put)(mca_btl_rbuf_registrar_t *registrar, mca_btl_rbuf_registration_t *registration);

    /* As mca_btl_rbuf_registration_lookup(); NULL: none is there before get. */
    mca_btl_rbuf_registration_t *(*lookup)(mca_btl_rbuf_registrar_t *registrar, void *base,
                                           size_t bytes, enum mca_btl_rbuf_purpose purpose);

    /* Deregisters a registration without references; false: there is none. With or without lock.
     * NULL: it keeps none. */
    bool (*evict)(mca_btl_rbuf_registrar_t *registrar);

    /* Counters of predictions; NULL: it predicts nothing. */
    void (*count)(const mca_btl_rbuf_registrar_t *registrar,
                  struct mca_btl_rbuf_helper_counters *counters);
} mca_btl_rbuf_policy_t;

struct mca_btl_rbuf_registrar {
    struct rbuf_port *port;
    struct mca_btl_rbuf_lock *lock; /* the module's: guards `choice` and `frequent` */
    const struct rbuf_core *core;   /* the module's: whether receives wait for staging */
    const mca_btl_rbuf_policy_t *policy;
    void *kept; /* the policy's */
    _Atomic uint64_t lookups;
    _Atomic uint64_t misses;    /* of these, registrations that were made */
    _Atomic uint64_t cached;    /* registrations in the cache, also those that it is to drop */
    struct rbuf_choice *choice; /* protocol auto, else NULL */
    const struct mca_btl_rbuf_reuse *reuse; /* NULL: off, or not to be had */
    struct mca_btl_rbuf_frequent *frequent; /* what reuse knows of buffers */
};

static inline void mca_btl_rbuf_registrar_lock(const mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_lock_enter(registrar->lock, opal_using_threads());
}

static inline void mca_btl_rbuf_registrar_unlock(const mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_lock_leave(registrar->lock);
}

extern const mca_btl_rbuf_policy_t mca_btl_rbuf_cached;
extern const mca_btl_rbuf_policy_t mca_btl_rbuf_helped; /* not in a build without the helper */

/* Chooses, by the parameters, what the registrars of this process have: behind the check of the
 * parameters, before the first registrar opens. */
void mca_btl_rbuf_registrars_open(void);

/* Behind the last registrar; nothing if they are closed. One thread at a time opens and closes. */
void mca_btl_rbuf_registrars_close(void);

/* Port, lock and core are set. An OPAL error after a help message. What
 * was not opened may be closed. */
int mca_btl_rbuf_registrar_open(mca_btl_rbuf_registrar_t *registrar);
void mca_btl_rbuf_registrar_close(mca_btl_rbuf_registrar_t *registrar);

/* A reference to a registration that contains [base, base + bytes), which is made if there is none.
 * NULL with *problem filled. `rank` is whom the message is for or from; 0: not known. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_get(mca_btl_rbuf_registrar_t *registrar,
                                                           uint32_t rank, void *base, size_t bytes,
                                                           enum mca_btl_rbuf_purpose purpose,
                                                           struct rbuf_problem *problem);

/* The same of a registration that is there already, or NULL. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_lookup(mca_btl_rbuf_registrar_t *registrar,
                                                              void *base, size_t bytes,
                                                              enum mca_btl_rbuf_purpose purpose);

/* Ends the reference; NULL is left alone. */
void mca_btl_rbuf_registration_put(mca_btl_rbuf_registrar_t *registrar,
                                   mca_btl_rbuf_registration_t *registration);

/* mca_btl_rbuf_registration_new(), and counts it. The caller owns it, and frees it with
 * mca_btl_rbuf_registration_free(). It stays when the program gives its memory back to the system:
 * the owner listens to the memory hooks, and stops using it then. (A reference would not do: OPAL's
 * cache prints a warning and ends the process if one is left then.) */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registrar_new(mca_btl_rbuf_registrar_t *registrar,
                                                        void *base, size_t bytes,
                                                        enum mca_btl_rbuf_purpose purpose,
                                                        struct rbuf_problem *problem);

/* As rbuf_memory_allocate(); the cache gives up what nobody uses for it. With or without lock. */
int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_registrar_t *registrar, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem);

#endif
