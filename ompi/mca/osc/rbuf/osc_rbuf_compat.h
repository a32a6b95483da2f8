/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What differs between the Open MPI releases that osc/rbuf is built for (4.1, 5.0, 6.0).
 */
#ifndef OSC_RBUF_COMPAT_H
#define OSC_RBUF_COMPAT_H

#include "ompi_config.h"

#include <stddef.h>

#include "ompi/mca/osc/osc.h"

#ifdef OMPI_OSC_BASE_VERSION_4_0_0
#define OSC_RBUF_FRAMEWORK OMPI_OSC_BASE_VERSION_4_0_0
typedef size_t osc_rbuf_count_t;   /* elements of a type */
typedef ptrdiff_t osc_rbuf_unit_t; /* bytes of a displacement */
#else
#define OSC_RBUF_FRAMEWORK OMPI_OSC_BASE_VERSION_3_0_0
typedef int osc_rbuf_count_t;
typedef int osc_rbuf_unit_t;
#endif

#endif
