/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The seed that registration/sharing.c gives to the policy (core/helper/sharing.h), by which ties
 * between ranks are broken. The ranks of a job on one node have the same. Other nodes, and other
 * jobs, have others.
 */
#include "registration/sharing.h"

#include "rbuf_compat.h"

#include <stdio.h>

#include "params/params.h"
#include "unit.h"

void __wrap_rbuf_sharing_assign(enum rbuf_sharing policy, const struct rbuf_sharing_node *node,
                                const struct rbuf_sharing_rank *rank, uint32_t ranks,
                                struct rbuf_sharing_assignment *place);

struct mca_btl_rbuf_params mca_btl_rbuf_params = {.helper_policy = RBUF_SHARING_CONSERVATIVE};
opal_process_info_t opal_process_info;
static opal_proc_t process;
static uint64_t seed_seen;

opal_proc_t *opal_proc_local_get(void)
{
    return &process;
}

void __wrap_rbuf_sharing_assign(enum rbuf_sharing policy, const struct rbuf_sharing_node *node,
                                const struct rbuf_sharing_rank *rank, uint32_t ranks,
                                struct rbuf_sharing_assignment *place)
{
    (void) policy, (void) rank;
    seed_seen = node->seed;
    for (uint32_t i = 0; i < ranks; i++) {
        place[i] = (struct rbuf_sharing_assignment){.core = RBUF_SHARING_NONE};
    }
}

static uint64_t seed_of(const char *node, opal_jobid_t job, opal_vpid_t vpid)
{
    char name[32];
    uint64_t slice_ns;

    snprintf(name, sizeof(name), "%s", node);
    opal_process_info.nodename = name;
    process.proc_name = (opal_process_name_t){.jobid = job, .vpid = vpid};
    mca_btl_rbuf_sharing_open();
    (void) mca_btl_rbuf_sharing_look(&(struct rbuf_sharing_rank){0}, &slice_ns);
    mca_btl_rbuf_sharing_close();
    return seed_seen;
}

START_TEST(ranks_agree)
{
    ck_assert_uint_eq(seed_of("node1", 0x51230001, 0), seed_of("node1", 0x51230001, 1));
}
END_TEST

START_TEST(nodes_differ)
{
    ck_assert_uint_ne(seed_of("node1", 0x51230001, 0), seed_of("node2", 0x51230001, 0));
}
END_TEST

START_TEST(jobs_differ)
{
    ck_assert_uint_ne(seed_of("node1", 0x51230001, 0), seed_of("node1", 0x51230002, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("seed of ties");

    unit_add(suite, ranks_agree);
    unit_add(suite, nodes_differ);
    unit_add(suite, jobs_differ);
    return unit_run(suite);
}
