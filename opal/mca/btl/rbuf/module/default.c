/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What protocol `default` is on this machine: measures what core/choice/default.h decides by.
 * Processes of a job may choose differently: a message's receiver offers what it can, its sender
 * takes that.
 *
 * One thread, before there are modules.
 */
#include "module/module.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params/params.h"
#include "core/base/checksum.h"
#include "core/base/copy.h"
#include "core/choice/default.h"
#include "verbs/port.h"

enum {
    CHUNK_BYTES = RBUF_DEFAULT_CHUNK,
    CHUNKS = RBUF_DEFAULT_CHUNKS,
    ROUNDS = 2,
    TIMES = CHUNKS * ROUNDS
};

static char why[128];

static int compare_times(const void *one, const void *other)
{
    const uint64_t *a = one;
    const uint64_t *b = other;

    return (*a > *b) - (*a < *b);
}

static uint64_t time_of_copy(unsigned char *to, const unsigned char *from, bool with_checksum)
{
    const uint64_t begun = mca_btl_rbuf_now_ns();

    if (with_checksum) {
        (void) rbuf_copy_checksum(to, from, CHUNK_BYTES);
    } else {
        rbuf_copy(to, from, CHUNK_BYTES);
    }
    return mca_btl_rbuf_now_ns() - begun;
}

/* Bytes a microsecond by the median of some chunks, which an interrupt does not disturb. 0: there
 * is no memory for it. */
static uint64_t copy_speed(bool with_checksum)
{
    unsigned char *memory = malloc((CHUNKS + 1) * CHUNK_BYTES);
    uint64_t times[TIMES];

    if (memory == NULL) {
        return 0;
    }
    memset(memory, 1, (CHUNKS + 1) * CHUNK_BYTES);
    for (size_t i = 0; i < TIMES; i++) {
        times[i] = time_of_copy(memory + CHUNKS * CHUNK_BYTES, memory + i % CHUNKS * CHUNK_BYTES,
                                with_checksum);
    }
    free(memory);
    qsort(times, TIMES, sizeof(times[0]), compare_times);
    return times[TIMES / 2] == 0 ? 0 : CHUNK_BYTES * 1000ull / times[TIMES / 2];
}

void mca_btl_rbuf_default_choose(void)
{
    struct mca_btl_rbuf_process *process = &mca_btl_rbuf_process;
    bool with_checksum = false;
    uint64_t ports = 0;
    uint64_t copy;

    why[0] = '\0'; /* of an Open MPI that was opened before */
    if (mca_btl_rbuf_params.protocol != MCA_BTL_RBUF_DEFAULT) {
        return;
    }
    for (size_t i = 0; i < process->first_count; i++) {
        ports += process->ports[i]->bandwidth_mbps / 8; /* bytes a microsecond */
        with_checksum |= process->ports[i]->subblock == RBUF_SUBBLOCK_CHECKED;
    }
    copy = copy_speed(with_checksum);
    mca_btl_rbuf_params.protocol =
        rbuf_default_is_auto(copy, ports) ? MCA_BTL_RBUF_AUTO : MCA_BTL_RBUF_SUPERPIPELINE;
    snprintf(why, sizeof(why), "default: a core copies %.1f GB/s, the ports carry %.1f GB/s",
             (double) copy / 1000, (double) ports / 1000);
}

const char *mca_btl_rbuf_default_why(void)
{
    return why;
}
