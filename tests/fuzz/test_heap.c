/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether fuzz_heap() sees what this thread keeps, and nothing of another thread's: libFuzzer
 * itself has one that allocates at any time.
 */
#include "fuzz.h"

#include <pthread.h>

static pthread_barrier_t barrier; /* of both threads: allocate, look, free */

static void *allocate(void *kept)
{
    (void) pthread_barrier_wait(&barrier);
    *(void **) kept = malloc(100);
    (void) pthread_barrier_wait(&barrier);
    (void) pthread_barrier_wait(&barrier);
    free(*(void **) kept);
    return NULL;
}

int main(void)
{
    void *of_another = NULL;
    void *volatile of_this; /* else the compiler may do without the memory */
    pthread_t thread;
    size_t before;

    (void) fuzz_heap();
    before = fuzz_heap();
    of_this = malloc(10);
    fuzz_require(of_this != NULL && fuzz_heap() == before + 10, "what is kept is seen");
    of_this = realloc(of_this, 30);
    fuzz_require(of_this != NULL && fuzz_heap() == before + 30, "what grows is seen");
    free(of_this);
    fuzz_require(fuzz_heap() == before, "what is freed is seen");

    fuzz_require(pthread_barrier_init(&barrier, NULL, 2) == 0, "there is a barrier");
    fuzz_require(pthread_create(&thread, NULL, allocate, (void *) &of_another) == 0,
                 "there is a thread");
    before = fuzz_heap();
    (void) pthread_barrier_wait(&barrier);
    (void) pthread_barrier_wait(&barrier);
    fuzz_require(of_another != NULL && fuzz_heap() == before, "another's memory is not seen");
    (void) pthread_barrier_wait(&barrier);
    (void) pthread_join(thread, NULL);
    (void) pthread_barrier_destroy(&barrier);
    return 0;
}
