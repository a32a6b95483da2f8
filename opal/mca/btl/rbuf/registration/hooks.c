/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Listeners are found without a lock, as the hook may run within anything.
 *
 * Whether the hooks can be trusted with registrations that are kept: they replace the first
 * instructions of brk() and other functions of the C library. Another library with hooks of its own
 * can take calls past them: UCX replaces sbrk(), through which malloc() gives memory back, and goes
 * on to the kernel. Then the cache keeps registrations of pages that are gone, and an adapter reads
 * and writes what nobody owns any more. So it is tried out.
 *
 * It is tried in a copy of the process, where no other thread can use the heap at the same time and
 * nothing that happens to it matters. The copy is made without the C library, so that no fork
 * handler runs, and without SIGCHLD, which the application may expect from its own children alone.
 * Should it meet a lock that another thread held, an alarm ends it.
 */
#include "registration/hooks.h"

#include "opal_config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memoryhooks/memory.h"

#define LISTENERS_MOST 32

#define PROBE_BYTES   (256 * 1024)
#define PROBE_SECONDS 5

/* What the copy ends with. */
enum { EXIT_SEEN = 0, EXIT_UNSEEN = 1 };

static volatile bool seen;

static void released(void *base, size_t bytes, void *context, bool from_alloc)
{
    (void) base;
    (void) bytes;
    (void) context;
    (void) from_alloc;
    seen = true;
}

/* In the copy: the heap grows and shrinks again. */
static _Noreturn void shrink_heap(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(PROBE_SECONDS);
    seen = false;
    if (sbrk(PROBE_BYTES) != (void *) -1) {
        (void) sbrk(-PROBE_BYTES);
    }
    _exit(seen ? EXIT_SEEN : EXIT_UNSEEN);
}

bool mca_btl_rbuf_hooks_see_heap(void)
{
    pid_t child;
    int status = -1;

    if (opal_mem_hooks_register_release(released, NULL) != OPAL_SUCCESS) {
        return false;
    }
    child = (pid_t) syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
    if (child == 0) {
        shrink_heap();
    }
    while (child > 0 && waitpid(child, &status, __WCLONE) < 0 && errno == EINTR) {
    }
    (void) opal_mem_hooks_unregister_release(released);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SEEN;
}

bool mca_btl_rbuf_hooks_install(void)
{
    const int all = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;

    return mca_base_framework_open(&opal_memory_base_framework, 0) == OPAL_SUCCESS &&
           (opal_mem_hooks_support_level() & all) == all && mca_btl_rbuf_hooks_see_heap();
}

/* ---- listeners ---- */

/* Written by add and remove: `released` before `context`, which notify() reads first. */
static struct {
    _Atomic(void *) context; /* NULL: a free place */
    mca_btl_rbuf_released_fn_t released;
} listener[LISTENERS_MOST];

static unsigned listeners;
static _Atomic unsigned running; /* calls of notify() */

/* Open MPI calls hooks without its lock: remove() waits for who is in here. All of this is
 * sequentially consistent, so that either it sees `running`, or the other one NULL. */
static void notify(void *base, size_t bytes, void *context, bool from_alloc)
{
    (void) context;
    (void) from_alloc;
    atomic_fetch_add(&running, 1);
    for (size_t i = 0; i < LISTENERS_MOST; i++) {
        void *who = atomic_load(&listener[i].context);

        if (who != NULL) {
            listener[i].released(who, (uintptr_t) base, bytes);
        }
    }
    atomic_fetch_sub(&running, 1);
}

bool mca_btl_rbuf_hooks_add(mca_btl_rbuf_released_fn_t tell, void *context)
{
    size_t i = 0;

    while (i < LISTENERS_MOST &&
           atomic_load_explicit(&listener[i].context, memory_order_relaxed) != NULL) {
        i++;
    }
    if (i == LISTENERS_MOST ||
        (listeners == 0 && opal_mem_hooks_register_release(notify, NULL) != OPAL_SUCCESS)) {
        return false;
    }
    listeners++;
    listener[i].released = tell;
    atomic_store_explicit(&listener[i].context, context, memory_order_release);
    return true;
}

void mca_btl_rbuf_hooks_remove(void *context)
{
    for (size_t i = 0; i < LISTENERS_MOST; i++) {
        if (context != NULL && atomic_load(&listener[i].context) == context) {
            atomic_store(&listener[i].context, NULL);
            if (--listeners == 0) {
                (void) opal_mem_hooks_unregister_release(notify);
            }
            while (atomic_load(&running) > 0) {
                sched_yield();
            }
        }
    }
}
