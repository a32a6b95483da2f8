/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The launcher's command line: what the user asked for, checked. A wrong value is reported here, in
 * one line that names the option, the value and what is allowed.
 */
#ifndef SOFTHCA_OPTIONS_H
#define SOFTHCA_OPTIONS_H

#include "models.h"
#include "profiles.h"

/* What the launcher is to do; the strings belong to argv or are constants. */
struct softhca_options {
    struct softhca_settings settings;
    const struct softhca_profile *profile;
    const char *fabric;        /* name of the fabric, NULL: named after the settings alone */
    const char *stats;         /* file for counters, NULL: none */
    const char *data_in_order; /* as SOFTHCA_DATA_IN_ORDER; NULL: as the environment has it */
    const char *fault;         /* faults to inject, NULL: none */
    const char *max_inline;    /* bytes, as text; NULL: as the environment has it */
    const char *like;          /* name of a model; NULL: as the environment has it */
    const char *ports, *devices, *pkeys; /* text; NULL: as the environment has it */
    bool grh_required;                   /* false: as the environment has it */
    bool verbose;
    char **command; /* NULL-terminated, never empty */
};

enum options_outcome {
    OPTIONS_RUN,   /* options are filled in: run the command */
    OPTIONS_DONE,  /* something was printed as asked: leave with success */
    OPTIONS_WRONG, /* the fault has been reported */
};

enum options_outcome options_parse(int argc, char **argv, struct softhca_options *options);

#endif
