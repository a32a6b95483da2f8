/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Which of a machine's ports are used where the user has not said, as a table of machines. */
#include "unit.h"

#include "verbs/selection.h"

#define PORTS_MAX 8

static struct ibv_device devices[PORTS_MAX];

/* Ports as text, "NAME:PORT KIND SPEED LEVELS", separated by commas. Kinds: i, j: InfiniBand
 * subnets; r, s, t: Ethernet, of three IP networks; l: with a link-local address only; p, q:
 * InfiniBand of the subnet of i in a partition of less than its number; x, y: InfiniBand and
 * Ethernet outside of the partition that is wanted. Ports of a name are of one adapter. */
static size_t parse(const char *text, struct rbuf_candidate ports[PORTS_MAX])
{
    size_t count = 0;

    while (*text != '\0') {
        struct rbuf_candidate *port = &ports[count];
        unsigned speed;
        char kind;

        *port = (struct rbuf_candidate){.state = RBUF_CANDIDATE_ACTIVE};
        ck_assert_int_eq(sscanf(text, " %15s %c %u %d", port->name, &kind, &speed, &port->levels),
                         4);
        port->address.speed = (uint16_t) (speed * 10);
        port->address.link_layer =
            strchr("ijpqx", kind) != NULL ? RBUF_LINK_INFINIBAND : RBUF_LINK_ETHERNET;
        port->address.subnet = strchr("pqx", kind) != NULL ? 'i' : (uint64_t) kind;
        port->address.pkey = kind == 'p' || kind == 'q' ? (uint16_t) kind : 0x7fff;
        port->link_local = kind == 'l';
        port->outside = kind == 'x' || kind == 'y';
        port->device = &devices[count];
        for (size_t i = 0; i < count; i++) {
            const size_t length = strcspn(ports[i].name, ":");

            if (length == strcspn(port->name, ":") &&
                strncmp(ports[i].name, port->name, length) == 0) {
                port->device = ports[i].device;
            }
        }
        count++;
        text += strcspn(text, ",");
        text += strspn(text, ",");
    }
    return count;
}

static void select_text(const char *machine, char text[128])
{
    struct rbuf_candidate ports[PORTS_MAX];
    struct rbuf_candidate *chosen[PORTS_MAX];
    const size_t count = parse(machine, ports);
    const size_t written = rbuf_select(ports, count, chosen);
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < written; i++) {
        used +=
            (size_t) snprintf(text + used, 128 - used, "%s%s", i > 0 ? " " : "", chosen[i]->name);
    }
}

START_TEST(machines)
{
    static const struct {
        const char *machine;
        const char *chosen;
    } cases[] = {
        {"", ""},
        {"a:1 i 100 0", "a:1"},
        {"a:1 i 100 0,a:2 i 100 0", "a:1 a:2"},
        /* Among equals the nearest, then the first by name, as people count. */
        {"a:1 i 100 2,b:1 i 100 0", "b:1"},
        {"b:1 i 100 1,a:1 i 100 1", "a:1"},
        {"a10:1 i 100 1,a9:1 i 100 1", "a9:1"},
        /* The faster wherever it is. */
        {"a:1 r 25 0,b:1 r 100 2", "b:1"},
        {"a:1 i 25 0,b:1 i 100 2,c:1 i 100 1", "c:1"},
        /* A slower port of the chosen adapter is not used, nor one of another fabric. */
        {"a:1 i 100 0,a:2 i 25 0", "a:1"},
        {"a:1 i 100 0,a:2 r 100 0", "a:1 a:2"},
        /* One adapter of each fabric, the faster fabric first, wherever it is. */
        {"a:1 r 25 0,b:1 i 100 2", "b:1 a:1"},
        {"a:1 i 25 0,b:1 r 100 2", "b:1 a:1"},
        {"a:1 r 100 0,b:1 i 100 2", "b:1 a:1"},
        {"a:1 j 100 0,b:1 i 100 2", "b:1 a:1"},
        {"a:1 r 25 0,b:1 i 100 2,c:1 i 100 1,d:1 r 25 1,d:2 r 25 1", "c:1 a:1"},
        /* Networks of one fabric, by the place of what is best in each. */
        {"a:1 r 100 1,b:1 s 100 0", "b:1 a:1"},
        {"a:1 r 100 0,b:1 s 100 1", "a:1 b:1"},
        {"a:1 s 100 0,a:2 r 100 0", "a:1 a:2"},
        {"a:1 r 100 1,a:2 s 100 1,b:1 r 100 0,b:2 s 100 0", "b:1 b:2"},
        {"a:1 r 25 0,b:1 s 100 2,c:1 t 25 1", "b:1 a:1 c:1"},
        {"a:1 r 100 0,b:1 i 100 2,c:1 s 100 1", "b:1 a:1 c:1"},
        /* An interface that nobody has set up comes last, however fast. */
        {"a:1 l 100 0,b:1 r 25 2", "b:1"},
        {"a:1 l 100 0,b:1 i 25 2", "b:1 a:1"},
        {"a:1 l 100 0", "a:1"},
        /* Partitions are fabrics of their own, of equally fast ones the lowest first. */
        {"a:1 q 100 0,b:1 p 100 2", "b:1 a:1"},
        {"a:1 i 100 0,b:1 p 100 2", "b:1 a:1"},
        {"a:1 p 25 0,b:1 q 100 2", "b:1 a:1"},
        {"a:1 p 100 1,b:1 p 100 0", "b:1"},
        /* Ports outside of the wanted one do not count, but if there are no others. */
        {"a:1 x 100 0,b:1 p 25 2", "b:1"},
        {"a:1 y 100 0,b:1 p 25 2", "b:1"},
        {"a:1 x 100 0", "a:1"},
    };
    char text[128];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        select_text(cases[i].machine, text);
        ck_assert_msg(strcmp(text, cases[i].chosen) == 0, "\"%s\": \"%s\", not \"%s\"",
                      cases[i].machine, text, cases[i].chosen);
    }
}
END_TEST

/* Processes of one machine, near different sockets, find the same fabric first. */
START_TEST(places_do_not_choose_the_fabric)
{
    static const char *const machines[][2] = {
        {"a:1 r 100 0,b:1 i 100 2", "a:1 r 100 2,b:1 i 100 0"},
        {"a:1 r 25 0,b:1 i 100 2", "a:1 r 25 2,b:1 i 100 0"},
        {"a:1 r 100 0,b:1 r 25 2", "a:1 r 100 2,b:1 r 25 0"},
        {"a:1 j 100 0,b:1 i 100 2", "a:1 j 100 2,b:1 i 100 0"}};

    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        char here[128], there[128];

        select_text(machines[i][0], here);
        select_text(machines[i][1], there);
        ck_assert_str_eq(here, there);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("selection");

    unit_add(suite, machines);
    unit_add(suite, places_do_not_choose_the_fabric);
    return unit_run(suite);
}
