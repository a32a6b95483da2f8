/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component's parameters that this job runs with: as Open MPI's tools interface tells them
 * where the component is loaded, else from the environment that mpirun's --mca fills, else the
 * defaults.
 */
#ifndef RBUF_TUNE_SETTINGS_H
#define RBUF_TUNE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/schedule.h"
#include "verbs/device.h"

enum { TUNE_TEXT_MAX = 256 };

struct tune_settings {
    char protocol[TUNE_TEXT_MAX];
    uint64_t first;   /* C0, bytes, like the next three */
    uint64_t largest; /* chunk */
    uint64_t block;
    uint64_t quantum;
    uint32_t growth; /* 16.16 fixed point */
    unsigned buffers;
    bool early_data;
    uint64_t early_peers;
    uint64_t early_size;    /* most early data of a message, bytes */
    uint64_t early_opening; /* of its first chunk, bytes */
    uint64_t staging_size;  /* bytes, of both directions; 0: as much as rbuf likes */
    uint64_t eager_limit;   /* bytes; up to here messages are sent eagerly */
    struct rbuf_device_options device;
    char include[TUNE_TEXT_MAX]; /* what device.include points to, likewise the next */
    char exclude[TUNE_TEXT_MAX];
};

/* Between MPI_Init() and MPI_Finalize(). False: `bad` names the first parameter that is not
 * understood. */
bool tune_settings_read(struct tune_settings *settings, char bad[TUNE_TEXT_MAX]);

/* The schedule that these settings make, for a port that places in order or does not. Less staging
 * than they want shortens it, as it does the component's. */
struct rbuf_schedule tune_settings_schedule(const struct tune_settings *settings, bool in_order);

/* Bytes of receive staging there may be, as the component reckons for one port. */
uint64_t tune_settings_staging(const struct tune_settings *settings);

#endif
