/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Which of a machine's ports are used where the user has not said, as a table of machines. */
#include "unit.h"

#include "verbs/selection.h"

#define PORTS_MAX 8

/* Ports as text, "NAME:PORT KIND SPEED LEVELS", separated by commas. Kinds: i, j: InfiniBand
 * subnets; r, s, t: Ethernet, of three IP networks; l: with a link-local address only; p, q:
 * InfiniBand of the subnet of i in a partition of less than its number; x, y: InfiniBand and
 * Ethernet outside of the partition that is wanted. Ports of a name are of one adapter. */
static size_t parse(const char *text, struct rbuf_selectable ports[PORTS_MAX],
                    char names[PORTS_MAX][16])
{
    size_t count = 0;

    while (*text != '\0') {
        struct rbuf_selectable *port = &ports[count];
        unsigned speed;
        char kind;
        int levels;

        ck_assert_int_eq(sscanf(text, " %15s %c %u %d", names[count], &kind, &speed, &levels), 4);
        *port = (struct rbuf_selectable){.name = names[count],
                                         .speed = speed * 1000,
                                         .levels = levels,
                                         .link_local = kind == 'l'};
        port->link_layer =
            strchr("ijpqx", kind) != NULL ? RBUF_LINK_INFINIBAND : RBUF_LINK_ETHERNET;
        port->subnet = strchr("pqx", kind) != NULL ? 'i' : (uint64_t) kind;
        port->partition = kind == 'p' || kind == 'q' ? (uint16_t) kind : 0x7fff;
        port->outside = kind == 'x' || kind == 'y';
        port->device = port;
        for (size_t i = 0; i < count; i++) {
            if (strcspn(names[i], ":") == strcspn(names[count], ":") &&
                strncmp(names[i], names[count], strcspn(names[i], ":")) == 0) {
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
    struct rbuf_selectable ports[PORTS_MAX];
    char names[PORTS_MAX][16];
    size_t chosen[PORTS_MAX];
    const size_t count = parse(machine, ports, names);
    const size_t written = rbuf_select(ports, count, chosen);
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < written; i++) {
        used += (size_t) snprintf(text + used, 128 - used, "%s%s", i > 0 ? " " : "",
                                  ports[chosen[i]].name);
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
