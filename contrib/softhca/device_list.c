/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads SOFTHCA_DEVICES, a comma list of NAME[/KEY=VALUE]... README.md has it with what each does.
 *
 *   link=ib|roce   speed=BYTES_PER_S (k, M, G: powers of 1000)   ports=N
 *   subnet=HEX     numa=CPULIST (0-3+8)                          state=active|down
 *   like=MODEL     pkeys=KEY+KEY...                              gids=[v1:|v2:]NETWORK+...
 *
 * Owns nothing: pure functions of the text and the table of models.
 */
#define _GNU_SOURCE

#include "device_list.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 1024u

static bool read_number(const char *text, int base, uint64_t *out)
{
    return take_number(&text, base, out) && !*text;
}

static bool read_rate(const char *text, uint64_t *out)
{
    uint64_t unit = 1;

    if (!take_number(&text, 10, out))
        return false;
    if (*text == 'k')
        unit = 1000;
    else if (*text == 'M')
        unit = 1000000;
    else if (*text == 'G')
        unit = 1000000000;
    text += unit > 1;
    return !*text && *out && !__builtin_mul_overflow(*out, unit, out);
}

static bool read_ports(const char *text, uint32_t *out)
{
    uint64_t n;

    if (!read_number(text, 10, &n) || !n || n > MAX_DEVICE_PORTS)
        return false;
    *out = (uint32_t) n;
    return true;
}

static bool read_word(const char *text, const char *no, const char *yes, bool *out)
{
    *out = !strcmp(text, yes);
    return *out || !strcmp(text, no);
}

/* The kernel's form of a set of processors: words of 32 bits in hex, the highest first. */
static void print_mask(const uint32_t *words, char *out, size_t size)
{
    unsigned n = MAX_CPUS / 32;
    size_t at = 0;

    while (n > 1 && !words[n - 1])
        n--;
    while (n--)
        at += (size_t) snprintf(out + at, size - at, "%08x%s", words[n], n ? "," : "\n");
}

/* A list such as 0-3+8. */
static bool read_cpus(const char *text, char *out, size_t size)
{
    uint32_t words[MAX_CPUS / 32] = {0};

    do {
        uint64_t first, last;

        if (!take_number(&text, 10, &first))
            return false;
        last = first;
        if (*text == '-') {
            text++;
            if (!take_number(&text, 10, &last))
                return false;
        }
        if (last >= MAX_CPUS || first > last)
            return false;
        for (; first <= last; first++)
            words[first / 32] |= 1u << first % 32;
    } while (*text++ == '+');
    if (text[-1])
        return false;
    print_mask(words, out, size);
    return true;
}

bool pkeys_read(const char *text, char separator, struct device_setting *device)
{
    device->n_pkeys = 0;
    do {
        uint64_t key;

        if (device->n_pkeys == MAX_PKEYS || !take_number(&text, 0, &key) || key > UINT16_MAX)
            return false;
        device->pkeys[device->n_pkeys++] = (uint16_t) key;
    } while (*text++ == separator);
    return !text[-1];
}

/* A network: A.B of IPv4, or the first 64 bits of IPv6 in hexadecimal digits. */
static bool take_network(const char **text, struct gid_setting *gid)
{
    const char *at = *text;
    uint64_t first, second;

    gid->is_ipv4 = take_number(&at, 10, &first) && *at++ == '.' && take_number(&at, 10, &second);
    if (!gid->is_ipv4)
        return take_number(text, 16, &gid->network);
    gid->network = first << 8 | second;
    *text = at;
    return first <= UINT8_MAX && second <= UINT8_MAX;
}

static bool read_gids(const char *text, struct device_setting *device)
{
    device->n_gids = 0;
    do {
        struct gid_setting *gid = &device->gids[device->n_gids];

        if (device->n_gids++ == MAX_GIDS)
            return false;
        gid->type = strncmp(text, "v1:", 3) ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
        if (!strncmp(text, "v1:", 3) || !strncmp(text, "v2:", 3))
            text += 3;
        if (!take_network(&text, gid))
            return false;
    } while (*text++ == '+');
    return !text[-1];
}

/* InfiniBand has a subnet and no networks, RoCE no partition but the one that all are in. */
static void complete(struct device_setting *device)
{
    bool ib = device->link_layer == LINK_LAYER_IB;

    if (ib || !device->n_gids) {
        device->gids[0] = (struct gid_setting){.network = device->subnet,
                                               .type = ib ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2};
        device->n_gids = 1;
    }
    if (!ib) {
        device->pkeys[0] = DEFAULT_PKEY;
        device->n_pkeys = 1;
    }
}

void device_apply_model(struct device_setting *device, const struct device_model *model)
{
    device->model = model;
    if (model->network == NETWORK_ROCE)
        device->link_layer = LINK_LAYER_ROCE;
    else if (model->network == NETWORK_IWARP)
        device->link_layer = LINK_LAYER_IWARP;
    else if (model->network == NETWORK_UNSPECIFIED)
        device->link_layer = LINK_LAYER_UNSPECIFIED;
}

static bool read_model(const char *name, struct device_setting *device)
{
    const struct device_model *model = model_find(name);

    if (model)
        device_apply_model(device, model);
    return model != NULL;
}

static bool read_pair(const char *key, const char *value, struct device_setting *device)
{
    if (!strcmp(key, "link")) {
        bool roce;

        if (!read_word(value, "ib", "roce", &roce))
            return false;
        device->link_layer = roce ? LINK_LAYER_ROCE : LINK_LAYER_IB;
        return true;
    }
    if (!strcmp(key, "like"))
        return read_model(value, device);
    if (!strcmp(key, "speed"))
        return read_rate(value, &device->bandwidth);
    if (!strcmp(key, "ports"))
        return read_ports(value, &device->ports);
    if (!strcmp(key, "subnet"))
        return read_number(value, 16, &device->subnet);
    if (!strcmp(key, "gids"))
        return read_gids(value, device);
    if (!strcmp(key, "pkeys"))
        return pkeys_read(value, '+', device);
    if (!strcmp(key, "numa"))
        return read_cpus(value, device->local_cpus, sizeof(device->local_cpus));
    if (!strcmp(key, "state"))
        return read_word(value, "active", "down", &device->is_down);
    return false;
}

static bool read_name(const char *name, const struct device_setting *devices, uint32_t n)
{
    if (!*name || strlen(name) >= sizeof(devices->name))
        return false;
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char) *c) && *c != '_' && *c != '-')
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!strcmp(devices[i].name, name))
            return false;
    }
    return true;
}

/* Reads one device over `base`; the text is cut up, and put together again if it is refused. */
static bool read_device(char *text, const struct device_setting *base, struct device_setting *out)
{
    char *save, *item = strtok_r(text, "/", &save);

    *out = *base;
    if (!item)
        return false;
    snprintf(out->name, sizeof(out->name), "%s", item);
    while ((item = strtok_r(NULL, "/", &save))) {
        char *equals = strchr(item, '=');
        bool read;

        if (!equals)
            return false;
        *equals = '\0';
        read = read_pair(item, equals + 1, out);
        *equals = '=';
        if (!read)
            return false;
    }
    return true;
}

const char *devices_read(char *list, const struct device_setting *base,
                         struct device_setting devices[MAX_DEVICES], uint32_t *n)
{
    uint32_t ports = 0;
    char *save, *item;

    *n = 0;
    for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        struct device_setting *device = &devices[*n];
        size_t name = strcspn(item, "/");
        char end = item[name];

        if (*n == MAX_DEVICES)
            return item;
        item[name] = '\0';
        if (!read_name(item, devices, *n))
            return item;
        item[name] = end;
        if (!read_device(item, base, device))
            return item;
        complete(device);
        device->first_port = ports;
        ports += device->ports;
        if (ports > NODE_PORTS)
            return item;
        ++*n;
    }
    return *n ? NULL : list;
}
