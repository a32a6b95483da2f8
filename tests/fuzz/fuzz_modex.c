/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What another process published: its judgement, and all that is done with it afterwards, that is
 * choosing a port that can be reached and the addresses to try.
 */
#include "fuzz.h"

#include <arpa/inet.h>

#include "module/modex.h"
#include "connect/address.h"

#define MACHINE 77u

/* One of our ports of each sort. */
static const struct rbuf_port ports[] = {
    {.address = {.link_layer = RBUF_LINK_INFINIBAND,
                 .gid_kind = RBUF_GID_INFINIBAND,
                 .subnet = 0xfe80000000000000u,
                 .lid = 1}},
    {.address = {.link_layer = RBUF_LINK_ETHERNET,
                 .gid_kind = RBUF_GID_ROCE_V2,
                 .gid = {[10] = 0xff, 0xff, 10, 0, 0, 1}}},
    {.address = {.link_layer = RBUF_LINK_ETHERNET,
                 .gid_kind = RBUF_GID_ROCE_V1,
                 .gid = {0xfe, 0x80}}},
};

static const struct rbuf_local_addresses local = {
    .all =
        {{{.family = RBUF_ADDRESS_IPV4, .address = {10, 0, 0, 1}}, 24},
         {{.family = RBUF_ADDRESS_IPV4, .address = {172, 16, 5, 1}}, 13},
         {{.family = RBUF_ADDRESS_IPV6, .address = {0x20, 1}}, 61},
         {{.family = RBUF_ADDRESS_IPV4, .scope = RBUF_ADDRESS_LOOPBACK, .address = {127, 0, 0, 1}},
          8}},
    .count = 4};

/* What is good, once more: only these fields are judged. */
static bool is_good(const mca_btl_rbuf_modex_t *modex, size_t bytes)
{
    bool good = memcmp(&modex->magic, "rbuf", 4) == 0 && modex->byte_order == 0x0102 &&
                modex->version == RBUF_WIRE_VERSION && modex->port_count <= RBUF_PORTS_MAX &&
                bytes == (size_t) ((const uint8_t *) &modex->port[modex->port_count] -
                                   (const uint8_t *) modex) &&
                modex->addresses.count >= 1 && modex->addresses.count <= RBUF_ADDRESSES_MAX;

    for (uint32_t i = 0; good && i < modex->addresses.count; i++) {
        const struct rbuf_address *address = &modex->addresses.address[i];

        good = (address->family == 4 || address->family == 6) && address->scope <= 1 &&
               address->port != 0;
    }
    return good;
}

static void check_address(const struct rbuf_address *address)
{
    char text[RBUF_ADDRESS_TEXT_MAX];
    struct sockaddr_storage name;
    socklen_t length = rbuf_address_to_socket(address, &name);

    memset(text, 'x', sizeof(text));
    rbuf_address_text(address, text);
    fuzz_require(memchr(text, 0, sizeof(text)) != NULL && text[0] != '\0', "a text ends");
    if (address->family == RBUF_ADDRESS_IPV4) {
        const struct sockaddr_in *in = (const void *) &name;

        fuzz_require(length == sizeof(*in) && ntohs(in->sin_port) == address->port &&
                         memcmp(&in->sin_addr, address->address, 4) == 0,
                     "an address becomes that of a socket");
    } else {
        const struct sockaddr_in6 *in6 = (const void *) &name;

        fuzz_require(length == sizeof(*in6) && ntohs(in6->sin6_port) == address->port &&
                         memcmp(&in6->sin6_addr, address->address, 16) == 0,
                     "an address becomes that of a socket");
    }
}

static void use_addresses(const struct rbuf_address_list *list)
{
    struct rbuf_address trying[RBUF_ADDRESSES_MAX];
    bool same_machine = list->machine == MACHINE;
    unsigned count = rbuf_addresses_order(&local, MACHINE, list, trying);

    fuzz_require(count <= list->count, "no address is tried twice");
    fuzz_require(!same_machine || count == list->count, "on this machine all are tried");
    for (unsigned i = 0; i < count; i++) {
        bool published = false;

        for (uint32_t j = 0; j < list->count; j++) {
            published |= memcmp(&trying[i], &list->address[j], sizeof(trying[i])) == 0;
        }
        fuzz_require(published, "what is tried was published");
        fuzz_require(same_machine || trying[i].scope == RBUF_ADDRESS_GLOBAL,
                     "loopback is not tried on another machine");
        check_address(&trying[i]);
    }
}

static void use_ports(const mca_btl_rbuf_modex_t *modex)
{
    for (size_t mine = 0; mine < sizeof(ports) / sizeof(ports[0]); mine++) {
        for (uint32_t i = 0; i < modex->port_count; i++) {
            enum rbuf_reach reach = rbuf_address_reach(&ports[mine].address, &modex->port[i]);

            fuzz_require(rbuf_reach_text(reach)[0] != '\0', "there is a text for it");
            fuzz_require(reach != RBUF_REACHABLE ||
                             modex->port[i].link_layer == ports[mine].address.link_layer,
                         "another link layer is not reached");
        }
    }
}

static int judge(const uint8_t *data, size_t size)
{
    mca_btl_rbuf_modex_t modex, whole = {0};
    uint8_t *published = malloc(size > 0 ? size : 1);
    const char *reason;

    fuzz_require(published != NULL, "there is memory");
    if (size > 0) {
        memcpy(published, data, size);
    }
    memcpy(&whole, published, size < sizeof(whole) ? size : sizeof(whole));
    memset(&modex, 0xa5, sizeof(modex));
    reason = mca_btl_rbuf_modex_read(published, size, &modex);
    fuzz_require((reason == NULL) == is_good(&whole, size), "what is good is taken, and only that");
    if (reason != NULL) {
        mca_btl_rbuf_modex_t untouched;

        memset(&untouched, 0xa5, sizeof(untouched));
        fuzz_require(memcmp(&modex, &untouched, sizeof(modex)) == 0, "a refusal leaves no trace");
    } else {
        fuzz_require(memcmp(&modex, &whole, sizeof(modex)) == 0, "what is taken is what came");
        fuzz_require(mca_btl_rbuf_modex_seal(&modex) == size, "sealed again it is as long");
        fuzz_require(memcmp(&modex, &whole, sizeof(modex)) == 0, "sealed again it is the same");
        use_addresses(&modex.addresses);
        use_ports(&modex);
    }
    free(published);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mca_btl_rbuf_modex_t modex = {
        .addresses =
            {.machine = MACHINE,
             .count = 2,
             .address = {{.family = RBUF_ADDRESS_IPV4, .port = 1, .address = {10, 0, 0, 2}},
                         {.family = RBUF_ADDRESS_IPV6, .port = 2, .address = {0x20, 2}}}},
        .port_count = 1,
        .port = {{.link_layer = RBUF_LINK_ETHERNET, .gid_kind = RBUF_GID_ROCE_V1}}};
    size_t bytes;

    if (size == 0 || data[0] != FUZZ_CHANGES) {
        return judge(data, size);
    }
    bytes = mca_btl_rbuf_modex_seal(&modex);
    fuzz_change(&modex, bytes, data + 1, size - 1);
    return judge((const uint8_t *) &modex, bytes);
}
