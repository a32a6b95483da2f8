/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads a port's GIDs and partition keys, and chooses the best entry, or the one that the user
 * names (port_tables.h).
 */
#include "verbs/port_tables.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define DEFAULT_KEY 0xffffu

/* ---- GIDs ---- */

static bool is_zero(const union ibv_gid *gid)
{
    static const union ibv_gid zero;

    return memcmp(gid, &zero, sizeof(zero)) == 0;
}

/* False: no such entry, or an empty one. */
static bool read_gid(const struct rbuf_port *port, unsigned index, struct ibv_gid_entry *out)
{
    return ibv_query_gid_ex(port->context, port->number, index, out, 0) == 0 && !is_zero(&out->gid);
}

static enum rbuf_gid_kind kind_of(const struct rbuf_port *port, const struct ibv_gid_entry *entry)
{
    if (port->address.link_layer == RBUF_LINK_INFINIBAND) {
        return RBUF_GID_INFINIBAND;
    }
    return entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? RBUF_GID_ROCE_V2 : RBUF_GID_ROCE_V1;
}

static void use_gid(struct rbuf_port *port, const struct ibv_gid_entry *entry)
{
    port->gid_index = entry->gid_index;
    port->address.gid_kind = (uint8_t) kind_of(port, entry);
    memcpy(port->address.gid, entry->gid.raw, sizeof(port->address.gid));
    port->address.subnet = port->address.link_layer == RBUF_LINK_INFINIBAND
                               ? be64toh(entry->gid.global.subnet_prefix)
                               : rbuf_gid_subnet(entry->gid.raw);
}

static int refuse_gid(const struct rbuf_port *port, unsigned entries, struct rbuf_problem *problem)
{
    struct ibv_gid_entry entry;
    bool any = false;

    rbuf_problem_set(problem, "bad-gid-index", -EINVAL, "%s", port->name);
    rbuf_problem_value(problem, "index %d; in use are: ", port->options.gid_index);
    for (unsigned i = 0; i < entries; i++) {
        if (read_gid(port, i, &entry)) {
            rbuf_problem_list(problem, "%u", i);
            any = true;
        }
    }
    if (port->options.gid_index == RBUF_GID_AUTOMATIC) {
        rbuf_problem_value(problem, "the port has no usable GID");
    } else if (!any) {
        rbuf_problem_list(problem, "none");
    }
    rbuf_problem_remedy(problem, "name an index in use, or leave the choice to rbuf (auto)");
    return -EINVAL;
}

int rbuf_gid_choose(struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_problem *problem)
{
    unsigned entries = attributes->gid_tbl_len > 0 ? (unsigned) attributes->gid_tbl_len : 0;
    int asked = port->options.gid_index;
    struct ibv_gid_entry entry;
    struct ibv_gid_entry best = {0};
    unsigned best_rank = 0;

    if (asked == RBUF_GID_AUTOMATIC && port->address.link_layer == RBUF_LINK_INFINIBAND) {
        asked = 0;
    }
    for (unsigned i = 0; i < entries; i++) {
        if ((asked == RBUF_GID_AUTOMATIC || (unsigned) asked == i) && read_gid(port, i, &entry)) {
            const unsigned rank = rbuf_gid_rank(kind_of(port, &entry), entry.gid.raw);

            best = rank > best_rank ? entry : best;
            best_rank = rank > best_rank ? rank : best_rank;
        }
    }
    if (best_rank == 0) {
        return refuse_gid(port, entries, problem);
    }
    use_gid(port, &best);
    return 0;
}

/* ---- partition keys ---- */

enum rbuf_pkey_rank rbuf_pkey_rank(uint16_t key, unsigned asked)
{
    const unsigned partition = key & RBUF_PKEY_PARTITION;

    if (partition == 0 || (asked != 0 && partition != (asked & RBUF_PKEY_PARTITION))) {
        return RBUF_PKEY_UNUSABLE;
    }
    return (key & RBUF_PKEY_FULL) != 0 ? RBUF_PKEY_AS_FULL : RBUF_PKEY_AS_LIMITED;
}

/* False: there is no such entry, or it cannot be read. */
static bool read_pkey(const struct rbuf_port *port, unsigned index, uint16_t *key)
{
    __be16 raw = 0;

    if (ibv_query_pkey(port->context, port->number, (int) index, &raw) != 0) {
        return false;
    }
    *key = be16toh(raw);
    return true;
}

static int refuse_pkey(const struct rbuf_port *port, unsigned entries, struct rbuf_problem *problem)
{
    const unsigned asked = port->options.pkey;
    bool any = false;
    uint16_t key;

    rbuf_problem_set(problem, "bad-option", -EINVAL, "%s, partition key", port->name);
    if (asked != 0) {
        rbuf_problem_value(problem, "%u (0x%04x); the port's partition table has: ", asked, asked);
        rbuf_problem_remedy(problem, "name a key of the table, or leave the choice to rbuf (auto)");
    } else {
        rbuf_problem_value(problem, "auto; the port's partition table has: ");
        rbuf_problem_remedy(problem, "let the subnet manager put the port into a partition");
    }
    for (unsigned i = 0; i < entries; i++) {
        if (read_pkey(port, i, &key) && rbuf_pkey_rank(key, 0) != RBUF_PKEY_UNUSABLE) {
            rbuf_problem_list(problem, "0x%04x", key);
            any = true;
        }
    }
    if (!any) {
        rbuf_problem_list(problem, "no valid key");
    }
    return -EINVAL;
}

int rbuf_pkey_choose(struct rbuf_port *port, const struct ibv_port_attr *attributes,
                     struct rbuf_problem *problem)
{
    const unsigned asked = port->options.pkey;
    enum rbuf_pkey_rank best = RBUF_PKEY_UNUSABLE;
    bool readable = false;
    uint16_t key;

    for (unsigned i = 0; i < attributes->pkey_tbl_len && best != RBUF_PKEY_AS_FULL; i++) {
        if (!read_pkey(port, i, &key)) {
            continue;
        }
        readable = true;
        if (rbuf_pkey_rank(key, asked) > best) {
            best = rbuf_pkey_rank(key, asked);
            port->pkey_index = (uint16_t) i;
            port->address.pkey = key;
        }
    }
    if (!readable && asked == 0 && port->address.link_layer == RBUF_LINK_ETHERNET) {
        port->address.pkey = DEFAULT_KEY; /* there is no other */
        return 0;
    }
    return best != RBUF_PKEY_UNUSABLE ? 0 : refuse_pkey(port, attributes->pkey_tbl_len, problem);
}
