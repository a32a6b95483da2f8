/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data whose RTS still waits for a credit when the sender names them.
 */
#include "early.h"
#include "inspect/eager.h"

enum { WAITING_BYTES = 50000 };

/* The peer has no more places than are taken: what is sent next waits until it has. */
static void use_up_credits(struct rbuf_peer *peer)
{
    (void) rbuf_credit_look(peer, RBUF_FLOW_CONTROL);
    rbuf_credit_connected(peer, RBUF_FLOW_CONTROL, rbuf_credit_under_way(peer, RBUF_FLOW_CONTROL),
                          0);
    ck_assert(!rbuf_credit_available(peer, RBUF_FLOW_CONTROL));
}

/* One more message from that memory, which is the world's from now on. */
static struct world_message *send_from(struct world *world, unsigned char *source, uint64_t pattern)
{
    struct world_message *message = world_begin(world, WORLD_PUT, 0, 1, WAITING_BYTES);

    free(message->source);
    message->source = source;
    message->pattern = pattern;
    world_settle(world);
    return message;
}

/* Of two messages from the same memory the first one's receive is late. Its put takes the newest
 * early data, the second one's, whose RTS waits: the receiver must not hear of these before that.
 */
START_TEST(named_behind_their_rts)
{
    unsigned char *source = sim_allocate(WAITING_BYTES);
    struct world *world = early_open_arriving(_i);
    struct world_message *first = early_hold_from(world, source, WAITING_BYTES, 5);
    struct rbuf_peer *sender = early_sender(world);
    const uint16_t window = (uint16_t) rbuf_credit_window(sender, RBUF_FLOW_CONTROL);
    struct world_message *second;
    struct rbuf_offer offer;

    use_up_credits(sender);
    second = send_from(world, source, 5);
    ck_assert_uint_eq(inspect_waiting_kind(sender, RBUF_CONTROL, 0), RBUF_MESSAGE_RTS);
    offer = early_grant(world, first, RBUF_EARLY_UNKNOWN);
    ck_assert_uint_eq(offer.ask, 1);
    early_put_from(world, first, &offer, source);
    ck_assert_uint_eq(inspect_early_of_put(&first->put), early_newest(world));
    world_settle(world);
    rbuf_credit_connected(sender, RBUF_FLOW_CONTROL, window, 0);
    rbuf_peer_wake(sender);
    world_wake(&world->nodes[0]);
    case_run(world);
    early_arrived(first);
    early_arrived(second);
    ck_assert_uint_eq(early_stats(world, 1)->messages_refused, 0);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early data of an RTS that waits");

    unit_add_loop(suite, named_behind_their_rts, EARLY_ARRIVALS);
    return unit_run(suite);
}
