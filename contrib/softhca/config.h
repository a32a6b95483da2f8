/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The environment variables that steer libsofthca, read once a process; the table is in config.c.
 */
#ifndef SOFTHCA_CONFIG_H
#define SOFTHCA_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum link_layer { LINK_LAYER_IB, LINK_LAYER_ROCE };

/* A cost that grows with the number of pages. */
struct page_cost {
    uint64_t base_ns;
    uint64_t page_ns;
};

enum write_order { ORDER_KEPT, ORDER_TAIL_FIRST, ORDER_RANDOM };

struct faults {
    enum write_order order;
    uint64_t qp_error_after; /* work requests a queue pair, 0 = never */
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
    bool data_in_order;
    bool check_stale;
    enum link_layer link_layer;
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

#endif
