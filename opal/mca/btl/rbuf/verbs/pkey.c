/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See pkey.h. */
#include "verbs/pkey.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>

#define DEFAULT_KEY 0xffffu

enum rbuf_pkey_rank rbuf_pkey_rank(uint16_t key, unsigned asked)
{
    const unsigned partition = key & RBUF_PKEY_PARTITION;

    if (partition == 0 || (asked != 0 && partition != (asked & RBUF_PKEY_PARTITION))) {
        return RBUF_PKEY_UNUSABLE;
    }
    return (key & RBUF_PKEY_FULL) != 0 ? RBUF_PKEY_AS_FULL : RBUF_PKEY_AS_LIMITED;
}

/* False: there is no such entry, or it cannot be read. */
static bool read_entry(const struct rbuf_port *port, unsigned index, uint16_t *key)
{
    __be16 raw = 0;

    if (ibv_query_pkey(port->context, port->number, (int) index, &raw) != 0) {
        return false;
    }
    *key = be16toh(raw);
    return true;
}

static int refuse(const struct rbuf_port *port, unsigned entries, struct rbuf_problem *problem)
{
    char list[160] = "no valid key";
    size_t used = 0;
    uint16_t key;

    for (unsigned i = 0; i < entries && used < sizeof(list) - 16; i++) {
        if (read_entry(port, i, &key) && rbuf_pkey_rank(key, 0) != RBUF_PKEY_UNUSABLE) {
            used += (size_t) snprintf(list + used, sizeof(list) - used, "%s0x%04x",
                                      used != 0 ? ", " : "", key);
        }
    }
    rbuf_problem_set(problem, "bad-option", -EINVAL, "%s, partition key", port->name);
    if (port->options.pkey != 0) {
        rbuf_problem_value(problem, "%u (0x%04x); the port's partition table has: %s",
                           port->options.pkey, port->options.pkey, list);
        rbuf_problem_remedy(problem, "name a key of the table, or leave the choice to rbuf (auto)");
    } else {
        rbuf_problem_value(problem, "auto; the port's partition table has: %s", list);
        rbuf_problem_remedy(problem, "let the subnet manager put the port into a partition");
    }
    return -EINVAL;
}

int rbuf_pkey_choose(const struct rbuf_port *port, const struct ibv_port_attr *attributes,
                     struct rbuf_pkey *out, struct rbuf_problem *problem)
{
    const unsigned asked = port->options.pkey;
    enum rbuf_pkey_rank best = RBUF_PKEY_UNUSABLE;
    bool readable = false;
    uint16_t key;

    for (unsigned i = 0; i < attributes->pkey_tbl_len && best != RBUF_PKEY_AS_FULL; i++) {
        if (!read_entry(port, i, &key)) {
            continue;
        }
        readable = true;
        if (rbuf_pkey_rank(key, asked) > best) {
            best = rbuf_pkey_rank(key, asked);
            *out = (struct rbuf_pkey){.index = (uint16_t) i, .key = key};
        }
    }
    if (!readable && asked == 0 && port->link_layer == RBUF_LINK_ETHERNET) {
        *out = (struct rbuf_pkey){.index = 0, .key = DEFAULT_KEY}; /* there is no other */
        return 0;
    }
    return best != RBUF_PKEY_UNUSABLE ? 0 : refuse(port, attributes->pkey_tbl_len, problem);
}
