/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component's parameters. An input is lines NAME=VALUE, as the user may set them; the whole
 * table is then read and checked. And every value is read as a size, a count, a time and a ratio,
 * and compared with readers written here once more.
 */
#include "rbuf_compat.h"

#include "fuzz.h"

#include <ctype.h>
#include <strings.h>

#include "params/help.h"
#include "params/params.h"
#include "params/protocol.h"
#include "params/values.h"
#include "core/base/schedule.h"
#include "opal/mca/base/mca_base_var.h"

#define VARIABLES_MAX 128

/* --- Open MPI, as far as the parameters need it --- */

opal_process_info_t opal_process_info;

static struct {
    const char *name;
    char **storage;
    char *initial;
} variables[VARIABLES_MAX];
static int variable_count;
static unsigned refusals;

int mca_base_var_get_value(int variable, const void *value, mca_base_var_source_t *source,
                           const char **source_file)
{
    (void) variable, (void) value, (void) source, (void) source_file;
    return OPAL_SUCCESS;
}

int mca_base_var_deregister(int variable)
{
    (void) variable;
    return OPAL_SUCCESS;
}

int mca_base_component_var_register(const mca_base_component_t *component, const char *name,
                                    const char *description, mca_base_var_type_t type,
                                    mca_base_var_enum_t *enumerator, int bind,
                                    mca_base_var_flag_t flags, mca_base_var_info_lvl_t level,
                                    mca_base_var_scope_t scope, void *storage)
{
    (void) component;
    (void) enumerator;
    (void) bind;
    (void) flags;
    (void) level;
    (void) scope;
    fuzz_require(type == MCA_BASE_VAR_TYPE_STRING && variable_count < VARIABLES_MAX &&
                     strlen(description) < 2047,
                 "parameters are texts");
    variables[variable_count].name = name;
    variables[variable_count].storage = storage;
    variables[variable_count].initial = *variables[variable_count].storage;
    return variable_count++;
}

void mca_btl_rbuf_help(const char *topic, ...)
{
    fuzz_require(strcmp(topic, "bad parameter") == 0, "the help is about a parameter");
    refusals++;
}

/* --- the readers, once more --- */

/* Digits in [text, end of them) as a number; false if there are none or too many. */
static bool digits(const char **text, unsigned base, uint64_t *value)
{
    const char *start = *text;
    unsigned __int128 number = 0;

    for (; isxdigit((unsigned char) **text); (*text)++) {
        char c = (char) tolower((unsigned char) **text);
        unsigned digit = (unsigned) (c <= '9' ? c - '0' : c - 'a' + 10);

        if (digit >= base) {
            break;
        }
        number = number * base + digit;
        if (number > UINT64_MAX) {
            return false;
        }
    }
    *value = (uint64_t) number;
    return *text != start;
}

static bool scaled(const char *text, const char *const units[], const uint64_t factors[],
                   uint64_t *value)
{
    uint64_t number;

    if (!digits(&text, 10, &number)) {
        return false;
    }
    for (int i = 0; units[i] != NULL; i++) {
        if (strcasecmp(text, units[i]) == 0) {
            unsigned __int128 product = (unsigned __int128) number * factors[i];

            *value = (uint64_t) product;
            return product <= UINT64_MAX;
        }
    }
    return false;
}

static bool size_again(const char *text, uint64_t *value)
{
    static const char *const units[] = {"",   "b",   "k", "kb", "kib", "m",
                                        "mb", "mib", "g", "gb", "gib", NULL};
    static const uint64_t factors[] = {1,       1,       1 << 10, 1 << 10, 1 << 10, 1 << 20,
                                       1 << 20, 1 << 20, 1 << 30, 1 << 30, 1 << 30};

    return scaled(text, units, factors, value);
}

static bool time_again(const char *text, uint64_t *value)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    static const uint64_t factors[] = {1, 1000, 1000000, 1000000000};

    if (strcmp(text, "0") == 0) {
        *value = 0;
        return true;
    }
    return scaled(text, units, factors, value);
}

static bool count_again(const char *text, uint64_t *value)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

    text += hexadecimal ? 2 : 0;
    return digits(&text, hexadecimal ? 16 : 10, value) && *text == '\0';
}

/* The exact ratio lies in [*value, *value + 1) / 2^16 if no more than nine decimals are given. */
static bool ratio_again(const char *text, uint64_t *value)
{
    uint64_t whole;
    unsigned __int128 part = 0, scale = 1;

    if (!digits(&text, 10, &whole) || whole > UINT16_MAX) {
        return false;
    }
    if (*text == '.') {
        if (!isdigit((unsigned char) *++text)) {
            return false;
        }
        for (int i = 0; isdigit((unsigned char) *text); i++, text++) {
            part = i < 9 ? part * 10 + (unsigned) (*text - '0') : part;
            scale = i < 9 ? scale * 10 : scale;
        }
    }
    *value = (whole << 16) + (uint64_t) ((part << 16) / scale);
    return *text == '\0';
}

typedef bool reader(const char *text, uint64_t *value);

static void compare(const char *text)
{
    static reader *const readers[][2] = {{mca_btl_rbuf_read_size, size_again},
                                         {mca_btl_rbuf_read_count, count_again},
                                         {mca_btl_rbuf_read_time, time_again},
                                         {mca_btl_rbuf_read_ratio, ratio_again}};

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        uint64_t value = 0xa5a5, again = 0;
        bool read = readers[i][0](text, &value);

        fuzz_require(read == readers[i][1](text, &again), "what is right is read, and only that");
        fuzz_require(read ? value == again : value == 0xa5a5, "what is read is what was meant");
    }
}

/* --- the table --- */

static void check_read(const struct mca_btl_rbuf_params *params)
{
    struct rbuf_schedule schedule = mca_btl_rbuf_schedule();
    const uint64_t half = params->staging_size / 2;

    fuzz_require(params->c0 % params->block_size == 0 &&
                     params->largest_chunk % params->block_size == 0 &&
                     params->pipeline_chunk % params->block_size == 0,
                 "chunks are whole blocks");
    fuzz_require(params->c0 / params->block_size <= params->largest_chunk / params->block_size &&
                     params->largest_chunk / params->block_size <= RBUF_BUFFER_BLOCKS,
                 "chunks have a number of blocks that fits");
    fuzz_require(rbuf_schedule_valid(&schedule) || params->protocol == MCA_BTL_RBUF_COPY,
                 "a schedule can be made of it");
    if (params->staging_size > 0) {
        fuzz_require(half >= params->block_size, "the staging holds a block each way");
        rbuf_schedule_shrink(&schedule, half / params->block_size, 1u << 30);
        fuzz_require(rbuf_schedule_valid(&schedule) && rbuf_schedule_lane(&schedule) <= half,
                     "a message fits into the staging");
    }
    fuzz_require(params->pipeline_chunk >= 512 && params->pipeline_chunk <= params->largest_chunk,
                 "the chunk of the pipeline fits");
    fuzz_require((params->port_min == 0) == (params->port_max == 0) &&
                     params->port_min <= params->port_max && params->port_max <= 65535,
                 "ports are a range");
    fuzz_require(params->gid_index == UINT64_MAX || params->gid_index <= 65535,
                 "the GID index is in range");
    fuzz_require(params->mtu == 0 || (params->mtu >= 256 && params->mtu <= 4096 &&
                                      (params->mtu & (params->mtu - 1)) == 0),
                 "the MTU is one of five");
    fuzz_require(params->timeout <= 31 && params->retry_count <= 7 && params->rnr_retry <= 7 &&
                     params->service_level <= 15 && params->traffic_class <= 255,
                 "what goes to the adapter fits its fields");
    fuzz_require(params->control_credits <= UINT16_MAX && params->bulk_credits <= UINT16_MAX &&
                     params->quantum <= UINT32_MAX && params->send_queue <= 16384,
                 "what goes to core fits its fields");
    fuzz_require(mca_btl_rbuf_protocol_name()[0] != '\0', "the protocol has a name");
}

static void set(const char *name, char *value)
{
    for (int i = 0; i < variable_count; i++) {
        if (strcmp(variables[i].name, name) == 0) {
            if (*variables[i].storage != variables[i].initial) {
                free(*variables[i].storage);
            }
            *variables[i].storage = value;
            return;
        }
    }
    free(value);
}

static void reset(void)
{
    for (int i = 0; i < variable_count; i++) {
        if (*variables[i].storage != variables[i].initial) {
            free(*variables[i].storage);
            *variables[i].storage = variables[i].initial;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    static const mca_base_component_t component;

    if (variable_count == 0) {
        fuzz_require(mca_btl_rbuf_params_register(&component) == 0, "parameters are registered");
        fuzz_require(mca_btl_rbuf_params_check(), "the defaults are right");
    }
    while (input.left > 0) {
        char *name = fuzz_text(&input, '=');
        char *value = fuzz_text(&input, '\n');

        compare(value);
        set(name, value);
        free(name);
    }
    refusals = 0;
    if (mca_btl_rbuf_params_check()) {
        fuzz_require(refusals == 0, "what is right is not complained of");
        check_read(&mca_btl_rbuf_params);
    } else {
        fuzz_require(refusals == 1, "what is wrong is reported once");
    }
    reset();
    return 0;
}
