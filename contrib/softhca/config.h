/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The settings of libsofthca, read once a process from the environment, and its reports to stderr.
 * The table of the variables is in config.c.
 *
 * Owns "config": written by the first config_read(), constant afterwards. Any thread.
 */
#ifndef SOFTHCA_CONFIG_H
#define SOFTHCA_CONFIG_H

#include "models.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_DEVICES      8u
#define MAX_DEVICE_PORTS 8u
#define NODE_PORTS       16u /* of all devices of a process */
#define DEFAULT_SUBNET   0xfe80000000000000ull
#define DEFAULT_PKEY     0xffffu /* full member of the partition that every subnet has */
#define MAX_PKEYS        16u     /* of a port */
#define MAX_GIDS         8u      /* of a port */

enum link_layer { LINK_LAYER_IB, LINK_LAYER_ROCE, LINK_LAYER_IWARP, LINK_LAYER_UNSPECIFIED };

/* An entry of a port's GID table without what is the port's own in it. */
struct gid_setting {
    uint64_t network; /* first 64 bits of the GID; of an IPv4 address its first 16 bits */
    uint32_t type;    /* enum ibv_gid_type */
    bool is_ipv4;
};

/* One of the process's devices. */
struct device_setting {
    char name[32];
    const struct device_model *model;
    uint32_t max_inline; /* bytes: the model's, unless set */
    enum link_layer link_layer;
    uint64_t
        bandwidth; /* bytes/s of each port and direction; 0: as the fabric's first process set it */
    uint32_t ports;
    uint32_t first_port; /* its first port's index among all of the process's */
    uint64_t subnet;     /* prefix of its GID, where it is given none in particular */
    uint32_t n_gids;     /* of each port, at least 1 */
    struct gid_setting gids[MAX_GIDS];
    uint32_t n_pkeys; /* of each port, at least 1 */
    uint16_t pkeys[MAX_PKEYS];
    char local_cpus[320]; /* what sysfs answers, empty if nothing */
    bool is_down;
};

/* A cost that grows with the number of pages. */
struct page_cost {
    uint64_t base_ns;
    uint64_t page_ns;
};

enum write_order { ORDER_KEPT, ORDER_TAIL_FIRST, ORDER_RANDOM, ORDER_BACKWARD, ORDER_WORDS };

/* What ibv_query_qp_data_in_order promises of the bytes of a message: nothing, their order within
 * each aligned 128 bytes, or within all of it. */
enum data_in_order { IN_ORDER_NOT, IN_ORDER_ALIGNED, IN_ORDER_WHOLE };

/* The calls that can be made to fail or to take long. */
enum fault_call {
    CALL_GET_DEVICE_LIST,
    CALL_OPEN_DEVICE,
    CALL_QUERY_DEVICE,
    CALL_QUERY_PORT,
    CALL_QUERY_GID,
    CALL_QUERY_PKEY,
    CALL_ALLOC_PD,
    CALL_REG_MR,
    CALL_DEREG_MR,
    CALL_CREATE_CQ,
    CALL_RESIZE_CQ,
    CALL_POLL_CQ,
    CALL_CREATE_QP,
    CALL_MODIFY_QP,
    CALL_CREATE_SRQ,
    CALL_POST_SEND,
    CALL_POST_RECV,
    CALL_POST_SRQ_RECV,
    FAULT_CALLS
};

/* Which of a process's calls: none, the n-th, that and all later ones, or n of a hundred. */
enum fault_choice_kind { FAULT_NEVER, FAULT_NTH, FAULT_FROM, FAULT_CHANCE };

struct fault_choice {
    enum fault_choice_kind kind;
    uint64_t n;
};

/* What SOFTHCA_FAULT asks for, see fault_list.c. Counts are from 1; a count of 0 is never. */
struct fault_down {
    bool wanted;
    uint64_t after; /* requests of the process; 0: down at start */
    uint64_t ns;    /* 0: for ever */
};

struct faults {
    enum write_order order;
    uint64_t overtake; /* so many of a hundred writes are overtaken by later ones */
    bool any_call;     /* one of fail and slow is set */
    struct fault_choice fail[FAULT_CALLS];
    struct fault_choice slow[FAULT_CALLS];
    uint64_t slow_ns[FAULT_CALLS];
    uint64_t large;          /* bytes; smaller regions do not count as calls of reg_mr */
    uint64_t qp_error_after; /* work requests a queue pair */
    uint64_t kill_after;     /* work requests of the process, as the next */
    bool any_down;
    struct fault_down down[NODE_PORTS];
    uint64_t rnr_after; /* receives taken from a queue */
    uint64_t rnr_ns;    /* 0: for ever */
    uint64_t cq_entries;
    uint64_t late_ns;
    uint64_t jitter_ns;
    uint64_t memlock_after; /* registrations */
    uint64_t memlock;       /* bytes */
    uint64_t seed;
};

struct config {
    uint64_t bandwidth;
    uint64_t latency_ns;
    uint64_t gap_ns;
    struct page_cost registration;
    struct page_cost deregistration;
    uint64_t memlock;
    char segment[192];
    char port[32];
    enum data_in_order data_in_order;
    bool check_stale;
    bool share_pages;
    struct device_setting devices[MAX_DEVICES];
    uint32_t n_devices;
    uint32_t n_ports;  /* of all devices */
    bool grh_required; /* of InfiniBand; RoCE always wants one */
    bool old_fork;     /* ibv_fork_init() is needed */
    unsigned verbosity;
    char stats[256];
    struct faults faults;
};
extern struct config config;

/* Reads the environment; later calls do nothing. A value that cannot be read is reported and the
 * process ends, since a figure taken under settings nobody asked for is worse than none. */
void config_read(void);

/* Reports to stderr: always, or from a verbosity on. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_at(unsigned verbosity, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole number at *text in a base, which is moved behind it; no sign, no blank. For the readers
 * of settings. */
static inline bool take_number(const char **text, int base, uint64_t *out)
{
    char *end;

    if (!isxdigit((unsigned char) **text))
        return false;
    errno = 0;
    *out = strtoull(*text, &end, base);
    if (end == *text || errno)
        return false;
    *text = end;
    return true;
}

/* The device that has a port, counted over all devices. */
const struct device_setting *config_device(uint32_t port);

#endif
