/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See gid.h. */
#include "verbs/gid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_zero(const union ibv_gid *gid)
{
    static const union ibv_gid zero;

    return memcmp(gid, &zero, sizeof(zero)) == 0;
}

/* False: no such entry, or an empty one. */
static bool read_entry(const struct rbuf_port *port, unsigned index, struct rbuf_gid *out)
{
    struct ibv_gid_entry entry = {0};

    if (ibv_query_gid_ex(port->context, port->number, index, &entry, 0) != 0 ||
        is_zero(&entry.gid)) {
        return false;
    }
    out->index = index;
    out->raw = entry.gid;
    if (port->link_layer == RBUF_LINK_INFINIBAND) {
        out->kind = RBUF_GID_INFINIBAND;
    } else {
        out->kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? RBUF_GID_ROCE_V2 : RBUF_GID_ROCE_V1;
    }
    return true;
}

static int refuse(const struct rbuf_port *port, unsigned entries, struct rbuf_problem *problem)
{
    char list[160] = "none";
    size_t used = 0;
    struct rbuf_gid gid;

    for (unsigned i = 0; i < entries && used < sizeof(list) - 8; i++) {
        if (read_entry(port, i, &gid)) {
            used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%u",
                                      used != 0 ? ", " : "", i);
        }
    }
    rbuf_problem_set(problem, "bad-gid-index", -EINVAL, "%s", port->name);
    if (port->options.gid_index == RBUF_GID_AUTOMATIC) {
        rbuf_problem_value(problem, "the port has no usable GID");
    } else {
        rbuf_problem_value(problem, "index %d; in use are: %s", port->options.gid_index, list);
    }
    rbuf_problem_remedy(problem, "name an index in use, or leave the choice to rbuf (auto)");
    return -EINVAL;
}

int rbuf_gid_choose(const struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_gid *out, struct rbuf_problem *problem)
{
    unsigned entries = attributes->gid_tbl_len > 0 ? (unsigned) attributes->gid_tbl_len : 0;
    int asked = port->options.gid_index;
    unsigned best = 0;
    struct rbuf_gid gid;

    if (asked == RBUF_GID_AUTOMATIC && port->link_layer == RBUF_LINK_INFINIBAND) {
        asked = 0;
    }
    if (asked != RBUF_GID_AUTOMATIC) {
        if (asked < 0 || (unsigned) asked >= entries || !read_entry(port, (unsigned) asked, out)) {
            return refuse(port, entries, problem);
        }
        return 0;
    }
    for (unsigned i = 0; i < entries; i++) {
        if (read_entry(port, i, &gid) && rbuf_gid_rank(gid.kind, gid.raw.raw) > best) {
            best = rbuf_gid_rank(gid.kind, gid.raw.raw);
            *out = gid;
        }
    }
    return best != 0 ? 0 : refuse(port, entries, problem);
}
