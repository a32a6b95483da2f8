/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The parser of the connection exchange. It gets every beginning of the input, as the listener
 * gives it whatever has come so far: a judgement once passed stays, what is not accepted leaves no
 * trace, what is accepted is what was sent.
 */
#include "fuzz.h"

#include "connect/exchange.h"

#define UNTOUCHED 0xa5

static void check_accepted(const uint8_t *data, size_t bytes, const struct rbuf_exchange *out)
{
    const struct rbuf_exchange_side *side = &out->side;
    struct rbuf_exchange again = *out;
    size_t sealed;

    fuzz_require(out->header.bytes <= bytes, "a message is no longer than what came");
    fuzz_require(out->header.bytes == rbuf_exchange_bytes(out->header.kind), "its kind's size");
    fuzz_require(memcmp(out, data, out->header.bytes) == 0, "what is taken is what came");
    sealed = rbuf_exchange_seal(&again, (enum rbuf_exchange_kind) out->header.kind,
                                (enum rbuf_reject_reason) out->header.reason);
    fuzz_require(sealed == out->header.bytes && memcmp(&again, out, sealed) == 0,
                 "a message sealed again is the same");
    fuzz_require(
        out->header.reason < RBUF_REJECT_REASONS &&
            rbuf_reject_text((enum rbuf_reject_reason) out->header.reason)[0] != '\0' &&
            strcmp(rbuf_reject_text((enum rbuf_reject_reason) out->header.reason), "unknown"),
        "a refusal has a reason that there is");
    fuzz_require((out->header.reason != 0) == (out->header.kind == RBUF_EXCHANGE_REJ),
                 "a refusal alone has a reason");
    if (out->header.bytes != sizeof(*out)) {
        return;
    }
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        fuzz_require(side->queue[i].qpn - 1 < (1u << 24) - 1 && side->queue[i].psn < 1u << 24,
                     "queue pair numbers have 24 bits");
        fuzz_require(side->window[i] > 0, "there are credits");
    }
    fuzz_require(side->mailbox != 0 && side->mailbox % 8 == 0, "the mailbox is aligned");
    fuzz_require(side->port < RBUF_EXCHANGE_PORTS_MAX && side->their_port < RBUF_EXCHANGE_PORTS_MAX,
                 "ports have an index in range");
    fuzz_require(side->address.mtu >= 1 && side->address.mtu <= 5, "the MTU is one of five");
    fuzz_require(side->address.link_layer == RBUF_LINK_INFINIBAND
                     ? side->address.gid_kind == RBUF_GID_INFINIBAND
                     : side->address.link_layer == RBUF_LINK_ETHERNET &&
                           (side->address.gid_kind == RBUF_GID_ROCE_V1 ||
                            side->address.gid_kind == RBUF_GID_ROCE_V2),
                 "the GID is of the link layer");
}

/* The judgement on the first `bytes` bytes, which stand in memory that is no longer. */
static enum rbuf_exchange_fault judge(const uint8_t *data, size_t bytes)
{
    struct rbuf_exchange out, untouched;
    enum rbuf_exchange_fault fault;
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);

    fuzz_require(copy != NULL, "there is memory");
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    memset(&out, UNTOUCHED, sizeof(out));
    memset(&untouched, UNTOUCHED, sizeof(untouched));
    fault = rbuf_exchange_parse(copy, bytes, &out);
    fuzz_require(fault < RBUF_FAULTS && rbuf_exchange_fault_text(fault)[0] != '\0',
                 "a fault has a text");
    if (fault == RBUF_FAULT_NONE) {
        check_accepted(data, bytes, &out);
    } else {
        fuzz_require(memcmp(&out, &untouched, sizeof(out)) == 0, "a fault leaves no trace");
    }
    if (fault == RBUF_FAULT_INCOMPLETE) {
        fuzz_require(bytes < RBUF_EXCHANGE_BYTES_MAX, "what is longer than a message is complete");
    }
    free(copy);
    return fault;
}

static int judge_all(const uint8_t *data, size_t size)
{
    enum rbuf_exchange_fault decided = RBUF_FAULT_INCOMPLETE;
    size_t most = size < RBUF_EXCHANGE_BYTES_MAX + 8 ? size : RBUF_EXCHANGE_BYTES_MAX + 8;

    for (size_t bytes = 0; bytes <= most; bytes++) {
        enum rbuf_exchange_fault fault = judge(data, bytes);

        fuzz_require(decided == RBUF_FAULT_INCOMPLETE || fault == decided, "a judgement stays");
        decided = fault;
    }
    fuzz_require(most < RBUF_EXCHANGE_BYTES_MAX || decided != RBUF_FAULT_INCOMPLETE,
                 "a whole message is judged");
    return 0;
}

/* A good message of that kind, but for the changes; returns its size. */
static size_t make(struct rbuf_exchange *message, unsigned kind, const uint8_t *changes,
                   size_t size)
{
    size_t bytes = rbuf_exchange_bytes(kind);

    *message =
        (struct rbuf_exchange){.side = {.address = {.mtu = 5,
                                                    .link_layer = RBUF_LINK_INFINIBAND,
                                                    .gid_kind = RBUF_GID_INFINIBAND},
                                        .queue = {{.qpn = 1, .psn = 2}, {.qpn = 3, .psn = 4}},
                                        .mailbox = 4096,
                                        .window = {5, 6}}};
    (void) rbuf_exchange_seal(message, (enum rbuf_exchange_kind) kind, RBUF_REJECT_CLOSING);
    bytes = bytes > 0 ? bytes : sizeof(message->header);
    fuzz_change(message, bytes, changes, size);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rbuf_exchange message;
    size_t bytes;

    if (size < 2 || data[0] != FUZZ_CHANGES) {
        return judge_all(data, size);
    }
    bytes = make(&message, data[1] % 8, data + 2, size - 2);
    return judge_all((const uint8_t *) &message, bytes);
}
