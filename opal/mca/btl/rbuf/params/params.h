/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component's parameters: one table with name, default, unit, range and text (params/rows.h),
 * which is what ompi_info prints. Values are read as text and checked by us, all of them, before
 * anything is opened.
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
#define NUMBER(name, ...) uint64_t name;
#define STRING(name, ...) const char *name;
#include "params/rows.h"
#undef NUMBER
#undef STRING
    uint64_t port_min; /* read from listen_ports */
    uint64_t port_max;
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

/* That of the protocol in effect. */
const char *mca_btl_rbuf_protocol_name(void);

#endif
