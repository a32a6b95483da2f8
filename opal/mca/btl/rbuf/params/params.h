/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component's parameters: one table with name, default, unit, range and text, which is what
 * ompi_info prints. Values are read as text and checked by us, all of them, before anything is
 * opened.
 */
#ifndef BTL_RBUF_PARAMS_H
#define BTL_RBUF_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/mca/mca.h"

enum mca_btl_rbuf_protocol {
    MCA_BTL_RBUF_SUPERPIPELINE,
    MCA_BTL_RBUF_PIPELINE,
    MCA_BTL_RBUF_COPY,
    MCA_BTL_RBUF_REGISTER,
    MCA_BTL_RBUF_RCACHE,
    MCA_BTL_RBUF_AUTO,
    MCA_BTL_RBUF_HELPER,
    MCA_BTL_RBUF_DEFAULT /* until module/default.c has chosen */
};

enum mca_btl_rbuf_switch { MCA_BTL_RBUF_OFF, MCA_BTL_RBUF_ON };

#define MCA_BTL_RBUF_RING_LONGEST_AUTO UINT64_MAX /* eager_limit */

/* Values as checked; sizes in bytes, times in ns, q in 16.16 fixed point. */
struct mca_btl_rbuf_params {
    uint64_t protocol; /* enum mca_btl_rbuf_protocol */
    uint64_t c0;
    uint64_t q;
    uint64_t buffers; /* 0: chosen at start */
    uint64_t largest_chunk;
    uint64_t pipeline_chunk; /* 0: c0 */
    uint64_t pipeline_gap;   /* bytes; 0: pipeline_chunk for all lengths */
    uint64_t block_size;
    uint64_t staging_size;  /* 0: chosen at start */
    uint64_t staging_start; /* likewise */
    uint64_t grant_wait;
    uint64_t subblock;      /* enum rbuf_in_order_choice */
    uint64_t check_timeout; /* ns */
    uint64_t early_data;    /* enum mca_btl_rbuf_switch */
    uint64_t early_peers;   /* 0: none has a window */
    uint64_t early_size;
    uint64_t early_c0;
    uint64_t allow_cache;
    uint64_t registration_time;
    uint64_t registration_page_time;
    uint64_t helper_policy; /* enum rbuf_sharing */
    uint64_t helper_frames; /* enum mca_btl_rbuf_switch */
    uint64_t helper_delay;
    uint64_t helper_min;
    uint64_t helper_regions;
    uint64_t reuse; /* enum mca_btl_rbuf_switch */
    uint64_t reuse_min;
    uint64_t reuse_buffers;
    uint64_t reuse_speculation; /* percent */
    uint64_t report;            /* enum mca_btl_rbuf_report_level */
    uint64_t show;              /* 0: nothing */
    uint64_t quantum;
    uint64_t fork_support;  /* enum rbuf_fork_choice */
    const char *if_include; /* "" if not given */
    const char *if_exclude;
    uint64_t gid_index; /* UINT64_MAX: automatic */
    uint64_t mtu;       /* 0: the port's */
    uint64_t pkey;
    uint64_t service_level;
    uint64_t traffic_class;
    uint64_t timeout;
    uint64_t retry_count;
    uint64_t rnr_retry;
    uint64_t min_rnr_timer;
    const char *listen_if;
    const char *listen_ports;
    uint64_t port_min; /* read from listen_ports */
    uint64_t port_max;
    uint64_t connect_timeout;
    uint64_t answer_timeout;    /* 0: none */
    uint64_t raise_descriptors; /* enum mca_btl_rbuf_switch */
    uint64_t probe_interval;
    uint64_t async_progress; /* 0: none */
    uint64_t rma_order;      /* enum rbuf_rma_order */
    uint64_t control_credits;
    uint64_t bulk_credits;
    uint64_t control_buffers;
    uint64_t control_size;
    uint64_t bulk_buffers;
    uint64_t send_queue;  /* 0: by the number of peers */
    uint64_t polling_set; /* 0: no rings */
    uint64_t ring_slots;
    uint64_t ring_slot_size;
    uint64_t ring_c0;
    uint64_t ring_longest; /* or MCA_BTL_RBUF_RING_LONGEST_AUTO */
    uint64_t ring_threshold;
};

extern struct mca_btl_rbuf_params mca_btl_rbuf_params;

/* Registers every parameter with Open MPI. 0 or an OPAL error. Looks at no hardware. */
int mca_btl_rbuf_params_register(const mca_base_component_t *component);

/* Reads and checks all values into mca_btl_rbuf_params. False after one help message that names the
 * parameter, the value and what is allowed. */
bool mca_btl_rbuf_params_check(void);

/* False after one help message if `share` bytes of the given staging, which one of so many ports
 * has, are too little for any message. */
bool mca_btl_rbuf_params_check_staging(uint64_t share, size_t ports);

/* The text of a protocol. */
const char *mca_btl_rbuf_protocol_name(enum mca_btl_rbuf_protocol protocol);

#endif
