/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A model of memory that an adapter writes and a processor polls, for the checker spin: the words
 * of a write, and those of several, are placed in every order, while the receiver looks. Memory has
 * what it had before: also complete blocks of earlier uses, also words that are like those to come.
 * It keeps what the flags of blocks and the words of ring slots are for:
 *
 *   - no receive gets a word that is not its message's, nor anything before it was sent;
 *   - everything that was sent is taken, and its place is used again (no state is a dead end).
 *
 * A place (a block of a lane, a slot of a ring or of early data) is two words of payload and the
 * flag behind them. What a write says in its flag:
 *
 *   PLAIN     the use of the place. The words of one write are placed in ascending order then.
 *   else      low bits of the use (here 1), if it is brief, and a checksum of what it covers and of
 *             the higher bits of the use. It is an ideal one: other words have another sum. The
 *             receiver copies word by word, while words are placed, and takes what it has copied if
 *             that agrees with the flag that it has read; else it looks again.
 *
 * Promised of several writes is only that a completion at the sender says that its write is placed.
 * Uses of a place go by one or by two, since not every message comes by every place; then the low
 * bits are like those of the block that is still there. A brief write of a lane has padding, which
 * it covers; one of a ring covers less of its slot.
 *
 * Parts, by definitions. Lanes (nothing defined) and RING have BUFFERS places in turn. A place is
 * written again when the mailbox has its acknowledgement or credit, of which a word's next write
 * waits for the one before. That is not enough (ACKNOWLEDGED): a word that is late may be like the
 * one that is there already. Then the sum agrees, and the word lands in the next use. One of two
 * must be:
 *   (default)       the receiver fills what it has verified, before it acknowledges, with a value
 *                   that no payload has; memory begins like that. So what agrees is all placed.
 *   COMPLETED       the sender also waits for the completion of the place's last write.
 * EARLY is a slot of early data, which the sender may drop, and then says so instead of a put. It is
 * written again when its data are released or dropped, and its writes are complete.
 *
 * Defining one of these makes the model wrong in one way, and the checker must find it:
 *   UNORDERED      PLAIN, and the words of a write are placed in any order
 *   FLAG_ALONE     low bits of the use are enough
 *   NO_USE         the sum leaves out the use: a complete block of an earlier one agrees
 *   NO_PADDING     the sum leaves out the padding, which is late and lands in the next use
 *   ACKNOWLEDGED   an acknowledgement or a credit alone lets a place be written again
 *   FILL_LATE      the receiver fills a place that it has acknowledged
 *   FIRST_FULL     the receiver does not fill what memory has before its first use
 *   ACK_FIRST      it acknowledges what it has not verified
 *   CREDIT_FIRST   the same of a ring's slot
 *   TWO_AT_ONCE    two writes of the mailbox's word are under way: the older count may stay
 * and of EARLY:
 *   UNDER_WAY      a slot that was dropped is written while writes of it are under way
 *   RELEASED       a slot that was released is
 */
#ifndef BUFFERS
#ifdef EARLY
#define BUFFERS 1
#else
#define BUFFERS 2
#endif
#endif
#ifndef WRITES
#define WRITES 4
#endif

#define WORDS  3
#define FILLED 0 /* payload is 1 or 2 */

#if defined(PLAIN) || defined(EARLY) || defined(COMPLETED) || defined(ACKNOWLEDGED)
#define NO_FILL
#endif

/* Memory that the adapter writes: places of the receiver, and the sender's mailbox. */
byte memory[BUFFERS * WORDS];
byte box = 0;

/* Writes that are under way: bits of their words that are not placed. And what they write, until it
 * is placed and taken. */
byte to_come[WRITES];
byte first[WRITES], second[WRITES], flag[WRITES];
byte posted = 0, taken = 0;

bool begun = false;
byte step;        /* from one use of a place to the next */
byte brief_round; /* writes of this round, if there is one, are brief */

bool looked = false; /* by the receiver, since a word was placed */

#define place_of(i)  ((i % BUFFERS) * WORDS)
#define use_of(i)    (1 + (i / BUFFERS) * step)
#define is_brief(i)  (i / BUFFERS == brief_round)

#ifdef NO_USE
#define high_of(use) 0
#else
#define high_of(use) (use / 2)
#endif
#if defined(RING) || defined(NO_PADDING)
#define summed(is_short, one) (is_short -> 0 : one)
#else
#define summed(is_short, one) one
#endif
#ifdef RING
#define covers_first(i) (!is_brief(i))
#else
#define covers_first(i) true
#endif

#define low_of(use) (1 + use % 2)
#define sum_of(use, is_short, one, two) \
    (low_of(use) + 2 * (is_short + 2 * (summed(is_short, one) + 3 * two + 9 * high_of(use))))

/* What the flag is by which the receiver knows that use, before it looks at the rest; and after. */
#ifdef PLAIN
#define flag_of(i)     (1 + use_of(i))
#define may_be(i, f)   (f == 1 + use_of(i))
#define agrees(i)      true
#else
#define flag_of(i)     sum_of(use_of(i), is_brief(i), first[i], second[i])
#define may_be(i, f)   (f != 0 && 1 + (f - 1) % 2 == low_of(use_of(i)))
#ifdef FLAG_ALONE
#define agrees(i)      true
#else
#define agrees(i)      (flag_seen == sum_of(use_of(i), is_brief(i), copy_first, copy_second))
#endif
#endif

/* ---- the adapter ---- */

#if defined(PLAIN) && !defined(UNORDERED)
#define may_place(i, word) ((to_come[i] & word) != 0 && (to_come[i] & (word - 1)) == 0)
#else
#define may_place(i, word) ((to_come[i] & word) != 0)
#endif

/* Nobody asks any more what it has written. */
inline forget(i)
{
    if
    :: to_come[i] == 0 && taken > i -> first[i] = 0; second[i] = 0; flag[i] = 0
    :: else
    fi
}

inline place(i, word, where, what)
{
    memory[place_of(i) + where] = what;
    to_come[i] = to_come[i] - word;
    looked = false;
    forget(i)
}

/* One for each write; their numbers are those of the processes. */
active [WRITES] proctype adapter()
{
end:
    do
    :: atomic { may_place(_pid, 1) -> place(_pid, 1, 0, first[_pid]) }
    :: atomic { may_place(_pid, 2) -> place(_pid, 2, 1, second[_pid]) }
    :: atomic { may_place(_pid, 4) -> place(_pid, 4, 2, flag[_pid]) }
    od
}

/* ---- the sender ---- */

inline post(i)
{
    if
    :: first[i] = 1
    :: first[i] = 2
    fi;
    if
    :: second[i] = 1
    :: second[i] = 2
    fi;
    flag[i] = flag_of(i);
    to_come[i] = (covers_first(i) -> 7 : 6);
    posted++
}

/* What both sides know, and what stands in memory. */
inline begin()
{
    if
    :: step = 1
    :: step = 2
    fi;
    if
    :: brief_round = 0
    :: brief_round = 1
    :: brief_round = WRITES
    fi;
#if defined(NO_FILL) || defined(FIRST_FULL)
    memory[0] = 1; memory[1] = 1;
#if BUFFERS > 1
    memory[WORDS] = 1; memory[WORDS + 1] = 1;
#endif
#endif
    begun = true
}

#ifndef EARLY

#if defined(COMPLETED)
#define is_free(i) (box > i - BUFFERS && to_come[i - BUFFERS] == 0)
#else
#define is_free(i) (box > i - BUFFERS)
#endif

active proctype sender()
{
    atomic { begin(); }
end:
    do
    :: atomic { posted < WRITES && (posted < BUFFERS || is_free(posted)) -> post(posted); }
    od
}

#else

#define FREE    0
#define WRITTEN 1
#define TAKEN   2
#define DROPPED 3
byte slot = FREE;
byte answer[WRITES]; /* what the put says of a message's early data: 0 nothing yet; TAKEN, DROPPED */

#ifdef UNDER_WAY
#define drop_is_over true
#else
#define drop_is_over (to_come[posted - 1] == 0)
#endif
#if defined(RELEASED) || defined(PLAIN)
#define release_is_over (box >= posted)
#else
#define release_is_over (box >= posted && to_come[posted - 1] == 0)
#endif

/* The message has been sent and has lost its slot. */
#define was_dropped(i) (answer[i] == 0 && (i + 1 < posted || (i + 1 == posted && slot != WRITTEN)))

active proctype sender()
{
    atomic { begin(); }
end:
    do
    :: atomic { posted < WRITES && slot == FREE -> post(posted); slot = WRITTEN; }
    :: atomic { slot == WRITTEN -> slot = TAKEN; answer[posted - 1] = TAKEN; }
    :: atomic { slot == WRITTEN -> slot = DROPPED; }
    :: atomic { slot == DROPPED && drop_is_over -> slot = FREE; }
    :: atomic { slot == TAKEN && release_is_over -> slot = FREE; }
    :: atomic { taken < WRITES && was_dropped(taken) -> answer[taken] = DROPPED; }
    od
}

#endif

/* ---- the receiver ---- */

/* The mailbox: `reported` is the newest count that was posted. */
#ifdef TWO_AT_ONCE
#define MOST_COUNTS 2
#else
#define MOST_COUNTS 1
#endif
byte under_way[2];
byte counts = 0; /* of them */
byte reported = 0;
byte owed = 0; /* count that the sender is to get */

active proctype mailbox()
{
end:
    do
    :: atomic { owed > reported && counts < MOST_COUNTS ->
        under_way[counts] = owed; reported = owed; counts++; }
    :: atomic { counts > 0 -> box = under_way[0]; under_way[0] = under_way[1]; under_way[1] = 0; counts--; }
    :: atomic { counts > 1 -> box = under_way[1]; under_way[1] = 0; counts--; }
    od
}

inline fill()
{
#ifndef NO_FILL
    memory[place_of(taken) + 1] = FILLED;
    if
    :: covers_first(taken) -> memory[place_of(taken)] = FILLED
    :: else
    fi
#else
    skip
#endif
}

inline take(next)
{
    taken++;
    forget(next)
}

/* What was copied is what was sent; padding, and what a write does not cover, is nobody's. */
#define is_right(i) (i < posted && copy_second == second[i] && (is_brief(i) || copy_first == first[i]))

#ifndef EARLY

active proctype receiver()
{
    byte flag_seen, copy_first, copy_second;

    begun;
end:
    do
    :: atomic { taken < WRITES && !looked && may_be(taken, memory[place_of(taken) + 2]) ->
            looked = true;
            flag_seen = memory[place_of(taken) + 2]; }
#if defined(ACK_FIRST) || defined(CREDIT_FIRST)
        owed = taken + 1;
#endif
        if
        :: copy_first = memory[place_of(taken)]; copy_second = memory[place_of(taken) + 1]
        :: copy_second = memory[place_of(taken) + 1]; copy_first = memory[place_of(taken)]
        fi;
        if
        :: atomic { agrees(taken) -> assert(is_right(taken)); flag_seen = 0; copy_first = 0; copy_second = 0; }
#ifdef FILL_LATE
            owed = taken + 1;
            fill();
#else
            fill();
            owed = taken + 1;
#endif
            atomic { take(taken - 1); looked = false; }
        :: atomic { else -> flag_seen = 0; copy_first = 0; copy_second = 0; }
        fi
    :: taken == WRITES -> break
    od
}

#else

/* A claim: it reads when the message is announced, and takes it when the put has said so. What it has
 * read of early data that were dropped, perhaps while the next ones were placed, is given up. */
active proctype receiver()
{
    byte flag_seen, copy_first, copy_second;
    bool verified = false, wrong = false;

    begun;
end:
    do
    :: atomic { taken < posted && !verified && !looked && may_be(taken, memory[2]) ->
            looked = true;
            flag_seen = memory[2]; }
        if
        :: copy_first = memory[0]; copy_second = memory[1]
        :: copy_second = memory[1]; copy_first = memory[0]
        fi;
        atomic {
            if
            :: agrees(taken) -> verified = true; wrong = !is_right(taken)
            :: else
            fi;
            flag_seen = 0; copy_first = 0; copy_second = 0; }
    :: atomic { taken < WRITES && verified && answer[taken] == TAKEN ->
        assert(!wrong);
        owed = taken + 1; take(taken - 1); verified = false; looked = false; }
    :: atomic { taken < WRITES && answer[taken] == DROPPED ->
        take(taken - 1); verified = false; wrong = false; looked = false; }
    :: taken == WRITES -> break
    od
}

#endif

/* Where nothing can happen any more nothing is lost. */
active proctype all_is_well()
{
    timeout;
    assert(taken == WRITES);
}
