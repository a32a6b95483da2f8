/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Ports on whatever adapter there is: what they say of themselves, which are opened, and with which
 * options. Without an adapter the test is skipped.
 */
#include "unit.h"

#include <errno.h>

#include "adapter.h"

START_TEST(ports_say_what_they_can)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    size_t count;

    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    ck_assert_uint_ge(count, 1);
    for (size_t i = 0; i < count; i++) {
        const struct rbuf_port *port = ports[i];

        printf("# %s: %s, MTU %u, %u Mbit/s, inline %u, reads %u, GID %u, "
               "partition %#x at %u, message %llu; in order: %s (%s)\n",
               port->name,
               port->address.link_layer == RBUF_LINK_ETHERNET ? "Ethernet" : "InfiniBand",
               port->mtu_bytes, port->bandwidth_mbps, port->max_inline, port->max_rd_atomic,
               port->gid_index, port->address.pkey, port->pkey_index,
               (unsigned long long) port->max_message,
               port->subblock == RBUF_SUBBLOCK_ON ? "yes" : "no", port->in_order_why);
        ck_assert_ptr_nonnull(strchr(port->name, ':'));
        ck_assert_uint_ge(port->mtu_bytes, 256);
        ck_assert_uint_ge(port->max_message, 1 << 20);
        ck_assert_uint_ge(port->max_rd_atomic, 1);
        ck_assert_uint_ge(port->address.max_rd_atomic, 1);
        ck_assert_uint_gt(port->bandwidth_mbps, 0);
        ck_assert_uint_gt(strlen(port->in_order_why), 0);
        ck_assert_int_eq(rbuf_address_reach(&port->address, &port->address), RBUF_REACHABLE);
    }
    rbuf_ports_close(ports, count);
}
END_TEST

START_TEST(ports_leave_nothing_open)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    unsigned before = 0;
    size_t count;

    for (int i = 0; i < 10; i++) {
        adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
        rbuf_ports_close(ports, count);
        if (i == 0) {
            before = unit_descriptors(); /* a provider may keep some from its first use on */
        }
    }
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(interfaces_by_name)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    char name[RBUF_PORT_NAME_MAX], device[RBUF_PORT_NAME_MAX];
    size_t count;

    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    strcpy(name, ports[0]->name);
    strcpy(device, name);
    *strchr(device, ':') = '\0';
    rbuf_ports_close(ports, count);

    options.include = name;
    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(ports[0]->name, name);
    rbuf_ports_close(ports, count);
    options.include = device;
    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    rbuf_ports_close(ports, count);

    options.include = "nope_7:3";
    ck_assert_int_eq(rbuf_ports_open(&options, &ports, &count, &problem), -ENODEV);
    ck_assert_str_eq(problem.topic, "no-such-interface");
    ck_assert_str_eq(problem.what, "nope_7:3");
    ck_assert_ptr_nonnull(strstr(problem.value, name));
    options.include = NULL;
    options.exclude = "nope_7";
    ck_assert_int_eq(rbuf_ports_open(&options, &ports, &count, &problem), -ENODEV);
    ck_assert_str_eq(problem.topic, "no-such-interface");
    options.include = name;
    options.exclude = name;
    ck_assert_int_eq(rbuf_ports_open(&options, &ports, &count, &problem), -EINVAL);
    ck_assert_str_eq(problem.topic, "bad-option");
}
END_TEST

START_TEST(options_out_of_range)
{
    struct rbuf_device_options bad[4];
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    size_t count;

    for (int i = 0; i < 4; i++) {
        bad[i] = adapter_options();
    }
    bad[0].gid_index = 9999;
    bad[1].mtu = 1000;
    bad[2].mtu = 8192;
    bad[3].pkey = 0x1234;
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(rbuf_ports_open(&bad[i], &ports, &count, &problem) == -EINVAL, "case %d", i);
        ck_assert_str_eq(problem.topic, i == 0 ? "bad-gid-index" : "bad-option");
        ck_assert_uint_gt(strlen(problem.value), 0);
        ck_assert_uint_gt(strlen(problem.remedy), 0);
    }
}
END_TEST

START_TEST(smaller_mtu)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    size_t count;

    options.mtu = 512;
    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    ck_assert_uint_eq(ports[0]->mtu_bytes, 512);
    ck_assert_uint_eq(ports[0]->address.mtu, IBV_MTU_512);
    rbuf_ports_close(ports, count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ports");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, ports_say_what_they_can);
    unit_add(suite, ports_leave_nothing_open);
    unit_add(suite, interfaces_by_name);
    unit_add(suite, options_out_of_range);
    unit_add(suite, smaller_mtu);
    return unit_run(suite);
}
