/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Messages of the connection exchange: what is taken, and every way of being refused. */
#include "unit.h"

#include "connect/connection.h"
#include "messages.h"

static const uint8_t token[RBUF_TOKEN_BYTES] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                9, 10, 11, 12, 13, 14, 15, 16};

static enum rbuf_exchange_fault parse(const struct rbuf_exchange *message, size_t bytes)
{
    struct rbuf_exchange out;

    return rbuf_exchange_parse(message, bytes, &out);
}

static enum rbuf_exchange_fault parse_whole(const struct rbuf_exchange *message)
{
    return parse(message, sizeof(*message));
}

START_TEST(every_kind_comes_back)
{
    for (unsigned kind = RBUF_EXCHANGE_REQ; kind <= RBUF_EXCHANGE_DREQ; kind++) {
        struct rbuf_exchange in = message_make((enum rbuf_exchange_kind) kind, token, 5);
        struct rbuf_exchange out;
        size_t bytes = rbuf_exchange_bytes(kind);

        ck_assert_uint_ge(bytes, sizeof(struct rbuf_exchange_header));
        ck_assert_uint_le(bytes, RBUF_EXCHANGE_BYTES_MAX);
        ck_assert_int_eq(rbuf_exchange_parse(&in, bytes, &out), RBUF_FAULT_NONE);
        ck_assert_int_eq(memcmp(&in, &out, bytes), 0);
    }
}
END_TEST

START_TEST(every_prefix_is_incomplete)
{
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, token, 5);
    struct rbuf_exchange out;

    for (size_t bytes = 0; bytes < sizeof(hello); bytes++) {
        ck_assert_int_eq(rbuf_exchange_parse(&hello, bytes, &out), RBUF_FAULT_INCOMPLETE);
        ck_assert_uint_lt(bytes, RBUF_EXCHANGE_BYTES_MAX);
    }
}
END_TEST

START_TEST(garbage_is_seen_at_its_first_byte)
{
    const char request[] = "GET / HTTP/1.0\r\n\r\n";
    struct rbuf_exchange out;

    for (size_t bytes = 1; bytes < sizeof(request); bytes++) {
        ck_assert_int_eq(rbuf_exchange_parse(request, bytes, &out), RBUF_FAULT_GARBAGE);
    }
}
END_TEST

START_TEST(headers_are_refused_by_reason)
{
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, token, 5);
    struct rbuf_exchange bad;

    bad = hello;
    bad.header.byte_order = 0x0201;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_BYTE_ORDER);
    bad.header.byte_order = 0x1234;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_GARBAGE);
    bad = hello;
    bad.header.version++;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_VERSION);
    bad = hello;
    bad.header.kind = 0;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_KIND);
    bad.header.kind = RBUF_EXCHANGE_DREQ + 1;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_KIND);
    bad = hello;
    bad.header.bytes = 1u << 30;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_SIZE);
    ck_assert_int_eq(parse(&bad, sizeof(bad.header)), RBUF_FAULT_SIZE);
    bad.header.bytes = 0;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_SIZE);
    bad = hello;
    bad.header.reason = 1;
    ck_assert_int_eq(parse_whole(&bad), RBUF_FAULT_FIELD);
}
END_TEST

START_TEST(refusals_carry_a_known_reason)
{
    struct rbuf_exchange refuse = message_make(RBUF_EXCHANGE_REJ, token, 5);

    ck_assert_int_eq(parse_whole(&refuse), RBUF_FAULT_NONE);
    refuse.header.reason = RBUF_REJECT_NONE;
    ck_assert_int_eq(parse_whole(&refuse), RBUF_FAULT_FIELD);
    refuse.header.reason = RBUF_REJECT_REASONS;
    ck_assert_int_eq(parse_whole(&refuse), RBUF_FAULT_FIELD);
}
END_TEST

START_TEST(fields_out_of_range)
{
    struct rbuf_exchange good = message_make(RBUF_EXCHANGE_REP, token, 5);
    struct rbuf_exchange bad[16];
    size_t count = 0;

    for (size_t i = 0; i < 16; i++) {
        bad[i] = good;
    }
    bad[count++].side.queue[RBUF_CONTROL].qpn = 0;
    bad[count++].side.queue[RBUF_BULK].qpn = 1u << 24;
    bad[count++].side.queue[RBUF_BULK].psn = 1u << 24;
    bad[count++].side.window[RBUF_CONTROL] = 0;
    bad[count++].side.mailbox = 0;
    bad[count++].side.mailbox += 4;
    bad[count++].side.port = RBUF_EXCHANGE_PORTS_MAX;
    bad[count++].side.their_port = UINT32_MAX;
    bad[count++].side.address.mtu = 0;
    bad[count++].side.address.mtu = RBUF_MTU_4096 + 1;
    bad[count++].side.address.link_layer = 0;
    bad[count++].side.address.link_layer = RBUF_LINK_ETHERNET; /* with an InfiniBand GID */
    bad[count++].side.address.gid_kind = RBUF_GID_ROCE_V2;     /* with an InfiniBand link */
    bad[count++].side.address.gid_kind = 77;
    ck_assert_int_eq(parse_whole(&good), RBUF_FAULT_NONE);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(parse_whole(&bad[i]) == RBUF_FAULT_FIELD, "case %zu was taken", i);
    }
}
END_TEST

/* A fixed pseudo-random walk: every byte of a good message replaced, and pure noise, at every
 * length. Nothing to assert but the bounds: it must not crash, read beyond or touch the output in
 * vain. */
START_TEST(spoilt_messages_do_no_harm)
{
    struct rbuf_exchange good = message_make(RBUF_EXCHANGE_REQ, token, 5);
    uint64_t random = 0x9e3779b97f4a7c15u;
    size_t taken = 0;

    for (unsigned round = 0; round < 200000; round++) {
        struct rbuf_exchange out;
        size_t bytes;
        unsigned char *exact; /* of exactly that many bytes, so that a sanitizer sees all else */
        enum rbuf_exchange_fault fault;

        random = random * 6364136223846793005u + 1442695040888963407u;
        bytes = (random >> 33) % (sizeof(good) + 1);
        exact = malloc(bytes != 0 ? bytes : 1);
        memcpy(exact, &good, bytes);
        if (bytes != 0) {
            exact[(random >> 20) % bytes] = (unsigned char) (random >> 50);
        }
        memset(&out, 0xa5, sizeof(out));
        fault = rbuf_exchange_parse(exact, bytes, &out);
        ck_assert(fault != RBUF_FAULT_INCOMPLETE || bytes < RBUF_EXCHANGE_BYTES_MAX);
        if (fault == RBUF_FAULT_NONE) {
            taken++;
            ck_assert_uint_eq(out.header.bytes, rbuf_exchange_bytes(out.header.kind));
        } else {
            ck_assert_int_eq(((unsigned char *) &out)[0], 0xa5);
        }
        free(exact);
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

/* Names of events stand in logs: there is one for each, and no two are alike. */
START_TEST(every_event_has_a_name)
{
    for (unsigned i = 0; i < RBUF_CONNECT_EVENT_KINDS; i++) {
        const char *name = rbuf_connect_event_name((enum rbuf_connect_event_kind) i);

        ck_assert_str_ne(name, "unknown");
        for (unsigned j = 0; j < i; j++) {
            ck_assert_str_ne(name, rbuf_connect_event_name((enum rbuf_connect_event_kind) j));
        }
    }
}
END_TEST

START_TEST(every_reason_has_a_text)
{
    for (int i = 0; i < RBUF_FAULTS; i++) {
        ck_assert_str_ne(rbuf_exchange_fault_text((enum rbuf_exchange_fault) i), "unknown");
    }
    for (int i = 0; i < RBUF_REJECT_REASONS; i++) {
        ck_assert_str_ne(rbuf_reject_text((enum rbuf_reject_reason) i), "unknown");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");

    unit_add(suite, every_kind_comes_back);
    unit_add(suite, every_prefix_is_incomplete);
    unit_add(suite, garbage_is_seen_at_its_first_byte);
    unit_add(suite, headers_are_refused_by_reason);
    unit_add(suite, refusals_carry_a_known_reason);
    unit_add(suite, fields_out_of_range);
    unit_add(suite, spoilt_messages_do_no_harm);
    unit_add(suite, every_event_has_a_name);
    unit_add(suite, every_reason_has_a_text);
    return unit_run(suite);
}
