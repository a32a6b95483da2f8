/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Maps memory of our own, in huge pages if it can, registers that and the user's, and counts both
 * (memory.h).
 */
#include "verbs/memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs/port.h"

#define HUGE_PAGE ((size_t) 2 << 20)

enum pages { PAGES_SMALL, PAGES_HUGE };

struct rbuf_memory_stats rbuf_memory_stats;

/* CAP_IPC_LOCK lifts the limit; the kernel asks for it when memory is registered. */
static bool is_privileged(void)
{
    const unsigned cap_ipc_lock = 14;
    unsigned long long effective = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");

    if (status == NULL) {
        return false;
    }
    while (fgets(line, sizeof(line), status) != NULL &&
           sscanf(line, "CapEff: %llx", &effective) != 1) {
    }
    fclose(status);
    return effective >> cap_ipc_lock & 1;
}

size_t rbuf_memlock_limit(void)
{
    struct rlimit limit;

    if (is_privileged() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    return limit.rlim_cur;
}

static void count_registration(size_t bytes)
{
    uint64_t now =
        atomic_fetch_add_explicit(&rbuf_memory_stats.registered, bytes, memory_order_relaxed) +
        bytes;
    uint64_t peak = atomic_load_explicit(&rbuf_memory_stats.peak, memory_order_relaxed);

    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&rbuf_memory_stats.peak, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    atomic_fetch_add_explicit(&rbuf_memory_stats.registrations, 1, memory_order_relaxed);
}

/* The kernel answers ENOMEM for memlock and for much else. */
int rbuf_memory_problem(const struct rbuf_port *port, size_t bytes, int error,
                        struct rbuf_problem *problem)
{
    const unsigned long long held =
        atomic_load_explicit(&rbuf_memory_stats.registered, memory_order_relaxed);
    const size_t limit = rbuf_memlock_limit();

    if (error != -ENOMEM && error != -EAGAIN) {
        rbuf_problem_set(problem, "reg-failed", error, "%zu bytes on %s", bytes, port->name);
        rbuf_problem_errno(problem, error);
        rbuf_problem_remedy(problem, error == -EFAULT ? "the memory is not mapped, or not writable"
                                                      : "see the kernel's log for the adapter");
        return error;
    }
    rbuf_problem_set(problem, "memlock", error, "%zu bytes on %s", bytes, port->name);
    if (limit == SIZE_MAX) {
        rbuf_problem_value(problem,
                           "RLIMIT_MEMLOCK is unlimited, wanted %zu bytes, registered already "
                           "%llu bytes: the machine or the adapter has no more to give",
                           bytes, held);
        rbuf_problem_remedy(
            problem, "let fewer processes share the machine, or raise the adapter's own limit");
        return error;
    }
    /* Queues and what others of the process have locked count too, so it may look unreached. */
    rbuf_problem_value(problem,
                       "RLIMIT_MEMLOCK is %zu bytes, wanted %zu bytes, registered already %llu "
                       "bytes by this process%s",
                       limit, bytes, held,
                       held + bytes <= limit
                           ? " (and its queues, and the adapter may have a limit of its own)"
                           : "");
    rbuf_problem_remedy(problem,
                        "raise the limit where the job's processes are started "
                        "(\"ulimit -l unlimited\", limits.conf; Slurm: "
                        "PropagateResourceLimitsExcept=MEMLOCK, or srun --propagate=NONE)");
    return error;
}

int rbuf_register(struct rbuf_port *port, void *base, size_t bytes, unsigned access,
                  struct ibv_mr **mr, struct rbuf_problem *problem)
{
    struct ibv_mr *made;

    errno = 0;
    made = ibv_reg_mr(port->pd, base, bytes, (int) access);
    if (made == NULL) {
        return rbuf_memory_problem(port, bytes, errno != 0 ? -errno : -ENOMEM, problem);
    }
    count_registration(bytes);
    *mr = made;
    return 0;
}

int rbuf_deregister(struct ibv_mr *mr)
{
    size_t bytes;
    int error;

    if (mr == NULL) {
        return 0;
    }
    bytes = mr->length;
    error = ibv_dereg_mr(mr);
    atomic_fetch_sub_explicit(&rbuf_memory_stats.registered, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&rbuf_memory_stats.deregistrations, 1, memory_order_relaxed);
    return error > 0 ? -error : error;
}

/* Address space for so many bytes: what fills a quarter of a huge page or more gets a whole one. */
static size_t mapped_for(size_t bytes, enum pages pages)
{
    return pages == PAGES_HUGE && bytes >= HUGE_PAGE / 4 && bytes < HUGE_PAGE ? HUGE_PAGE : bytes;
}

/*
 * Address space of zeroed pages, none of them there yet: registering pins them, and so makes them
 * present. Huge ones, if the system has them, for what is large: the copies of a staged message
 * touch a page of the user's and one of ours every block, and every other miss in the TLB is saved.
 * MAP_FAILED with errno if there is none.
 */
static void *map_pages(size_t bytes, enum pages pages)
{
    const size_t mapped = mapped_for(bytes, pages);
    const int protection = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    size_t lead;
    char *base;

    if (mapped < HUGE_PAGE || pages == PAGES_SMALL) {
        return mmap(NULL, bytes, protection, flags, -1, 0);
    }
    base = mmap(NULL, mapped + HUGE_PAGE, protection, flags, -1, 0);
    if (base == MAP_FAILED) {
        return base;
    }
    lead = (HUGE_PAGE - (uintptr_t) base % HUGE_PAGE) % HUGE_PAGE;
    if (lead > 0) {
        (void) munmap(base, lead);
    }
    if (lead < HUGE_PAGE) {
        (void) munmap(base + lead + mapped, HUGE_PAGE - lead);
    }
    (void) madvise(base + lead, mapped, MADV_HUGEPAGE);
    return base + lead;
}

/* Address space for `*bytes` bytes, which are rounded up to pages; a child does not get it, since
 * it must not make the adapter's pages copy-on-write. Not every system can say so. */
static int map_whole(const struct rbuf_port *port, enum pages pages, size_t *bytes, size_t *mapped,
                     void **base, struct rbuf_problem *problem)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    size_t whole = (*bytes + page - 1) / page * page;
    void *made;

    if (whole < *bytes || whole == 0) {
        return rbuf_memory_problem(port, *bytes, -EINVAL, problem);
    }
    made = map_pages(whole, pages);
    if (made == MAP_FAILED) {
        return rbuf_memory_problem(port, whole, -errno, problem);
    }
    *bytes = whole;
    *mapped = mapped_for(whole, pages);
    (void) madvise(made, *mapped, MADV_DONTFORK);
    *base = made;
    return 0;
}

static int allocate(struct rbuf_port *port, enum pages pages, size_t bytes, unsigned access,
                    struct rbuf_memory *out, struct rbuf_problem *problem)
{
    struct ibv_mr *mr;
    size_t mapped;
    void *base;
    int error = map_whole(port, pages, &bytes, &mapped, &base, problem);

    if (error != 0) {
        return error;
    }
    error = rbuf_register(port, base, bytes, access | IBV_ACCESS_LOCAL_WRITE, &mr, problem);
    if (error != 0) {
        (void) munmap(base, mapped);
        return error;
    }
    *out = (struct rbuf_memory){.base = base, .bytes = bytes, .mapped = mapped, .mr = mr};
    return 0;
}

int rbuf_memory_allocate(struct rbuf_port *port, size_t bytes, unsigned access,
                         struct rbuf_memory *out, struct rbuf_problem *problem)
{
    return allocate(port, PAGES_HUGE, bytes, access, out, problem);
}

int rbuf_memory_allocate_small(struct rbuf_port *port, size_t bytes, unsigned access,
                               struct rbuf_memory *out, struct rbuf_problem *problem)
{
    return allocate(port, PAGES_SMALL, bytes, access, out, problem);
}

void rbuf_memory_free(struct rbuf_memory *memory)
{
    if (memory->base == NULL) {
        return;
    }
    (void) rbuf_deregister(memory->mr);
    (void) munmap(memory->base, memory->mapped);
    *memory = (struct rbuf_memory){0};
}

int rbuf_range_open(struct rbuf_port *port, size_t bytes, struct rbuf_range *range,
                    struct rbuf_problem *problem)
{
    size_t mapped;
    void *base;
    int error = map_whole(port, PAGES_HUGE, &bytes, &mapped, &base, problem);

    if (error == 0) {
        *range = (struct rbuf_range){.base = base, .bytes = bytes, .mapped = mapped};
    }
    return error;
}

int rbuf_range_extend(struct rbuf_port *port, struct rbuf_range *range, size_t bytes,
                      unsigned access, struct rbuf_problem *problem)
{
    size_t rest = range->bytes - range->registered;
    size_t next = bytes < rest ? bytes : rest;
    int error;

    if (next == 0 || range->regions == RBUF_RANGE_REGIONS) {
        return rbuf_memory_problem(port, bytes, -EINVAL, problem);
    }
    error = rbuf_register(port, range->base + range->registered, next,
                          access | IBV_ACCESS_LOCAL_WRITE, &range->mr[range->regions], problem);
    if (error == 0) {
        range->registered += next;
        range->regions++;
    }
    return error;
}

void rbuf_range_close(struct rbuf_range *range)
{
    if (range->base == NULL) {
        return;
    }
    while (range->regions > 0) {
        (void) rbuf_deregister(range->mr[--range->regions]);
    }
    (void) munmap(range->base, range->mapped);
    *range = (struct rbuf_range){0};
}
