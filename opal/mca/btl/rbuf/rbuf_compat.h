/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What differs between the Open MPI releases that rbuf is built for (4.1, 5.0, 6.0), and what
 * reaches into their data structures. rbuf_compat_help.h has how they show help texts.
 */
#ifndef RBUF_COMPAT_H
#define RBUF_COMPAT_H

#include "opal_config.h"

#include "opal/mca/btl/btl.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/btl/base/base.h"
#include "opal/runtime/opal.h"
#include "opal/util/proc.h"
#include "opal/version.h"

#if BTL_VERSION < 330
#include "opal/mca/pmix/pmix.h"
#define RBUF_MODEX_SCOPE OPAL_PMIX_GLOBAL
/* Open MPI 5 asks for it before it runs one-sided operations on a BTL; 4.1 has no such flag. */
#define RBUF_FLAG_REMOTE_COMPLETION 0
#define RBUF_PMIX_JOB_SIZE          OPAL_PMIX_JOB_SIZE
#define RBUF_PMIX_UINT32            OPAL_UINT32
#define RBUF_PMIX_STRING            OPAL_STRING
#else
#include "opal/mca/pmix/pmix-internal.h"
#define RBUF_MODEX_SCOPE            PMIX_GLOBAL
#define RBUF_FLAG_REMOTE_COMPLETION MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION
#define RBUF_PMIX_JOB_SIZE          PMIX_JOB_SIZE
#define RBUF_PMIX_UINT32            PMIX_UINT32
#define RBUF_PMIX_STRING            PMIX_STRING
#endif

/* Open MPI 6 lists the components of a static build by pointers to them. */
#ifndef MCA_BASE_COMPONENT_INIT
#define MCA_BASE_COMPONENT_INIT(project, framework, name)
#endif

/* Flags of convertors whose data is not in host memory. */
#ifdef CONVERTOR_CUDA
#define RBUF_CONVERTOR_DEVICE (CONVERTOR_CUDA | CONVERTOR_CUDA_UNIFIED)
#else
#define RBUF_CONVERTOR_DEVICE (CONVERTOR_ACCELERATOR | CONVERTOR_ACCELERATOR_UNIFIED)
#endif

/* Makes a convertor count bytes as packed that somebody else has taken. Open MPI has no call that
 * does this without looking at the data. */
static inline void rbuf_compat_count_packed(struct opal_convertor_t *convertor, size_t bytes)
{
    convertor->bConverted += bytes;
    if (convertor->bConverted == convertor->local_size) {
        convertor->flags |= CONVERTOR_COMPLETED;
    }
}

/* Hands one message, in `count` segments, to whoever registered for its tag. */
static inline void rbuf_compat_deliver(mca_btl_base_module_t *btl,
                                       struct mca_btl_base_endpoint_t *endpoint,
                                       mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                                       size_t count)
{
    mca_btl_active_message_callback_t *handler = mca_btl_base_active_message_trigger + tag;

    if (handler->cbfunc == NULL) {
        return;
    }
#if BTL_VERSION < 330
    mca_btl_base_descriptor_t descriptor = {.des_segments = segments, .des_segment_count = count};

    (void) endpoint;
    handler->cbfunc(btl, tag, &descriptor, handler->cbdata);
#else
    mca_btl_base_receive_descriptor_t descriptor = {.endpoint = endpoint,
                                                    .des_segments = segments,
                                                    .des_segment_count = count,
                                                    .tag = tag,
                                                    .cbdata = handler->cbdata};

    handler->cbfunc(btl, &descriptor);
#endif
}

/* What messages of a tag are about: ob1 has one for each type of its headers, the same in all these
 * series. Were they others in a later one, messages would be matched out of order, which ob1 puts
 * right. */
static inline bool rbuf_compat_is_rendezvous(mca_btl_base_tag_t tag)
{
    return tag == MCA_BTL_TAG_PML + 2 || tag == MCA_BTL_TAG_PML + 3; /* RNDV, RGET */
}

/* They let data move, or end that, and are matched with no receive: ACK, PUT and FIN. Not FRAG,
 * whose data must stay in order (btl/prepare.c). */
static inline bool rbuf_compat_is_answer(mca_btl_base_tag_t tag)
{
    return tag == MCA_BTL_TAG_PML + 4 || tag == MCA_BTL_TAG_PML + 8 || tag == MCA_BTL_TAG_PML + 9;
}

/* What was put is for others to get. */
static inline bool rbuf_compat_commit(void)
{
#if BTL_VERSION < 330
    return opal_pmix.commit() == OPAL_SUCCESS;
#else
    return PMIx_Commit() == PMIX_SUCCESS;
#endif
}

/* Begins a fence of all processes of the job that also brings to each what the others have
 * committed. False: there is none, and `ended` is not called. */
static inline bool rbuf_compat_fence(void (*ended)(int status, void *context))
{
#if BTL_VERSION < 330
    return opal_pmix.fence_nb != NULL && opal_pmix.fence_nb(NULL, 1, ended, NULL) == OPAL_SUCCESS;
#else
    static pmix_info_t collect; /* until the end of the fence */
    bool yes = true;

    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence_nb(NULL, 0, &collect, 1, ended, NULL) == PMIX_SUCCESS;
#endif
}

/* Has the launcher ask the process itself for what it has committed, at most so many seconds. prted
 * of Open MPI 5.0 brings nothing to another node in a fence; other launchers do, and are not asked.
 */
static inline bool rbuf_compat_ask(const opal_process_name_t *name, const char *key, int seconds,
                                   char **text)
{
    *text = NULL;
#if OPAL_MAJOR_VERSION == 5
    pmix_info_t limit;
    pmix_proc_t process;
    pmix_value_t *value = NULL;

    OPAL_PMIX_CONVERT_NAME(&process, name);
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    if (PMIx_Get(&process, key, &limit, 1, &value) == PMIX_SUCCESS) {
        *text = value->type == PMIX_STRING ? strdup(value->data.string) : NULL;
        PMIX_VALUE_RELEASE(value);
    }
    PMIX_INFO_DESTRUCT(&limit);
#else
    (void) name;
    (void) key;
    (void) seconds;
#endif
    return *text != NULL;
}

/* Open MPI 5 ends PMIx before it closes its components: has it call a function before that. Others
 * close them first, and this does nothing: false. */
static inline bool rbuf_compat_before_pmix_ends(void (*call)(void *unused))
{
#if OPAL_MAJOR_VERSION == 5
    opal_finalize_append_cleanup(call, "the rbuf transport's report", NULL);
    return true;
#else
    (void) call;
    return false;
#endif
}

/* False: Open MPI has ended its classes, and no object of this one may be destructed: Open MPI may
 * close components after that, where a program uses MPI_T. */
static inline bool rbuf_compat_class_is_there(const opal_class_t *class)
{
    return class->cls_initialized == opal_class_init_epoch;
}

/* True if the running Open MPI is of the series that this was compiled for. */
static inline bool rbuf_compat_same_series(const char *running)
{
    int major = -1;
    int minor = -1;

    return sscanf(running, "%d.%d", &major, &minor) == 2 && major == OPAL_MAJOR_VERSION &&
           minor == OPAL_MINOR_VERSION;
}

#endif
