/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a message costs, by the counters that rbuf gives to MPI_T: requests, completions,
 * registrations, acknowledgements. Rank 0 sends to rank 1, which answers each message with an empty
 * one; the buffers are the same all the time, and were used before.
 *
 * Usage: counts PROTOCOL rings|sends: all that is small goes by the rings that the two open to each
 * other before; or by send/receive, with btl_rbuf_polling_set 0.
 *
 * Expected is what the protocol says, worked out here anew: chunks of 3 blocks, growing by half up
 * to 64 blocks, each block with 4088 bytes of payload, three buffers. These are the default
 * parameters.
 */
#include "check.h"

#include <math.h>

enum {
    MESSAGES = 10,
    WARM = 40,
    PAYLOAD = 4088,
    FIRST = 3,
    LARGEST = 64,
    BUFFERS = 3,
    SEND_QUEUE = 128
};

enum counter {
    STAGED_MESSAGES,
    STAGED_BYTES,
    STAGED_CHUNKS,
    STAGED_RECEIVED,
    ACKS,
    GRANTS,
    DIRECT_PUTS,
    DIRECT_BYTES,
    REGISTRATIONS,
    DEREGISTRATIONS,
    SENT,
    RECEIVED,
    INLINE,
    RING_SENT,
    RING_RECEIVED,
    RING_OPENED,
    CREDITS,
    PROBES,
    READS,
    ATOMICS,
    REQUESTS,
    COMPLETIONS,
    COUNTERS
};

static const char *const names[COUNTERS] = {
    "staged_messages", "staged_bytes",      "staged_chunks",   "staged_received", "acks_written",
    "grants",          "direct_puts",       "direct_bytes",    "registrations",   "deregistrations",
    "messages_sent",   "messages_received", "messages_inline", "ring_sent",       "ring_received",
    "ring_opened",     "credits_written",   "probes",          "reads",           "atomics",
    "requests",        "completions"};

struct counts {
    unsigned long long value[COUNTERS];
};

static bool rings; /* carry what is small */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];

static void open_counters(void)
{
    int provided, number;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&number);
    for (int i = 0; i < number; i++) {
        char name[256], text[256];
        int name_size = sizeof(name), text_size = sizeof(text), count;
        int level, class, binding, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;

        if (MPI_T_pvar_get_info(i, name, &name_size, &level, &class, &type, &values, text,
                                &text_size, &binding, &readonly, &continuous,
                                &atomic) != MPI_SUCCESS ||
            strncmp(name, "btl_rbuf_", 9) != 0) {
            continue;
        }
        for (int c = 0; c < COUNTERS; c++) {
            if (strcmp(name + 9, names[c]) == 0) {
                MPI_T_pvar_handle_alloc(session, i, NULL, &handles[c], &count);
            }
        }
    }
    for (int c = 0; c < COUNTERS; c++) {
        check_that(handles[c] != NULL, "there is no counter %s", names[c]);
    }
}

/* Lets what is under way come in, and reads all counters. */
static struct counts snapshot(void)
{
    const double until = MPI_Wtime() + 0.3;
    struct counts counts = {{0}};
    int flag;

    while (MPI_Wtime() < until) {
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    for (int c = 0; c < COUNTERS; c++) {
        if (handles[c] != NULL) {
            MPI_T_pvar_read(session, handles[c], &counts.value[c]);
        }
    }
    return counts;
}

static void transfer(char *buffer, size_t size, uint64_t messages)
{
    for (uint64_t serial = 0; serial < messages; serial++) {
        if (check_rank == 0) {
            check_fill(buffer, size, check_seed(0, 1, serial));
            MPI_Send(buffer, (int) size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, (int) size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_match(buffer, size, check_seed(0, 1, serial), "received");
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* An empty message of that rank to the other: nobody's is under way while one reads its counters.
 */
static void word(int from)
{
    if (check_rank == from) {
        MPI_Send(NULL, 0, MPI_BYTE, 1 - from, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The chunks of a message whose chunks grow by that factor. The first one has the message's short
 * block, in addition if that is less than half of one. */
static unsigned long long chunks_of(size_t size, double growth)
{
    size_t left = (size + PAYLOAD - 1) / PAYLOAD;
    size_t more = size % PAYLOAD > 0 && size % PAYLOAD < PAYLOAD / 2;
    double blocks = FIRST;
    unsigned long long chunks = 0;

    while (left > 0) {
        size_t chunk = (size_t) floor(blocks + 0.5) + (chunks == 0 ? more : 0);

        left -= chunk < left ? chunk : left;
        blocks = blocks * growth < LARGEST ? blocks * growth : LARGEST;
        chunks++;
    }
    return chunks;
}

/* What each rank is to count for one message; other counters of those checked are 0. */
static struct counts expected_of(const char *protocol, size_t size)
{
    struct counts e = {{0}};
    bool sender = check_rank == 0;
    unsigned long long chunks = strcmp(protocol, "superpipeline") == 0 ? chunks_of(size, 1.5)
                                : strcmp(protocol, "pipeline") == 0    ? chunks_of(size, 1)
                                : strcmp(protocol, "copy") == 0        ? 1
                                                                       : 0;

    e.value[SENT] = 2; /* rendezvous and FIN; PUT and the answer */
    e.value[RECEIVED] = 2;
    e.value[RING_SENT] = e.value[RING_RECEIVED] = rings ? 2 : 0;
    if (chunks > 0) {
        e.value[sender ? STAGED_MESSAGES : GRANTS] = 1;
        e.value[sender ? STAGED_BYTES : STAGED_RECEIVED] = size;
        e.value[STAGED_CHUNKS] = sender ? chunks : 0;
        return e;
    }
    e.value[DIRECT_PUTS] = sender;
    e.value[DIRECT_BYTES] = sender ? size : 0;
    if (strcmp(protocol, "register") == 0) {
        e.value[REGISTRATIONS] = e.value[DEREGISTRATIONS] = 1;
    }
    return e;
}

static void check_exact(const struct counts *spent, const struct counts *expected, size_t size)
{
    static const enum counter exact[] = {
        STAGED_MESSAGES, STAGED_BYTES, STAGED_CHUNKS, STAGED_RECEIVED,
        GRANTS,          DIRECT_PUTS,  DIRECT_BYTES,  REGISTRATIONS,
        DEREGISTRATIONS, SENT,         RECEIVED,      READS,
        ATOMICS,         RING_SENT,    RING_RECEIVED, RING_OPENED};

    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
        enum counter c = exact[i];
        bool by_ring = c == RING_SENT || c == RING_RECEIVED;
        unsigned long long words =
            check_rank == 1 && (c == SENT || c == RECEIVED || (rings && by_ring));

        check_that(spent->value[c] == MESSAGES * expected->value[c] + words,
                   "%d messages of %zu bytes: %s is %llu, not %llu", MESSAGES, size, names[c],
                   spent->value[c], MESSAGES * expected->value[c] + words);
    }
}

/* An acknowledgement frees the buffer of a chunk for a later one; one may do for up to three. */
static void check_acks(const struct counts *spent, unsigned long long chunks, size_t size)
{
    unsigned long long most = chunks > BUFFERS ? MESSAGES * (chunks - BUFFERS) : 0;

    check_that(spent->value[ACKS] <= most && spent->value[ACKS] >= most / BUFFERS,
               "%d messages of %zu bytes: %llu acknowledgements, not %llu to %llu", MESSAGES, size,
               spent->value[ACKS], most / BUFFERS, most);
}

/* What was posted is what the protocols say they did, and no more; completions are asked for where
 * memory is to be used again (for a ring's slots credits say so), and now and then to make room in
 * the send queue. A probe leaves when it is due, perhaps just before the counters are read. */
static void check_requests(const struct counts *spent, size_t size)
{
    const unsigned long long *v = spent->value;
    unsigned long long posted = v[STAGED_CHUNKS] + v[ACKS] + v[CREDITS] + v[SENT] + v[PROBES] +
                                v[DIRECT_PUTS] + v[READS] + v[ATOMICS];
    unsigned long long asked = v[STAGED_CHUNKS] + v[SENT] - v[RING_SENT] - v[INLINE] + v[PROBES] +
                               v[DIRECT_PUTS] + v[READS] + v[ATOMICS];
    unsigned long long markers = v[REQUESTS] / (SEND_QUEUE / 4) + 2;
    unsigned long long least = asked - (v[PROBES] > 0);

    check_that(v[REQUESTS] == posted, "%d messages of %zu bytes: %llu requests, not %llu", MESSAGES,
               size, v[REQUESTS], posted);
    check_that(v[COMPLETIONS] >= least && v[COMPLETIONS] <= asked + markers,
               "%d messages of %zu bytes: %llu completions, not %llu to %llu", MESSAGES, size,
               v[COMPLETIONS], least, asked + markers);
}

static void check_size(const char *protocol, char *buffer, size_t size)
{
    const struct counts expected = expected_of(protocol, size);
    struct counts before, spent;
    unsigned long long chunks = strcmp(protocol, "pipeline") == 0        ? chunks_of(size, 1)
                                : strcmp(protocol, "superpipeline") == 0 ? chunks_of(size, 1.5)
                                                                         : 0;

    transfer(buffer, size, 2);
    if (check_rank == 1) {
        before = snapshot();
        word(1);
    } else {
        word(1);
        before = snapshot();
    }
    transfer(buffer, size, MESSAGES);
    if (check_rank == 0) {
        spent = snapshot();
        word(0);
    } else {
        word(0);
        spent = snapshot();
    }
    word(1);
    for (int c = 0; c < COUNTERS; c++) {
        spent.value[c] -= before.value[c];
    }
    check_exact(&spent, &expected, size);
    check_acks(&spent, check_rank == 1 ? chunks : 0, size);
    check_requests(&spent, size);
}

/* Enough small messages for the two to have a ring to each other, if they ever will. */
static void warm_up(char *buffer)
{
    struct counts counts;

    transfer(buffer, 1, WARM);
    counts = snapshot();
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(counts.value[RING_OPENED] == rings, "%llu rings are open",
               counts.value[RING_OPENED]);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {60000, 100000, CHECK_M, 4 * CHECK_M};
    char *buffer;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (argc != 3) {
        check_that(false, "usage: counts PROTOCOL rings|sends");
        return check_end();
    }
    rings = strcmp(argv[2], "rings") == 0;
    open_counters();
    buffer = check_memory(sizes[3]);
    warm_up(buffer);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_size(argv[1], buffer, sizes[i]);
    }
    free(buffer);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end();
}
