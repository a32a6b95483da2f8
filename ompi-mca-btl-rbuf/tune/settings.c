/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads the parameters of a table; each is checked as the component checks it.
 */
#include "tune/settings.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params/values.h"
#include "core/base/wire.h"
#include "verbs/memory.h"

#define EAGER_LIMIT  49152u                /* the default of btl_rbuf_eager_limit */
#define EARLY_MOST   ((uint64_t) 1 << 30)  /* bytes */
#define STAGING_AUTO ((uint64_t) 32 << 20) /* bytes, where no limit is near */
#define VALUE_MAX    4096                  /* Open MPI's limit for a string variable is 2048 */

enum kind { SIZE, COUNT, RATIO, SWITCH, ORDER, TEXT };

/* Parameters as the component names them; see its own table. */
static const struct {
    const char *name, *standard;
    enum kind kind;
    const char *instead; /* a word that stands for `value` */
    uint64_t value;
} rows[] = {
    {"protocol", "default", TEXT, NULL, 0},
    {"c0", "12k", SIZE, NULL, 0},
    {"q", "1.5", RATIO, NULL, 0},
    {"buffers", "auto", COUNT, "auto", 3},
    {"largest_chunk", "256k", SIZE, NULL, 0},
    {"block_size", "4k", SIZE, NULL, 0},
    {"quantum", "16k", SIZE, NULL, 0},
    {"early_data", "on", SWITCH, NULL, 0},
    {"early_peers", "16", COUNT, NULL, 0},
    {"early_size", "72k", SIZE, NULL, 0},
    {"early_c0", "4k", SIZE, NULL, 0},
    {"staging_size", "auto", SIZE, "auto", 0},
    {"subblock", "auto", ORDER, NULL, 0},
    {"if_include", "", TEXT, NULL, 0},
    {"if_exclude", "", TEXT, NULL, 0},
    {"gid_index", "auto", COUNT, "auto", (uint64_t) RBUF_GID_AUTOMATIC},
    {"mtu", "auto", COUNT, "auto", 0},
    {"pkey", "auto", COUNT, "auto", 0},
    {"service_level", "0", COUNT, NULL, 0},
    {"traffic_class", "0", COUNT, NULL, 0},
    {"timeout", "16", COUNT, NULL, 0},
    {"retry_count", "6", COUNT, NULL, 0},
    {"rnr_retry", "7", COUNT, NULL, 0},
    {"min_rnr_timer", "12", COUNT, NULL, 0},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* The component's own value, by the tools interface. */
static bool ask_component(const char *full, char *value)
{
    MPI_T_cvar_handle handle;
    int index, count;

    if (MPI_T_cvar_get_index(full, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) {
        return false;
    }
    value[0] = '\0';
    const bool read = count <= VALUE_MAX && MPI_T_cvar_read(handle, value) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return read;
}

/* A parameter that Open MPI gives each BTL, and that is a number there. */
static uint64_t eager_limit(void)
{
    MPI_T_cvar_handle handle;
    uint64_t limit = EAGER_LIMIT;
    int index, count;

    if (MPI_T_cvar_get_index("btl_rbuf_eager_limit", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        if (count != 1 || MPI_T_cvar_read(handle, &limit) != MPI_SUCCESS) {
            limit = EAGER_LIMIT;
        }
        MPI_T_cvar_handle_free(&handle);
    }
    return limit;
}

static void find_value(const char *name, const char *standard, char *value)
{
    char full[80];
    const char *given;

    snprintf(full, sizeof full, "OMPI_MCA_btl_rbuf_%s", name);
    if (ask_component(full + strlen("OMPI_MCA_"), value)) {
        return;
    }
    given = getenv(full);
    snprintf(value, VALUE_MAX, "%s", given != NULL ? given : standard);
}

static bool read_word(const char *text, const char *const *words, uint64_t *value)
{
    for (*value = 0; words[*value] != NULL; (*value)++) {
        if (strcmp(text, words[*value]) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_row(int row, const char *text, uint64_t *value)
{
    static const char *const switches[] = {"off", "on", NULL};
    static const char *const orders[] = {"auto", "checked", "on", "off",
                                         NULL}; /* rbuf_in_order_choice */

    if (rows[row].instead != NULL && strcmp(text, rows[row].instead) == 0) {
        *value = rows[row].value;
        return true;
    }
    switch (rows[row].kind) {
    case SIZE:
        return mca_btl_rbuf_read_size(text, value);
    case COUNT:
        return mca_btl_rbuf_read_count(text, value);
    case RATIO:
        return mca_btl_rbuf_read_ratio(text, value);
    case SWITCH:
        return read_word(text, switches, value);
    case ORDER:
        return read_word(text, orders, value);
    case TEXT:
        break;
    }
    return strlen(text) < TUNE_TEXT_MAX;
}

static int row_of(const char *name)
{
    int row = 0;

    while (row < ROWS && strcmp(rows[row].name, name) != 0) {
        row++;
    }
    return row;
}

/* Reads all rows into numbers and texts. */
static bool read_rows(uint64_t *numbers, char (*texts)[VALUE_MAX], uint64_t *eager, char *bad)
{
    int provided;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        snprintf(bad, TUNE_TEXT_MAX, "the tools interface of MPI cannot be opened");
        return false;
    }
    for (int row = 0; row < ROWS; row++) {
        find_value(rows[row].name, rows[row].standard, texts[row]);
        if (!read_row(row, texts[row], &numbers[row])) {
            snprintf(bad, TUNE_TEXT_MAX, "btl_rbuf_%s '%.60s' is not understood", rows[row].name,
                     texts[row]);
            MPI_T_finalize();
            return false;
        }
    }
    *eager = eager_limit();
    MPI_T_finalize();
    return true;
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* What the component asserts too, as far as a schedule needs it. */
static bool check(const struct tune_settings *settings, char *bad)
{
    struct rbuf_schedule schedule;

    if (settings->early_peers > RBUF_EARLY_PEERS_MAX || settings->early_size > EARLY_MOST ||
        settings->early_opening > EARLY_MOST) {
        snprintf(bad, TUNE_TEXT_MAX,
                 "btl_rbuf_early_peers, early_size or early_c0 is more than allowed");
        return false;
    }
    if (settings->buffers > RBUF_BUFFERS_MAX || settings->block == 0 ||
        settings->first > settings->largest ||
        settings->largest / settings->block > RBUF_BUFFER_BLOCKS || settings->buffers == 0 ||
        tune_settings_staging(settings) < settings->block) {
        snprintf(bad, TUNE_TEXT_MAX,
                 "btl_rbuf_c0, q, buffers, largest_chunk, block_size and staging_size do not go "
                 "together");
        return false;
    }
    schedule = tune_settings_schedule(settings, true);
    if (!rbuf_schedule_valid(&schedule)) {
        snprintf(bad, TUNE_TEXT_MAX, "btl_rbuf_q or block_size is out of its range");
        return false;
    }
    return true;
}

bool tune_settings_read(struct tune_settings *settings, char bad[TUNE_TEXT_MAX])
{
    static char texts[ROWS][VALUE_MAX];
    uint64_t numbers[ROWS], eager;

    if (!read_rows(numbers, texts, &eager, bad)) {
        return false;
    }
    *settings = (struct tune_settings){
        .first = numbers[row_of("c0")],
        .largest = numbers[row_of("largest_chunk")],
        .block = numbers[row_of("block_size")],
        .quantum = numbers[row_of("quantum")],
        .growth = (uint32_t) numbers[row_of("q")],
        .buffers = (unsigned) numbers[row_of("buffers")],
        .early_data = numbers[row_of("early_data")] != 0,
        .early_peers = numbers[row_of("early_peers")],
        .early_size = numbers[row_of("early_size")],
        .early_opening = numbers[row_of("early_c0")],
        .staging_size = numbers[row_of("staging_size")],
        .eager_limit = eager,
        .device = {.gid_index = (int) numbers[row_of("gid_index")],
                   .mtu = (unsigned) numbers[row_of("mtu")],
                   .pkey = (unsigned) numbers[row_of("pkey")],
                   .service_level = (unsigned) numbers[row_of("service_level")],
                   .traffic_class = (unsigned) numbers[row_of("traffic_class")],
                   .timeout = (unsigned) numbers[row_of("timeout")],
                   .retry_count = (unsigned) numbers[row_of("retry_count")],
                   .rnr_retry = (unsigned) numbers[row_of("rnr_retry")],
                   .min_rnr_timer = (unsigned) numbers[row_of("min_rnr_timer")],
                   .subblock = (enum rbuf_in_order_choice) numbers[row_of("subblock")]}};
    /* What the default is on all but the fastest ports, and there for buffers that are new. */
    snprintf(settings->protocol, TUNE_TEXT_MAX, "%.255s",
             strcmp(texts[row_of("protocol")], "default") == 0 ? "superpipeline"
                                                               : texts[row_of("protocol")]);
    snprintf(settings->include, TUNE_TEXT_MAX, "%.255s", texts[row_of("if_include")]);
    snprintf(settings->exclude, TUNE_TEXT_MAX, "%.255s", texts[row_of("if_exclude")]);
    settings->device.include = text_or_null(settings->include);
    settings->device.exclude = text_or_null(settings->exclude);
    return check(settings, bad);
}

struct rbuf_schedule tune_settings_schedule(const struct tune_settings *settings, bool in_order)
{
    const uint64_t block = settings->block;
    const uint64_t room = tune_settings_staging(settings) / block;
    struct rbuf_schedule schedule = {
        .block_bytes = (uint32_t) block,
        .growth = settings->growth,
        .first_blocks = (uint16_t) ((settings->first + block - 1) / block),
        .buffer_blocks = (uint16_t) ((settings->largest + block - 1) / block),
        .buffers = (uint8_t) settings->buffers,
        .taper = in_order ? RBUF_TAPER_NONE : RBUF_TAPER_TAIL};

    rbuf_schedule_shrink(&schedule, room > 0 ? room : 1, 1u << 30);
    return schedule;
}

/* As mca_btl_rbuf_staging_half(). */
uint64_t tune_settings_staging(const struct tune_settings *settings)
{
    const size_t limit = rbuf_memlock_limit();
    uint64_t bytes = settings->staging_size;

    if (bytes == 0) {
        bytes = limit != SIZE_MAX && STAGING_AUTO > limit / 2 ? limit / 2 : STAGING_AUTO;
    }
    return bytes / 2;
}
