/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* What is chosen when the user leaves it open: GID entries, peers, TCP addresses, the nearest
 * device. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "connect/address.h"
#include "verbs/completion.h"
#include "verbs/port_tables.h"
#include "verbs/in_order.h"
#include "verbs/nearest.h"

static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 9};
static const uint8_t link_local_ipv4[16] = {[10] = 0xff, 0xff, 169, 254, 3, 4};
static const uint8_t routable_ipv4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 7};
static const uint8_t routable_ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7};
static const uint8_t loopback_ipv4[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
static const uint8_t loopback_ipv6[16] = {[15] = 1};

START_TEST(gid_entries_have_an_order)
{
    const struct {
        enum rbuf_gid_kind kind;
        const uint8_t *gid;
    } best_first[] = {{RBUF_GID_ROCE_V2, routable_ipv4}, {RBUF_GID_ROCE_V2, routable_ipv6},
                      {RBUF_GID_ROCE_V1, routable_ipv4}, {RBUF_GID_ROCE_V1, routable_ipv6},
                      {RBUF_GID_ROCE_V2, loopback_ipv4}, {RBUF_GID_ROCE_V1, loopback_ipv6},
                      {RBUF_GID_ROCE_V2, link_local},    {RBUF_GID_ROCE_V1, link_local_ipv4}};
    unsigned before = 100;

    for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++) {
        unsigned rank = rbuf_gid_rank(best_first[i].kind, best_first[i].gid);

        ck_assert_msg(rank < before && rank > 0, "entry %zu ranks %u behind %u", i, rank, before);
        before = rank;
    }
}
END_TEST

/* Full members before limited ones, of the partition that is asked for; 0 is not usable. */
START_TEST(partition_keys_have_an_order)
{
    static const struct {
        uint16_t key;
        unsigned asked;
        enum rbuf_pkey_rank rank;
    } rows[] = {
        {0, 0, 0},      {0x8000, 0, 0},      {0xffff, 0, 2}, {0x8001, 0, 2}, {0x7fff, 0, 1},
        {1, 0, 1},      {0x8001, 0x8001, 2}, {0x8001, 1, 2}, {1, 0x8001, 1}, {1, 1, 1},
        {0x8002, 1, 0}, {0xffff, 1, 0},      {0, 1, 0},      {0, 0x8000, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(rbuf_pkey_rank(rows[i].key, rows[i].asked) == rows[i].rank,
                      "key %#x, asked for %#x: %u", rows[i].key, rows[i].asked,
                      rbuf_pkey_rank(rows[i].key, rows[i].asked));
    }
}
END_TEST

START_TEST(partitions_in_and_out_of_reach)
{
    static const struct {
        uint16_t one;
        uint16_t other;
        enum rbuf_reach reach;
    } rows[] = {
        {0xffff, 0xffff, RBUF_REACHABLE},       {0xffff, 0x7fff, RBUF_REACHABLE},
        {0x7fff, 0x7fff, RBUF_LIMITED_MEMBERS}, {0x8001, 0x8002, RBUF_OTHER_PARTITION},
        {0x8001, 0x7fff, RBUF_OTHER_PARTITION}, {1, 2, RBUF_OTHER_PARTITION},
    };
    struct rbuf_port_address one = {.link_layer = RBUF_LINK_INFINIBAND, .subnet = 1};
    struct rbuf_port_address other = one;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        one.pkey = rows[i].one;
        other.pkey = rows[i].other;
        ck_assert_int_eq(rbuf_address_reach(&one, &other), rows[i].reach);
        ck_assert_int_eq(rbuf_address_reach(&other, &one), rows[i].reach);
    }
}
END_TEST

START_TEST(addresses_of_one_network)
{
    static const struct {
        unsigned char one[16], other[16];
        size_t bytes;
        unsigned prefix;
        bool same;
    } rows[] = {
        {{10, 1, 2, 3}, {10, 1, 9, 9}, 4, 16, true},
        {{10, 1, 2, 3}, {10, 2, 2, 3}, 4, 16, false},
        {{10, 1, 2, 3}, {10, 1, 2, 60}, 4, 26, true},
        {{10, 1, 2, 3}, {10, 1, 2, 64}, 4, 26, false},
        {{10, 1, 2, 3}, {10, 1, 2, 2}, 4, 32, false},
        {{0x20, 1, [7] = 7}, {0x20, 1, [7] = 7, [15] = 1}, 16, 64, true},
        {{0x20, 1, [7] = 7}, {0x20, 1, [7] = 6}, 16, 64, false},
        {{0x20, 1, [7] = 7}, {0x20, 1, [7] = 6}, 16, 56, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t one = rbuf_network_of(rows[i].one, rows[i].bytes, rows[i].prefix);

        ck_assert_uint_ne(one, 0);
        ck_assert_int_eq(one == rbuf_network_of(rows[i].other, rows[i].bytes, rows[i].prefix),
                         rows[i].same);
    }
    /* One first address, but of networks of different sizes. */
    ck_assert_uint_ne(rbuf_network_of(rows[0].one, 4, 16), rbuf_network_of(rows[0].one, 4, 8));
}
END_TEST

/* By the interface that has it: loopback's is 8 bits. An address that nobody has is unknown. */
START_TEST(networks_of_gids)
{
    static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    static const uint8_t nobody[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2};
    static const uint8_t nobody_6[16] = {0x20, 1, 0x0d, 0xb8, [7] = 1, [15] = 1};

    ck_assert_uint_eq(rbuf_gid_subnet(loopback), rbuf_network_of(loopback + 12, 4, 8));
    ck_assert_uint_eq(rbuf_gid_subnet(nobody), 0);
    ck_assert_uint_eq(rbuf_gid_subnet(nobody_6), 0x20010db800000001u);
}
END_TEST

static struct rbuf_port port_of(enum rbuf_link_layer layer, enum rbuf_gid_kind kind,
                                const uint8_t *gid, uint64_t subnet)
{
    struct rbuf_port port = {.address = {.link_layer = (uint8_t) layer,
                                         .gid_kind = (uint8_t) kind,
                                         .subnet = subnet,
                                         .pkey = 0xffff}};

    memcpy(port.address.gid, gid, 16);
    return port;
}

START_TEST(peers_in_and_out_of_reach)
{
    struct rbuf_port ib =
        port_of(RBUF_LINK_INFINIBAND, RBUF_GID_INFINIBAND, link_local, 0xfe80000000000000u);
    struct rbuf_port other_ib =
        port_of(RBUF_LINK_INFINIBAND, RBUF_GID_INFINIBAND, link_local, 0xfec0000000000000u);
    struct rbuf_port v2 = port_of(RBUF_LINK_ETHERNET, RBUF_GID_ROCE_V2, routable_ipv4, 0);
    struct rbuf_port v1 = port_of(RBUF_LINK_ETHERNET, RBUF_GID_ROCE_V1, routable_ipv4, 0);
    struct rbuf_port v2_ipv6 = port_of(RBUF_LINK_ETHERNET, RBUF_GID_ROCE_V2, routable_ipv6, 0);

    ck_assert_int_eq(rbuf_address_reach(&ib.address, &ib.address), RBUF_REACHABLE);
    ck_assert_int_eq(rbuf_address_reach(&ib.address, &other_ib.address), RBUF_OTHER_SUBNET);
    ck_assert_int_eq(rbuf_address_reach(&ib.address, &v2.address), RBUF_OTHER_LINK_LAYER);
    ck_assert_int_eq(rbuf_address_reach(&v2.address, &v2.address), RBUF_REACHABLE);
    ck_assert_int_eq(rbuf_address_reach(&v2.address, &v1.address), RBUF_OTHER_GID_KIND);
    ck_assert_int_eq(rbuf_address_reach(&v2.address, &v2_ipv6.address), RBUF_OTHER_GID_KIND);
    for (int i = RBUF_REACHABLE; i < RBUF_REACHES; i++) {
        ck_assert_str_ne(rbuf_reach_text((enum rbuf_reach) i), "unknown");
    }
}
END_TEST

static struct rbuf_address ipv4(unsigned a, unsigned b, unsigned c, unsigned d)
{
    struct rbuf_address address = {.family = RBUF_ADDRESS_IPV4,
                                   .port = 4000,
                                   .address = {(uint8_t) a, (uint8_t) b, (uint8_t) c, (uint8_t) d}};

    address.scope = a == 127 ? RBUF_ADDRESS_LOOPBACK : RBUF_ADDRESS_GLOBAL;
    return address;
}

/* A peer with an interface that every machine has (172.17.0.1), one in our network and one
 * elsewhere. */
START_TEST(addresses_of_a_peer_in_order)
{
    struct rbuf_local_addresses local = {
        .all = {{ipv4(172, 17, 0, 1), 16}, {ipv4(10, 1, 2, 3), 20}, {ipv4(127, 0, 0, 1), 8}},
        .count = 3};
    struct rbuf_address_list remote = {.machine = 1,
                                       .count = 4,
                                       .address = {ipv4(172, 17, 0, 1), ipv4(192, 0, 2, 9),
                                                   ipv4(10, 1, 15, 200), ipv4(127, 0, 0, 1)}};
    struct rbuf_address order[RBUF_ADDRESSES_MAX];

    ck_assert(rbuf_addresses_valid(&remote));
    ck_assert_uint_eq(rbuf_addresses_order(&local, 2, &remote, order), 2);
    ck_assert_uint_eq(order[0].address[0], 10);
    ck_assert_uint_eq(order[1].address[0], 192);
    /* On one machine all of them lead there. */
    ck_assert_uint_eq(rbuf_addresses_order(&local, 1, &remote, order), 4);
    ck_assert_uint_eq(order[2].address[0], 192);
    ck_assert_uint_eq(order[3].address[0], 127);
    /* 10.1.16.1 is just outside of 10.1.0.0/20. */
    remote.address[0] = ipv4(10, 1, 16, 1);
    ck_assert_uint_eq(rbuf_addresses_order(&local, 2, &remote, order), 3);
    ck_assert_uint_eq(order[0].address[2], 15);
}
END_TEST

START_TEST(addresses_as_text)
{
    struct rbuf_address address = ipv4(10, 1, 2, 3);
    char text[RBUF_ADDRESS_TEXT_MAX];

    rbuf_address_text(&address, text);
    ck_assert_str_eq(text, "10.1.2.3:4000");
    address = (struct rbuf_address){
        .family = RBUF_ADDRESS_IPV6, .port = 4000, .address = {0x20, 1, [15] = 1}};
    rbuf_address_text(&address, text);
    ck_assert_str_eq(text, "[2001::1]:4000");
}
END_TEST

#if RBUF_HAVE_HWLOC
static void write_cpus(const char *directory, const char *mask)
{
    char path[IBV_SYSFS_PATH_MAX + 64];
    FILE *file;

    ck_assert_int_eq(mkdir(directory, 0700), 0);
    snprintf(path, sizeof(path), "%s/device", directory);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/device/local_cpus", directory);
    file = fopen(path, "w");
    fprintf(file, "%s\n", mask);
    fclose(file);
}

/* Every machine can tell this much: a device of all its processors is nearer than one of unknown
 * place, and one that is local to us is as near as can be. */
START_TEST(nearest_device)
{
    char root[] = "/tmp/rbuf-nearest-XXXXXX";
    struct ibv_device devices[3] = {0};
    struct rbuf_candidate ports[3];
    char command[128];

    ck_assert_ptr_nonnull(mkdtemp(root));
    for (int i = 0; i < 3; i++) {
        snprintf(devices[i].ibdev_path, sizeof(devices[i].ibdev_path), "%s/%d", root, i);
        ports[i].device = &devices[i];
    }
    write_cpus(devices[1].ibdev_path, "ffffffff,ffffffff,ffffffff,ffffffff");
    write_cpus(devices[2].ibdev_path, "00000000"); /* of no processor */
    rbuf_nearest_levels(ports, 3);
    ck_assert_int_lt(ports[1].levels, ports[0].levels);
    ck_assert_int_eq(ports[1].levels, 0);
    ck_assert_int_eq(ports[0].levels, ports[2].levels);
    snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST
#endif

START_TEST(order_of_placement_as_asked_for)
{
    struct rbuf_port port = {.options = {.subblock = RBUF_IN_ORDER_ON}};

    rbuf_in_order_decide(&port, NULL);
    ck_assert_int_eq(port.subblock, RBUF_SUBBLOCK_ON);
    port.options.subblock = RBUF_IN_ORDER_CHECKED;
    rbuf_in_order_decide(&port, NULL);
    ck_assert_int_eq(port.subblock, RBUF_SUBBLOCK_CHECKED);
    port.options.subblock = RBUF_IN_ORDER_OFF;
    rbuf_in_order_decide(&port, NULL);
    ck_assert_int_eq(port.subblock, RBUF_SUBBLOCK_OFF);
    ck_assert_uint_gt(strlen(port.in_order_why), 0);
}
END_TEST

START_TEST(completion_statuses)
{
    ck_assert_int_eq(rbuf_completion_errno(IBV_WC_SUCCESS), 0);
    for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; status++) {
        ck_assert_int_lt(rbuf_completion_errno((enum ibv_wc_status) status), 0);
    }
}
END_TEST

/* The fields are cut, never overrun. */
START_TEST(problems_are_bounded)
{
    struct rbuf_problem problem;
    char much[1000];

    memset(much, 'x', sizeof(much) - 1);
    much[sizeof(much) - 1] = '\0';
    ck_assert_int_eq(rbuf_problem_set(&problem, "device", -5, "%s", much), -5);
    rbuf_problem_value(&problem, "%s", much);
    rbuf_problem_remedy(&problem, "%s", much);
    ck_assert_uint_eq(strlen(problem.what), sizeof(problem.what) - 1);
    ck_assert_uint_eq(strlen(problem.value), sizeof(problem.value) - 1);
    ck_assert_uint_eq(strlen(problem.remedy), sizeof(problem.remedy) - 1);
    rbuf_problem_errno(&problem, -12);
    ck_assert_ptr_nonnull(strstr(problem.value, "errno 12"));
    ck_assert_int_eq(problem.error, -5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice");

    unit_add(suite, gid_entries_have_an_order);
    unit_add(suite, addresses_of_one_network);
    unit_add(suite, networks_of_gids);
    unit_add(suite, partition_keys_have_an_order);
    unit_add(suite, partitions_in_and_out_of_reach);
    unit_add(suite, peers_in_and_out_of_reach);
    unit_add(suite, addresses_of_a_peer_in_order);
    unit_add(suite, addresses_as_text);
#if RBUF_HAVE_HWLOC
    unit_add(suite, nearest_device);
#endif
    unit_add(suite, order_of_placement_as_asked_for);
    unit_add(suite, completion_statuses);
    unit_add(suite, problems_are_bounded);
    return unit_run(suite);
}
