/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads SOFTHCA_FAULT, a comma list. README.md has it with what each does.
 *
 *   order=tail-first|random|backward|words
 *   overtake=P%
 *   qp-error=N                kill=N            link-down=N[:MS[:PORT]]                rnr=N[:MS]
 *   cq=ENTRIES                late=US[:JITTER]  memlock=N:BYTES
 *   call=NAME:WHICH           slow=NAME:WHICH:US               large=BYTES
 *   only=VARIABLE:VALUE       seed=S
 *
 * WHICH is N (the N-th call of the process), N+ (that and all later ones) or P% (by chance).
 *
 * Owns nothing but the names of the calls, which are constant.
 */
#define _GNU_SOURCE

#include "fault_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull

const char *const fault_call_names[FAULT_CALLS] = {
    [CALL_GET_DEVICE_LIST] = "get_device_list",
    [CALL_OPEN_DEVICE] = "open_device",
    [CALL_QUERY_DEVICE] = "query_device",
    [CALL_QUERY_PORT] = "query_port",
    [CALL_QUERY_GID] = "query_gid",
    [CALL_QUERY_PKEY] = "query_pkey",
    [CALL_ALLOC_PD] = "alloc_pd",
    [CALL_REG_MR] = "reg_mr",
    [CALL_DEREG_MR] = "dereg_mr",
    [CALL_CREATE_CQ] = "create_cq",
    [CALL_RESIZE_CQ] = "resize_cq",
    [CALL_POLL_CQ] = "poll_cq",
    [CALL_CREATE_QP] = "create_qp",
    [CALL_MODIFY_QP] = "modify_qp",
    [CALL_CREATE_SRQ] = "create_srq",
    [CALL_POST_SEND] = "post_send",
    [CALL_POST_RECV] = "post_recv",
    [CALL_POST_SRQ_RECV] = "post_srq_recv",
};

static bool take(const char **text, char expected)
{
    if (**text != expected)
        return false;
    ++*text;
    return true;
}

/* A count, from 1. */
static bool read_count(const char *text, uint64_t *out)
{
    return take_number(&text, 10, out) && !*text && *out;
}

/* Bytes, with k, M or G. */
static bool read_bytes(const char *text, uint64_t *out)
{
    uint64_t unit = 1;

    if (!take_number(&text, 10, out))
        return false;
    if (take(&text, 'k'))
        unit <<= 10;
    else if (take(&text, 'M'))
        unit <<= 20;
    else if (take(&text, 'G'))
        unit <<= 30;
    return !*text && !__builtin_mul_overflow(*out, unit, out);
}

/* N or N:TIME, the time in units of so many ns; 0 where it is left out. */
static bool read_count_and_time(const char *text, uint64_t unit_ns, uint64_t *count, uint64_t *ns)
{
    uint64_t time = 0;

    if (!take_number(&text, 10, count) ||
        (*text && (!take(&text, ':') || !take_number(&text, 10, &time))))
        return false;
    return !*text && !__builtin_mul_overflow(time, unit_ns, ns);
}

/* N[:MS[:PORT]], the port counted from 1 over all devices. */
static bool read_down(const char *text, struct faults *faults)
{
    struct fault_down down = {.wanted = true};
    uint64_t ms = 0, port = 1;

    if (!take_number(&text, 10, &down.after) ||
        (take(&text, ':') && !take_number(&text, 10, &ms)) ||
        (take(&text, ':') && !take_number(&text, 10, &port)) || *text || !port ||
        port > NODE_PORTS || __builtin_mul_overflow(ms, NS_PER_MS, &down.ns))
        return false;
    faults->any_down = true;
    faults->down[port - 1] = down;
    return true;
}

static bool take_choice(const char **text, struct fault_choice *out)
{
    if (!take_number(text, 10, &out->n))
        return false;
    out->kind = FAULT_NTH;
    if (take(text, '+'))
        out->kind = FAULT_FROM;
    else if (take(text, '%'))
        out->kind = FAULT_CHANCE;
    return out->n && (out->kind != FAULT_CHANCE || out->n <= 100);
}

static bool take_call(const char **text, enum fault_call *out)
{
    size_t length = strcspn(*text, ":");

    for (unsigned i = 0; i < FAULT_CALLS; i++) {
        if (strlen(fault_call_names[i]) == length && !strncmp(fault_call_names[i], *text, length)) {
            *out = i;
            *text += length;
            return take(text, ':');
        }
    }
    return false;
}

/* NAME:WHICH, and :US if ns is not NULL. */
static bool read_call(const char *text, struct faults *faults, bool slow)
{
    struct fault_choice choice;
    enum fault_call call;
    uint64_t us;

    if (!take_call(&text, &call) || !take_choice(&text, &choice))
        return false;
    faults->any_call = true;
    if (!slow) {
        faults->fail[call] = choice;
        return !*text;
    }
    faults->slow[call] = choice;
    return take(&text, ':') && take_number(&text, 10, &us) && !*text &&
           !__builtin_mul_overflow(us, NS_PER_US, &faults->slow_ns[call]);
}

static bool read_memlock(const char *text, struct faults *faults)
{
    return take_number(&text, 10, &faults->memlock_after) && take(&text, ':') &&
           read_bytes(text, &faults->memlock) && faults->memlock;
}

/* VARIABLE:VALUE; elsewhere is set if another process is meant. */
static bool read_only(const char *text, bool *elsewhere)
{
    char name[64];
    size_t length = strcspn(text, ":");
    const char *value;

    if (!length || length >= sizeof(name) || text[length] != ':')
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    value = getenv(name);
    *elsewhere |= !value || strcmp(value, text + length + 1);
    return true;
}

static bool read_order(const char *text, struct faults *faults)
{
    if (!strcmp(text, "tail-first"))
        faults->order = ORDER_TAIL_FIRST;
    else if (!strcmp(text, "random"))
        faults->order = ORDER_RANDOM;
    else if (!strcmp(text, "backward"))
        faults->order = ORDER_BACKWARD;
    else if (!strcmp(text, "words"))
        faults->order = ORDER_WORDS;
    else
        return false;
    return true;
}

/* P% */
static bool read_overtake(const char *text, struct faults *faults)
{
    struct fault_choice choice;

    if (!take_choice(&text, &choice) || *text || choice.kind != FAULT_CHANCE)
        return false;
    faults->overtake = choice.n;
    return true;
}

static bool read_item(const char *name, const char *value, struct faults *faults, bool *elsewhere)
{
    if (!strcmp(name, "order"))
        return read_order(value, faults);
    if (!strcmp(name, "overtake"))
        return read_overtake(value, faults);
    if (!strcmp(name, "qp-error"))
        return read_count(value, &faults->qp_error_after);
    if (!strcmp(name, "kill"))
        return read_count(value, &faults->kill_after);
    if (!strcmp(name, "link-down"))
        return read_down(value, faults);
    if (!strcmp(name, "rnr"))
        return read_count_and_time(value, NS_PER_MS, &faults->rnr_after, &faults->rnr_ns) &&
               faults->rnr_after;
    if (!strcmp(name, "cq"))
        return read_count(value, &faults->cq_entries);
    if (!strcmp(name, "late"))
        return read_count_and_time(value, NS_PER_US, &faults->late_ns, &faults->jitter_ns) &&
               !__builtin_mul_overflow(faults->late_ns, NS_PER_US, &faults->late_ns);
    if (!strcmp(name, "memlock"))
        return read_memlock(value, faults);
    if (!strcmp(name, "call"))
        return read_call(value, faults, false);
    if (!strcmp(name, "slow"))
        return read_call(value, faults, true);
    if (!strcmp(name, "large"))
        return read_bytes(value, &faults->large);
    if (!strcmp(name, "only"))
        return read_only(value, elsewhere);
    if (!strcmp(name, "seed"))
        return read_count(value, &faults->seed);
    return false;
}

const char *faults_read(char *list, struct faults *out)
{
    struct faults faults = {.seed = 1};
    bool elsewhere = false;
    char *save, *item;

    for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(item, '=');
        bool read;

        if (!equals)
            return item;
        *equals = '\0';
        read = read_item(item, equals + 1, &faults, &elsewhere);
        *equals = '=';
        if (!read)
            return item;
    }
    *out = elsewhere ? (struct faults){.seed = 1} : faults;
    return NULL;
}
