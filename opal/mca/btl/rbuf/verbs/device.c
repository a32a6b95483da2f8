/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lists all ports of the machine, chooses some by name or by verbs/selection.h, and opens them
 * (device.h). Owns nothing once that is done.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strverscmp() */
#endif
#include "verbs/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/names.h"
#include "verbs/nearest.h"
#include "verbs/selection.h"

/* The ports that there are. */
struct candidates {
    struct ibv_device **devices;
    struct rbuf_candidate *list; /* sorted by name */
    size_t count;
    struct rbuf_candidate **order; /* those that are chosen, as they are opened */
    size_t order_count;
};

static int compare_names(const void *a, const void *b)
{
    return strverscmp(((const struct rbuf_candidate *) a)->name,
                      ((const struct rbuf_candidate *) b)->name);
}

/* NULL: no memory. */
static struct rbuf_candidate *add_candidate(struct candidates *all, struct ibv_device *device,
                                            uint8_t number, enum rbuf_candidate_state state)
{
    struct rbuf_candidate *list = realloc(all->list, (all->count + 1) * sizeof(*list));

    if (list == NULL) {
        return NULL;
    }
    all->list = list;
    list += all->count++;
    *list = (struct rbuf_candidate){.device = device, .number = number, .state = state};
    rbuf_port_name(list->name, device, number);
    return list;
}

static bool scan_port(struct candidates *all, struct ibv_context *context, uint8_t number,
                      const struct rbuf_device_options *options)
{
    struct ibv_port_attr port;
    const bool active = ibv_query_port(context, number, &port) == 0 &&
                        (port.state == IBV_PORT_ACTIVE || port.state == IBV_PORT_ACTIVE_DEFER);
    struct rbuf_candidate *candidate = add_candidate(
        all, context->device, number, active ? RBUF_CANDIDATE_ACTIVE : RBUF_CANDIDATE_DOWN);

    if (candidate != NULL && active) {
        rbuf_port_survey(context, &port, options, candidate);
    }
    return candidate != NULL;
}

/* A device that cannot be opened or asked is taken for down: it matters only if it is named. False:
 * no memory. */
static bool scan_device(struct candidates *all, struct ibv_device *device,
                        const struct rbuf_device_options *options)
{
    struct ibv_context *context;
    struct ibv_device_attr attributes;
    bool done = true;

    if (device->transport_type != IBV_TRANSPORT_IB) {
        return add_candidate(all, device, 1,
                             device->transport_type == IBV_TRANSPORT_IWARP
                                 ? RBUF_CANDIDATE_IWARP
                                 : RBUF_CANDIDATE_UNCONNECTED) != NULL;
    }
    context = ibv_open_device(device);
    if (context == NULL || ibv_query_device(context, &attributes) != 0) {
        done = add_candidate(all, device, 1, RBUF_CANDIDATE_DOWN) != NULL;
    } else {
        for (unsigned i = 1; i <= attributes.phys_port_cnt && done; i++) {
            done = scan_port(all, context, (uint8_t) i, options);
        }
    }
    if (context != NULL) {
        (void) ibv_close_device(context);
    }
    return done;
}

static void free_candidates(struct candidates *all)
{
    free(all->order);
    free(all->list);
    if (all->devices != NULL) {
        ibv_free_device_list(all->devices);
    }
}

/* A program under softhca whose LD_PRELOAD was replaced has not the adapter that it was started
 * for. */
static const char *remedy_without_devices(void)
{
    return getenv("SOFTHCA_SEGMENT") == NULL
               ? "check that the drivers are loaded (ibv_devinfo)"
               : "softhca's library was not loaded, as LD_PRELOAD was replaced: instead of mpirun "
                 "-x "
                 "LD_PRELOAD=LIB start sh -c 'LD_PRELOAD=$LD_PRELOAD:LIB exec \"$@\"' sh PROGRAM";
}

static int scan(struct candidates *all, const struct rbuf_device_options *options,
                struct rbuf_problem *problem)
{
    bool done = true;
    int count = 0;
    int error;

    errno = 0;
    all->devices = ibv_get_device_list(&count);
    if (all->devices == NULL) {
        error = errno != 0 ? -errno : -ENODEV;
        rbuf_problem_set(problem, "no-device", -ENODEV, "verbs devices");
        rbuf_problem_errno(problem, error);
        rbuf_problem_remedy(problem, "%s", remedy_without_devices());
        return -ENODEV;
    }
    for (int i = 0; i < count && done; i++) {
        done = scan_device(all, all->devices[i], options);
    }
    all->order = calloc(all->count + 1, sizeof(struct rbuf_candidate *));
    if (!done || all->order == NULL) {
        error = rbuf_problem_set(problem, "no-device", -ENOMEM, "verbs devices");
        rbuf_problem_errno(problem, error);
        return error;
    }
    if (count > 1 && !rbuf_device_options_name(options)) {
        rbuf_nearest_levels(all->list, all->count);
    }
    if (all->count > 1) {
        qsort(all->list, all->count, sizeof(*all->list), compare_names);
    }
    return 0;
}

/* "mlx5_0:1 active, mlx5_0:2 down" */
static void describe(const struct candidates *all, struct rbuf_problem *problem)
{
    static const char *const states[] = {[RBUF_CANDIDATE_ACTIVE] = "active",
                                         [RBUF_CANDIDATE_DOWN] = "down",
                                         [RBUF_CANDIDATE_IWARP] = "iWARP, not supported",
                                         [RBUF_CANDIDATE_UNCONNECTED] =
                                             "without reliable connected queue pairs"};

    for (size_t i = 0; i < all->count; i++) {
        rbuf_problem_list(problem, "%s %s", all->list[i].name, states[all->list[i].state]);
    }
    if (all->count == 0) {
        rbuf_problem_value(problem, "none");
    }
}

/* Whether "device" or "device:port" of a list names the candidate. */
static bool names(const struct rbuf_name *entry, const struct rbuf_candidate *candidate)
{
    const char *colon = strrchr(candidate->name, ':');

    return rbuf_name_is(entry, candidate->name) ||
           (entry->length == (size_t) (colon - candidate->name) &&
            strncmp(candidate->name, entry->start, entry->length) == 0);
}

/* Where all that is there is of a kind that rbuf does not do, another component does it. */
static const char *remedy_of(const struct candidates *all)
{
    size_t counts[RBUF_CANDIDATE_STATES] = {0};

    for (size_t i = 0; i < all->count; i++) {
        counts[all->list[i].state]++;
    }
    if (counts[RBUF_CANDIDATE_DOWN] + counts[RBUF_CANDIDATE_ACTIVE] > 0 || all->count == 0) {
        return "check the cable and the subnet manager (ibv_devinfo), and which interfaces are "
               "excluded";
    }
    return counts[RBUF_CANDIDATE_IWARP] > 0
               ? "rbuf does InfiniBand and RoCE; iWARP is done by \"--mca pml cm --mca mtl ofi\" "
                 "with FI_PROVIDER=\"verbs;ofi_rxm\", or by \"--mca btl tcp,self\""
               : "rbuf wants reliable connected queue pairs; adapters without them are done by "
                 "\"--mca pml cm --mca mtl ofi\", or by \"--mca btl tcp,self\"";
}

static int refuse_entry(const struct candidates *all, const struct rbuf_name *entry,
                        struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "no-such-interface", -ENODEV, "%.*s", (int) entry->length,
                     entry->start);
    describe(all, problem);
    rbuf_problem_remedy(problem, "name DEVICE or DEVICE:PORT of a port that is active, several "
                                 "separated by commas");
    return -ENODEV;
}

/* Marks what `list` names as chosen or not; every entry must name something (active, to be chosen).
 */
static int apply_list(struct candidates *all, const char *list, bool chosen,
                      struct rbuf_problem *problem)
{
    struct rbuf_name entry;

    while (rbuf_names_next(&list, &entry)) {
        bool found = false;

        for (size_t i = 0; i < all->count; i++) {
            struct rbuf_candidate *candidate = &all->list[i];

            if (names(&entry, candidate) &&
                (!chosen || candidate->state == RBUF_CANDIDATE_ACTIVE)) {
                candidate->chosen = chosen;
                found = true;
            }
        }
        if (!found) {
            return refuse_entry(all, &entry, problem);
        }
    }
    return 0;
}

/* Those that are marked, by name. */
static void order_by_name(struct candidates *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->list[i].chosen) {
            all->order[all->order_count++] = &all->list[i];
        }
    }
}

bool rbuf_device_options_name(const struct rbuf_device_options *options)
{
    return rbuf_names_any(options->include) || rbuf_names_any(options->exclude);
}

/* Marks what the user has named, or not excluded. */
static int choose_named(struct candidates *all, const struct rbuf_device_options *options,
                        struct rbuf_problem *problem)
{
    if (rbuf_names_any(options->include) && rbuf_names_any(options->exclude)) {
        rbuf_problem_set(problem, "bad-option", -EINVAL, "interfaces to include and to exclude");
        rbuf_problem_value(problem, "\"%s\" and \"%s\"", options->include, options->exclude);
        rbuf_problem_remedy(problem, "only one of the two may be given");
        return -EINVAL;
    }
    if (rbuf_names_any(options->include)) {
        return apply_list(all, options->include, true, problem);
    }
    for (size_t i = 0; i < all->count; i++) {
        all->list[i].chosen = all->list[i].state == RBUF_CANDIDATE_ACTIVE;
    }
    return apply_list(all, options->exclude, false, problem);
}

/* Which of the adapters that are chosen each port's is. */
static void number_adapters(struct candidates *all)
{
    uint8_t adapters = 0;

    for (size_t i = 0; i < all->order_count; i++) {
        size_t first = 0;

        while (all->order[first]->device != all->order[i]->device) {
            first++;
        }
        all->order[i]->address.place = first < i ? all->order[first]->address.place : adapters++;
    }
}

static int choose(struct candidates *all, const struct rbuf_device_options *options,
                  struct rbuf_problem *problem)
{
    int error = 0;

    if (rbuf_device_options_name(options)) {
        error = choose_named(all, options, problem);
        order_by_name(all);
    } else {
        all->order_count = rbuf_select(all->list, all->count, all->order);
    }
    number_adapters(all);
    return error;
}

/* True if the transport can do without the port: nobody has named it, and it is of another fabric
 * than the best one. */
static bool is_spare(const struct candidates *all, const struct rbuf_device_options *options,
                     const struct rbuf_candidate *candidate)
{
    return !rbuf_device_options_name(options) && candidate->best != all->order[0]->best;
}

static int open_chosen(const struct candidates *all, const struct rbuf_device_options *options,
                       struct rbuf_port ***out, size_t *count, struct rbuf_problem *problem)
{
    struct rbuf_port **ports = calloc(all->count + 1, sizeof(*ports));
    size_t opened = 0;
    int error = 0;

    if (ports == NULL) {
        rbuf_problem_set(problem, "no-device", -ENOMEM, "a list of ports");
        rbuf_problem_errno(problem, -ENOMEM);
        return -ENOMEM;
    }
    for (size_t i = 0; i < all->order_count; i++) {
        const struct rbuf_candidate *candidate = all->order[i];

        error =
            rbuf_port_open(candidate->device, candidate->number, options, &ports[opened], problem);
        if (error == 0) {
            ports[opened++]->address.place = candidate->address.place;
        } else if (!is_spare(all, options, candidate)) {
            goto close_ports;
        }
    }
    if (opened == 0) {
        error = rbuf_problem_set(problem, "no-device", -ENODEV, "an active port");
        describe(all, problem);
        rbuf_problem_remedy(problem, "%s", remedy_of(all));
        goto close_ports;
    }
    *out = ports;
    *count = opened;
    return 0;

close_ports:
    rbuf_ports_close(ports, opened);
    return error;
}

int rbuf_ports_open(const struct rbuf_device_options *options, struct rbuf_port ***ports,
                    size_t *count, struct rbuf_problem *problem)
{
    struct candidates all = {0};
    int error = rbuf_fork_prepare(options->fork, problem);

    if (error == 0) {
        error = scan(&all, options, problem);
    }
    if (error == 0) {
        error = choose(&all, options, problem);
    }
    if (error == 0) {
        error = open_chosen(&all, options, ports, count, problem);
    }
    free_candidates(&all);
    return error;
}

void rbuf_ports_close(struct rbuf_port **ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rbuf_port_close(ports[i]);
    }
    free(ports);
}
