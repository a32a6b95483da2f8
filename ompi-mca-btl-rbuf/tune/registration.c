/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Times ibv_reg_mr() and ibv_dereg_mr() at several sizes, and fits a line.
 */
#include "tune/registration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "tune/rounds.h"
#include "verbs/memory.h"

#define PAGE     4096u
#define SMALLEST 1u    /* pages */
#define LARGEST  4096u /* pages */
#define STEPS    7     /* each four times the one before */

enum action { REGISTER, RELEASE, ACTIONS };

struct sizes {
    int count;
    double pages[STEPS];
};

static void to_line(const void *about, const double *times, double *values)
{
    const struct sizes *sizes = about;
    double x[STEPS][TUNE_TERMS] = {{0}}, y[STEPS];

    for (int i = 0; i < sizes->count; i++) {
        x[i][0] = 1;
        x[i][1] = sizes->pages[i];
        y[i] = times[i] > 1 ? times[i] : 1;
    }
    values[0] = y[0];
    values[1] = 0;
    (void) tune_least_squares(2, sizes->count, x, y, values);
}

/* The sizes of which a quarter of the locked memory that is allowed has room. */
static struct sizes choose_sizes(void)
{
    const size_t limit = rbuf_memlock_limit();
    struct sizes sizes = {0};
    size_t pages = SMALLEST;

    for (int i = 0; i < STEPS && (i < 2 || pages * PAGE <= limit / 4); i++, pages *= 4) {
        sizes.pages[sizes.count++] = (double) pages;
    }
    return sizes;
}

static int time_one(struct rbuf_port *port, void *memory, size_t bytes, double *times,
                    struct rbuf_problem *problem)
{
    const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr *mr = NULL;
    const double start = clock_ns();
    int error = rbuf_register(port, memory, bytes, access, &mr, problem);
    const double made = clock_ns();

    if (error != 0) {
        return error;
    }
    (void) rbuf_deregister(mr);
    times[RELEASE] = clock_ns() - made;
    times[REGISTER] = made - start;
    return 0;
}

static int no_memory(struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "reg-failed", -ENOMEM, "%u pages", LARGEST);
    rbuf_problem_errno(problem, -ENOMEM);
    rbuf_problem_remedy(problem, "free some memory on this machine");
    return -ENOMEM;
}

static int measure(struct rbuf_port *port, void *memory, struct tune_side *side, double seconds,
                   struct rbuf_problem *problem)
{
    static struct tune_samples samples[ACTIONS];
    struct sizes sizes = choose_sizes();
    struct tune_constant line[2];
    struct tune_rounds rounds;
    int error = memory != NULL ? 0 : no_memory(problem);

    tune_rounds_open(&rounds, "what registering memory costs", seconds);
    while (tune_rounds_next(&rounds, &samples[REGISTER])) {
        for (int i = 0; i < sizes.count && error == 0; i++) {
            double times[ACTIONS];

            error = time_one(port, memory, (size_t) sizes.pages[i] * PAGE, times, problem);
            if (error != 0 && i >= 2) { /* the adapter takes no more; two sizes make a line */
                sizes.count = i;
                error = 0;
                break;
            }
            for (int k = 0; k < ACTIONS && error == 0; k++) {
                samples[k].ns[i][samples[REGISTER].rounds] = times[k];
            }
        }
    }
    if (error != 0) {
        return error;
    }
    samples[REGISTER].points = samples[RELEASE].points = sizes.count;
    samples[RELEASE].rounds = samples[REGISTER].rounds;
    tune_constants(&samples[REGISTER], to_line, &sizes, line, 2);
    side->registration = (struct tune_line){line[0], line[1]};
    tune_constants(&samples[RELEASE], to_line, &sizes, line, 2);
    side->release = (struct tune_line){line[0], line[1]};
    return 0;
}

int tune_registration(struct rbuf_port *port, struct tune_side *side, double seconds,
                      struct rbuf_problem *problem)
{
    const size_t bytes = (size_t) LARGEST * PAGE;
    void *memory = NULL;
    int error;

    if (posix_memalign(&memory, PAGE, bytes) == 0) {
        memset(memory, 1, bytes);
    } else {
        memory = NULL;
    }
    error = measure(port, memory, side, seconds, problem);
    free(memory);
    return error;
}
