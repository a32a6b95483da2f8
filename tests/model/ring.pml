/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A model of an eager ring beside send/receive, for the checker spin: all interleavings of a
 * sender, its adapter and a receiver. Rings of SLOTS slots are leased, declined, recalled, handed
 * back unasked, and leased again. It leaves out sizes and time, and keeps what core/eager/ring.h,
 * core/link/credit.h and core/inbox.h promise:
 *
 *   - a message is read as it was written: nothing writes a slot, on either side, that is in use;
 *   - messages are delivered in the order of their numbers, whichever way they went;
 *   - slots that are freed in any order give credits for runs only;
 *   - nobody writes a ring that was handed back, nor memory that was given to another ring;
 *   - every message arrives and every ring that was recalled comes back (no state is a dead end).
 *
 * One queue pair executes in order. A write is read from the sender's slot when it is executed; it
 * places its payload, then its word, and the receiver may look in between. Messages of the receiver
 * come in order too, and lie there until the sender looks: each of them carries counts modulo
 * MODULUS, which are kept and only looked at when credits run out. The mailbox is seen at once, past
 * all messages that were sent before.
 *
 * Two parts, each with all of its interleavings: how rings come and go, with counts that do not
 * wrap, and, with COUNTS defined, one ring whose counts wrap.
 *
 * Defining one of these makes the model wrong in one way, and the checker must find it:
 *   WORD_FIRST    the adapter places the word before the payload
 *   EARLY_CREDIT  a freed slot gives its credit though one before it is in use
 *   NO_DRAIN      a message of send/receive is taken without the ring messages before it
 *   BACK_AT_ONCE  the receiver's memory serves the next ring when it is recalled, before BACK
 *   ANSWER_TWICE  a RECALL that crossed an unasked BACK is answered, and that counts for the next
 *   SLOTS_EARLY   the sender's memory serves others as soon as BACK is posted
 *   ANY_BACK      or as soon as any BACK is known to have left, also that of the ring before
 * and of COUNTS:
 *   BULK_COUNTS   counts of the bulk channel, which come late, are believed
 *   SHORT_MAILBOX the mailbox has as few bits as headers
 *   FAR_MAILBOX   the mailbox is believed however far it is ahead of messages that were not taken
 */
#define SLOTS  2
#define WINDOW 1 /* of send/receive */

#ifdef COUNTS
#define MESSAGES 6
#define RINGS    1
#define HEADERS  1 /* messages that carry counts back */
#define MODULUS  5
#define FAR      2 /* FAR + SLOTS < MODULUS */
#else
#define MESSAGES 4
#define RINGS    3
#define HEADERS  0
#define MODULUS  64
#define FAR      60
#endif

#define NOTHING 255 /* what memory holds that serves somebody else */
#define BACK    100 /* instead of a number */

mtype = { WRITE, SEND, RING, RECALL, DATA };
mtype = { NONE, OPEN, CLOSING, REINVITED };

/* The queue pair: a slot and its use, or a sequence and a number. */
chan queue = [SLOTS + WINDOW + 1] of { mtype, byte, byte };
chan received = [WINDOW + 1] of { byte, byte }; /* the receiver's completions: sequence, number */
/* Messages of the receiver: kind, first use, counts of ring and send/receive. */
chan to_sender = [3] of { mtype, byte, byte, byte };

/* Memory: the sender's slots, and the receiver's. */
byte slots_here[SLOTS];
byte payload[SLOTS];
byte word[SLOTS]; /* use, counted from 1 */
byte box_ring = 0, box_send = 0;

bool leased = false; /* the receiver's memory belongs to a ring */
byte backs_left = 0; /* BACKs that the sender's adapter has sent, by its completions */
byte delivered = 0;
bool busy[SLOTS];    /* slots that the user reads */
#ifdef BULK_COUNTS
bool bulk_in = false; /* a message of the bulk channel is there, with these counts */
byte bulk_ring, bulk_send;
#endif

active proctype adapter()
{
    mtype kind;
    byte one, two;

end:
    do
    :: queue ? kind, one, two ->
        if
        :: kind == WRITE ->
            assert(leased && !busy[one]);
#ifdef WORD_FIRST
            word[one] = two;
            payload[one] = slots_here[one];
#else
            payload[one] = slots_here[one];
            word[one] = two;
#endif
        :: else ->
            atomic {
                received ! one, two;
                if
                :: two == BACK -> backs_left++
                :: else
                fi }
        fi
    od
}

/* ---- the sender ---- */

mtype state = NONE;
byte next = 0; /* message */
byte sequence_out = 0;
byte use, slot, offered;
byte ring_sent = 0, send_sent = 0;
byte ring_taken = 0, send_taken = 0; /* of those, known to be taken off */
byte ring_swept = 0, send_swept = 0; /* as it was when all messages had been taken */
bool counts_in = false;
byte counts_ring, counts_send;
byte backs_due = 0; /* BACKs that wait for a credit; everything queues behind them */
byte backs_out = 0; /* BACKs that are not known to have left */

/* Takes a count of few bits, if it can be true. */
inline believe(count, taken, sent)
{
    if
    :: (count + MODULUS - taken % MODULUS) % MODULUS <= sent - taken ->
        taken = taken + (count + MODULUS - taken % MODULUS) % MODULUS
    :: else
    fi
}

inline read_mailbox(box, taken, sent, swept)
{
#ifdef SHORT_MAILBOX
    believe(box % MODULUS, taken, sent)
#else
    if
    :: box > taken && box <= sent ->
#ifdef FAR_MAILBOX
        taken = box
#else
        taken = (box <= swept + FAR -> box : (taken > swept + FAR -> taken : swept + FAR))
#endif
    :: else
    fi
#endif
}

inline look_at_counts()
{
    if
    :: counts_in -> counts_in = false;
        believe(counts_ring, ring_taken, ring_sent);
        believe(counts_send, send_taken, send_sent)
    :: else
    fi
}

inline give_slots_back()
{
    slots_here[0] = NOTHING;
    slots_here[1] = NOTHING;
}

inline hand_back()
{
    state = CLOSING;
    backs_due++;
    backs_out++;
#ifdef SLOTS_EARLY
    give_slots_back();
#endif
}

/* Accepts the ring that was offered, or declines. */
inline accept()
{
    if
    :: state = OPEN; use = offered; slot = 0; ring_taken = ring_sent
    :: hand_back()
    fi
}

inline recalled()
{
    if
    :: state == OPEN || state == REINVITED -> hand_back()
#ifdef ANSWER_TWICE
    :: else -> hand_back()
#else
    :: else
#endif
    fi
}

active proctype sender()
{
    mtype kind;
    byte first, ring, send;

end:
    do
    :: atomic { to_sender ? kind, first, ring, send ->
        counts_in = true; counts_ring = ring; counts_send = send;
        if
        :: kind == RING ->
            offered = first;
            assert(state == NONE || state == CLOSING);
            if
            :: state == NONE -> accept()
            :: else -> state = REINVITED
            fi
        :: kind == RECALL -> recalled()
        :: else
        fi;
        kind = 0; first = 0; ring = 0; send = 0; }
#ifdef COUNTS
    /* all messages until now were taken */
    :: atomic { empty(to_sender) && (ring_swept != ring_taken || send_swept != send_taken) ->
        ring_swept = ring_taken; send_swept = send_taken; }
#endif
    /* looks for credits, of the one flow or the other */
    :: atomic { state == OPEN && ring_sent - ring_taken == SLOTS && (counts_in || box_ring > ring_taken) ->
        look_at_counts(); read_mailbox(box_ring, ring_taken, ring_sent, ring_swept); }
    :: atomic { send_sent - send_taken == WINDOW && (counts_in || box_send > send_taken) ->
        look_at_counts(); read_mailbox(box_send, send_taken, send_sent, send_swept); }
    :: atomic { next < MESSAGES && backs_due == 0 && state == OPEN && ring_sent - ring_taken < SLOTS ->
        slots_here[slot] = next * 16 + sequence_out;
        queue ! WRITE, slot, use;
        ring_sent++; use++; slot = (slot + 1) % SLOTS;
        sequence_out++; next++; }
    :: atomic { next < MESSAGES && backs_due == 0 && send_sent - send_taken < WINDOW ->
        queue ! SEND, sequence_out, next;
        send_sent++; sequence_out++; next++; }
    :: atomic { backs_due > 0 && send_sent - send_taken < WINDOW ->
        queue ! SEND, sequence_out, BACK;
        backs_due--; send_sent++; sequence_out++; }
#ifndef COUNTS
    /* hands the ring back unasked */
    :: atomic { state == OPEN -> hand_back(); }
#endif
    /* a BACK has left */
    :: atomic { backs_left > 0 ->
        backs_left--; backs_out--;
        if
#ifdef ANY_BACK
        :: state == CLOSING -> give_slots_back(); state = NONE
        :: state == REINVITED -> give_slots_back(); accept()
#else
        :: state == CLOSING && backs_out == 0 -> give_slots_back(); state = NONE
        :: state == REINVITED && backs_out == 0 -> give_slots_back(); accept()
#endif
        :: else
        fi; }
#ifdef BULK_COUNTS
    :: atomic { bulk_in -> bulk_in = false; counts_in = true;
        counts_ring = bulk_ring; counts_send = bulk_send; }
#endif
    od
}

/* ---- the receiver ---- */

byte expected = 0;     /* sequence */
byte use_next = 1;     /* of the ring */
byte slot_next = 0;
byte tail = 0;         /* slot: every one before it, round the ring, is free */
byte out = 0;          /* slots of the ring that are not free */
bool polled = false, is_recalled = false;
byte rings = 0, headers = 0;
byte ring_consumed = 0, send_consumed = 0; /* taken off, and the sender gets its credit */
byte ring_advertised = 0, send_advertised = 0;

inline take_from_ring()
{
    assert(payload[slot_next] / 16 == delivered); /* it is what was written, in order */
    expected++;
    delivered++;
    busy[slot_next] = true;
    out++;
    use_next++;
    slot_next = (slot_next + 1) % SLOTS;
}

inline dissolve_if_free()
{
    if
    :: !polled && out == 0 -> leased = false
    :: else
    fi
}

inline free_slot(which)
{
    busy[which] = false;
#ifdef EARLY_CREDIT
    out--;
    ring_consumed++;
#else
    do
    :: out > 0 && !busy[tail] -> out--; ring_consumed++; tail = (tail + 1) % SLOTS
    :: else -> break
    od;
#endif
    dissolve_if_free();
}

inline send_back(kind, first)
{
    to_sender ! kind, first, ring_consumed % MODULUS, send_consumed % MODULUS;
    ring_advertised = ring_consumed;
    send_advertised = send_consumed;
}

active proctype receiver()
{
    byte sequence, number;

end:
    do
    /* leases the ring, when nothing of it is in use */
    :: atomic { !leased && rings < RINGS && nfull(to_sender) ->
        rings++;
        word[0] = 0; word[1] = 0; /* cleared when it is leased, never between two uses */
        payload[0] = NOTHING; payload[1] = NOTHING;
        slot_next = 0; tail = 0;
        leased = true; polled = true; is_recalled = false;
        send_back(RING, use_next); }
    /* polls the ring */
    :: atomic { polled && word[slot_next] == use_next &&
            (payload[slot_next] == NOTHING || payload[slot_next] % 16 == expected) ->
        take_from_ring(); }
    /* the user is done with a slot, in any order */
    :: atomic { busy[0] -> free_slot(0) }
    :: atomic { busy[1] -> free_slot(1) }
#ifndef COUNTS
    /* recalls it, at any time */
    :: atomic { polled && !is_recalled && nfull(to_sender) ->
        is_recalled = true;
        send_back(RECALL, 0);
#ifdef BACK_AT_ONCE
        polled = false;
        dissolve_if_free();
#endif
        }
#endif
    /* sends something else; writes to the mailbox what was not advertised */
    :: atomic { headers < HEADERS && nfull(to_sender) -> headers++; send_back(DATA, 0); }
    :: atomic { ring_advertised != ring_consumed -> box_ring = ring_consumed; ring_advertised = ring_consumed; }
    :: atomic { send_advertised != send_consumed -> box_send = send_consumed; send_advertised = send_consumed; }
#ifdef BULK_COUNTS
    :: atomic { headers < HEADERS && !bulk_in -> headers++; bulk_in = true;
        bulk_ring = ring_consumed % MODULUS; bulk_send = send_consumed % MODULUS; }
#endif
    /* polls the completion queue */
    :: atomic { received ? sequence, number ->
#ifndef NO_DRAIN
        do
        :: sequence != expected && polled && word[slot_next] == use_next -> take_from_ring()
        :: else -> break
        od;
#endif
        assert(sequence == expected);
        expected++;
        send_consumed++;
        if
        :: number == BACK ->
#ifndef BACK_AT_ONCE
            assert(polled);
#endif
            polled = false;
            dissolve_if_free()
        :: else ->
            assert(number == delivered);
            delivered++
        fi;
        sequence = 0; number = 0; }
    od
}

/* Where nothing can happen any more nothing is lost, and no ring that was recalled is kept. */
active proctype all_is_well()
{
    timeout;
    assert(delivered == MESSAGES);
    assert(!(polled && is_recalled) && state != CLOSING && state != REINVITED);
}
