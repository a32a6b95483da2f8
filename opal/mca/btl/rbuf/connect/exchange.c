/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Writes and checks messages of the exchange (exchange.h). What comes from outside is checked here,
 * field by field, before anybody else sees it.
 */
#include "connect/exchange.h"

#include <string.h>

#define QUEUE_NUMBER_MAX 0xffffffu /* 24 bits */
#define SWAPPED_ORDER    0x0201u

static const uint8_t magic[4] = {'r', 'b', 'u', 'f'};

size_t rbuf_exchange_bytes(unsigned kind)
{
    switch (kind) {
    case RBUF_EXCHANGE_REQ:
    case RBUF_EXCHANGE_REP:
        return sizeof(struct rbuf_exchange);
    case RBUF_EXCHANGE_MRA:
    case RBUF_EXCHANGE_RTU:
    case RBUF_EXCHANGE_REJ:
    case RBUF_EXCHANGE_DREQ:
        return sizeof(struct rbuf_exchange_header);
    default:
        return 0;
    }
}

size_t rbuf_exchange_seal(struct rbuf_exchange *message, enum rbuf_exchange_kind kind,
                          enum rbuf_reject_reason reason)
{
    size_t bytes = rbuf_exchange_bytes(kind);

    memcpy(message->header.magic, magic, sizeof(magic));
    message->header.byte_order = RBUF_EXCHANGE_ORDER;
    message->header.version = RBUF_WIRE_VERSION;
    message->header.kind = (uint8_t) kind;
    message->header.bytes = (uint32_t) bytes;
    message->header.reason = kind == RBUF_EXCHANGE_REJ ? reason : RBUF_REJECT_NONE;
    return bytes;
}

static enum rbuf_exchange_fault check_header(const struct rbuf_exchange_header *header)
{
    if (header->byte_order == SWAPPED_ORDER) {
        return RBUF_FAULT_BYTE_ORDER;
    }
    if (header->byte_order != RBUF_EXCHANGE_ORDER) {
        return RBUF_FAULT_GARBAGE;
    }
    if (header->version != RBUF_WIRE_VERSION) {
        return RBUF_FAULT_VERSION;
    }
    if (rbuf_exchange_bytes(header->kind) == 0) {
        return RBUF_FAULT_KIND;
    }
    if (header->bytes != rbuf_exchange_bytes(header->kind)) {
        return RBUF_FAULT_SIZE;
    }
    if (header->reason >= RBUF_REJECT_REASONS ||
        (header->kind == RBUF_EXCHANGE_REJ) != (header->reason != RBUF_REJECT_NONE)) {
        return RBUF_FAULT_FIELD;
    }
    return RBUF_FAULT_NONE;
}

static enum rbuf_exchange_fault check_address(const struct rbuf_port_address *address)
{
    if (address->mtu < RBUF_MTU_256 || address->mtu > RBUF_MTU_4096 ||
        address->gid_kind < RBUF_GID_INFINIBAND || address->gid_kind > RBUF_GID_ROCE_V2 ||
        (address->link_layer != RBUF_LINK_INFINIBAND &&
         address->link_layer != RBUF_LINK_ETHERNET) ||
        (address->link_layer == RBUF_LINK_INFINIBAND) !=
            (address->gid_kind == RBUF_GID_INFINIBAND)) {
        return RBUF_FAULT_FIELD;
    }
    return RBUF_FAULT_NONE;
}

static enum rbuf_exchange_fault check_side(const struct rbuf_exchange_side *side)
{
    for (unsigned i = 0; i < RBUF_CHANNELS; i++) {
        if (side->queue[i].qpn == 0 || side->queue[i].qpn > QUEUE_NUMBER_MAX ||
            side->queue[i].psn > QUEUE_NUMBER_MAX || side->window[i] == 0) {
            return RBUF_FAULT_FIELD;
        }
    }
    /* The mailbox is written in words. */
    if (side->mailbox == 0 || side->mailbox % sizeof(uint64_t) != 0 ||
        side->port >= RBUF_EXCHANGE_PORTS_MAX || side->their_port >= RBUF_EXCHANGE_PORTS_MAX) {
        return RBUF_FAULT_FIELD;
    }
    return check_address(&side->address);
}

enum rbuf_exchange_fault rbuf_exchange_parse(const void *data, size_t bytes,
                                             struct rbuf_exchange *out)
{
    struct rbuf_exchange message = {0};
    enum rbuf_exchange_fault fault;
    size_t known = bytes < sizeof(magic) ? bytes : sizeof(magic);

    if (memcmp(data, magic, known) != 0) {
        return RBUF_FAULT_GARBAGE;
    }
    if (bytes < sizeof(message.header)) {
        return RBUF_FAULT_INCOMPLETE;
    }
    memcpy(&message.header, data, sizeof(message.header));
    fault = check_header(&message.header);
    if (fault != RBUF_FAULT_NONE) {
        return fault;
    }
    if (bytes < message.header.bytes) {
        return RBUF_FAULT_INCOMPLETE;
    }
    memcpy(&message, data, message.header.bytes);
    if (message.header.bytes == sizeof(message)) {
        fault = check_side(&message.side);
    }
    if (fault == RBUF_FAULT_NONE) {
        *out = message;
    }
    return fault;
}

const char *rbuf_exchange_fault_text(enum rbuf_exchange_fault fault)
{
    static const char *const texts[RBUF_FAULTS] = {
        [RBUF_FAULT_NONE] = "nothing",
        [RBUF_FAULT_INCOMPLETE] = "incomplete",
        [RBUF_FAULT_GARBAGE] = "not a message of rbuf",
        [RBUF_FAULT_BYTE_ORDER] = "other byte order",
        [RBUF_FAULT_VERSION] = "other wire version",
        [RBUF_FAULT_KIND] = "unexpected kind of message",
        [RBUF_FAULT_SIZE] = "message of the wrong size",
        [RBUF_FAULT_FIELD] = "value out of range",
        [RBUF_FAULT_TOKEN] = "token of another process",
    };

    return fault < RBUF_FAULTS ? texts[fault] : "unknown";
}

const char *rbuf_reject_text(enum rbuf_reject_reason reason)
{
    static const char *const texts[RBUF_REJECT_REASONS] = {
        [RBUF_REJECT_NONE] = "not refused",
        [RBUF_REJECT_SIMULTANEOUS] = "both sides connected, the other request is used",
        [RBUF_REJECT_CONNECTED] = "connected already",
        [RBUF_REJECT_UNKNOWN] = "the requester is not known there",
        [RBUF_REJECT_UNREACHABLE] = "no port there that this one can reach",
        [RBUF_REJECT_RESOURCES] = "it has no queue pair or memory for it, as its own text says",
        [RBUF_REJECT_CLOSING] = "the process is finishing",
        [RBUF_REJECT_BUFFERS] =
            ("its receive buffers are of another size: give btl_rbuf_eager_limit, "
             "btl_rbuf_max_send_size and btl_rbuf_control_size alike to all processes"),
    };

    return reason < RBUF_REJECT_REASONS ? texts[reason] : "unknown";
}
