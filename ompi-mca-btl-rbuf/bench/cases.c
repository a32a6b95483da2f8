/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Names and helps, in the order of the enums.
 */
#include "bench/cases.h"

const struct bench_word bench_pattern_words[BENCH_PATTERNS] = {
    [BENCH_PINGPONG] = {"pingpong", "one message there, one back; half of the time"},
    [BENCH_STREAM] = {"stream",
                      "a window of 16 messages one way, then an empty answer; time a message"},
    [BENCH_RATE] = {"rate", "the same with windows of 64, sixteen of them back to back"},
    [BENCH_BOTH] = {"both",
                    "both ranks send and receive at once; the slower rank's time a message"},
    [BENCH_OVERLAP_SEND] = {"overlap-send", "one message one way while the sender computes"},
    [BENCH_OVERLAP_RECV] = {"overlap-recv", "the same while the receiver computes"},
    [BENCH_OVERLAP] = {"overlap", "the same while both compute"},
    [BENCH_SENDS] = {"sends", "as stream, by blocking sends"},
    [BENCH_PROCESSOR] = {"processor",
                         "--window sends (16) while the sender computes; its time for one"},
    [BENCH_SPECTRUM] = {"spectrum",
                        "ping-pongs with --window buffers (1000), the i-th of them i times"},
    [BENCH_PUT] = {"put", "--window puts (1) and a fence; time a put"},
    [BENCH_GET] = {"get", "the same with gets"},
    [BENCH_PUT_SPECTRUM] = {"put-spectrum", "a put and a fence, with the buffers of spectrum"},
    [BENCH_GET_SPECTRUM] = {"get-spectrum", "a get and a fence, likewise"},
    [BENCH_PUT_PSCW] = {"put-pscw",
                        "a put in post-start-complete-wait, and one back; half the time"},
    [BENCH_GET_PSCW] = {"get-pscw", "the same with gets"},
    [BENCH_PUTS_GETS] = {"puts-gets",
                         "--window puts (16), then as many gets, in start-complete; time of one"},
    [BENCH_PUT_GET_PSCW] = {"put-get-pscw",
                            "a put and a get in start-complete, and two back; half the time"},
    [BENCH_BCAST] = {"bcast", "MPI_Bcast among all ranks, then a barrier off the clock; mean"},
    [BENCH_SCATTER] = {"scatter", "MPI_Scatter likewise, out of one array of messages"},
    [BENCH_ALLREDUCE] = {"allreduce", "MPI_Allreduce likewise, the bytes' exclusive or"},
    [BENCH_BARRIER] = {"barrier", "MPI_Barrier likewise, alike for all sizes"},
    [BENCH_LATE] = {"late", "the receiver comes --late after the sender; the receive's own time"},
};

const struct bench_word bench_type_words[BENCH_TYPES] = {
    [BENCH_BYTES] = {"bytes", "contiguous"},
    [BENCH_VECTOR] = {"vector", "blocks of 64 bytes, 128 apart (MPI_Type_vector)"},
    [BENCH_STRUCT] = {"struct", "a double and an int in every 16 bytes (MPI_Type_create_struct)"},
};

const struct bench_word bench_cache_words[BENCH_CACHES] = {
    [BENCH_WARM] = {"warm", "both buffers just written by the processor"},
    [BENCH_COLD_RECV] = {"cold-recv", "the caches hold nothing of the receive buffer"},
    [BENCH_COLD] = {"cold", "nor of the send buffer"},
};
