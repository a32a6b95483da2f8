/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A model of whose early data are whose, for the checker spin: all interleavings of a sender, its
 * adapter and a receiver, whose receives are found while an RTS is delivered, also another one's,
 * or later. It leaves out sizes and time, and keeps what core/rendezvous/early.h promises:
 *
 *   - a receive gets the bytes of the message that it was matched with, and no stale ones;
 *   - a slot is not written while a grant reads it that the sender agrees with;
 *   - early data that a grant claimed rightly, or that were named, are not sent again;
 *   - nobody writes a lane or a window that serves others by now;
 *   - every message ends, and a window that was recalled comes back (no state is a dead end).
 *
 * Bytes are the version of their source, of which there are one or two: a source gets its next
 * version when no message of it is under way. A message is its early data and the rest, of which a
 * short receive takes none. Messages of the control queue pair come in order, but for what goes
 * ahead of those that wait for a credit (core/eager/channel.c), and so do writes of the bulk one,
 * at their own pace; the mailbox is seen at any time. Offers go up to Open MPI, so an
 * RTR may come first; so do RTSs, and the newest delivery may come upon the receive of any message
 * that was delivered.
 *
 * A message may end without a put, or go in place. What decides by time or room is left open: if an
 * RTS has early data, if these are written before the put, if what has waited is dropped, if a
 * grant is deferred. What the mailbox says may be seen late, since a free slot need not be used.
 *
 * Parts, by definitions: RECALLS is how often the window is asked back, and leased again; MESSAGES,
 * SOURCES; ONE_SIDED has a put in place that is no message's; and what does not happen: NO_DEFER,
 * NO_SHORT (all receives want all), NO_END, NO_PLACE (all messages have puts; none goes in place).
 *
 * Defining one of these makes the model wrong in one way, and the checker must find it:
 *   NO_CORRECTION    a put whose receiver has claimed others' early data says nothing
 *   UNRELEASED       a slot is used again before the newest use of it is released
 *   NO_SEQ           a claim is believed without a look at its number and its source
 *   OLDEST           the oldest early data of a source are taken
 *   NO_LATER         RTSs without early data are not counted
 *   NOT_PASSED_ON    that count is forgotten with the early data that a claim takes
 *   RELEASE_CLAIMED  claimed early data are released when they are copied
 *   OLD_RTR          an RTR is believed that was sent before the correction
 *   RETURN_AT_ONCE   a window is given back while writes to it are under way
 *   NAME_FIRST       an EARLY goes ahead of the RTS of what it names
 *   FORGET_ONE       what goes in place drops the newest early data of its source alone (ONE_SIDED)
 * and of what the model takes for granted:
 *   OLD_TOKEN        a delivery claims for a receive though a later one has begun since
 */
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef SOURCES
#define SOURCES 2
#endif
#ifndef RECALLS
#define RECALLS 0
#endif
#define SLOTS 2

mtype = { RTS, EARLY, FIN, RETURN, PUT, RTR, RECALL, LEASE, END, PLACE };

/* Kind, message, sequence number. EARLY and FIN go ahead of the others, and PUT, RTR, END and PLACE of
 * RECALL and LEASE. */
chan to_receiver = [8] of { mtype, byte, byte };
/* The same; of an offer: asks, is deferred, which lane. */
chan to_sender = [8] of { mtype, byte, byte, bool, bool, bit };
/* A slot, or a message's lane behind them; sequence number, or lane and if all is there; bytes. */
chan bulk = [8] of { byte, byte, byte };

/* What is true, for assertions: */
byte source[MESSAGES], bytes[MESSAGES];
bool alive[MESSAGES];  /* under way, as the sender knows */
bool brief[MESSAGES];  /* the receive wants no more than the early data */
byte own[MESSAGES];    /* sequence number of its early data; 0: none */

/* Memory: the window. */
byte slot_flag[SLOTS], slot_bytes[SLOTS];
byte released[SLOTS]; /* as the mailbox has it, or will have it */

/* ---- the receiver's, in sight of the adapter ---- */

#define LEASED   0
#define RECALLED 1
#define RETURNED 2
#define GONE     3
byte in_state = LEASED;
byte in_seq[SLOTS];
byte first_seq = 0;

#define FREE      0
#define DEFERRED  1
#define STAGED    2
#define PLACED    3
byte grant[MESSAGES];
bit lane[MESSAGES];
byte lane_here[MESSAGES]; /* 1: the rest, 2: all */
byte lane_bytes[MESSAGES];

#define NONE    0
#define ASKED   1
#define CLAIMED 2
#define NAMED   3
byte early[MESSAGES], early_seq[MESSAGES];
bool in_lane[MESSAGES]; /* the lane is read next */

/* ---- the sender's ---- */

#define OPEN      0
#define RETURNING 1
/* and RETURNED */
byte out_state = OPEN;
byte in_flight = 0;

/* of a slot; FREE */
#define WRITTEN 1 /* or not: the put writes it */
#define TAKEN   2
#define DROPPED 3
byte data[SLOTS], seq[SLOTS], whose[SLOTS], later[SLOTS];
bool written[SLOTS];

#define IDLE      0
#define OFFERED   1
#define UNGRANTED 2
#define GOING     3
byte put[MESSAGES];
byte put_early[MESSAGES]; /* sequence number */
byte offer_early[MESSAGES];
bool offer_ask[MESSAGES], offer_deferred[MESSAGES];
bit offer_lane[MESSAGES];
bool rtr_here[MESSAGES]; /* before the put has begun */
byte rtr_early[MESSAGES];
bool rtr_ask[MESSAGES];
bit rtr_lane[MESSAGES];

inline slot_over(which, how)
{
    data[which] = how; whose[which] = 0; later[which] = 0
}

/* Those that are newest, of the source and pending, but for `except`; SLOTS: none are. */
inline newest_of(from, found)
{
    found = SLOTS;
    if
    :: data[0] == WRITTEN && source[whose[0]] == from -> found = 0
    :: else
    fi;
    if
#ifdef OLDEST
    :: data[1] == WRITTEN && source[whose[1]] == from && (found == SLOTS || whose[1] < whose[0]) -> found = 1
#else
    :: data[1] == WRITTEN && source[whose[1]] == from && (found == SLOTS || whose[1] > whose[0]) -> found = 1
#endif
    :: else
    fi
}

inline take_early(from, claimed, found)
{
    if
#ifdef NO_SEQ
    :: claimed != 0 && data[claimed % SLOTS] == WRITTEN ->
#else
    :: claimed != 0 && seq[claimed % SLOTS] == claimed && data[claimed % SLOTS] == WRITTEN &&
            source[whose[claimed % SLOTS]] == from ->
#endif
        data[claimed % SLOTS] = TAKEN;
        newest_of(from, found);
#ifndef NOT_PASSED_ON
        if
        :: found < SLOTS -> later[found] = later[found] + later[claimed % SLOTS]
        :: else
        fi;
#endif
        found = claimed % SLOTS
    :: else ->
        newest_of(from, found);
        if
        :: found < SLOTS && later[found] > 0 -> later[found]--; found = SLOTS
        :: found < SLOTS && later[found] == 0 -> data[found] = TAKEN
        :: else
        fi
    fi
}

inline forget(from, found)
{
#ifdef FORGET_ONE
    take_early(from, 0, found);
    if
    :: found < SLOTS -> slot_over(found, DROPPED)
    :: else
    fi
#else
    do
    :: newest_of(from, found);
        if
        :: found < SLOTS -> slot_over(found, DROPPED)
        :: else -> break
        fi
    od
#endif
}

inline note_later(from, found)
{
#ifndef NO_LATER
    newest_of(from, found);
    if
    :: found < SLOTS -> later[found]++
    :: else
    fi
#else
    skip
#endif
}

inline settle_free(which)
{
    if
#ifdef UNRELEASED
    :: data[which] == TAKEN || data[which] == DROPPED ->
#else
    :: (data[which] == TAKEN && released[which] == seq[which]) || data[which] == DROPPED ->
#endif
        slot_over(which, FREE)
    :: else
    fi
}

/* A free slot, or the one that has waited longest; SLOTS: no slot. */
inline find_slot(found)
{
    found = SLOTS;
    settle_free(0);
    settle_free(1);
    if
    :: data[0] == FREE -> found = 0
    :: data[0] != FREE && data[1] == FREE -> found = 1
    :: else ->
        if
        :: data[0] == WRITTEN && (data[1] != WRITTEN || whose[0] < whose[1]) -> found = 0
        :: data[1] == WRITTEN && (data[0] != WRITTEN || whose[1] < whose[0]) -> found = 1
        :: else
        fi
    fi
}

#define bytes_of(which) (source[whose[which]] * 8 + version[source[whose[which]]])

inline write_slot(which)
{
    assert(!written[which]);
    written[which] = true;
    in_flight++;
    bulk ! which, seq[which], bytes_of(which)
}

/* Writes what is missing of the early data, and the rest. */
inline put_write(m, s)
{
    s = put_early[m] % SLOTS;
    if
    :: put_early[m] != 0 && seq[s] == put_early[m] && !written[s] -> write_slot(s)
    :: else
    fi;
    if
    :: put_early[m] == 0 -> bulk ! SLOTS + m, offer_lane[m] * 2 + 1, bytes[m]
    :: put_early[m] != 0 && !brief[m] -> bulk ! SLOTS + m, offer_lane[m] * 2, bytes[m]
    :: else -> to_receiver ! FIN, m, 0
    fi;
    put[m] = IDLE; offer_lane[m] = 0;
    alive[m] = false
}

inline put_goes_on(m, lane_of, s)
{
    offer_lane[m] = lane_of;
#if RECALLS > 0
    put[m] = GOING
#else
    put_write(m, s)
#endif
}

/* The put goes on with an RTR, unless that is from before a correction. */
inline put_answered(m, found)
{
#ifdef OLD_RTR
    put_goes_on(m, rtr_lane[m], found);
#else
    if
    :: rtr_ask[m] || rtr_early[m] == put_early[m] -> put_goes_on(m, rtr_lane[m], found)
    :: else -> put[m] = UNGRANTED
    fi;
#endif
    rtr_here[m] = false; rtr_early[m] = 0; rtr_ask[m] = 0; rtr_lane[m] = 0
}

inline put_start(m, found)
{
    bool settled = true;
    bool right = offer_early[m] != 0 && offer_early[m] == own[m] && own[m] == seq[own[m] % SLOTS] &&
        data[own[m] % SLOTS] == WRITTEN;

    take_early(source[m], offer_early[m], found);
    put_early[m] = (found < SLOTS -> seq[found] : 0);
    assert(!right || put_early[m] == own[m]);
    right = false;
    if
    :: offer_ask[m] -> to_receiver ! EARLY, m, put_early[m]
    :: !offer_ask[m] && offer_early[m] == put_early[m]
    :: !offer_ask[m] && offer_early[m] == 0 && put_early[m] != 0 ->
        slot_over(found, DROPPED); put_early[m] = 0
    :: else ->
#ifndef NO_CORRECTION
        to_receiver ! EARLY, m, put_early[m];
        settled = false
#endif
    fi;
    if
    :: !offer_deferred[m] && settled -> put_goes_on(m, offer_lane[m], found)
    :: else ->
        if
        :: rtr_here[m] -> put_answered(m, found)
        :: else -> put[m] = UNGRANTED
        fi
    fi;
    offer_early[m] = 0; offer_ask[m] = 0; offer_deferred[m] = 0; settled = true
}

active proctype sender()
{
    mtype kind;
    byte m, s, n, found, sent = 0;
    bool ask, deferred;
    bit which;
    byte version[SOURCES];
#ifdef ONE_SIDED
    bool stranger = false;
#endif

    d_step { seq[1] = 1; in_seq[1] = 1; released[1] = 1; }
end:
    do
    /* the next message */
    :: atomic { sent < MESSAGES ->
        m = sent;
        if
        :: source[m] = 0
#if SOURCES > 1
        :: m > 0 -> source[m] = 1
#endif
        fi;
        if
        :: (alive[0] && source[0] == source[m]) || (MESSAGES > 1 && alive[1] && source[1] == source[m]) ||
                (MESSAGES > 2 && alive[2] && source[2] == source[m])
        :: else -> version[source[m]]++
        fi;
        alive[m] = true;
        bytes[m] = source[m] * 8 + version[source[m]];
        s = SLOTS;
        if
        :: out_state == OPEN -> find_slot(s)
        :: else
        fi;
        if
        :: s < SLOTS ->
            if
            :: true ->
                if
                :: data[s] == WRITTEN -> slot_over(s, DROPPED)
                :: else
                fi;
                seq[s] = seq[s] + SLOTS; whose[s] = m; later[s] = 0; written[s] = false;
                data[s] = WRITTEN;
                own[m] = seq[s];
                if
                :: write_slot(s)
                :: true
                fi
#ifndef NO_ABSENT
            :: s = SLOTS
#endif
            fi
        :: else
        fi;
        if
        :: s == SLOTS -> note_later(source[m], found)
        :: else
        fi;
        to_receiver ! RTS, m, own[m];
        sent++;
        m = 0; s = 0; found = 0; }
    :: atomic {
        if
        :: to_sender ? kind, m, n, ask, deferred, which
#if RECALLS > 0
        :: to_sender ?? PUT, m, n, ask, deferred, which -> kind = PUT
        :: to_sender ?? RTR, m, n, ask, deferred, which -> kind = RTR
        :: to_sender ?? END, m, n, ask, deferred, which -> kind = END
        :: to_sender ?? PLACE, m, n, ask, deferred, which -> kind = PLACE
#endif
        fi;
        if
        :: kind == PUT -> put[m] = OFFERED;
            offer_early[m] = n; offer_ask[m] = ask; offer_deferred[m] = deferred; offer_lane[m] = which;
#ifdef NO_DEFER
            put_start(m, found)
#endif
        :: kind == RTR ->
            assert(!rtr_here[m]);
            rtr_here[m] = true; rtr_early[m] = n; rtr_ask[m] = ask; rtr_lane[m] = which;
            if
            :: put[m] == UNGRANTED -> put_answered(m, found)
            :: else
            fi
        :: kind == END -> alive[m] = false
        :: kind == PLACE -> forget(source[m], found); alive[m] = false
        :: kind == RECALL ->
            assert(out_state == OPEN);
            if
            :: data[0] == WRITTEN -> slot_over(0, DROPPED)
            :: else
            fi;
            if
            :: data[1] == WRITTEN -> slot_over(1, DROPPED)
            :: else
            fi;
            out_state = RETURNING
        :: kind == LEASE ->
            assert(out_state == RETURNED);
            out_state = OPEN;
            slot_over(0, FREE); slot_over(1, FREE); written[0] = false; written[1] = false;
            seq[0] = n; seq[1] = n + 1
        fi;
        kind = 0; m = 0; n = 0; ask = 0; deferred = 0; which = 0; found = 0; }
#ifndef NO_DEFER
    /* Open MPI puts what was offered */
    :: atomic { (put[0] == OFFERED || put[1] == OFFERED || (MESSAGES > 2 && put[2] == OFFERED)) ->
        if
        :: put[0] == OFFERED -> m = 0
        :: put[1] == OFFERED -> m = 1
#if MESSAGES > 2
        :: put[2] == OFFERED -> m = 2
#endif
        fi;
        put_start(m, found);
        m = 0; found = 0; }
#endif
#ifdef ONE_SIDED
    :: atomic { !stranger -> stranger = true; forget(0, found); found = 0; }
#endif
#if RECALLS > 0
    :: atomic { (put[0] == GOING || put[1] == GOING || (MESSAGES > 2 && put[2] == GOING)) ->
        if
        :: put[0] == GOING -> m = 0
        :: put[1] == GOING -> m = 1
#if MESSAGES > 2
        :: put[2] == GOING -> m = 2
#endif
        fi;
        put_write(m, s);
        m = 0; s = 0; }
#endif
#if RECALLS > 0
    :: atomic { out_state == RETURNING &&
#ifdef RETURN_AT_ONCE
            true ->
#else
            in_flight == 0 ->
#endif
        out_state = RETURNED;
        to_receiver ! RETURN, 0, 0; }
#endif
    od
}

/* ---- the adapter ---- */

/* The grant of that message goes by those early data, and has not read them. */
#define reads(m, what) (put_early[m] == what && early_seq[m] == what && early[m] >= CLAIMED && \
    !in_lane[m] && (grant[m] == DEFERRED || grant[m] == STAGED))

active proctype adapter()
{
    byte where, flag, what;

end:
    do
    :: atomic { bulk ? where, flag, what ->
        if
        :: where < SLOTS ->
            assert(in_state != GONE && flag > first_seq);
            if
            :: slot_flag[where] != 0 && slot_flag[where] != flag ->
                assert(!reads(0, slot_flag[where]) && !reads(1, slot_flag[where]));
#if MESSAGES > 2
                assert(!reads(2, slot_flag[where]));
#endif
            :: else
            fi;
            slot_flag[where] = flag; slot_bytes[where] = what;
            in_flight--
        :: else ->
            where = where - SLOTS;
            assert(grant[where] == STAGED && lane[where] == flag / 2 && lane_here[where] == 0);
            lane_here[where] = 1 + flag % 2; lane_bytes[where] = what
        fi;
        where = 0; flag = 0; what = 0; }
    od
}

/* ---- the receiver ---- */

/* of a slot; FREE */
#define UNCLAIMED 1
/* and CLAIMED */
byte held[SLOTS], claims[SLOTS];

#define THERE 1 /* the RTS was taken */
#define HERE  2 /* and delivered */
#define MET   3 /* its receive has a grant */
#define OVER  4
byte phase[MESSAGES];
bool token[MESSAGES]; /* its delivery may claim for a receive */
byte got[MESSAGES];
bool fin[MESSAGES];   /* held */

#define is_there(what) (in_seq[what % SLOTS] == what && held[what % SLOTS] != FREE)
#define has_early(m)   (early[m] == CLAIMED || early[m] == NAMED)

inline free_if_unused()
{
    if
    :: in_state == RETURNED && held[0] == FREE && held[1] == FREE ->
        in_state = GONE;
        first_seq = (in_seq[0] > in_seq[1] -> in_seq[0] : in_seq[1]) / SLOTS * SLOTS + SLOTS;
        slot_flag[0] = 0; slot_flag[1] = 0; slot_bytes[0] = 0; slot_bytes[1] = 0
    :: else
    fi
}

inline release(what)
{
    if
    :: is_there(what) ->
        held[what % SLOTS] = FREE; claims[what % SLOTS] = 0;
        released[what % SLOTS] = what;
        free_if_unused()
    :: else
    fi
}

inline unclaim(what)
{
    if
    :: is_there(what) && claims[what % SLOTS] > 0 ->
        claims[what % SLOTS]--;
        if
        :: claims[what % SLOTS] == 0 ->
            held[what % SLOTS] = (in_state == RETURNED -> FREE : UNCLAIMED);
            free_if_unused()
        :: else
        fi
    :: else
    fi
}

inline claim(m, how, what)
{
    held[what % SLOTS] = CLAIMED;
    claims[what % SLOTS]++;
    early[m] = how;
    early_seq[m] = what
}

inline early_over(m)
{
    if
    :: has_early(m) -> release(early_seq[m])
    :: else
    fi
}

inline stage(m)
{
    grant[m] = STAGED;
    lane[m] = 1 - lane[m]; lane_here[m] = 0; lane_bytes[m] = 0;
    in_lane[m] = !has_early(m)
}

inline forget_tokens()
{
    token[0] = false; token[1] = false;
#if MESSAGES > 2
    token[2] = false
#endif
}

/* Its receive is found: with `what` of the delivery, or without one. */
inline open(m, known, what)
{
    phase[m] = MET;
    if
    :: !known && (held[0] == UNCLAIMED || held[1] == UNCLAIMED) -> early[m] = ASKED
    :: known && what != 0 && is_there(what) -> claim(m, CLAIMED, what)
    :: else
    fi;
    if
#ifndef NO_SHORT
    :: early[m] != NONE -> brief[m] = true
#endif
    :: true
    fi;
    if
    :: stage(m)
#ifndef NO_DEFER
    :: grant[m] = DEFERRED
#endif
    fi;
    to_sender ! PUT, m, (has_early(m) -> early_seq[m] : 0), early[m] == ASKED, grant[m] == DEFERRED, lane[m]
}

inline close(m)
{
    assert(got[m] == bytes[m]);
    early_over(m);
    early[m] = NONE; early_seq[m] = 0; put_early[m] = 0; got[m] = 0;
    grant[m] = FREE; in_lane[m] = false; lane[m] = 0; brief[m] = false; fin[m] = false;
    phase[m] = OVER
}

/* What FIN does when more was put than early data it does not do later, but for the model. */
inline placed(m, by_fin)
{
    grant[m] = PLACED; lane_here[m] = 0; lane_bytes[m] = 0;
    if
    :: early[m] == NAMED -> early_over(m)
    :: else
    fi;
    if
    :: fin[m] || !by_fin -> close(m)
    :: else
    fi
}

inline take_named(m, what)
{
    if
    :: what != 0 -> assert(is_there(what)); claim(m, NAMED, what)
    :: else
    fi
}

inline named(m, what)
{
    assert(phase[m] == MET && (early[m] == ASKED || early[m] == CLAIMED));
    if
    :: early[m] == ASKED ->
        early[m] = NONE;
        take_named(m, what);
        in_lane[m] = (grant[m] == STAGED && !has_early(m))
    :: else ->
        unclaim(early_seq[m]);
        early[m] = NONE; early_seq[m] = 0; got[m] = 0;
        grant[m] = DEFERRED; in_lane[m] = false; lane_here[m] = 0;
        take_named(m, what)
    fi
}

inline fin_came(m)
{
    if
    :: grant[m] == STAGED -> fin[m] = true
    :: else -> assert(grant[m] == PLACED); close(m)
    fi
}

/* A message whose early data have come, of a grant that knows them. */
#define may_copy(m) (grant[m] == STAGED && early[m] != ASKED && !in_lane[m] && \
    is_there(early_seq[m]) && slot_flag[early_seq[m] % SLOTS] == early_seq[m])
#define may_end(m) (grant[m] == STAGED && early[m] != ASKED && in_lane[m] && lane_here[m] != 0)

/* The RTS of these early data is on its way. */
#define rts_waits_of(m, what) (own[m] == what && to_receiver ?? [RTS, m, eval(what)])
#if MESSAGES > 2
#define rts_waits(what) (rts_waits_of(0, what) || rts_waits_of(1, what) || rts_waits_of(2, what))
#else
#define rts_waits(what) (rts_waits_of(0, what) || rts_waits_of(1, what))
#endif

active proctype receiver()
{
    mtype kind;
    byte m, n, delivered = 0, recalls = 0;

end:
    do
    :: atomic { to_receiver ? kind, m, n ->
        if
        :: kind == RTS ->
            if
            :: n != 0 ->
                assert((in_state == LEASED || in_state == RECALLED) && n == in_seq[n % SLOTS] + SLOTS);
                if
                :: held[n % SLOTS] != FREE -> released[n % SLOTS] = in_seq[n % SLOTS]
                :: else
                fi;
                in_seq[n % SLOTS] = n; held[n % SLOTS] = UNCLAIMED; claims[n % SLOTS] = 0
            :: else
            fi;
            phase[m] = THERE
        :: kind == EARLY -> named(m, n)
        :: kind == FIN -> fin_came(m)
        :: kind == RETURN ->
            assert(in_state == RECALLED);
            in_state = RETURNED;
            if
            :: held[0] == UNCLAIMED -> held[0] = FREE
            :: else
            fi;
            if
            :: held[1] == UNCLAIMED -> held[1] = FREE
            :: else
            fi;
            free_if_unused()
        fi;
        kind = 0; m = 0; n = 0; }
    /* what goes ahead; an EARLY that may not yet changes nothing */
    :: atomic { to_receiver ?? <EARLY, m, n> ->
        if
#ifndef NAME_FIRST
        :: (n != 0 && rts_waits(n))
        :: else ->
#else
        :: true ->
#endif
            to_receiver ?? EARLY, m, n;
            named(m, n)
        fi;
        m = 0; n = 0; }
    :: atomic { to_receiver ?? FIN, m, n -> fin_came(m); m = 0; n = 0; }
    /* an RTS is delivered to Open MPI */
    :: atomic { phase[delivered] == THERE ->
        m = delivered;
        delivered = (m < MESSAGES - 1 -> m + 1 : m);
        phase[m] = HERE;
#ifndef OLD_TOKEN
        forget_tokens();
#endif
        token[m] = true;
        m = 0; }
    /* the receive of one that was delivered is found, or it needs no put */
    :: atomic { (phase[0] == HERE || phase[1] == HERE || (MESSAGES > 2 && phase[2] == HERE)) ->
        if
        :: phase[0] == HERE -> m = 0
        :: phase[1] == HERE -> m = 1
#if MESSAGES > 2
        :: phase[2] == HERE -> m = 2
#endif
        fi;
        if
        :: token[0] -> token[0] = false; open(m, true, own[0])
        :: token[1] -> token[1] = false; open(m, true, own[1])
#if MESSAGES > 2
        :: token[2] -> token[2] = false; open(m, true, own[2])
#endif
        :: open(m, false, 0)
#ifndef NO_END
        :: phase[m] = OVER; to_sender ! END, m, 0, 0, 0, 0
#endif
#ifndef NO_PLACE
        :: phase[m] = OVER; to_sender ! PLACE, m, 0, 0, 0, 0
#endif
        fi;
#ifndef OLD_TOKEN
        if
        :: phase[0] == HERE || phase[1] == HERE || (MESSAGES > 2 && phase[2] == HERE)
        :: else -> forget_tokens()
        fi;
#endif
        m = 0; }
    /* a grant gets its lane */
    :: atomic { (grant[0] == DEFERRED || grant[1] == DEFERRED || (MESSAGES > 2 && grant[2] == DEFERRED)) ->
        if
        :: grant[0] == DEFERRED -> m = 0
        :: grant[1] == DEFERRED -> m = 1
#if MESSAGES > 2
        :: grant[2] == DEFERRED -> m = 2
#endif
        fi;
        stage(m);
        to_sender ! RTR, m, (has_early(m) -> early_seq[m] : 0), early[m] == ASKED, 0, lane[m];
        m = 0; }
    /* copies early data, while the adapter may write */
    :: atomic { may_copy(0) || may_copy(1) || (MESSAGES > 2 && may_copy(2)) ->
        if
        :: may_copy(0) -> m = 0
        :: may_copy(1) -> m = 1
#if MESSAGES > 2
        :: may_copy(2) -> m = 2
#endif
        fi }
        atomic {
        got[m] = slot_bytes[early_seq[m] % SLOTS];
        in_lane[m] = true;
        if
        :: brief[m] -> placed(m, true)
        :: else ->
            if
#ifdef RELEASE_CLAIMED
            :: true -> early_over(m)
#else
            :: early[m] == NAMED -> early_over(m)
            :: else
#endif
            fi
        fi;
        m = 0; }
    /* the rest, or all */
    :: atomic { may_end(0) || may_end(1) || (MESSAGES > 2 && may_end(2)) ->
        if
        :: may_end(0) -> m = 0
        :: may_end(1) -> m = 1
#if MESSAGES > 2
        :: may_end(2) -> m = 2
#endif
        fi;
        assert(lane_bytes[m] == bytes[m]);
        assert((lane_here[m] == 1) == has_early(m));
        got[m] = (lane_here[m] == 2 -> lane_bytes[m] : got[m]);
        early_over(m);
        placed(m, false);
        m = 0; }
#if RECALLS > 0
    :: atomic { in_state == LEASED && recalls < RECALLS ->
        recalls++;
        in_state = RECALLED;
        to_sender ! RECALL, 0, 0, 0, 0, 0; }
    :: atomic { in_state == GONE ->
        in_state = LEASED;
        in_seq[0] = first_seq; in_seq[1] = first_seq + 1;
        released[0] = in_seq[0]; released[1] = in_seq[1];
        to_sender ! LEASE, 0, first_seq, 0, 0, 0; }
#endif
    od
}

/* Where nothing can happen any more all messages are over, and no window that was recalled is kept. */
active proctype all_is_well()
{
    timeout;
    assert(phase[0] == OVER && phase[1] == OVER && !alive[0] && !alive[1]);
#if MESSAGES > 2
    assert(phase[2] == OVER && !alive[2]);
#endif
    assert(in_state == LEASED);
}
