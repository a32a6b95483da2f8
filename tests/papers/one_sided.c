/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One-sided epochs, simulated beside the figures of the paper that core/onesided/rma_order.c cites:
 * writes, reads and messages by the core that ships.
 *
 *     one_sided order    16 puts and 16 gets in an epoch (figure 7), a put and a get (figure 8), by
 *                        order and bus
 *     one_sided packed   epochs of one put or get: direct, and in one message with the
 *                        synchronisation (figures 9 and 10)
 *     one_sided copied   puts and gets of memory that is not registered beside those of memory that
 *                        is, in the order of their calls: one, and 16 of both in an epoch
 *     one_sided statements   the paper's numbers, ours, and whether ours hold
 *
 * The adapter is the paper's: 964 MB/s one way, and as much the other way at the same time; for
 * `copied` machines.c has them. Its latency is not in the text; 3 us, as was usual. On PCI Express
 * the bus is never waited for. On PCI-X, 64 bits at 133 MHz, both ways share 1064 MB/s.
 *
 * An epoch ends when all of it is complete at its origin and a word, written behind it, has told
 * the target. The target's post travels with the word that ended the epoch before. Exit status 1 if
 * a statement does not hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "verdict.h"
#include "world.h"

#define KB   1024u
#define EACH 16u /* puts and gets of an epoch */
#define PACKED_HEADER                                                                              \
    48u              /* bytes that a packed operation takes besides its data, and its message */
#define WARM_UPS 40u /* messages until there are rings */

enum bus { PCI_EXPRESS, PCI_X };

static const char *const bus_name[] = {"PCI Express", "PCI-X"};
static const char *const order_name[] = {"issue", "interleave", "prioritize", "both"};
static const uint32_t order_sizes[] = {4 * KB, 16 * KB, 64 * KB, 256 * KB, 1024 * KB};
static const uint32_t packed_sizes[] = {8, 64, 256, 1 * KB, 2 * KB, 4 * KB, 8 * KB};
enum {
    ORDER_SIZES = sizeof(order_sizes) / sizeof(order_sizes[0]),
    PACKED_SIZES = sizeof(packed_sizes) / sizeof(packed_sizes[0])
};
static bool all_hold = true;

static struct world *open_world(enum bus bus, enum rbuf_rma_order order)
{
    struct world_options options = world_defaults();

    options.model = (struct sim_model){.bytes_per_ns = 0.964,
                                       .latency_ns = 3000,
                                       .gap_ns = 100,
                                       .packet_bytes = 2048,
                                       .bus_bytes_per_ns = bus == PCI_X ? 1.064 : 0};
    options.core.rma_order = order;
    options.core.ring.longest = 9000;
    options.eager_copies = true;
    options.copy_bytes_per_ns = 3.8; /* as in reuse.c: a processor of those years */
    return world_open(&options);
}

static void run(struct world *world)
{
    if (world_run(world) != WORLD_DONE || world->corrupt > 0) {
        abort();
    }
}

/* One message on its own, ns. */
static double alone_ns(struct world *world, enum world_kind kind, unsigned from, uint64_t bytes)
{
    const struct world_message *message = world_begin(world, kind, from, 1 - from, bytes);

    run(world);
    return (double) (message->arrived_ns - message->started_ns);
}

/* From the first operation until the target knows that all are over, ns. */
static double epoch_ns(enum bus bus, enum rbuf_rma_order order, unsigned each, uint32_t bytes)
{
    struct world *world = open_world(bus, order);
    const uint64_t begin = world_now(world);
    double time;

    for (unsigned i = 0; i < each; i++) {
        world_send(world, WORLD_WRITE, 0, 1, bytes);
    }
    for (unsigned i = 0; i < each; i++) {
        world_send(world, WORLD_READ, 0, 1, bytes);
    }
    run(world);
    time = (double) (world_now(world) - begin);
    time += alone_ns(world, WORLD_RAW, 0, 8);
    world_close(world);
    return time;
}

/* 10^6 bytes a second, both ways together. */
static double throughput(enum bus bus, enum rbuf_rma_order order, uint32_t bytes)
{
    return 2e3 * EACH * bytes / epoch_ns(bus, order, EACH, bytes);
}

static void print_order(enum bus bus)
{
    for (enum rbuf_rma_order order = RBUF_RMA_ISSUE; order <= RBUF_RMA_BOTH; order++) {
        for (unsigned i = 0; i < ORDER_SIZES; i++) {
            printf("%s,%s,%u,%.0f,%.2f\n", bus_name[bus], order_name[order], order_sizes[i],
                   throughput(bus, order, order_sizes[i]),
                   epoch_ns(bus, order, 1, order_sizes[i]) / 1000);
        }
    }
}

/* ---- packed ---- */

struct epoch {
    double direct, packed; /* ns */
};

/* A message by the ring: every other one of the world's goes over the bulk queue pair. */
static double eager_ns(struct world *world, unsigned from, uint32_t bytes)
{
    for (;;) {
        const struct world_message *message =
            world_begin(world, WORLD_EAGER, from, 1 - from, bytes);

        run(world);
        if (message->channel == RBUF_CONTROL) {
            return (double) (message->arrived_ns - message->started_ns);
        }
    }
}

static struct world *open_with_rings(void)
{
    struct world *world = open_world(PCI_EXPRESS, RBUF_RMA_ISSUE);

    for (unsigned i = 0; i < WARM_UPS; i++) {
        world_send(world, WORLD_EAGER, i / 2 % 2, 1 - i / 2 % 2, 8);
    }
    run(world);
    return world;
}

/* The word that ends the epoch is posted right behind the write. */
static struct epoch put_epoch(uint32_t bytes)
{
    struct world *world = open_with_rings();
    const struct world_message *first = world_begin(world, WORLD_RAW, 0, 1, bytes);
    const struct world_message *last = world_begin(world, WORLD_RAW, 0, 1, 8);
    struct epoch epoch;

    run(world);
    epoch.direct = (double) (last->arrived_ns - first->started_ns);
    epoch.packed = eager_ns(world, 0, bytes + PACKED_HEADER);
    world_close(world);
    return epoch;
}

/* Direct: the word goes when the data is here. Packed: a message there, and one back. */
static struct epoch get_epoch(uint32_t bytes)
{
    struct world *world = open_with_rings();
    struct epoch epoch;

    epoch.direct = alone_ns(world, WORLD_READ, 0, bytes);
    epoch.direct += alone_ns(world, WORLD_RAW, 0, 8);
    epoch.packed = eager_ns(world, 0, PACKED_HEADER) + eager_ns(world, 1, bytes + PACKED_HEADER);
    world_close(world);
    return epoch;
}

static double less(struct epoch epoch)
{
    return 100 * (1 - epoch.packed / epoch.direct);
}

static void print_packed(void)
{
    printf("order,bytes,put us,put packed us,less %%,get us,get packed us,less for gets %%\n");
    for (unsigned i = 0; i < PACKED_SIZES; i++) {
        const struct epoch put = put_epoch(packed_sizes[i]), get = get_epoch(packed_sizes[i]);

        printf("packed,%u,%.2f,%.2f,%.1f,%.2f,%.2f,%.1f\n", packed_sizes[i], put.direct / 1000,
               put.packed / 1000, less(put), get.direct / 1000, get.packed / 1000, less(get));
    }
}

/* ---- copied ---- */

static struct world *open_machine(const char *name)
{
    const struct rbuf_machine *machine = &sim_machine_named(name)->machine;
    struct world_options options = world_defaults();

    options.model = (struct sim_model){.bytes_per_ns = machine->bytes_per_ns,
                                       .latency_ns = (uint64_t) machine->latency_ns,
                                       .gap_ns = (uint64_t) machine->gap_ns,
                                       .packet_bytes = machine->packet_bytes};
    options.send_copy = machine->send_copy;
    options.receive_copy = machine->receive_copy;
    options.poll_ns = options.post_ns = 50;
    return world_open(&options);
}

/* So many puts, then gets. Time of all until the last has ended, of which each has its share, us.
 */
static double mean_us(const char *machine, unsigned puts, enum world_kind put, unsigned gets,
                      enum world_kind get, uint64_t bytes)
{
    struct world *world = open_machine(machine);
    const uint64_t begin = world_now(world);
    const struct world_message *message;
    uint64_t end = begin;

    for (unsigned i = 0; i < puts + gets; i++) {
        world_begin(world, i < puts ? put : get, 0, 1, bytes);
    }
    run(world);
    for (message = world->messages; message != NULL; message = message->next) {
        end = message->arrived_ns > end ? message->arrived_ns : end;
    }
    world_close(world);
    return (double) (end - begin) / 1000 / (puts + gets);
}

static double put_us(const char *machine, enum world_kind kind, uint64_t bytes)
{
    return mean_us(machine, 1, kind, 0, kind, bytes);
}

static double get_us(const char *machine, enum world_kind kind, uint64_t bytes)
{
    return mean_us(machine, 0, kind, 1, kind, bytes);
}

static double both_us(const char *machine, enum world_kind put, enum world_kind get, uint64_t bytes)
{
    return mean_us(machine, EACH, put, EACH, get, bytes);
}

static void print_copied(void)
{
    static const char *const machines[] = {"graphene", "infini"};
    static const uint32_t sizes[] = {32 * KB, 64 * KB, 256 * KB, 1024 * KB};

    printf(
        "machine,bytes,put us,put copied us,get us,get copied us,16 puts and gets us,copied us\n");
    for (unsigned m = 0; m < 2; m++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            printf("%s,%u,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n", machines[m], sizes[i],
                   put_us(machines[m], WORLD_WRITE, sizes[i]),
                   put_us(machines[m], WORLD_COPIED_PUT, sizes[i]),
                   get_us(machines[m], WORLD_READ, sizes[i]),
                   get_us(machines[m], WORLD_GET, sizes[i]),
                   both_us(machines[m], WORLD_WRITE, WORLD_READ, sizes[i]),
                   both_us(machines[m], WORLD_COPIED_PUT, WORLD_GET, sizes[i]));
        }
    }
}

/* ---- statements ---- */

static void state(const char *what, const char *paper, double ours, const char *bound, bool holds)
{
    printf("%s,%s,%.2f,%s,%s\n", what, paper, ours, bound,
           sim_verdict(sim_standing_of(bound), holds));
    all_hold = all_hold && holds;
}

/* The most that the order both gains of the sizes, %. */
static double most_throughput(enum bus bus)
{
    double most = 0;

    for (unsigned i = 0; i < ORDER_SIZES; i++) {
        double more = 100 * (throughput(bus, RBUF_RMA_BOTH, order_sizes[i]) /
                                 throughput(bus, RBUF_RMA_ISSUE, order_sizes[i]) -
                             1);

        most = more > most ? more : most;
    }
    return most;
}

static double least_latency(enum bus bus)
{
    double most = 0;

    for (unsigned i = 0; i < ORDER_SIZES; i++) {
        double less = 100 * (1 - epoch_ns(bus, RBUF_RMA_BOTH, 1, order_sizes[i]) /
                                     epoch_ns(bus, RBUF_RMA_ISSUE, 1, order_sizes[i]));

        most = less > most ? less : most;
    }
    return most;
}

static void state_order(void)
{
    const uint32_t largest = order_sizes[ORDER_SIZES - 1];
    const double peak = throughput(PCI_EXPRESS, RBUF_RMA_BOTH, largest);
    double gain = most_throughput(PCI_EXPRESS);

    state("throughput with the order both: more %", "up to 76", gain, "70 to 100",
          gain >= 70 && gain <= 100);
    state("the same: MB/s", "1788", peak, "at least 1700", peak >= 1700);
    gain = most_throughput(PCI_X);
    state("the same on PCI-X: more %", "about 8", gain, "5 to 15", gain >= 5 && gain <= 15);
    gain = least_latency(PCI_EXPRESS);
    state("a put and a get: less time %", "up to 40", gain, "40 to 50", gain >= 40 && gain <= 50);
    gain = least_latency(PCI_X);
    state("the same on PCI-X: less time %", "20", gain, "at least 5", gain >= 5);
}

static void print_statements(void)
{
    const uint32_t most = order_sizes[ORDER_SIZES - 1];
    const double longer =
        get_us("infini", WORLD_GET, 64 * KB) / get_us("infini", WORLD_READ, 64 * KB);
    const double both = both_us("infini", WORLD_COPIED_PUT, WORLD_GET, most) /
                        both_us("infini", WORLD_WRITE, WORLD_READ, most);

    printf("statement,paper,ours,bound,\n");
    state_order();
    state("8 bytes put and packed: less time %", "up to 44", less(put_epoch(8)), "", true);
    state("8 bytes got and packed: less time %", "up to 42", less(get_epoch(8)), "at least 20",
          less(get_epoch(8)) >= 20);
    state("64 KB got into memory that is not registered: more time % on infini", "",
          100 * longer - 100, "at most 6", longer <= 1.06);
    state("16 puts and gets of 1 MB: the same", "", 100 * both - 100, "at most -35", both <= 0.65);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "order") == 0) {
        printf("bus,order,bytes,16 puts and gets MB/s,a put and a get us\n");
        print_order(PCI_EXPRESS);
        print_order(PCI_X);
    } else if (strcmp(what, "packed") == 0) {
        print_packed();
    } else if (strcmp(what, "copied") == 0) {
        print_copied();
    } else if (strcmp(what, "statements") == 0) {
        print_statements();
    } else {
        fprintf(stderr, "usage: one_sided order | packed | copied | statements\n");
        return 2;
    }
    return all_hold ? EXIT_SUCCESS : EXIT_FAILURE;
}
