/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Several ports and several devices: their numbers and addresses, who reaches whom, links that go
 * down, and that each port has a link of its own.
 */
#include "litmus_device.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ---- ports ---- */

void one_port(void)
{
    struct device device = open_device(0);
    struct ibv_device_attr attr;
    struct ibv_port_attr port;

    expect(ibv_query_device(device.context, &attr), 0, "query_device");
    expect(attr.phys_port_cnt, 1, "the number of ports");
    expect(ibv_query_port(device.context, 2, &port), EINVAL, "query_port(2)");
    expect(to_init(create(&device), 2), EINVAL, "INIT on port 2");
}

void three_ports(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr address[4];
    struct ibv_device_attr attr;
    struct ibv_port_attr port;

    expect(ibv_query_device(device.context, &attr), 0, "query_device");
    expect(attr.phys_port_cnt, 3, "the number of ports");
    for (uint8_t i = 1; i <= 3; i++) {
        address[i] = address_of(&device, i, true);
        expect(port_of(&device, i).state, IBV_PORT_ACTIVE, "a port's state");
        expect(to_init(create(&device), i), 0, "INIT on a port");
        for (uint8_t j = 1; j < i; j++) {
            expect(address[i].dlid == address[j].dlid, 0, "ports of the same LID");
            expect(!memcmp(&address[i].grh.dgid, &address[j].grh.dgid, sizeof(union ibv_gid)), 0,
                   "ports of the same GID");
        }
    }
    expect(ibv_query_port(device.context, 0, &port), EINVAL, "query_port(0)");
    expect(ibv_query_port(device.context, 4, &port), EINVAL, "query_port(4)");
    expect(to_init(create(&device), 4), EINVAL, "INIT on port 4");
}

/* A write between two ports arrives. */
static void expect_reached(const struct device *a, uint8_t port_a, const struct device *b,
                           uint8_t port_b)
{
    struct ibv_qp *qp_a = create(a), *qp_b = create(b);

    connect_ports(a, port_a, qp_a, b, port_b, qp_b);
    memset(a->buffer, port_a * 16 + port_b, 64);
    post_write(a, qp_a, b, 64);
    expect(await(a), IBV_WC_SUCCESS, "a write's status");
    expect(b->buffer[BYTES / 2 + 63], port_a * 16 + port_b, "the byte that was written");
    ibv_destroy_qp(qp_a);
    ibv_destroy_qp(qp_b);
}

void ports_reach_each_other(void)
{
    struct device device = open_device(0);

    for (uint8_t a = 1; a <= 3; a++) {
        for (uint8_t b = 1; b <= 3; b++)
            expect_reached(&device, a, &device, b);
    }
}

/* What is sent to the right queue pair's number at another port's address is lost. */
void wrong_port_is_not_reached(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr first = address_of(&device, 1, true);
    struct ibv_qp *a = create(&device), *b = create(&device);

    if (to_init(a, 1) || to_init(b, 2) || to_rtr(a, 1, b->qp_num, &first) ||
        to_rtr(b, 2, a->qp_num, &first) || to_rts(a) || to_rts(b))
        fail("connecting: %s", strerror(errno));
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write to the wrong port");
}

#define SLOW_BYTES (BYTES / 2) /* 25 ms at 20 MB/s */

/* How long two writes take at once, between the ports given; ns, the least of some tries. */
static uint64_t two_writes(const struct device *device, const uint8_t ports[4])
{
    uint64_t least = UINT64_MAX;
    struct ibv_qp *qp[4];

    for (int i = 0; i < 4; i++)
        qp[i] = create(device);
    connect_ports(device, ports[0], qp[0], device, ports[1], qp[1]);
    connect_ports(device, ports[2], qp[2], device, ports[3], qp[3]);
    for (int i = 0; i < 8; i++) {
        uint64_t begin = now_ns(), took;

        post_write(device, qp[0], device, SLOW_BYTES);
        post_write(device, qp[2], device, SLOW_BYTES);
        expect(await(device), IBV_WC_SUCCESS, "the first write");
        expect(await(device), IBV_WC_SUCCESS, "the second write");
        took = now_ns() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static void expect_ms(uint64_t ns, unsigned least, unsigned most, const char *what)
{
    if (ns < least * 1000000ull || ns > most * 1000000ull)
        fail("%s: %.1f ms instead of %u to %u", what, (double) ns / 1e6, least, most);
}

void ports_have_links(void)
{
    struct device device = open_device(0);

    expect_ms(two_writes(&device, (const uint8_t[]){1, 1, 2, 2}), 25, 40, "each on its own port");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 2, 2, 1}), 25, 40, "across");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 1, 1, 2}), 50, 1000, "from one port");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 2, 2, 2}), 50, 1000, "to one port");
}

/* ---- links that are down ---- */

static void expect_port_event(const struct device *device, enum ibv_event_type type, int port)
{
    struct pollfd readable = {.fd = device->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (poll(&readable, 1, 1000) != 1 || ibv_get_async_event(device->context, &event))
        fail("no event instead of: %s", ibv_event_type_str(type));
    ibv_ack_async_event(&event);
    expect(event.event_type, type, "the event");
    expect(event.element.port_num, port, "the event's port");
}

void second_port_is_down(void)
{
    struct device device = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    expect(port_of(&device, 1).state, IBV_PORT_ACTIVE, "port 1's state");
    expect(port_of(&device, 2).state, IBV_PORT_DOWN, "port 2's state");
    expect_reached(&device, 1, &device, 1);
    connect_ports(&device, 1, a, &device, 2, b);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write to port 2");
}

void second_port_goes_down(void)
{
    struct device device = open_device(0), again = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    connect_ports(&device, 2, a, &device, 2, b);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_SUCCESS, "the first write");
    expect_reached(&device, 1, &device, 1); /* the second */
    expect_port_event(&device, IBV_EVENT_PORT_ERR, 2);
    expect_port_event(&again, IBV_EVENT_PORT_ERR, 2);
    expect(port_of(&device, 1).state, IBV_PORT_ACTIVE, "port 1's state");
    expect(port_of(&device, 2).state, IBV_PORT_DOWN, "port 2's state");
    expect_reached(&device, 1, &device, 1);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write on port 2");
}

void second_port_comes_back(void)
{
    struct device device = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    connect_ports(&device, 2, a, &device, 2, b);
    post_write(&device, a, &device, 64); /* is repeated for longer than the link is down */
    expect_port_event(&device, IBV_EVENT_PORT_ERR, 2);
    expect(await(&device), IBV_WC_SUCCESS, "the write's status");
    expect_port_event(&device, IBV_EVENT_PORT_ACTIVE, 2);
    expect(port_of(&device, 2).state, IBV_PORT_ACTIVE, "port 2's state");
}

/* ---- several devices ---- */

static void read_text(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");

    *out = '\0';
    if (file && fgets(out, (int) size, file))
        out[strcspn(out, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void expect_text(const char *path, const char *wanted)
{
    char got[256];

    read_text(path, got, sizeof(got));
    if (strcmp(got, wanted))
        fail("%s: '%s' instead of '%s'", path, got, wanted);
}

void several_devices(void)
{
    struct device a = open_device(0), b = open_device(1), c = open_device(2);
    union ibv_gid gid;
    int n;

    if (!ibv_get_device_list(&n))
        fail("no devices");
    expect(n, 3, "the number of devices");
    expect(strcmp(ibv_get_device_name(a.context->device), "roce0"), 0, "the first's name");
    expect(strcmp(ibv_get_device_name(b.context->device), "ib0"), 0, "the second's name");
    expect(port_of(&a, 1).link_layer, IBV_LINK_LAYER_ETHERNET, "the first's link layer");
    expect(port_of(&b, 1).link_layer, IBV_LINK_LAYER_INFINIBAND, "the second's link layer");
    expect(port_of(&a, 1).active_width * 256 + port_of(&a, 1).active_speed, 1 * 256 + 32,
           "25 Gbit/s");
    expect(port_of(&b, 2).active_width * 256 + port_of(&b, 2).active_speed, 2 * 256 + 32,
           "100 Gbit/s");
    expect(port_of(&c, 1).state, IBV_PORT_DOWN, "the third's state");
    expect(ibv_query_gid(b.context, 2, 0, &gid), 0, "query_gid");
    expect(gid.raw[7], 2, "the second's subnet");
    expect_text("/sys/class/infiniband/roce0/device/local_cpus", "00000001");
    expect_text("/sys/class/infiniband/ib0/device/local_cpus", "00000004,0000000e");
    expect_text("/sys/class/infiniband/ib1/device/local_cpus", "");
    expect_text("/sys/class/infiniband/ib1/ports/1/state", "1: DOWN");
    expect_text("/sys/class/infiniband_verbs/uverbs1/ibdev", "ib0");
}

/* What a write between two ports that do not reach each other gets. */
static void expect_not_reached(const struct device *a, const struct device *b)
{
    struct ibv_qp *qp_a = create(a), *qp_b = create(b);

    connect_ports(a, 1, qp_a, b, 1, qp_b);
    post_write(a, qp_a, b, 64);
    expect(await(a), IBV_WC_RETRY_EXC_ERR, "the status of a write to another network");
    ibv_destroy_qp(qp_a);
    ibv_destroy_qp(qp_b);
}

void subnets_are_apart(void)
{
    struct device a = open_device(0), b = open_device(1), c = open_device(2);

    expect_reached(&a, 1, &a, 1);
    expect_reached(&a, 1, &c, 1);
    expect_not_reached(&a, &b);
    expect_not_reached(&b, &c);
}

/* 512 KB between a device of 20 MB/s and one of 200 MB/s, and between two of the faster one. */
void slower_link_counts(void)
{
    struct device slow = open_device(0), fast = open_device(1);
    struct ibv_qp *to_slow = create(&fast), *at_slow = create(&slow);
    uint64_t least = UINT64_MAX;

    connect_ports(&fast, 1, to_slow, &slow, 1, at_slow);
    for (int i = 0; i < 5; i++) {
        uint64_t begin = now_ns();

        post_write(&fast, to_slow, &slow, SLOW_BYTES);
        expect(await(&fast), IBV_WC_SUCCESS, "a write to the slower device");
        least = now_ns() - begin < least ? now_ns() - begin : least;
    }
    expect_ms(least, 25, 40, "to the slower device");
    expect_ms(two_writes(&fast, (const uint8_t[]){1, 2, 2, 1}), 2, 20, "between the faster ones");
}
