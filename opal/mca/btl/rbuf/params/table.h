/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the table of parameters (params.c) has of each, for those who read values (check.c). No
 * state but the values.
 */
#ifndef BTL_RBUF_PARAMS_TABLE_H
#define BTL_RBUF_PARAMS_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum kind {
    SIZE,   /* bytes */
    COUNT,  /* a number */
    TIME,   /* ns */
    RATIO,  /* 16.16 fixed point */
    CHOICE, /* index into `choices` */
    TEXT
};

struct parameter {
    const char *name;
    const char *initial; /* the default */
    enum kind kind;
    int level;     /* of ompi_info, 1 to 9 */
    size_t offset; /* of its field in struct mca_btl_rbuf_params */
    uint64_t min;  /* of a number: min and max are allowed */
    uint64_t max;
    const char *nothing; /* a word that stands for `nothing_value`, or NULL */
    uint64_t nothing_value;
    const char *const *choices; /* of a CHOICE, which has no range: the words, and NULL */
    const char *range;          /* unit and range, for people */
    const char *text;           /* for people */
    char *value;                /* as Open MPI read it; or NULL */
};

extern struct parameter mca_btl_rbuf_parameters[]; /* the last one has no name */

/* Writes unit and range for people, or the choices that this build has. */
void mca_btl_rbuf_parameter_range(const struct parameter *parameter, char *text, size_t bytes);

/* Says once that parameters of features were set that this build leaves out. Those of a feature
 * stand together in the table. */
void mca_btl_rbuf_params_tell_left_out(void);

#endif
