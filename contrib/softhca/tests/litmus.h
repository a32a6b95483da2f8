/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Two connected sides in two processes, and the steps that litmus tests are made of. */
#ifndef LITMUS_H
#define LITMUS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    QUEUE_PAIRS = 2,
    BUFFER_BYTES = 4 << 20,
    VICTIM_OFFSET = 2 << 20,
    IMMEDIATE = 0x12345678,
};

/* What each side tells the other. */
struct address {
    uint32_t number[QUEUE_PAIRS];
    uint32_t lid; /* 0: RoCE, the GID counts */
    union ibv_gid gid;
    uint32_t rkey, read_only_rkey, foreign_rkey;
    uint64_t addr;
    uint64_t victim_offset;
};

struct side {
    int socket;
    pid_t other; /* the passive process, for the active side */
    struct ibv_context *context;
    struct ibv_pd *pd, *foreign_pd;
    struct ibv_cq *cq; /* of all */
    struct ibv_qp *qp[QUEUE_PAIRS];
    struct ibv_mr *mr, *read_only_mr, *foreign_mr;
    uint8_t *buffer;
    struct address own, peer;
};

/* Runs both sides; whether both were content within 20 s. */
bool run_pair(void (*active)(struct side *), void (*passive)(struct side *));

/* Reports and ends this side. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A token to and from the other side. */
void notify(struct side *side);
void await_peer(struct side *side);

/* The same with a word in it. */
void answer(struct side *side, bool yes);
bool await_answer(struct side *side);

/* Posts n bytes at an offset of the own buffer to, or from, an offset of the peer's. */
void post(struct side *side, int qp, enum ibv_wr_opcode opcode, size_t local, size_t n,
          uint64_t remote, unsigned flags);
void post_wr(struct side *side, int qp, struct ibv_send_wr *wr);
/* On the word at an offset of the peer's buffer; the old value goes to the begin of the own. */
void post_atomic(struct side *side, enum ibv_wr_opcode opcode, uint64_t remote,
                 uint64_t compare_add, uint64_t swap);
void post_receive(struct side *side, int qp, size_t local, size_t n);

/* Waits for one completion, which must have that status. */
struct ibv_wc expect_completion(struct side *side, enum ibv_wc_status status);
struct ibv_wc expect_either(struct side *side, enum ibv_wc_status a, enum ibv_wc_status b);
/* Polls for that long and expects nothing. */
void poll_for(struct side *side, uint64_t ns);

void set_rnr_retry(struct side *side, unsigned retries);
/* Connects the first queue pair to a second one of this same side instead. */
void loop_back(struct side *side, int with);
/* Whether the kernel lets this process watch its mappings. */
bool can_watch(void);
uint64_t now_ns(void);

#endif
