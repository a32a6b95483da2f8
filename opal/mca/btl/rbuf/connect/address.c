/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Converts addresses, lists those of this machine's interfaces, and sorts those of a peer by how
 * likely they are to be reached (address.h).
 */
#include "connect/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/names.h"
#include "connect/port_address.h"

#define LOOPBACKS_MAX 2u /* entries kept for them */

static unsigned address_bytes(const struct rbuf_address *address)
{
    return address->family == RBUF_ADDRESS_IPV4 ? 4 : 16;
}

static bool same_host(const struct rbuf_address *a, const struct rbuf_address *b)
{
    return a->family == b->family && memcmp(a->address, b->address, address_bytes(a)) == 0;
}

static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
              "the port is at one offset in both");

/* Where a socket's name of IPv4 or IPv6 has the bytes of the address, in network order. */
static size_t offset_of_bytes(sa_family_t family)
{
    return family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
                             : offsetof(struct sockaddr_in6, sin6_addr);
}

bool rbuf_address_from_socket(const struct sockaddr *name, struct rbuf_address *out)
{
    *out = (struct rbuf_address){.family = RBUF_ADDRESS_IPV6};
    if (name->sa_family == AF_INET) {
        out->family = RBUF_ADDRESS_IPV4;
    } else if (name->sa_family != AF_INET6) {
        return false;
    }
    out->port = ntohs(((const struct sockaddr_in *) (const void *) name)->sin_port);
    memcpy(out->address, (const uint8_t *) name + offset_of_bytes(name->sa_family),
           address_bytes(out));
    return true;
}

/* The mask's own family need not be set: its bytes are where the address has them. */
unsigned rbuf_address_prefix(const struct ifaddrs *entry)
{
    const sa_family_t family = entry->ifa_addr->sa_family;
    const uint8_t *mask = (const uint8_t *) entry->ifa_netmask + offset_of_bytes(family);
    unsigned bits = 0;

    for (unsigned i = 0; i < (family == AF_INET ? 4 : 16); i++) {
        bits += (unsigned) __builtin_popcount(mask[i]);
    }
    return bits;
}

static bool in_network(const struct rbuf_local_address *local, const struct rbuf_address *address)
{
    const unsigned bytes = address_bytes(address);

    return local->address.family == address->family &&
           rbuf_network_of(local->address.address, bytes, local->prefix) ==
               rbuf_network_of(address->address, bytes, local->prefix);
}

/* False: not an address to be published. */
static bool convert(const struct ifaddrs *from, struct rbuf_local_address *out)
{
    *out = (struct rbuf_local_address){0};
    if (from->ifa_addr == NULL || from->ifa_netmask == NULL ||
        (from->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING) ||
        !rbuf_address_from_socket(from->ifa_addr, &out->address)) {
        return false;
    }
    if ((from->ifa_flags & IFF_LOOPBACK) != 0) {
        out->address.scope = RBUF_ADDRESS_LOOPBACK;
    }
    out->prefix = rbuf_address_prefix(from);
    return out->address.family == RBUF_ADDRESS_IPV4 ||
           !rbuf_gid_is_link_local(out->address.address);
}

/* Whether an entry, a name or a numeric address, stands for the interface's address. */
static bool entry_names(const struct rbuf_name *entry, const struct ifaddrs *interface,
                        const struct rbuf_local_address *address)
{
    struct rbuf_address asked = {.family = address->address.family};
    char text[INET6_ADDRSTRLEN];

    if (rbuf_name_is(entry, interface->ifa_name)) {
        return true;
    }
    if (entry->length >= sizeof(text)) {
        return false;
    }
    memcpy(text, entry->start, entry->length);
    text[entry->length] = '\0';
    return inet_pton(asked.family == RBUF_ADDRESS_IPV4 ? AF_INET : AF_INET6, text, asked.address) ==
               1 &&
           same_host(&asked, &address->address);
}

static void add(struct rbuf_local_addresses *out, const struct rbuf_local_address *address)
{
    unsigned most = address->address.scope == RBUF_ADDRESS_LOOPBACK
                        ? RBUF_ADDRESSES_MAX
                        : RBUF_ADDRESSES_MAX - LOOPBACKS_MAX;

    for (unsigned i = 0; i < out->count; i++) {
        if (same_host(&out->all[i].address, &address->address)) {
            return;
        }
    }
    if (out->count < most) {
        out->all[out->count++] = *address;
    }
}

static void add_by_scope(const struct ifaddrs *interfaces, enum rbuf_address_scope scope,
                         struct rbuf_local_addresses *out)
{
    struct rbuf_local_address address;

    for (const struct ifaddrs *i = interfaces; i != NULL; i = i->ifa_next) {
        if (convert(i, &address) && address.address.scope == scope) {
            add(out, &address);
        }
    }
}

static int refuse_entry(const struct ifaddrs *interfaces, const struct rbuf_name *entry,
                        struct rbuf_problem *problem)
{
    char text[RBUF_ADDRESS_TEXT_MAX];
    struct rbuf_local_address address;

    rbuf_problem_set(problem, "listener-address", -EADDRNOTAVAIL, "%.*s", (int) entry->length,
                     entry->start);
    for (const struct ifaddrs *i = interfaces; i != NULL; i = i->ifa_next) {
        if (convert(i, &address)) {
            rbuf_address_text(&address.address, text);
            rbuf_problem_list(problem, "%s %s", i->ifa_name, text);
        }
    }
    if (problem->value[0] == '\0') {
        rbuf_problem_value(problem, "none");
    }
    rbuf_problem_remedy(problem,
                        "name interfaces that are up, or addresses of theirs, separated by "
                        "commas");
    return -EADDRNOTAVAIL;
}

static int add_named(const struct ifaddrs *interfaces, const char *list,
                     struct rbuf_local_addresses *out, struct rbuf_problem *problem)
{
    struct rbuf_local_address address;
    struct rbuf_name entry;

    while (rbuf_names_next(&list, &entry)) {
        bool found = false;

        for (const struct ifaddrs *i = interfaces; i != NULL; i = i->ifa_next) {
            if (convert(i, &address) && entry_names(&entry, i, &address)) {
                found = true;
                if (address.address.scope == RBUF_ADDRESS_GLOBAL) {
                    add(out, &address);
                }
            }
        }
        if (!found) {
            return refuse_entry(interfaces, &entry, problem);
        }
    }
    return 0;
}

int rbuf_addresses_local(const char *interfaces, struct rbuf_local_addresses *out,
                         struct rbuf_problem *problem)
{
    struct rbuf_local_addresses found = {0};
    struct ifaddrs *all;
    int error = 0;

    if (getifaddrs(&all) != 0) {
        error = rbuf_problem_set(problem, "listener", -errno, "getifaddrs");
        rbuf_problem_errno(problem, error);
        return error;
    }
    if (rbuf_names_any(interfaces)) {
        error = add_named(all, interfaces, &found, problem);
    } else {
        add_by_scope(all, RBUF_ADDRESS_GLOBAL, &found);
    }
    add_by_scope(all, RBUF_ADDRESS_LOOPBACK, &found);
    if (error == 0 && found.count == 0) {
        error = rbuf_problem_set(problem, "listener-address", -EADDRNOTAVAIL, "any interface");
        rbuf_problem_value(problem, "none is up");
        rbuf_problem_remedy(problem, "bring up a network interface, the loopback one at least");
    }
    freeifaddrs(all);
    if (error == 0) {
        *out = found;
    }
    return error;
}

/* Place in the order of trying, 0 first; negative: not to be tried. */
static int rank(const struct rbuf_local_addresses *local, bool same_machine,
                const struct rbuf_address *address)
{
    int near = 1;

    if (address->scope == RBUF_ADDRESS_LOOPBACK) {
        return same_machine ? 2 : -1;
    }
    for (unsigned i = 0; i < local->count; i++) {
        if (!same_machine && same_host(&local->all[i].address, address)) {
            return -1;
        }
        if (in_network(&local->all[i], address)) {
            near = 0;
        }
    }
    return near;
}

unsigned rbuf_addresses_order(const struct rbuf_local_addresses *local, uint64_t machine,
                              const struct rbuf_address_list *remote,
                              struct rbuf_address out[RBUF_ADDRESSES_MAX])
{
    unsigned count = 0;

    for (int wanted = 0; wanted <= 2; wanted++) {
        for (unsigned i = 0; i < remote->count; i++) {
            if (rank(local, remote->machine == machine, &remote->address[i]) == wanted) {
                out[count++] = remote->address[i];
            }
        }
    }
    return count;
}

bool rbuf_addresses_valid(const struct rbuf_address_list *list)
{
    if (list->count == 0 || list->count > RBUF_ADDRESSES_MAX) {
        return false;
    }
    for (unsigned i = 0; i < list->count; i++) {
        const struct rbuf_address *address = &list->address[i];

        if ((address->family != RBUF_ADDRESS_IPV4 && address->family != RBUF_ADDRESS_IPV6) ||
            address->scope > RBUF_ADDRESS_LOOPBACK || address->port == 0) {
            return false;
        }
    }
    return true;
}

uint64_t rbuf_machine_id(void)
{
    char text[256] = {0};
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL || fgets(text, sizeof(text), file) == NULL) {
        (void) gethostname(text, sizeof(text) - 1);
    }
    if (file != NULL) {
        (void) fclose(file);
    }
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (uint8_t) *c) * 0x100000001b3u;
    }
    return hash;
}

socklen_t rbuf_address_to_socket(const struct rbuf_address *address, struct sockaddr_storage *out)
{
    const bool ipv4 = address->family == RBUF_ADDRESS_IPV4;

    memset(out, 0, sizeof(*out));
    out->ss_family = ipv4 ? AF_INET : AF_INET6;
    ((struct sockaddr_in *) out)->sin_port = htons(address->port);
    memcpy((uint8_t *) out + offset_of_bytes(out->ss_family), address->address,
           address_bytes(address));
    return ipv4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

void rbuf_address_text(const struct rbuf_address *address, char text[RBUF_ADDRESS_TEXT_MAX])
{
    bool ipv4 = address->family == RBUF_ADDRESS_IPV4;
    char host[INET6_ADDRSTRLEN] = "?";

    (void) inet_ntop(ipv4 ? AF_INET : AF_INET6, address->address, host, sizeof(host));
    if (address->port == 0) {
        (void) snprintf(text, RBUF_ADDRESS_TEXT_MAX, "%s", host);
    } else {
        (void) snprintf(text, RBUF_ADDRESS_TEXT_MAX, ipv4 ? "%s:%u" : "[%s]:%u", host,
                        address->port);
    }
}
