/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What differs between the Open MPI releases that osc/rbuf is built for (4.1, 5.0, 6.0). No state.
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

/* Texts of info objects, as callbacks get and give them. */
#if OMPI_MAJOR_VERSION >= 5
typedef const char osc_rbuf_text_t;
#else
typedef char osc_rbuf_text_t;
#endif

/* What a callback gives back of a value that it did not take, where `used` stays in use. Open MPI
 * 4.1 shows the program's value whatever it gets here, and nothing if it gets NULL. */
static inline osc_rbuf_text_t *osc_rbuf_not_taken(osc_rbuf_text_t *used)
{
    return OMPI_MAJOR_VERSION >= 5 ? used : NULL;
}

#endif
