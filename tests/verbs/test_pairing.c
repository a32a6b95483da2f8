/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Which ports of two processes are connected: the pairs are one-to-one, both sides see the same
 * ones, and they are of the fabric that is meant. */
#include "unit.h"

#include "connect/pairing.h"

/* Ports as text: a letter for the link and the network behind it, a speed in Gbit/s, and for RoCE
 * ports perhaps a subnet, and a place, and for any perhaps a partition key. i, j: InfiniBand
 * subnets; r: RoCE v2 with IPv4; s: with IPv6; l: with a link-local one; q: v1. */
static struct rbuf_port_address parse_port(const char *text)
{
    struct rbuf_port_address port = {0};
    unsigned speed = 0;
    unsigned subnet = 0;
    unsigned place = 0;
    unsigned pkey = 0xffff;
    char kind = 0;
    int read;

    ck_assert_int_ge(
        sscanf(text, "%c%u%n/%u%n@%u%n", &kind, &speed, &read, &subnet, &read, &place, &read), 2);
    (void) sscanf(text + read, "=%x", &pkey);
    port.pkey = (uint16_t) pkey;
    port.place = (uint8_t) place;
    port.speed = (uint16_t) (speed * 10);
    port.link_layer = kind < 'k' ? RBUF_LINK_INFINIBAND : RBUF_LINK_ETHERNET;
    port.subnet = kind < 'k' ? 0xfe80000000000000u + (unsigned) kind : subnet;
    port.gid_kind = kind < 'k'    ? RBUF_GID_INFINIBAND
                    : kind == 'q' ? RBUF_GID_ROCE_V1
                                  : RBUF_GID_ROCE_V2;
    if (kind == 'r' || kind == 'q') {
        port.gid[10] = port.gid[11] = 0xff;
    }
    if (kind == 'l') {
        port.gid[0] = 0xfe;
        port.gid[1] = 0x80;
    }
    return port;
}

struct ports {
    struct rbuf_port_address list[RBUF_PORTS_MAX];
    struct rbuf_pairing_side side;
};

/* "i100 i100 r25", and an exclamation mark in front if the user has named them. */
static void parse_side(struct ports *ports, const char *text, uint32_t rank)
{
    ports->side = (struct rbuf_pairing_side){.port = ports->list, .rank = rank};
    ports->side.chosen = text[0] == '!';
    text += text[0] == '!';
    while (*text != '\0') {
        ports->list[ports->side.count++] = parse_port(text);
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
}

/* As seen from one side, after a look from the other: "0-1 2-0". */
static void pairs_text(const struct ports *ours, const struct ports *theirs, char text[128])
{
    const struct rbuf_pairs pairs = rbuf_pair(&ours->side, &theirs->side);
    const struct rbuf_pairs mirrored = rbuf_pair(&theirs->side, &ours->side);
    uint32_t count = 0;
    size_t used = 0;

    text[0] = '\0';
    ck_assert_uint_eq(pairs.count, mirrored.count);
    for (uint32_t i = 0; i < RBUF_PORTS_MAX; i++) {
        int partner = pairs.partner[i];

        if (partner >= 0) {
            ck_assert_uint_lt(i, ours->side.count);
            ck_assert_int_lt(partner, (int) theirs->side.count);
            ck_assert_msg(mirrored.partner[partner] == (int) i, "port %u: the other side differs",
                          i);
            used += (size_t) snprintf(text + used, 128 - used, "%s%u-%d", count > 0 ? " " : "", i,
                                      partner);
            count++;
        }
    }
    ck_assert_uint_eq(count, pairs.count);
}

/* Two sides, and the pairs that they make. */
static const struct {
    const char *ours;
    const char *theirs;
    const char *pairs;
} pairings[] = {
    {"i100", "i100", "0-0"},
    {"i100 i100", "i100 i100", "0-0 1-1"},
    {"i100", "", ""},
    {"", "", ""},
    {"i100", "j100", ""},
    {"i100", "r100", ""},
    {"r100", "q100", ""},
    {"r100", "s100", ""},
    {"i100", "r25 i100", "0-1"},
    {"i100 r25", "i100 r25", "0-0"}, /* the better fabric only */
    {"i100 r25", "r25", "1-0"},      /* what there is */
    {"r25 r100", "r100", "1-0"},
    {"i25 r100", "i100 r100", "1-1"},     /* by the slower side */
    {"i100 r100", "r100 i100", "0-1"},    /* InfiniBand at the same speed */
    {"q100 r100", "r100 q100", "1-0"},    /* RoCE v2 */
    {"s100 r100", "r100 s100", "1-0"},    /* IPv4 */
    {"j100 i100", "i100 j100", "1-0"},    /* the lower subnet */
    {"!i100 r25", "i100 r25", "0-0 1-1"}, /* the user wants all */
    {"i100 r25", "!r25 i100", "0-1 1-0"},
    {"!i100 i100 r25", "i100 r25 r25", "0-0 2-1"},
    {"r100/1 r100/2", "r100/2 r100/1", "0-1 1-0"}, /* first within a subnet */
    {"r100/1 r100/2", "r100/2", "1-0"},
    {"r100/1 r100/2", "r100/3 r100/2", "1-1"}, /* nothing that may lead nowhere */
    {"!r100/1 r100/2", "r100/3 r100/2", "1-1"},
    {"r100/1 r100/2", "r100/3 r100/4", "0-0 1-1"}, /* but then routed */
    {"!r100/1 r100/2", "r100/3 r100/4", "0-0 1-1"},
    {"r100/1", "r100", "0-0"}, /* which one is not known */
    /* A link-local address may lead nowhere: all else goes before it. */
    {"l100/1", "l100/1", "0-0"},
    {"i25 l100/1", "l100/1 i25", "0-1"},
    {"i25 l100/1", "l100/1", "1-0"},
    {"l100 i25", "r100 i25 l100", "1-1"},
    {"!i25 l100/1", "i25 l100/1", "0-0 1-1"}, /* the user wants all */
    /* Adapters near either socket, each with a network of its own. */
    {"r100/1@0 r100/2@1", "r100/1@0 r100/2@1", "0-0"},
    {"r100/2@0 r100/1@1", "r100/2@0 r100/1@1", "0-0"},
    {"r100/1@0 r100/2@1", "r100/2@0 r100/1@1", "0-1 1-0"}, /* as far for both */
    {"r100/1@0 r100/2@1", "r100/2@0", "1-0"},
    {"r100/1@0 r100/2@1", "r100/3@0 r100/4@1", "0-0"}, /* routed: the preferred ones */
    {"r100/1@0 r100/2@0 r100/3@1 r100/4@1", "r100/1@0 r100/2@0 r100/3@1 r100/4@1", "0-0 1-1"},
    {"r100/2@0 r25/1@1", "r25/1@0 r100/2@1", "0-1"}, /* the faster wherever it is */
    {"r100/2@0 r25/1@1", "r25/1@0", "1-0"},
    {"i100@0 r100/1@1", "r100/1@0 i100@1", "0-1"},
    /* Partitions: the low 15 bits are one, and one of the two is a full member. */
    {"i100=8001", "i100=8001", "0-0"},
    {"i100=8001", "i100=1", "0-0"},
    {"i100=1", "i100=1", ""},
    {"i100=8001", "i100=8002", ""},
    {"i100=8001", "i100=2", ""},
    {"i100=8001 i100=8002", "i100=8002", "1-0"},
    {"i100=8002 i100=8001", "i100=8001 i100=8002", "1-0"}, /* the lower one */
    {"i100=1 i100=8002", "i100=1 i100=8002", "1-1"},       /* the one that both can use */
    {"i100=1 i100=8002", "i100=8001 i100=8002", "0-0"},
    {"i100=1 i100=1", "i100=8001 i100=8001", "0-0 1-1"},
    {"i100=1 i100=8001", "i100=1", "1-0"}, /* of a side full members only, if it has one */
    {"i100=1 i100=8001", "i100=1 i100=8001", "1-1"},
    {"i100=1", "i100=1 i100=8001", "0-1"},
    {"!i100=8001 i100=8002", "i100=8002 i100=8001", "0-1 1-0"}, /* the user wants all */
    {"!i100=1 i100=8002", "i100=1 i100=8002", "1-1"},
    {"!i100=1 r25/1", "i100=1 r25/1", "1-1"},
    {"i100=1 r25/1", "i100=1 r25/1", "1-1"},
};

START_TEST(pairs_as_expected)
{
    struct ports ours, theirs;
    char text[128];

    for (size_t i = 0; i < sizeof(pairings) / sizeof(pairings[0]); i++) {
        parse_side(&ours, pairings[i].ours, 0);
        parse_side(&theirs, pairings[i].theirs, 0);
        pairs_text(&ours, &theirs, text);
        ck_assert_msg(strcmp(text, pairings[i].pairs) == 0, "\"%s\" with \"%s\": %s, not %s",
                      pairings[i].ours, pairings[i].theirs, text, pairings[i].pairs);
    }
}
END_TEST

/* The least that is in the way is what people hear of. */
START_TEST(what_is_in_the_way)
{
    static const struct {
        const char *ours;
        const char *theirs;
        enum rbuf_reach reach;
        uint32_t our_port;
        uint32_t their_port;
        const char *trait; /* of their port */
    } cases[] = {
        {"i100", "r100", RBUF_OTHER_LINK_LAYER, 0, 0, "Ethernet"},
        {"r25 i100", "j100", RBUF_OTHER_SUBNET, 1, 0, "subnet prefix 0xfe8000000000006a"},
        {"i100 r100", "s25", RBUF_OTHER_GID_KIND, 1, 0, "RoCE v2, ::"},
        {"s100", "q25", RBUF_OTHER_GID_KIND, 0, 0, "RoCE v1, 0.0.0.0"},
        {"j100 i100=8001", "i100=8002", RBUF_OTHER_PARTITION, 1, 0,
         "partition key 0x8002 (full member)"},
        {"i100=8002 i100=1", "i100=7fff i100=1", RBUF_LIMITED_MEMBERS, 1, 1,
         "partition key 0x0001 (limited member)"},
        {"i100", "", RBUF_REACHABLE, 0, 0, ""},
    };
    struct ports ours, theirs;
    char trait[RBUF_PORT_TRAIT_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rbuf_obstacle least;

        parse_side(&ours, cases[i].ours, 0);
        parse_side(&theirs, cases[i].theirs, 0);
        least = rbuf_pairing_obstacle(&ours.side, &theirs.side);
        ck_assert_msg(least.reach == cases[i].reach && least.our_port == cases[i].our_port &&
                          least.their_port == cases[i].their_port,
                      "case %zu: %s, ports %u and %u", i, rbuf_reach_text(least.reach),
                      least.our_port, least.their_port);
        if (theirs.side.count > 0) {
            rbuf_reach_trait(least.reach, &theirs.list[least.their_port], trait);
            ck_assert_str_eq(trait, cases[i].trait);
        }
    }
}
END_TEST

/* As many pairs as the lesser has ports. */
START_TEST(any_numbers_of_ports)
{
    static const char *const ports[] = {"i100", "i100 i100", "i100 i100 i100",
                                        "i100 i100 i100 i100"};
    struct ports ours, theirs;
    char text[128];

    for (uint32_t n = 1; n <= 4; n++) {
        for (uint32_t m = 1; m <= 4; m++) {
            for (uint32_t rank = 0; rank < 24; rank++) {
                parse_side(&ours, ports[n - 1], rank);
                parse_side(&theirs, ports[m - 1], rank + 5);
                pairs_text(&ours, &theirs, text);
                ck_assert_uint_eq(rbuf_pair(&ours.side, &theirs.side).count, n < m ? n : m);
            }
        }
    }
}
END_TEST

/* The partners of a process with three ports, each with one or two, use all of these alike. */
START_TEST(partners_are_spread)
{
    static const char *const ports[] = {"i100", "i100 i100"};
    struct ports ours, theirs;

    parse_side(&ours, "i100 i100 i100", 7);
    for (size_t i = 0; i < 2; i++) {
        unsigned used[3] = {0};

        for (uint32_t rank = 0; rank < 30; rank++) {
            struct rbuf_pairs pairs;

            parse_side(&theirs, ports[i], rank);
            pairs = rbuf_pair(&ours.side, &theirs.side);
            for (int port = 0; port < 3; port++) {
                used[port] += pairs.partner[port] >= 0;
            }
        }
        for (int port = 0; port < 3; port++) {
            ck_assert_uint_eq(used[port], 10 * (i + 1));
        }
    }
}
END_TEST

/* Whatever two processes have published, they agree. */
START_TEST(any_ports)
{
    static const char *const kinds[] = {"i100", "i50",  "j100", "r100/1",   "r100/2",
                                        "r25",  "s100", "q100", "r100/3@1", "r100/2@2"};
    uint64_t random = 12345;

    for (unsigned round = 0; round < 20000; round++) {
        struct ports sides[2];
        char text[128];

        for (int side = 0; side < 2; side++) {
            char list[128] = "";

            random = random * 6364136223846793005u + 1442695040888963407u;
            strcat(list, (random >> 60) == 0 ? "!" : "");
            for (unsigned i = 0; i < (random >> 40) % (RBUF_PORTS_MAX + 1); i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                strcat(list, i > 0 ? " " : "");
                strcat(list, kinds[(random >> 40) % (sizeof(kinds) / sizeof(kinds[0]))]);
            }
            parse_side(&sides[side], list, (uint32_t) (random >> 33));
        }
        pairs_text(&sides[0], &sides[1], text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairing");

    unit_add(suite, pairs_as_expected);
    unit_add(suite, what_is_in_the_way);
    unit_add(suite, any_numbers_of_ports);
    unit_add(suite, partners_are_spread);
    unit_add(suite, any_ports);
    return unit_run(suite);
}
