/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The queue of simulated time (a heap), and the simulator's memory: zeroed, or the program ends. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

void *sim_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        perror("simulator");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *sim_reallocate(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL) {
        perror("simulator");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *sim_map(size_t bytes)
{
    const size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    unsigned char *at = mmap(NULL, PAGE + whole + PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED || mprotect(at + PAGE + whole, PAGE, PROT_NONE) != 0) {
        perror("simulator");
        exit(EXIT_FAILURE);
    }
    *(size_t *) (void *) at = PAGE + whole + PAGE;
    return at + PAGE;
}

void sim_unmap(void *memory)
{
    if (memory != NULL) {
        unsigned char *at = (unsigned char *) memory - PAGE;

        munmap(at, *(size_t *) (void *) at);
    }
}

void sim_clock_open(struct sim_clock *clock)
{
    *clock = (struct sim_clock){.size = 64};
    clock->heap = sim_allocate(clock->size * sizeof(*clock->heap));
}

void sim_clock_close(struct sim_clock *clock)
{
    free(clock->heap);
    *clock = (struct sim_clock){0};
}

static bool earlier(const struct sim_event *one, const struct sim_event *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

void sim_at(struct sim_clock *clock, uint64_t at_ns, sim_action *action, void *subject)
{
    struct sim_event event = {.at_ns = at_ns > clock->now_ns ? at_ns : clock->now_ns,
                              .order = clock->asked++,
                              .action = action,
                              .subject = subject};
    size_t at = clock->count++;

    if (at == clock->size) {
        clock->size *= 2;
        clock->heap = sim_reallocate(clock->heap, clock->size * sizeof(*clock->heap));
    }
    while (at > 0 && earlier(&event, &clock->heap[(at - 1) / 2])) {
        clock->heap[at] = clock->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    clock->heap[at] = event;
}

static struct sim_event take_first(struct sim_clock *clock)
{
    struct sim_event first = clock->heap[0];
    struct sim_event last = clock->heap[--clock->count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < clock->count) {
        if (child + 1 < clock->count && earlier(&clock->heap[child + 1], &clock->heap[child])) {
            child++;
        }
        if (!earlier(&clock->heap[child], &last)) {
            break;
        }
        clock->heap[at] = clock->heap[child];
        at = child;
    }
    clock->heap[at] = last;
    return first;
}

bool sim_step(struct sim_clock *clock)
{
    struct sim_event event;

    if (clock->count == 0) {
        return false;
    }
    event = take_first(clock);
    clock->now_ns = event.at_ns;
    event.action(event.subject);
    return true;
}
