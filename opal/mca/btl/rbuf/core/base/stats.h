/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters. Written under the module's lock, read by anybody (a torn view is harmless). Glue's
 * table in report/counters.c gives each its name and text as an MPI_T variable.
 */
#ifndef RBUF_CORE_STATS_H
#define RBUF_CORE_STATS_H

#include <stdint.h>

struct rbuf_stats {
    uint64_t messages_sent; /* user messages, by a ring or over send/receive */
    uint64_t own_sent;      /* core's own, likewise: with these all is ring_sent + sends[] */
    uint64_t sends[2];      /* messages over send/receive: out of memory, inside the request */
    uint64_t send_bytes;    /* by send/receive, with headers of Open MPI and core's own messages */
    uint64_t messages_received;
    uint64_t messages_queued; /* had to wait for a credit or for room in the send queue */
    uint64_t credit_waits;    /* of these, the ones that found no credit */
    uint64_t gathered;        /* of those sent, the ones whose data was not copied here */
    uint64_t gathered_bytes;
    uint64_t messages_held;    /* arrived before the put that they belong to, and waited */
    uint64_t messages_refused; /* malformed, dropped */
    uint64_t credits_written;  /* explicit credit returns */
    uint64_t staged_puts;
    uint64_t staged_bytes; /* sent through staging buffers */
    uint64_t staged_chunks;
    uint64_t staged_received;   /* bytes copied out of staging buffers */
    uint64_t blocks_incomplete; /* copied out and not taken: the checksum was not right yet */
    uint64_t acks_written;
    uint64_t grants;          /* offers that carried staging at once */
    uint64_t grants_deferred; /* offers that had to wait */
    uint64_t grants_direct;   /* of those, turned into a registration after the wait */
    uint64_t rts_received;
    uint64_t early_sent;      /* RTSs with early data */
    uint64_t early_dropped;   /* of those, the ones whose data nobody took */
    uint64_t early_named;     /* named to the peer, which asked */
    uint64_t early_claimed;   /* of the peers', taken up by a grant when the RTS was delivered */
    uint64_t early_late;      /* likewise later, as the peer named it */
    uint64_t early_corrected; /* claims that were another message's */
    uint64_t early_fragments; /* messages received whose payload was early data */
    uint64_t early_leased;    /* windows */
    uint64_t early_recalled;  /* of those, asked back */
    uint64_t copied_puts;     /* in place at the receiver, from staging here */
    uint64_t copied_gets;     /* from in place at the peer, through staging here */
    uint64_t direct_puts;     /* in-place writes */
    uint64_t direct_bytes;
    uint64_t reads;
    uint64_t atomics;
    uint64_t rma_requests;    /* posted for these four, pieces of large ones counted each */
    uint64_t rma_doorbells;   /* that they were posted with */
    uint64_t rma_held;        /* of the puts and gets, those that were held */
    uint64_t rma_merged;      /* of those, the ones that travelled in another's request */
    uint64_t window_waits;    /* progress calls that found a filled chunk waiting for an ack */
    uint64_t staging_waits;   /* progress calls that found no send staging */
    uint64_t staging_grown;   /* times that one of the arenas grew */
    uint64_t ring_sent;       /* messages by a ring */
    uint64_t ring_bytes;      /* of these, likewise */
    uint64_t ring_received;   /* likewise of those received */
    uint64_t ring_full;       /* went over send/receive because the ring had no slot free */
    uint64_t ring_long;       /* took several slots of a ring */
    uint64_t ring_incomplete; /* polls that found a message whose checksum was not right yet */
    uint64_t ring_waits;      /* polls that found a ring message before its turn */
    uint64_t ring_admitted;   /* peers taken into the polling set */
    uint64_t ring_recalled;   /* peers asked to leave it */
    uint64_t ring_opened;     /* rings that peers leased to us */
    uint64_t probes;
};

#endif
