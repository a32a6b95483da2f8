/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A model of an eager ring beside send/receive, for the checker spin: all interleavings of a
 * sender, its adapter and a receiver, with rings of SLOTS slots that are lent, recalled and lent
 * again. What it leaves out is sizes and time; what it keeps is what core/ring.h and core/inbox.h
 * promise:
 *
 *   - a message is read as it was written: nothing writes a slot that the receiver has not freed;
 *   - messages are delivered in the order of their numbers, whichever way they went;
 *   - slots that are freed in any order give credits for runs only;
 *   - nobody writes a ring that was handed back;
 *   - every message arrives (no state is a dead end).
 *
 * One queue pair executes in order. A write places its payload, then its word, and the receiver may
 * look in between. Credits are a cumulative count that the sender may see late, or not at all
 * before the next one.
 *
 * Defining one of these makes the model wrong in one way, and the checker must find it:
 *   WORD_FIRST    the adapter places the word before the payload
 *   EARLY_CREDIT  a freed slot gives its credit though one before it is in use
 *   NO_DRAIN      a message of send/receive is taken without the ring messages before it
 *   BACK_AT_ONCE  the ring counts as handed back when it is recalled
 */
#define SLOTS    2
#define MESSAGES 5
#define WINDOW   1 /* of send/receive */
#define FREE     255

mtype = { WRITE, SEND };

/* The queue pair: kind, slot, use, number; number LAST is the BACK message. */
#define BACK 100
chan queue = [SLOTS + WINDOW + 1] of { mtype, byte, byte, byte };
chan received = [WINDOW + 1] of { byte, byte }; /* completion queue: sequence, number */

/* The receiver's memory. */
byte payload[SLOTS];
byte word[SLOTS]; /* use, counted from 1 */

/* What the receiver tells: the ring is lent with `first`; counts of what was taken off. */
bool lent = false;      /* the sender may write */
bool recalled = false;
bool handed_back = true; /* the memory is the receiver's alone */
byte first = 1;         /* use of the first message after it was lent */
byte ring_taken = 0;    /* credits as the sender will see them */
byte send_taken = 0;

bool busy[SLOTS];      /* slots that the user reads */

byte sequence_out = 0; /* of the next message, BACK included */
byte delivered = 0;

/* The adapter's side of the receiver. */
active proctype adapter()
{
    mtype kind;
    byte slot, use, number;

end:
    do
    :: queue ? kind, slot, use, number ->
        if
        :: kind == WRITE ->
            assert(!handed_back && !busy[slot]);
#ifdef WORD_FIRST
            word[slot] = use;
            payload[slot] = number;
#else
            payload[slot] = number;
            word[slot] = use;
#endif
        :: else -> received ! use, number /* use: the sequence */
        fi
    od
}

active proctype sender()
{
    byte next = 0;      /* message */
    byte use = 1;
    byte slot = 0;
    byte ring_sent = 0;
    byte send_sent = 0;
    byte ring_known = 0; /* credits that were seen */
    byte send_known = 0;
    bool open = false;

    do
    :: atomic { lent && !open && !recalled -> /* the invitation was read */
        open = true; use = first; slot = 0;
        ring_sent = 0; ring_known = 0; }
    :: atomic { ring_known != ring_taken && open -> ring_known = ring_taken }
    :: atomic { send_known != send_taken -> send_known = send_taken }
    :: atomic { next < MESSAGES && open && ring_sent - ring_known < SLOTS ->
        queue ! WRITE, slot, use, next * 16 + sequence_out;
        ring_sent++; use++; slot = (slot + 1) % SLOTS;
        sequence_out++; next++; }
    :: atomic { next < MESSAGES && send_sent - send_known < WINDOW ->
        queue ! SEND, 0, sequence_out, next;
        send_sent++; sequence_out++; next++; }
    :: atomic { recalled && open && send_sent - send_known < WINDOW ->
        queue ! SEND, 0, sequence_out, BACK;
        open = false; lent = false; send_sent++; sequence_out++; }
    :: next == MESSAGES && !recalled && !open && !lent -> break
    :: delivered == MESSAGES -> break
    od
}

/* The receiver's core. */
byte expected = 0;     /* sequence */
byte use_next = 1;     /* of the ring */
byte slot_next = 0;
byte tail = 0;         /* slot: every one before it, round the ring, is free */
byte out = 0;          /* slots with the user */
bool polled = false;
byte returned = 0;     /* messages of this ring whose slots gave their credit */
byte taken_here = 0;   /* messages of this ring that were taken */

inline take_from_ring()
{
    assert(payload[slot_next] / 16 == delivered); /* it is what was written, in order */
    expected++;
    delivered++;
    busy[slot_next] = true;
    out++;
    taken_here++;
    use_next++;
    slot_next = (slot_next + 1) % SLOTS;
}

inline free_slot(which)
{
    busy[which] = false;
    out--;
#ifdef EARLY_CREDIT
    returned++;
#else
    do
    :: returned < taken_here && !busy[tail] -> returned++; tail = (tail + 1) % SLOTS
    :: else -> break
    od;
#endif
    ring_taken = returned;
}

active proctype receiver()
{
    byte sequence, number;
    byte rings = 0;

end:
    do
    /* lends the ring, at most twice */
    :: atomic { !polled && handed_back && out == 0 && rings < 2 && delivered < MESSAGES ->
        rings++;
        first = use_next;
        slot_next = 0; tail = 0; returned = 0; taken_here = 0; ring_taken = 0;
        word[0] = 0; word[1] = 0; /* cleared when it is lent, never between two uses */
        handed_back = false; polled = true; recalled = false; lent = true; }
    /* polls the ring */
    :: atomic { polled && word[slot_next] == use_next && payload[slot_next] % 16 == expected ->
        take_from_ring(); }
    /* the user is done with a slot, in any order */
    :: atomic { out > 0 && busy[0] -> free_slot(0) }
    :: atomic { out > 0 && busy[1] -> free_slot(1) }
    /* recalls it, at any time */
    :: atomic { polled && !recalled && lent && rings < 2 -> recalled = true;
#ifdef BACK_AT_ONCE
        handed_back = true;
#endif
        }
    /* polls the completion queue */
    :: atomic { received ? sequence, number ->
#ifndef NO_DRAIN
        do
        :: sequence != expected && polled && word[slot_next] == use_next -> take_from_ring()
        :: else -> break
        od;
        assert(sequence == expected);
#endif
        expected++;
        send_taken++;
        if
        :: number == BACK ->
            polled = false; handed_back = true; recalled = false;
        :: else ->
            assert(number == delivered);
            delivered++;
        fi; }
    od
}

/* Nothing that was sent is lost: this is checked where nothing can happen any more. */
active proctype all_is_delivered()
{
    timeout;
    assert(delivered == MESSAGES);
}
