/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters (report/counters.h). Owns the sums of what modules counted that are closed.
 */
#include "report/counters.h"

#include <string.h>

#include "params/left_out.h"
#include "opal/mca/base/mca_base_pvar.h"

#define CORE(field)  offsetof(struct mca_btl_rbuf_counters, core.field)
#define TOTAL(field) offsetof(struct mca_btl_rbuf_counters, field)
#define RECEIVE(why) TOTAL(choice.reason[RBUF_SIDE_RECEIVE][RBUF_REASON_##why])
#define GET(why)     TOTAL(choice.reason[RBUF_SIDE_GET][RBUF_REASON_##why])
#define SEND(why)    TOTAL(choice.reason[RBUF_SIDE_SEND][RBUF_REASON_##why])

static const struct mca_btl_rbuf_counter table[] = {
    {"messages_sent", CORE(messages_sent), "Messages sent: eager data and all that is small"},
    {"own_sent", CORE(own_sent),
     "rbuf's own messages (offers, grants, leases), by eager rings or over send/receive"},
    {"messages_not_inline", CORE(sends[0]),
     "Messages sent over send/receive, not inside their request, rbuf's own among them"},
    {"messages_received", CORE(messages_received),
     "Messages received: eager data and all that is small"},
    {"messages_inline", CORE(sends[1]),
     "Messages sent over send/receive inside their request, rbuf's own too"},
    {"send_bytes", CORE(send_bytes),
     "Bytes sent over send/receive, with the headers of Open MPI, rbuf's own messages among them"},
    {"messages_queued", CORE(messages_queued),
     "Messages that had to wait for a credit, a connection or room in the send queue"},
    {"credit_waits", CORE(credit_waits), "Messages that had to wait for a credit of the receiver"},
    {"messages_held", CORE(messages_held), "Messages that waited for the put that they belong to"},
    {"messages_refused", CORE(messages_refused), "Malformed messages, dropped"},
    {"messages_undelivered", TOTAL(undelivered),
     "Messages that came within MPI_Finalize, dropped: the program did not receive them"},
    {"ring_sent", CORE(ring_sent), "Messages sent by eager rings, rbuf's own among them"},
    {"ring_bytes", CORE(ring_bytes), "Bytes sent by eager rings, with rbuf's own messages"},
    {"ring_received", CORE(ring_received), "Messages received by eager rings, rbuf's own too"},
    {"ring_full", CORE(ring_full),
     "Messages sent over send/receive because their ring had no free slot"},
    {"ring_long", CORE(ring_long), "Messages sent by several slots of a ring each"},
    {"ring_incomplete", CORE(ring_incomplete),
     "Polls that found a ring message whose checksum was not right yet"},
    {"blocks_incomplete", CORE(blocks_incomplete),
     "Blocks that were copied out and not taken, as their checksum was not right yet"},
    {"ring_waits", CORE(ring_waits), "Polls that found a ring message before its turn"},
    {"ring_admitted", CORE(ring_admitted), "Peers taken into the polling set"},
    {"ring_recalled", CORE(ring_recalled), "Peers asked to leave the polling set"},
    {"ring_opened", CORE(ring_opened), "Rings that peers leased to this process"},
    {"credits_written", CORE(credits_written), "Credits written into a peer's mailbox"},
    {"staged_messages", CORE(staged_puts), "Messages sent through staging buffers"},
    {"staged_bytes", CORE(staged_bytes), "Bytes sent through staging buffers"},
    {"staged_chunks", CORE(staged_chunks), "Chunks sent: RDMA writes from staging buffers"},
    {"staged_received", CORE(staged_received), "Bytes copied out of staging buffers"},
    {"acks_written", CORE(acks_written), "Chunk acknowledgements written to peers"},
    {"grants", CORE(grants), "Receives that got staging buffers at once"},
    {"grants_deferred", CORE(grants_deferred), "Receives that had to wait for staging buffers"},
    {"grants_direct", CORE(grants_direct),
     "Receives that waited, and were registered after grant_wait"},
    {"rts_received", CORE(rts_received), "Rendezvous received that may have early data"},
    {"early_sent", CORE(early_sent), "Messages sent with early data, right behind the rendezvous"},
    {"early_dropped", CORE(early_dropped), "Messages sent with early data that nobody took"},
    {"early_named", CORE(early_named), "Messages whose early data were named to a late receive"},
    {"early_claimed", CORE(early_claimed),
     "Early data taken up by a receive that was there before the rendezvous"},
    {"early_late", CORE(early_late), "Early data taken up by a receive that came later"},
    {"early_corrected", CORE(early_corrected),
     "Early data taken up for another message, and given back"},
    {"early_fragments", CORE(early_fragments), "Fragments of packed data received as early data"},
    {"early_leased", CORE(early_leased), "Peers that were given room for early data"},
    {"early_recalled", CORE(early_recalled), "Peers asked to give room for early data back"},
    {"fragments", TOTAL(fragments),
     "Fragments of packed data sent, and of messages that cannot be put"},
    {"fragment_bytes", TOTAL(fragment_bytes),
     "Bytes of fragments sent; early data count as staged, too"},
    {"copied_puts", CORE(copied_puts),
     "Messages and puts sent from staging buffers to their place"},
    {"copied_gets", CORE(copied_gets),
     "Gets from their place at the peer, through staging buffers"},
    {"direct_puts", CORE(direct_puts), "Writes in place"},
    {"direct_bytes", CORE(direct_bytes), "Bytes written in place"},
    {"reads", CORE(reads), "RDMA reads"},
    {"atomics", CORE(atomics), "RDMA atomics"},
    {"one_sided_puts", TOTAL(one_sided.puts), "One-sided puts"},
    {"one_sided_put_bytes", TOTAL(one_sided.put_bytes), "Bytes of one-sided puts"},
    {"one_sided_copied_puts", TOTAL(one_sided.copied_puts), "One-sided puts copied in chunks"},
    {"one_sided_copied_bytes", TOTAL(one_sided.copied_bytes),
     "Bytes of one-sided puts copied in chunks"},
    {"one_sided_gets", TOTAL(one_sided.gets), "One-sided gets"},
    {"one_sided_get_bytes", TOTAL(one_sided.get_bytes), "Bytes of one-sided gets"},
    {"rma_requests", CORE(rma_requests), "Requests posted for writes in place, reads and atomics"},
    {"rma_doorbells", CORE(rma_doorbells), "Doorbells for writes in place, reads and atomics"},
    {"rma_held", CORE(rma_held), "One-sided puts and gets that were held for others (rma_order)"},
    {"rma_merged", CORE(rma_merged), "One-sided puts and gets sent in a neighbour's request"},
    {"window_waits", CORE(window_waits), "Times that a filled chunk waited for an acknowledgement"},
    {"staging_waits", CORE(staging_waits), "Times that a chunk found no send staging"},
    {"staging_grown", CORE(staging_grown), "Times that staging grew, to send from or receive into"},
    {"staging", TOTAL(staging),
     "Bytes of staging memory registered, to send from and receive into"},
    {"probes", CORE(probes), "Probes of silent peers"},
    {"queue_pairs", TOTAL(queue_pairs), "Queue pairs that there are now"},
    {"requests", TOTAL(requests), "Requests posted to send queues, of all kinds"},
    {"completions", TOTAL(completions), "Completions of send queues; few requests ask for one"},
    {"cache_hits", TOTAL(cache_hits),
     "Registrations of user memory found in the cache, where it was asked"},
    {"cache_misses", TOTAL(cache_misses), "Registrations of user memory that had to be made"},
    {"receive_fresh", RECEIVE(FRESH), "Protocol auto: receives copied, since the buffer was new"},
    {"receive_unamortized", RECEIVE(UNAMORTIZED),
     "Receives copied, since a registration would have cost more"},
    {"receive_slower", RECEIVE(SLOWER), "Receives copied, since in place is slower or not known"},
    {"receive_refused", RECEIVE(REFUSED),
     "Receives copied, since registrations of their size failed lately"},
    {"receive_held", RECEIVE(HELD), "Receives in place: the buffer was registered"},
    {"receive_amortized", RECEIVE(AMORTIZED), "Receives in place: it was worth a registration"},
    {"receive_trial", RECEIVE(TRIAL), "Receives in place, to see how long that takes"},
    {"receive_probe", RECEIVE(PROBE),
     "Receives on the less usual path, to see how long that takes"},
    {"receive_pressed", RECEIVE(PRESSED), "Receives in place, since there was no staging"},
    {"send_fresh", SEND(FRESH), "Puts in place copied here, since the buffer was new"},
    {"send_unamortized", SEND(UNAMORTIZED),
     "Puts copied, since a registration would have cost more"},
    {"send_slower", SEND(SLOWER), "Puts copied, since that is faster or not known"},
    {"send_refused", SEND(REFUSED), "Puts copied, since registrations of their size failed lately"},
    {"send_held", SEND(HELD), "Puts from a buffer that was registered"},
    {"send_amortized", SEND(AMORTIZED), "Puts from a buffer that was worth a registration"},
    {"send_trial", SEND(TRIAL), "Puts from a registered buffer, to see how long that takes"},
    {"send_probe", SEND(PROBE), "Puts on the less usual path, to see how long that takes"},
    {"get_fresh", GET(FRESH), "Gets copied, since the buffer was new"},
    {"get_unamortized", GET(UNAMORTIZED), "Gets copied, since a registration would have cost more"},
    {"get_slower", GET(SLOWER), "Gets copied, since that is faster or not known"},
    {"get_refused", GET(REFUSED), "Gets copied, since registrations of their size failed lately"},
    {"get_held", GET(HELD), "Gets into a buffer that was registered"},
    {"get_amortized", GET(AMORTIZED), "Gets into a buffer that was worth a registration"},
    {"get_trial", GET(TRIAL), "Gets into a registered buffer, to see how long that takes"},
    {"get_probe", GET(PROBE), "Gets on the less usual path, to see how long that takes"},
    {"registrations_refused", TOTAL(choice.refused), "Registrations wanted that could not be made"},
    {"reuse_messages", TOTAL(reuse.looked_up),
     "Eager messages, puts and gets whose buffer was looked up for reuse"},
    {"reuse_added", TOTAL(reuse.added), "Buffers that were new to the table of reuse"},
    {"reuse_refused", TOTAL(reuse.refused),
     "Uses not counted for reuse: the table of buffers was full"},
    {"reuse_gathered", CORE(gathered), "Eager messages sent from where they are, without a copy"},
    {"reuse_gathered_bytes", CORE(gathered_bytes), "Bytes of eager messages sent without a copy"},
    {"reuse_puts", TOTAL(reuse.puts), "Puts from often used buffers, without a copy"},
    {"reuse_gets", TOTAL(reuse.gets), "Gets into often used buffers, without a copy"},
    {"bounced", TOTAL(bounced), "Small puts and gets, copied through a fragment"},
    {"reuse_registered", TOTAL(reuse.registered), "Buffers registered, as they are often used"},
    {"reuse_given_up", TOTAL(reuse.given_up),
     "Often used buffers deregistered: released by the program, or given up for others"},
    {"reuse_copied", TOTAL(reuse.spared),
     "Uses of registered buffers that were copied, as that is faster, or to see whether it is"},
    {"reuse_held", TOTAL(reuse.held), "Buffers registered now, as they are often used"},
    {"reuse_most", TOTAL(reuse.most), "Uses of the buffer that is used most"},
    {"reuse_most_bytes", TOTAL(reuse.most_bytes),
     "Longest use of the buffer that is used most, bytes"},
    {"reuse_percent", TOTAL(reuse_percent),
     "Percent of the uses looked up for reuse whose buffer was not new"},
    {"helper_ready", TOTAL(helper.ready),
     "Protocol helper: uses of memory that was registered already"},
    {"helper_mispredicted", TOTAL(helper.mispredicted),
     "Uses that came before the registration which was planned for them"},
    {"helper_unknown", TOTAL(helper.unknown), "Uses that were not foreseen"},
    {"helper_ahead", TOTAL(helper.ahead), "Registrations by the helper, before a use"},
    {"helper_kept", TOTAL(helper.kept),
     "Times that a registration was kept behind a use, as the next one was near"},
    {"helper_lapsed", TOTAL(helper.lapsed), "Registrations whose predicted use did not come"},
    {"helper_stale", TOTAL(helper.stale), "Registrations whose memory was given back"},
    {"helper_points", TOTAL(helper.points), "Uses that the helper has seen"},
    {"helper_points_lost", TOTAL(helper.points_lost),
     "Uses that came too fast for the helper to see"},
    {"helper_predicted", TOTAL(helper.predicted), "Uses whose time was predicted"},
    {"helper_near", TOTAL(helper.near), "Uses within 0.5 % of the predicted time"},
    {"helper_close", TOTAL(helper.close),
     "Uses within 5 % of the predicted time, not within 0.5 %"},
    {"helper_early", TOTAL(helper.early), "Uses more than 5 % sooner than predicted"},
    {"helper_late", TOTAL(helper.late),
     "Uses more than 5 % later than predicted, by less than a period"},
    {"helper_missed", TOTAL(helper.missed), "Uses later than predicted by a period or more"},
    {"registrations", TOTAL(registrations), "Memory regions registered, those of rbuf included"},
    {"deregistrations", TOTAL(deregistrations), "Memory regions deregistered"},
    {"pinned", TOTAL(pinned), "Bytes registered now"},
    {"pinned_peak", TOTAL(pinned_peak), "Most bytes registered at one time"},
    {"async_visits", TOTAL(async_visits),
     "Times that the thread saw to messages that waited while the program called no MPI"},
    {"unauthenticated", TOTAL(unauthenticated),
     "Connections to the listener that were closed as a stranger's"},
    {"latecomers", TOTAL(latecomers),
     "Connections to the listener that were given up or for another process; some are usual"},
    {"connects_unanswered", TOTAL(connects_unanswered),
     "Peers that did not answer within connect_timeout, though their hosts did"},
};

#define COUNTERS (sizeof(table) / sizeof(table[0]))

static struct mca_btl_rbuf_counters kept; /* of modules that are closed */

/* Both are made of 64-bit counters only, `bytes` of them. */
static void add(void *sum, const void *more, size_t bytes)
{
    uint64_t *to = sum;
    const uint64_t *from = more;

    for (size_t i = 0; i < bytes / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

static void add_helper(struct mca_btl_rbuf_counters *sum, const mca_btl_rbuf_registrar_t *registrar)
{
    struct mca_btl_rbuf_helper_counters counters;

    registrar->policy->count(registrar, &counters);
    add(&sum->helper, &counters, sizeof(counters));
    sum->cache_misses += counters.mispredicted + counters.unknown;
}

static void add_module(struct mca_btl_rbuf_counters *sum, const mca_btl_rbuf_module_t *module)
{
    add(&sum->core, &module->core.stats, sizeof(sum->core));
    if (module->registrar.choice != NULL) {
        add(&sum->choice, &module->registrar.choice->counters, sizeof(sum->choice));
    }
    if (module->registrar.reuse != NULL) {
        module->registrar.reuse->count(&module->registrar, &sum->reuse);
    }
    if (module->registrar.policy->count != NULL) {
        add_helper(sum, &module->registrar);
    }
    sum->bounced += module->bounced;
    add(&sum->one_sided, &module->one_sided, sizeof(sum->one_sided));
    sum->fragments += module->fragments;
    sum->fragment_bytes += module->fragment_bytes;
    sum->undelivered += module->undelivered;
    sum->staging += module->send_staging.registered + module->receive_staging.registered;
    sum->queue_pairs += module->port->queue_count;
    sum->requests += module->port->fab.requests;
    sum->completions += module->port->fab.completions;
    sum->async_visits += module->async.visits;
    sum->lookups += atomic_load_explicit(&module->registrar.lookups, memory_order_relaxed);
    sum->cache_misses += atomic_load_explicit(&module->registrar.misses, memory_order_relaxed);
}

void mca_btl_rbuf_counters_keep(const mca_btl_rbuf_module_t *module)
{
    add_module(&kept, module);
}

/* Connections that ended without a good request, in two groups.
 *
 * Latecomers are as usual. Both sides connected at once and one gave up its request, before it was
 * sent (wordless) or before it was read (withdrawn). Or the request was for another process: one
 * that had the port before, or that has the same address on another machine (token).
 *
 * All others are strangers'. */
static void set_listener(struct mca_btl_rbuf_counters *sum)
{
    const struct rbuf_listener_counters *counters;

    if (mca_btl_rbuf_process.listener == NULL) {
        return; /* they are kept */
    }
    counters = rbuf_listener_counters(mca_btl_rbuf_process.listener);
    sum->latecomers = counters->withdrawn + counters->wordless + counters->fault[RBUF_FAULT_TOKEN];
    sum->unauthenticated = counters->slow + counters->closed_early + counters->evicted;
    for (int i = 1; i < RBUF_FAULTS; i++) {
        sum->unauthenticated += i != RBUF_FAULT_TOKEN ? counters->fault[i] : 0;
    }
    sum->connects_unanswered = counters->connects_unanswered;
}

void mca_btl_rbuf_counters_close(void)
{
    set_listener(&kept);
}

void mca_btl_rbuf_counters_sum(struct mca_btl_rbuf_counters *sum)
{
    *sum = kept;
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        if (mca_btl_rbuf_process.modules[i] != NULL) {
            add_module(sum, mca_btl_rbuf_process.modules[i]);
        }
    }
    sum->cache_hits = sum->lookups > sum->cache_misses ? sum->lookups - sum->cache_misses : 0;
    if (sum->reuse.looked_up > 0) {
        sum->reuse_percent =
            100 - 100 * (sum->reuse.added + sum->reuse.refused) / sum->reuse.looked_up;
    }
    sum->registrations = rbuf_memory_stats.registrations;
    sum->deregistrations = rbuf_memory_stats.deregistrations;
    sum->pinned = rbuf_memory_stats.registered;
    sum->pinned_peak = rbuf_memory_stats.peak;
    set_listener(sum);
}

/* MPI_T reads a counter. */
static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    struct mca_btl_rbuf_counters sum;

    (void) object;
    mca_btl_rbuf_counters_sum(&sum);
    *(unsigned long long *) value = mca_btl_rbuf_counter_value(&sum, pvar->ctx);
    return OPAL_SUCCESS;
}

const struct mca_btl_rbuf_counter *mca_btl_rbuf_counter(size_t i)
{
    return i < COUNTERS ? &table[i] : NULL;
}

/* Counters are read from the start of their handle on, levels as they are. */
static int class_of(const struct mca_btl_rbuf_counter *counter)
{
    const bool level =
        counter->offset == TOTAL(pinned) || counter->offset == TOTAL(staging) ||
        counter->offset == TOTAL(pinned_peak) || counter->offset == TOTAL(queue_pairs) ||
        (counter->offset >= TOTAL(reuse.held) && counter->offset <= TOTAL(reuse_percent));

    return level ? MCA_BASE_PVAR_CLASS_LEVEL : MCA_BASE_PVAR_CLASS_COUNTER;
}

int mca_btl_rbuf_counters_register(const mca_base_component_t *component)
{
    for (size_t i = 0; i < COUNTERS; i++) {
        int status;

        if (mca_btl_rbuf_left_out(table[i].name) != NULL) {
            continue;
        }
        status = mca_base_component_pvar_register(
            component, table[i].name, table[i].text, OPAL_INFO_LVL_4, class_of(&table[i]),
            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL,
            (void *) (uintptr_t) &table[i]);

        if (status < 0) {
            return status;
        }
    }
    return OPAL_SUCCESS;
}
