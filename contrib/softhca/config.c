/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Settings, all from the environment. README.md repeats this table.
 *
 *   SOFTHCA_BANDWIDTH      bytes/s of each port and direction       0 (unpaced)
 *   SOFTHCA_LATENCY        ns, one way                              0
 *   SOFTHCA_GAP            ns that each message holds its link      0
 *   SOFTHCA_REG            BASE,PAGE: ns a registration, ns a page  0,0
 *   SOFTHCA_DEREG          BASE,PAGE: the same for deregistration   0,0
 *   SOFTHCA_MEMLOCK        bytes registered at once, a process      0 (no limit)
 *   SOFTHCA_SEGMENT        path of the fabric's shared file         /dev/shm/softhca-UID
 *   SOFTHCA_PORT           name; processes with one name share a    empty (a port each)
 *                          physical port and its two links
 *   SOFTHCA_DATA_IN_ORDER  answer of ibv_query_qp_data_in_order, RTS 1; 0 with a fault of order
 *   SOFTHCA_CHECK_STALE    watch registered memory for unmapping    1
 *   SOFTHCA_SHARE_PAGES    pools in pages that other processes map  1
 *   SOFTHCA_PORTS          ports of a device, 1 to 8                1
 *   SOFTHCA_DEVICES        comma list, see device_list.c            one, softhca0
 *   SOFTHCA_PKEYS          comma list, partition table of IB ports  0xffff
 *   SOFTHCA_LINK_LAYER     ib or roce                               ib
 *   SOFTHCA_LIKE           name of a model, see models.c            softhca
 *   SOFTHCA_MAX_INLINE     bytes that a queue pair takes inline     the model's
 *   SOFTHCA_GRH_REQUIRED   the ports want a global address (0, 1)   0
 *   SOFTHCA_LOG            0 errors, 1 notices, 2 objects, 3 datagrams  0
 *   SOFTHCA_STATS          file that gets a JSON line a process     empty (none)
 *   SOFTHCA_FAULT          comma list, see fault_list.c                empty (none)
 *
 * Owns "config" and whether it has been read, under a mutex. Written once, then read without a
 * lock; a child of fork keeps what its parent had read.
 */
#define _GNU_SOURCE

#include "config.h"
#include "device_list.h"
#include "fault_list.h"
#include "segment.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config config;

static pthread_mutex_t read_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool has_been_read;

static void vreport(const char *format, va_list args)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "softhca[%d]: ", (int) getpid());

    vsnprintf(line + n, sizeof(line) - (size_t) n, format, args);
    fprintf(stderr, "%s\n", line);
}

void report(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vreport(format, args);
    va_end(args);
}

void report_at(unsigned verbosity, const char *format, ...)
{
    va_list args;

    if (config.verbosity < verbosity)
        return;
    va_start(args, format);
    vreport(format, args);
    va_end(args);
}

static void refuse(const char *name, const char *value, const char *wanted)
{
    report("%s=%s: wanted %s", name, value, wanted);
    exit(2);
}

static uint64_t number(const char *name, uint64_t fallback)
{
    const char *value = getenv(name);
    const char *end = value;
    uint64_t result;

    if (!value || !*value)
        return fallback;
    if (!take_number(&end, 10, &result) || *end)
        refuse(name, value, "a whole number");
    return result;
}

static uint32_t number_within(const char *name, uint32_t fallback, uint32_t least, uint32_t most)
{
    uint64_t result = number(name, fallback);
    char wanted[48];

    if (result < least || result > most) {
        snprintf(wanted, sizeof(wanted), "a whole number from %u to %u", least, most);
        refuse(name, getenv(name), wanted);
    }
    return (uint32_t) result;
}

static struct page_cost page_cost(const char *name)
{
    const char *value = getenv(name);
    const char *end = value;
    struct page_cost cost = {0, 0};

    if (!value || !*value)
        return cost;
    if (!take_number(&end, 10, &cost.base_ns) || *end++ != ',' ||
        !take_number(&end, 10, &cost.page_ns) || *end)
        refuse(name, value, "BASE,PAGE in whole ns");
    return cost;
}

static void text(const char *name, const char *fallback, char *out, size_t size)
{
    const char *value = getenv(name);

    if (!value || !*value)
        value = fallback;
    if (strlen(value) >= size)
        refuse(name, value, "a shorter text");
    strcpy(out, value);
}

static bool flag(const char *name, bool fallback)
{
    const char *value = getenv(name);

    if (!value || !*value)
        return fallback;
    if (strcmp(value, "0") && strcmp(value, "1"))
        refuse(name, value, "0 or 1");
    return value[0] == '1';
}

/* Who asks for disorder has a device that promises no order, unless it is said to. */
static enum data_in_order data_in_order(void)
{
    const char *name = "SOFTHCA_DATA_IN_ORDER", *value = getenv(name);

    if (!value || !*value)
        return config.faults.order == ORDER_KEPT ? IN_ORDER_WHOLE : IN_ORDER_NOT;
    if (!strcmp(value, "aligned"))
        return IN_ORDER_ALIGNED;
    if (strcmp(value, "0") && strcmp(value, "1"))
        refuse(name, value, "0, 1 or aligned");
    return value[0] == '1' ? IN_ORDER_WHOLE : IN_ORDER_NOT;
}

/* Memory that is watched through userfaultfd blocks valgrind's only running thread. */
static bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload && strstr(preload, "vgpreload");
}

static void faults(void)
{
    char list[512];
    const char *wrong;

    text("SOFTHCA_FAULT", "", list, sizeof(list));
    wrong = faults_read(list, &config.faults);
    if (wrong)
        refuse("SOFTHCA_FAULT", wrong, "items as softhca(1) has them");
}

static enum link_layer link_layer(void)
{
    char layer[16];

    text("SOFTHCA_LINK_LAYER", "ib", layer, sizeof(layer));
    if (strcmp(layer, "ib") && strcmp(layer, "roce"))
        refuse("SOFTHCA_LINK_LAYER", layer, "ib or roce");
    return strcmp(layer, "ib") ? LINK_LAYER_ROCE : LINK_LAYER_IB;
}

static const struct device_model *model(void)
{
    const struct device_model *found;
    char name[16];

    text("SOFTHCA_LIKE", device_models[0].name, name, sizeof(name));
    found = model_find(name);
    if (!found)
        refuse("SOFTHCA_LIKE", name, "a model as softhca(1) has them");
    return found;
}

static void pkeys(struct device_setting *base)
{
    char list[160];

    text("SOFTHCA_PKEYS", "0xffff", list, sizeof(list));
    if (!pkeys_read(list, ',', base))
        refuse("SOFTHCA_PKEYS", list, "1 to 16 partition keys from 0 to 0xffff, with commas");
}

static void devices(void)
{
    struct device_setting base = {.link_layer = link_layer(), .subnet = DEFAULT_SUBNET};
    const struct device_setting *last;
    const char *wrong;
    char list[1024];

    device_apply_model(&base, model());
    base.ports = number_within("SOFTHCA_PORTS", 1, 1, MAX_DEVICE_PORTS);
    pkeys(&base);
    text("SOFTHCA_DEVICES", "softhca0", list, sizeof(list));
    wrong = devices_read(list, &base, config.devices, &config.n_devices);
    if (wrong)
        refuse("SOFTHCA_DEVICES", wrong, "devices as softhca(1) has them");
    for (uint32_t i = 0; i < config.n_devices; i++) {
        struct device_setting *device = &config.devices[i];

        device->max_inline =
            number_within("SOFTHCA_MAX_INLINE", device->model->max_inline, 0, MAX_INLINE);
    }
    last = &config.devices[config.n_devices - 1];
    config.n_ports = last->first_port + last->ports;
}

const struct device_setting *config_device(uint32_t port)
{
    const struct device_setting *device = config.devices;

    while (port >= device->first_port + device->ports)
        device++;
    return device;
}

static void read_all(void)
{
    char fallback[64];
    uint64_t verbosity;

    snprintf(fallback, sizeof(fallback), "/dev/shm/softhca-%u", (unsigned) getuid());
    config.bandwidth = number("SOFTHCA_BANDWIDTH", 0);
    config.latency_ns = number("SOFTHCA_LATENCY", 0);
    config.gap_ns = number("SOFTHCA_GAP", 0);
    config.registration = page_cost("SOFTHCA_REG");
    config.deregistration = page_cost("SOFTHCA_DEREG");
    config.memlock = number("SOFTHCA_MEMLOCK", 0);
    text("SOFTHCA_SEGMENT", fallback, config.segment, sizeof(config.segment));
    text("SOFTHCA_PORT", "", config.port, sizeof(config.port));
    config.check_stale = flag("SOFTHCA_CHECK_STALE", !under_valgrind());
    config.share_pages = flag("SOFTHCA_SHARE_PAGES", true);
    devices();
    config.grh_required = flag("SOFTHCA_GRH_REQUIRED", false);
    config.old_fork = flag("SOFTHCA_OLD_FORK", false);
    verbosity = number("SOFTHCA_LOG", 0);
    config.verbosity = verbosity < UINT_MAX ? (unsigned) verbosity : UINT_MAX;
    text("SOFTHCA_STATS", "", config.stats, sizeof(config.stats));
    faults();
    config.data_in_order = data_in_order();
}

void config_read(void)
{
    pthread_mutex_lock(&read_mutex);
    if (!has_been_read) {
        has_been_read = true;
        read_all();
    }
    pthread_mutex_unlock(&read_mutex);
}
