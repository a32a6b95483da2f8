/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lists of interfaces: adapters to use or not to use, and network interfaces to listen on. The
 * first byte of an input says which; the rest is the list, or two of them, a line each. Adapters
 * and network interfaces are some that never change (the system's functions are stood in for, or
 * wrapped by -Wl,--wrap).
 */
#include "fuzz.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "connect/address.h"
#include "verbs/device.h"
#include "verbs/nearest.h"

/* --- adapters --- */

#undef ibv_query_port /* what the inline function of that name calls */
#undef ibv_get_device_list

#define DEVICES 4

static struct ibv_device devices[DEVICES] = {
    {.name = "mlx5_0", .transport_type = IBV_TRANSPORT_IB},
    {.name = "mlx5_10", .transport_type = IBV_TRANSPORT_IB},
    {.name = "rxe0", .transport_type = IBV_TRANSPORT_IB},
    {.name = "siw0", .transport_type = IBV_TRANSPORT_IWARP},
};
static struct ibv_context contexts[DEVICES];
static const int ports_of[DEVICES] = {2, 2, 1, 1};
static const bool active[DEVICES][2] = {{true, true}, {true, false}, {true}, {true}};
static int opened; /* contexts and ports */

int ibv_query_port(struct ibv_context *context, uint8_t number,
                   struct _compat_ibv_port_attr *attributes);

struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = calloc(DEVICES + 1, sizeof(struct ibv_device *));

    fuzz_require(list != NULL, "there is memory");
    for (int i = 0; i < DEVICES; i++) {
        list[i] = &devices[i];
    }
    *count = DEVICES;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    contexts[device - devices].device = device;
    opened++;
    return &contexts[device - devices];
}

int ibv_close_device(struct ibv_context *context)
{
    (void) context;
    opened--;
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
    memset(attributes, 0, sizeof(*attributes));
    attributes->phys_port_cnt = (uint8_t) ports_of[context->device - devices];
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t number,
                   struct _compat_ibv_port_attr *attributes)
{
    bool up = active[context->device - devices][number - 1];

    ((struct ibv_port_attr *) (void *) attributes)->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

int ibv_fork_init(void)
{
    return 0;
}

void rbuf_port_name(char name[RBUF_PORT_NAME_MAX], const struct ibv_device *device, uint8_t number)
{
    (void) snprintf(name, RBUF_PORT_NAME_MAX, "%s:%u", device->name, number);
}

int rbuf_port_open(struct ibv_device *device, uint8_t number,
                   const struct rbuf_device_options *options, struct rbuf_port **out,
                   struct rbuf_problem *problem)
{
    (void) options;
    (void) problem;
    *out = calloc(1, sizeof(**out));
    fuzz_require(*out != NULL, "there is memory");
    rbuf_port_name((*out)->name, device, number);
    opened++;
    return 0;
}

void rbuf_port_close(struct rbuf_port *port)
{
    free(port);
    opened--;
}

/* All of one fabric, and equally fast. */
void rbuf_port_survey(struct ibv_context *context, const struct ibv_port_attr *attributes,
                      const struct rbuf_device_options *options, struct rbuf_candidate *candidate)
{
    (void) context, (void) attributes, (void) options;
    candidate->address =
        (struct rbuf_port_address){.link_layer = RBUF_LINK_ETHERNET, .speed = 1000};
}

void rbuf_nearest_levels(struct rbuf_candidate *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ports[i].levels = ports[i].device == &devices[2] ? 3 : 4;
    }
}

static bool is_blank(const char *list)
{
    return list == NULL || list[strspn(list, ", \t")] == '\0';
}

/* Whether the list has an entry that is this device or this port of it. */
static bool has(const char *list, int device, int port)
{
    char name[RBUF_PORT_NAME_MAX];
    char *copy = strdup(list);
    bool found = false;
    char *save, *entry;

    rbuf_port_name(name, &devices[device], (uint8_t) port);
    for (entry = strtok_r(copy, ", \t", &save); entry != NULL;
         entry = strtok_r(NULL, ", \t", &save)) {
        found |= strcmp(entry, name) == 0 || strcmp(entry, devices[device].name) == 0;
    }
    free(copy);
    return found;
}

static void check_problem(const struct rbuf_problem *problem, int error)
{
    fuzz_require(error < 0 && problem->error == error && problem->topic != NULL,
                 "a refusal has a topic and its error");
    fuzz_require(memchr(problem->what, 0, sizeof(problem->what)) != NULL &&
                     memchr(problem->value, 0, sizeof(problem->value)) != NULL &&
                     memchr(problem->remedy, 0, sizeof(problem->remedy)) != NULL,
                 "its texts end");
    fuzz_require(problem->what[0] != '\0', "it says what was wrong");
}

static void check_ports(const char *include, const char *exclude, struct rbuf_port **ports,
                        size_t count)
{
    size_t expected = 0;

    for (int device = 0; device < DEVICES - 1; device++) {
        for (int port = 1; port <= ports_of[device]; port++) {
            char name[RBUF_PORT_NAME_MAX];
            bool wanted = active[device][port - 1];
            bool found = false;

            rbuf_port_name(name, &devices[device], (uint8_t) port);
            if (!is_blank(include)) {
                wanted = wanted && has(include, device, port);
            } else if (!is_blank(exclude)) {
                wanted = wanted && !has(exclude, device, port);
            } else {
                wanted = wanted && device == 2; /* the nearest */
            }
            for (size_t i = 0; i < count; i++) {
                found |= strcmp(ports[i]->name, name) == 0;
            }
            fuzz_require(found == wanted, "those ports are opened that were meant");
            expected += wanted;
        }
    }
    fuzz_require(count == expected && count > 0, "no port is opened twice");
}

static void try_adapters(struct fuzz_input *input)
{
    char *include = fuzz_text(input, '\n');
    char *exclude = fuzz_text(input, '\n');
    const struct rbuf_device_options options = {.include = include, .exclude = exclude};
    struct rbuf_port **ports = NULL;
    struct rbuf_problem problem = {0};
    size_t count = 0;
    int error = rbuf_ports_open(&options, &ports, &count, &problem);

    if (error != 0) {
        check_problem(&problem, error);
        fuzz_require(ports == NULL && count == 0, "a refusal opens nothing");
        fuzz_require(!is_blank(include) || !is_blank(exclude), "without a list there is a port");
    } else {
        check_ports(include, exclude, ports, count);
        rbuf_ports_close(ports, count);
    }
    fuzz_require(opened == 0, "everything is closed again");
    free(include);
    free(exclude);
}

/* --- network interfaces --- */

struct interface {
    const char *name;
    unsigned flags;
    int family;
    unsigned prefix;
    uint8_t address[16];
};

#define UP (IFF_UP | IFF_RUNNING)

static const struct interface interfaces[] = {
    {"lo", UP | IFF_LOOPBACK, AF_INET, 8, {127, 0, 0, 1}},
    {"eth0", UP, AF_INET, 24, {10, 0, 0, 1}},
    {"eth0", UP, AF_INET6, 64, {0xfe, 0x80, [15] = 1}},
    {"eth1", 0, AF_INET, 24, {10, 0, 1, 1}},
    {"ib0", UP, AF_INET, 16, {10, 1, 0, 1}},
    {"ib0", UP, AF_INET6, 64, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
    {"ib0", UP, AF_PACKET, 0, {0}},
    {"lo", UP | IFF_LOOPBACK, AF_INET6, 128, {[15] = 1}},
};

#define INTERFACES (sizeof(interfaces) / sizeof(interfaces[0]))

int __wrap_getifaddrs(struct ifaddrs **out);
void __wrap_freeifaddrs(struct ifaddrs *list);

static void fill_sockaddr(struct sockaddr_storage *name, int family, const uint8_t *bytes)
{
    memset(name, 0, sizeof(*name));
    name->ss_family = (sa_family_t) family;
    if (family == AF_INET) {
        memcpy(&((struct sockaddr_in *) name)->sin_addr, bytes, 4);
    } else if (family == AF_INET6) {
        memcpy(&((struct sockaddr_in6 *) name)->sin6_addr, bytes, 16);
    }
}

int __wrap_getifaddrs(struct ifaddrs **out)
{
    static struct ifaddrs list[INTERFACES];
    static struct sockaddr_storage names[INTERFACES], masks[INTERFACES];

    for (size_t i = 0; i < INTERFACES; i++) {
        uint8_t mask[16] = {0};

        for (unsigned bit = 0; bit < interfaces[i].prefix; bit++) {
            mask[bit / 8] |= (uint8_t) (0x80 >> bit % 8);
        }
        fill_sockaddr(&names[i], interfaces[i].family, interfaces[i].address);
        fill_sockaddr(&masks[i], interfaces[i].family, mask);
        list[i] = (struct ifaddrs){.ifa_next = i + 1 < INTERFACES ? &list[i + 1] : NULL,
                                   .ifa_name = (char *) (uintptr_t) interfaces[i].name,
                                   .ifa_flags = interfaces[i].flags,
                                   .ifa_addr = (struct sockaddr *) &names[i],
                                   .ifa_netmask = (struct sockaddr *) &masks[i]};
    }
    *out = list;
    opened++;
    return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
    (void) list;
    opened--;
}

static void check_local(const struct rbuf_local_addresses *local, bool named)
{
    unsigned loopbacks = 0;

    fuzz_require(local->count >= 1 && local->count <= RBUF_ADDRESSES_MAX, "there are addresses");
    for (unsigned i = 0; i < local->count; i++) {
        const struct rbuf_address *address = &local->all[i].address;
        bool real = false;

        for (size_t j = 0; j < INTERFACES; j++) {
            real |=
                interfaces[j].flags & IFF_UP && local->all[i].prefix == interfaces[j].prefix &&
                memcmp(interfaces[j].address, address->address, 16) == 0 &&
                interfaces[j].family == (address->family == RBUF_ADDRESS_IPV4 ? AF_INET : AF_INET6);
        }
        fuzz_require(real, "an address is that of an interface which is up");
        loopbacks += address->scope == RBUF_ADDRESS_LOOPBACK;
        fuzz_require(loopbacks == 0 || address->scope == RBUF_ADDRESS_LOOPBACK,
                     "loopback comes last");
    }
    fuzz_require(loopbacks == 2, "loopback is always there");
    fuzz_require(named || local->count == 5, "without a list all are there");
}

static void try_addresses(struct fuzz_input *input)
{
    char *list = fuzz_text(input, '\n');
    struct rbuf_local_addresses local = {.count = 99};
    struct rbuf_problem problem = {0};
    int error = rbuf_addresses_local(list, &local, &problem);

    if (error != 0) {
        check_problem(&problem, error);
        fuzz_require(local.count == 99, "a refusal leaves no trace");
        fuzz_require(!is_blank(list), "without a list there are addresses");
    } else {
        check_local(&local, !is_blank(list));
    }
    fuzz_require(opened == 0, "everything is freed again");
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t heap = fuzz_heap();

    if (fuzz_take(&input, 1) % 2 == 0) {
        try_adapters(&input);
    } else {
        try_addresses(&input);
    }
    fuzz_require(fuzz_heap() == heap, "nothing is left on the heap");
    return 0;
}
