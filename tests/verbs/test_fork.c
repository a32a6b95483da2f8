/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether ibv_fork_init() is called, on a kernel that does not copy pinned pages at fork, as the
 * emulated adapter can be told. A process says it once for all, so each case has one of its own,
 * and this one opens no port. Where the kernel copies them the test is skipped.
 */
#include "unit.h"

#include "adapter.h"

static const struct {
    enum rbuf_fork_choice choice;
    enum ibv_fork_status status;
} rows[] = {{RBUF_FORK_OFF, IBV_FORK_DISABLED},
            {RBUF_FORK_AUTO, IBV_FORK_ENABLED},
            {RBUF_FORK_ON, IBV_FORK_ENABLED}};

START_TEST(called_where_it_is_wanted)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    size_t count;

    options.fork = rows[_i].choice;
    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    ck_assert_int_eq(ibv_is_fork_initialized(), rows[_i].status);
    rbuf_ports_close(ports, count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fork");

    (void) setenv("SOFTHCA_OLD_FORK", "1", 1); /* read at the first call of verbs */
    if (ibv_is_fork_initialized() != IBV_FORK_DISABLED) {
        printf("skipped: this kernel copies pinned pages at fork\n");
        return ADAPTER_NONE;
    }
    unit_add_loop(suite, called_where_it_is_wanted, sizeof(rows) / sizeof(rows[0]));
    return unit_run(suite);
}
