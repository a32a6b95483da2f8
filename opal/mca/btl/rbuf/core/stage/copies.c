/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which copied puts and gets have begun, and what may be under way of them (core/stage/copies.h).
 */
#include "core/stage/copies.h"

void rbuf_copies_open(struct rbuf_copies *copies)
{
    *copies = (struct rbuf_copies){.begun = 0};
    STAILQ_INIT(&copies->waiting);
}

bool rbuf_copies_begin(struct rbuf_copies *copies, struct rbuf_copy *copy)
{
    copy->chunks = 0;
    if (copies->begun == RBUF_COPIED_AT_ONCE) {
        STAILQ_INSERT_TAIL(&copies->waiting, copy, link);
        return false;
    }
    copies->begun++;
    return true;
}

struct rbuf_copy *rbuf_copies_end(struct rbuf_copies *copies)
{
    struct rbuf_copy *next = STAILQ_FIRST(&copies->waiting);

    if (next == NULL) {
        copies->begun--;
    } else {
        STAILQ_REMOVE_HEAD(&copies->waiting, link);
    }
    return next;
}

bool rbuf_copies_may_go(const struct rbuf_core *core, const struct rbuf_copies *copies,
                        const struct rbuf_copy *copy, uint32_t bytes)
{
    return copies->bytes == 0 ||
           copies->bytes + bytes <= rbuf_schedule_lane(&core->options.schedule) ||
           (copy->chunks == 0 && bytes <= core->options.quantum);
}
