/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages of the connection exchange: their form and their parser. Pure functions, no I/O.
 *
 *     active side                              passive side
 *     REQ    token of the passive side     ->
 *                                          <-  MRA    from its listener thread, at once
 *                                          <-  REP    or REJ, when its user gets to it
 *     RTU                                  ->
 *     DREQ                                <->         before an orderly end, from either side
 *
 * Kinds are named as in the InfiniBand connection manager (IBTA specification, volume 1, chapter
 * 12), and mean what they mean there; a DREQ is answered by closing the socket.
 *
 * Every message is a header and, for REQ and REP, a struct rbuf_exchange_side, of a size fixed
 * by its kind. The first four bytes and the byte-order mark can be judged in any byte order; all
 * else is in the sender's, and the peer of another one is refused.
 */
#ifndef RBUF_CONNECT_EXCHANGE_H
#define RBUF_CONNECT_EXCHANGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "connect/port_address.h"
#include "core/base/wire.h"

#define RBUF_TOKEN_BYTES        16u
#define RBUF_EXCHANGE_ORDER     0x0102u
#define RBUF_EXCHANGE_PORTS_MAX 256u /* port indices are below */

enum rbuf_exchange_kind {
    RBUF_EXCHANGE_REQ = 1, /* request for connection */
    RBUF_EXCHANGE_MRA,     /* message receipt acknowledgement */
    RBUF_EXCHANGE_REP,     /* reply */
    RBUF_EXCHANGE_RTU,     /* ready to use */
    RBUF_EXCHANGE_REJ,     /* reject */
    RBUF_EXCHANGE_DREQ     /* request for disconnection */
};

/* Why the passive side says no. */
enum rbuf_reject_reason {
    RBUF_REJECT_NONE,
    RBUF_REJECT_SIMULTANEOUS, /* our own request to you is on its way, and wins */
    RBUF_REJECT_CONNECTED,    /* there is a connection already */
    RBUF_REJECT_UNKNOWN,      /* no such process is known here */
    RBUF_REJECT_UNREACHABLE,  /* other subnet, link layer or no such port */
    RBUF_REJECT_RESOURCES,    /* no queue pair or memory left */
    RBUF_REJECT_CLOSING,      /* on the way out */
    RBUF_REJECT_BUFFERS,      /* its messages do not fit our receive buffers, or ours not its */
    RBUF_REJECT_REASONS
};

/* What is wrong with bytes that came in. */
enum rbuf_exchange_fault {
    RBUF_FAULT_NONE,
    RBUF_FAULT_INCOMPLETE, /* not wrong so far, more bytes are needed */
    RBUF_FAULT_GARBAGE,    /* does not begin like a message of ours */
    RBUF_FAULT_BYTE_ORDER,
    RBUF_FAULT_VERSION,
    RBUF_FAULT_KIND,  /* unknown, or not the one that is due */
    RBUF_FAULT_SIZE,  /* not the size of its kind */
    RBUF_FAULT_FIELD, /* a value out of its range */
    RBUF_FAULT_TOKEN, /* of another process */
    RBUF_FAULTS
};

struct rbuf_exchange_header {
    uint8_t magic[4];    /* "rbuf" */
    uint16_t byte_order; /* RBUF_EXCHANGE_ORDER */
    uint8_t version;     /* RBUF_WIRE_VERSION */
    uint8_t kind;        /* enum rbuf_exchange_kind */
    uint32_t bytes;      /* of the whole message */
    uint32_t reason;     /* REJ: enum rbuf_reject_reason; else 0 */
};

/* What one side tells the other of itself. */
struct rbuf_exchange_side {
    uint8_t token[RBUF_TOKEN_BYTES]; /* of the passive side, in both directions */
    uint32_t job;                    /* name of the sender */
    uint32_t rank;
    uint32_t port;       /* index of the sender's port in what it published */
    uint32_t their_port; /* index of the receiver's port in what that published */
    struct rbuf_port_address address;
    struct rbuf_queue_address queue[RBUF_CHANNELS];
    uint64_t mailbox; /* address of the mailbox that the receiver may write */
    uint32_t mailbox_rkey;
    uint32_t peer_index;            /* what the receiver puts into its message headers */
    uint16_t window[RBUF_CHANNELS]; /* receive credits that the receiver gets */
    uint32_t stage_bytes;           /* of the largest chunk that the sender can stage; 0: unknown */
    uint32_t room[RBUF_CHANNELS];   /* for the payload of a message in its receive buffers, bytes */
};

static_assert(sizeof(struct rbuf_exchange_header) == 16, "the wire form has no padding");
static_assert(sizeof(struct rbuf_exchange_side) == 120, "the wire form has no padding");

/* A whole message: wire form and host form are one. */
struct rbuf_exchange {
    struct rbuf_exchange_header header;
    struct rbuf_exchange_side side; /* REQ and REP */
};

#define RBUF_EXCHANGE_BYTES_MAX sizeof(struct rbuf_exchange)

/* Bytes of a message of that kind; 0 for an unknown kind. */
size_t rbuf_exchange_bytes(unsigned kind);

/* Fills the header of `message`, whose side (if its kind has one) is filled; returns the number of
 * bytes to send. */
size_t rbuf_exchange_seal(struct rbuf_exchange *message, enum rbuf_exchange_kind kind,
                          enum rbuf_reject_reason reason);

/*
 * Judges the first `bytes` bytes of what came in. NONE: they begin with a whole message, copied to
 * `out`. INCOMPLETE, with fewer than RBUF_EXCHANGE_BYTES_MAX: go on reading. All others: close the
 * connection. A message is judged as early as it can be.
 */
enum rbuf_exchange_fault rbuf_exchange_parse(const void *data, size_t bytes,
                                             struct rbuf_exchange *out);

/* Static texts for people. */
const char *rbuf_exchange_fault_text(enum rbuf_exchange_fault fault);
const char *rbuf_reject_text(enum rbuf_reject_reason reason);

#endif
