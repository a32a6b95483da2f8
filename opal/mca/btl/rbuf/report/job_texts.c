/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Brings a text of each process of the job to rank 0, at its end. MPI is over by then, and perhaps
 * this transport. PMIx still runs: each process puts its text, all meet in a fence that collects
 * the texts, and rank 0 gets them.
 *
 * All processes have passed the barrier of MPI_Finalize(), so they come to that fence unless one
 * dies, has no adapter, or was not asked for its text. Nobody waits for these for ever: a process
 * that has waited WAIT_NS goes on without.
 *
 * Threads: the one that ends Open MPI, once.
 *
 * Owns the state of the fence: its callback comes in a thread of PMIx, perhaps long after nobody
 * waits for it any more. Then this object stays loaded.
 */
#include "report/report.h"

#include "rbuf_compat.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/monotonic.h"

#define KEY      "btl.rbuf.report"
#define PAUSE_NS 100000 /* between looks */
#define ASK_S    2      /* for an answer from another node */
#define WAIT_NS  UINT64_C(10000000000)

typedef enum { WAITING, MET, FAILED } fence_t;

static _Atomic fence_t fence;

static void fence_ended(int status, void *context)
{
    (void) context;
    atomic_store_explicit(&fence, status == 0 ? MET : FAILED, memory_order_release);
}

static uint32_t job_size(void)
{
    opal_process_name_t all = {.jobid = OPAL_PROC_MY_NAME.jobid, .vpid = OPAL_VPID_WILDCARD};
    uint32_t size = 0;
    uint32_t *place = &size;
    int status;

    OPAL_MODEX_RECV_VALUE_OPTIONAL(status, RBUF_PMIX_JOB_SIZE, &all, &place, RBUF_PMIX_UINT32);
    return status == OPAL_SUCCESS ? size : 0;
}

void mca_btl_rbuf_job_texts_stay_loaded(void)
{
    Dl_info info;

    if (dladdr((void *) (uintptr_t) &fence_ended, &info) != 0) {
        (void) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

/* True: all have come. */
static bool meet(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t deadline_ns;

    atomic_store_explicit(&fence, WAITING, memory_order_relaxed);
    if (!rbuf_compat_fence(fence_ended)) {
        return false;
    }
    deadline_ns = mca_btl_rbuf_now_ns() + WAIT_NS;
    do {
        switch (atomic_load_explicit(&fence, memory_order_acquire)) {
        case MET:
            return true;
        case FAILED:
            return false;
        case WAITING:
            break;
        }
        (void) nanosleep(&pause, NULL);
    } while (mca_btl_rbuf_now_ns() < deadline_ns);
    mca_btl_rbuf_job_texts_stay_loaded(); /* for the callback */
    return false;
}

static bool put(const char *text)
{
    int status;

    OPAL_MODEX_SEND_VALUE(status, RBUF_MODEX_SCOPE, (char *) (uintptr_t) KEY,
                          (void *) (uintptr_t) text, RBUF_PMIX_STRING);
    return status == OPAL_SUCCESS && rbuf_compat_commit();
}

/* The text of a rank, to be freed, or NULL. Who does not answer in time is the last one asked. */
static char *get(uint32_t rank, bool *answers)
{
    opal_process_name_t name = {.jobid = OPAL_PROC_MY_NAME.jobid, .vpid = rank};
    char *text = NULL;
    int status;

    /* Of what others have put after MPI_Init(), the optional look-up of PMIx 7 knows nothing. */
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(status, KEY, &name, &text, RBUF_PMIX_STRING);
    if (status == OPAL_SUCCESS) {
        return text;
    }
    text = NULL;
    *answers = *answers && rbuf_compat_ask(&name, KEY, ASK_S, &text);
    return text;
}

mca_btl_rbuf_job_texts_t mca_btl_rbuf_job_texts(const char *text, uint32_t *processes,
                                                struct mca_btl_rbuf_summary *summary)
{
    bool answers = true;

    *processes = job_size();
    if (*processes == 1) {
        mca_btl_rbuf_summary_add(summary, text);
        return MCA_BTL_RBUF_TEXTS_ARE_HERE;
    }
    if (*processes == 0 || !put(text) || !meet()) {
        return MCA_BTL_RBUF_NO_TEXTS;
    }
    if (OPAL_PROC_MY_NAME.vpid != 0) {
        return MCA_BTL_RBUF_TEXTS_AT_RANK_0;
    }
    mca_btl_rbuf_summary_add(summary, text);
    for (uint32_t rank = 1; rank < *processes; rank++) {
        char *other = get(rank, &answers);

        if (other != NULL) {
            mca_btl_rbuf_summary_add(summary, other);
            free(other);
        }
    }
    return MCA_BTL_RBUF_TEXTS_ARE_HERE;
}
