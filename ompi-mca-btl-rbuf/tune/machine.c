/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Takes of each constant the slower side, and assumes what was not measured.
 */
#include "tune/machine.h"

#include <math.h>

#define WORD_BYTES         8
#define PAGE_BYTES         4096
#define CONTROL_BYTES      64  /* ob1's FIN with the headers around it */
#define ASSUMED_MESSAGE_NS 500 /* of software, a control message, where no traffic tells */

static double slower_time(struct tune_constant one, struct tune_constant other)
{
    return fmax(fmax(one.value, other.value), 0);
}

/* Request time of the slower side. */
static double overhead(const struct tune_measured *measured)
{
    return slower_time(measured->side[0].post, measured->side[1].post);
}

struct tune_constant tune_latency(const struct tune_measured *measured)
{
    const double less = slower_time(measured->side[0].post_word, measured->side[1].post_word) +
                        WORD_BYTES / measured->bandwidth.value;

    return (struct tune_constant){fmax(measured->word.value - less, 1),
                                  fmax(measured->word.low - less, 1),
                                  fmax(measured->word.high - less, 1)};
}

static struct rbuf_copy_speed slower_copy(const struct tune_constant *one,
                                          const struct tune_constant *other)
{
    struct rbuf_copy_speed speed = {.count = TUNE_COPIES};

    for (int i = 0; i < TUNE_COPIES; i++) {
        speed.bytes[i] = tune_copy_bytes(i);
        speed.bytes_per_ns[i] = fmin(one[i].value, other[i].value);
    }
    return speed;
}

/* What software adds to a control message: the job's own tell, if they go over rbuf. */
static double message_ns(const struct tune_measured *measured)
{
    if (!measured->traffic.over_rbuf || measured->traffic.points == 0) {
        return ASSUMED_MESSAGE_NS;
    }
    return fmax(measured->traffic.ns[0].value - measured->word.value, 0);
}

struct rbuf_machine tune_machine(const struct tune_measured *measured, uint32_t quantum)
{
    const struct tune_side *one = &measured->side[0], *other = &measured->side[1];
    const double message = message_ns(measured);

    return (struct rbuf_machine){
        .latency_ns = tune_latency(measured).value,
        .gap_ns = fmax(measured->gap.value, 0),
        .overhead_ns = overhead(measured),
        .bytes_per_ns = measured->bandwidth.value,
        .packet_bytes = one->mtu < other->mtu ? one->mtu : other->mtu,
        .send_copy = slower_copy(one->send_copy, other->send_copy),
        .receive_copy = slower_copy(one->receive_copy, other->receive_copy),
        .register_ns = slower_time(one->registration.base, other->registration.base) +
                       slower_time(one->release.base, other->release.base),
        .register_page_ns = slower_time(one->registration.page, other->registration.page) +
                            slower_time(one->release.page, other->release.page),
        .page_bytes = PAGE_BYTES,
        .ack_ns = slower_time(one->post_word, other->post_word),
        .pass_ns = slower_time(one->pass, other->pass),
        .pass_bytes = quantum,
        .rendezvous_ns = 2 * message,
        .finish_ns = message,
        .control_bytes = CONTROL_BYTES};
}
