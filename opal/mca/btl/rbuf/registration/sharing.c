/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Cores are hwloc's. Without hwloc none is known to be idle: policy force alone has a helper then.
 */
#include "registration/sharing.h"

#include "rbuf_compat.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/time_slice.h"
#include "core/base/checksum.h"
#include "params/params.h"

#if defined(RBUF_HAVE_HWLOC) && RBUF_HAVE_HWLOC
#include <hwloc.h>
#endif

#define RANKS_MOST 1024u
#define SWITCH_NS  5000u /* of context, t_cs; assumed */
#define UNBOUND    UINT64_MAX

struct entry {
    _Atomic uint64_t registered_bytes;
    _Atomic uint64_t period_ns;
    _Atomic uint64_t work_ns;
    _Atomic uint64_t slice_ns;
    _Atomic uint64_t bound_to; /* core + 1; 0: not posted yet; UNBOUND: not to one core */
    char line[24];             /* of the cache */
};

static struct {
    struct entry *entry; /* a rank of the node each */
    struct entry alone;
    uint32_t ranks;
    uint32_t rank;
    uint32_t cores; /* that the job may use */
    uint64_t seed;  /* of ties */
    size_t mapped;
#if defined(RBUF_HAVE_HWLOC) && RBUF_HAVE_HWLOC
    hwloc_topology_t topology; /* NULL: not known */
#endif
} node;

static uint64_t bound_to_of(uint32_t rank)
{
    return atomic_load_explicit(&node.entry[rank].bound_to, memory_order_relaxed);
}

static bool is_computed_on(uint32_t core)
{
    for (uint32_t i = 0; i < node.ranks; i++) {
        if (bound_to_of(i) == core + 1) {
            return true;
        }
    }
    return false;
}

/* Those that are not bound to one core, or have not said so yet. */
static uint32_t unbound_ranks(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < node.ranks; i++) {
        const uint64_t bound_to = bound_to_of(i);

        count += bound_to == 0 || bound_to == UNBOUND;
    }
    return count;
}

static uint32_t idle_cores(void)
{
    const uint32_t unbound = unbound_ranks();
    uint32_t free = 0;

    for (uint32_t core = 0; core < node.cores; core++) {
        free += !is_computed_on(core);
    }
    return free > unbound ? free - unbound : 0;
}

#if defined(RBUF_HAVE_HWLOC) && RBUF_HAVE_HWLOC

static void find_cores(void)
{
    if (hwloc_topology_init(&node.topology) != 0) {
        node.topology = NULL;
    } else if (hwloc_topology_load(node.topology) != 0) {
        hwloc_topology_destroy(node.topology);
        node.topology = NULL;
    }
    node.cores = node.topology == NULL
                     ? 0
                     : (uint32_t) hwloc_get_nbobjs_by_type(node.topology, HWLOC_OBJ_CORE);
}

static void forget_cores(void)
{
    if (node.topology != NULL) {
        hwloc_topology_destroy(node.topology);
        node.topology = NULL;
    }
}

static uint64_t bound_to(void)
{
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    uint64_t core = UNBOUND;

    if (own != NULL && node.topology != NULL &&
        hwloc_get_cpubind(node.topology, own, HWLOC_CPUBIND_PROCESS) == 0) {
        for (uint32_t i = 0; i < node.cores; i++) {
            const hwloc_obj_t object = hwloc_get_obj_by_type(node.topology, HWLOC_OBJ_CORE, i);

            if (hwloc_bitmap_isincluded(own, object->cpuset)) {
                core = i + 1;
            }
        }
    }
    hwloc_bitmap_free(own);
    return core;
}

/* The cores from `first` to `last` that no process is bound to. */
static void bind_thread(uint32_t first, uint32_t last)
{
    hwloc_bitmap_t cores = hwloc_bitmap_alloc();

    for (uint32_t i = first; cores != NULL && i <= last; i++) {
        if (!is_computed_on(i)) {
            const hwloc_obj_t object = hwloc_get_obj_by_type(node.topology, HWLOC_OBJ_CORE, i);

            (void) hwloc_bitmap_or(cores, cores, object->cpuset);
        }
    }
    if (cores != NULL) {
        (void) hwloc_set_cpubind(node.topology, cores, HWLOC_CPUBIND_THREAD);
    }
    hwloc_bitmap_free(cores);
}

#else

static void find_cores(void)
{
}

static void forget_cores(void)
{
}

static uint64_t bound_to(void)
{
    return UNBOUND;
}

static void bind_thread(uint32_t first, uint32_t last)
{
    (void) first;
    (void) last;
}

#endif

static struct entry *map(uint32_t ranks)
{
    char path[PATH_MAX];
    void *memory;
    int file;

    if (opal_process_info.job_session_dir == NULL ||
        snprintf(path, sizeof(path), "%s/rbuf-helpers", opal_process_info.job_session_dir) >=
            (int) sizeof(path)) {
        return NULL;
    }
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        return NULL;
    }
    node.mapped = ranks * sizeof(struct entry);
    memory = posix_fallocate(file, 0, (off_t) node.mapped) != 0 /* or ENOSPC is SIGBUS */
                 ? MAP_FAILED
                 : mmap(NULL, node.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

/* All ranks of a job on a node find the same, so that they agree on ties. Nodes and jobs differ. */
static uint64_t seed_of_ties(void)
{
    const char *name = opal_process_info.nodename;

    return (name != NULL ? rbuf_checksum(name, strlen(name)) : 0) ^ OPAL_PROC_MY_NAME.jobid;
}

void mca_btl_rbuf_sharing_open(void)
{
    const uint32_t ranks = (uint32_t) opal_process_info.num_local_peers + 1;
    const uint32_t rank = (uint32_t) opal_process_info.my_local_rank;

    find_cores();
    node.seed = seed_of_ties();
    node.entry = ranks > 1 && ranks <= RANKS_MOST && rank < ranks ? map(ranks) : NULL;
    node.ranks = ranks;
    node.rank = rank;
    if (node.entry == NULL) {
        node.entry = &node.alone;
        node.ranks = 1;
        node.rank = 0;
    }
    atomic_store_explicit(&node.entry[node.rank].bound_to, bound_to(), memory_order_relaxed);
}

void mca_btl_rbuf_sharing_close(void)
{
    if (node.entry != NULL && node.entry != &node.alone) {
        (void) munmap(node.entry, node.mapped);
    }
    node.entry = NULL;
    forget_cores();
}

static void post(const struct rbuf_sharing_rank *rank)
{
    const struct rbuf_time_slice slice = rbuf_time_slice_ask();
    struct entry *own = &node.entry[node.rank];

    atomic_store_explicit(&own->registered_bytes, rank->registered_bytes, memory_order_relaxed);
    atomic_store_explicit(&own->period_ns, rank->period_ns, memory_order_relaxed);
    atomic_store_explicit(&own->work_ns, rank->work_ns, memory_order_relaxed);
    atomic_store_explicit(&own->slice_ns, rbuf_time_slice_most_ns(&slice), memory_order_relaxed);
}

/* Binds the calling thread to the idle core of that number, where each process of the job is bound
 * to a core. Else no one knows which core is idle, and the system finds one: among those that this
 * process may use, or, if it is bound to one core, among those that none is bound to. */
static void bind_to_idle(int32_t idle)
{
    if (unbound_ranks() > 0) {
        if (bound_to_of(node.rank) != UNBOUND) {
            bind_thread(0, node.cores - 1);
        }
        return;
    }
    for (uint32_t core = 0; core < node.cores; core++) {
        if (!is_computed_on(core) && idle-- == 0) {
            bind_thread(core, core);
            return;
        }
    }
}

struct rbuf_sharing_assignment mca_btl_rbuf_sharing_look(const struct rbuf_sharing_rank *rank,
                                                         uint64_t *slice_ns)
{
    static struct rbuf_sharing_rank all[RANKS_MOST];
    static struct rbuf_sharing_assignment assignment[RANKS_MOST];
    static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* each port has a thread */
    struct rbuf_sharing_assignment own;
    struct rbuf_sharing_node shared = {.seed = node.seed};
    uint64_t longest = 0; /* the same for all, so that all reckon the same */

    pthread_mutex_lock(&looking);
    post(rank);
    for (uint32_t i = 0; i < node.ranks; i++) {
        struct entry *entry = &node.entry[i];
        const uint64_t slice = atomic_load_explicit(&entry->slice_ns, memory_order_relaxed);

        longest = slice > longest ? slice : longest;
        all[i] = (struct rbuf_sharing_rank){
            .registered_bytes =
                atomic_load_explicit(&entry->registered_bytes, memory_order_relaxed),
            .period_ns = atomic_load_explicit(&entry->period_ns, memory_order_relaxed),
            .work_ns = atomic_load_explicit(&entry->work_ns, memory_order_relaxed)};
    }
    shared.idle = idle_cores();
    shared.slice_ns = longest + SWITCH_NS;
    *slice_ns = shared.slice_ns;
    rbuf_sharing_assign((enum rbuf_sharing) mca_btl_rbuf_params.helper_policy, &shared, all,
                        node.ranks, assignment);
    own = assignment[node.rank];
    pthread_mutex_unlock(&looking);
    if (own.core >= 0) {
        bind_to_idle(own.core);
    }
    return own;
}
