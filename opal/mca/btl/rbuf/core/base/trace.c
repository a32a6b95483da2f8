/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The file of a trace (core/base/trace.h). It is opened at the first transition, and left to the
 * end of the process.
 */
#include "core/base/trace.h"

#ifdef RBUF_TRACE

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum file_state { UNOPENED, OPEN, NOT_WANTED };

static enum file_state state;
static FILE *file;

static void open_file(void)
{
    const char *prefix = getenv("RBUF_TRACE");
    char name[4096];

    state = NOT_WANTED;
    if (prefix == NULL || *prefix == '\0') {
        return;
    }
    snprintf(name, sizeof(name), "%s.%d", prefix, (int) getpid());
    file = fopen(name, "w");
    if (file != NULL) {
        setvbuf(file, NULL, _IOLBF, 0); /* whoever is stuck has written its last line */
        state = OPEN;
    }
}

void rbuf_trace(const char *object, uint32_t peer, uint64_t id, const char *from, const char *to)
{
    struct timespec now;

    if (state == UNOPENED) {
        open_file();
    }
    if (state == OPEN) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        fprintf(file, "%" PRId64 "%09ld %s peer=%" PRIu32 " id=%" PRIx64 " %s -> %s\n",
                (int64_t) now.tv_sec, now.tv_nsec, object, peer, id, from, to);
    }
}

#else
typedef int rbuf_trace_is_not_compiled_in; /* a file of C is not empty */
#endif
