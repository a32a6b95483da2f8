/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The times of two paths, and which is preferred (core/choice/preference.h). */
#include "core/choice/preference.h"

/* The median, ns; 0: too few samples. */
static double median(const uint64_t *sample, uint32_t count)
{
    const uint32_t kept = count / 2 + 1; /* of the sorted times: those above the median go */
    uint64_t sorted[RBUF_SAMPLES / 2 + 2];

    if (count < RBUF_SAMPLES_MIN) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = i < kept ? i : kept;

        for (; place > 0 && sorted[place - 1] > sample[i]; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = sample[i];
    }
    return (double) (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void prefer(struct rbuf_preference *preference)
{
    const double copy = preference->usual_ns[RBUF_PATH_COPY];
    const double in_place = preference->usual_ns[RBUF_PATH_IN_PLACE];

    if (copy == 0 || in_place == 0) {
        return;
    }
    if (in_place > copy + copy / RBUF_SLOWER_LEAVE) {
        preference->preferred = RBUF_PREFER_COPY;
    } else if (preference->preferred == RBUF_PREFER_UNKNOWN ||
               in_place <= copy + copy / RBUF_SLOWER_ENTER) {
        preference->preferred = RBUF_PREFER_IN_PLACE;
    }
}

/* Sorting lengthens the message. The preferred path gets a sample with each message and is sorted
 * at some of them only, once its window is full. */
void rbuf_preference_add(struct rbuf_preference *preference, uint32_t window, enum rbuf_path path,
                         uint64_t ns)
{
    const uint32_t taken = ++preference->samples[path];

    preference->sample[path][(taken - 1) % window] = ns;
    if (taken <= window || taken % RBUF_SAMPLES_STEP == 0 ||
        !rbuf_preference_is(preference, path)) {
        preference->usual_ns[path] =
            median(preference->sample[path], taken < window ? taken : window);
        prefer(preference);
    }
}

void rbuf_preference_forget_in_place(struct rbuf_preference *preference)
{
    preference->samples[RBUF_PATH_IN_PLACE] = 0;
    preference->usual_ns[RBUF_PATH_IN_PLACE] = 0;
    preference->preferred = RBUF_PREFER_UNKNOWN;
}
