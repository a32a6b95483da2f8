/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of parameters (params/params.h), and what depends on several of them. Owns
 * mca_btl_rbuf_params, which is constant once it was checked.
 */
#include "rbuf_compat.h"

#include "params/params.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "params/help.h"
#include "params/left_out.h"
#include "params/values.h"
#include "common/names.h"
#include "core/base/schedule.h"
#include "core/base/wire.h"
#include "opal/mca/base/mca_base_var.h"
#include "rbuf_version.h"

struct mca_btl_rbuf_params mca_btl_rbuf_params;

enum kind {
    SIZE,   /* bytes */
    COUNT,  /* a number */
    TIME,   /* ns */
    RATIO,  /* 16.16 fixed point */
    CHOICE, /* index into `choices` */
    TEXT
};

static const char *const protocols[] = {
    "superpipeline", "pipeline", "copy", "register", "rcache", "auto", "helper", "default", NULL};
static const char *const helper_policies[] = {"off",   "conservative", "aggressive",
                                              "force", "coordinated",  NULL}; /* rbuf_sharing */
static const char *const orders[] = {"issue", "interleave", "prioritize", "both",
                                     NULL}; /* enum rbuf_rma_order */
static const char *const switches[] = {"off", "on", NULL};
static const char *const auto_switches[] = {"auto", "on", "off", NULL};
/* rbuf_in_order_choice */
static const char *const subblock_choices[] = {"auto", "checked", "on", "off", NULL};

struct parameter {
    const char *name;
    const char *initial;
    enum kind kind;
    uint64_t min;
    uint64_t max;
    const char *const *choices;
    const char *nothing; /* a word that stands for `nothing_value`, or NULL */
    uint64_t nothing_value;
    int level;
    size_t offset;
    const char *range; /* unit and range, for people */
    const char *text;
};

#define FIELD(name) offsetof(struct mca_btl_rbuf_params, name)
#define KIB         1024ull
#define MIB         (1024ull * KIB)
#define GIB         (1024ull * MIB)
#define MS          1000000ull
#define SECOND      1000000000ull

#define EARLY_BLOCKS_MOST 1024u /* of a slot: as many have flags of their own */

#if RBUF_HAVE_HELPER
#define PROTOCOLS "superpipeline, pipeline, copy, register, rcache, auto, helper, default"
#define HELPER_TEXT                                                                                \
    ". helper: written in place, registered by a thread shortly before its predicted use and "     \
    "deregistered behind it (needs allow_cache, and an idle core: see helper_policy)"
#else
#define PROTOCOLS   "superpipeline, pipeline, copy, register, rcache, auto, default"
#define HELPER_TEXT ""
#endif

static const struct parameter table[] = {
    {"protocol", "default", CHOICE, 0, 0, protocols, NULL, 0, 3, FIELD(protocol), PROTOCOLS,
     "How a contiguous message above the eager limit travels. default: superpipeline where a core "
     "copies faster than the ports carry, which is measured at start, auto elsewhere. "
     "superpipeline: copied through "
     "staging "
     "buffers in growing chunks; no user memory is ever registered, but windows of one-sided "
     "programs, whose puts and gets are copied on their own side. pipeline: the same with chunks "
     "of one size. copy: copied as a whole, sent, copied. register: registered, written in place, "
     "deregistered. rcache: written in place, registrations kept in a cache (needs allow_cache). "
     "auto: written in place from and to buffers that the program uses again, where that has been "
     "seen to be faster and to be worth their registration, superpipeline else; without "
     "allow_cache "
     "in place only where a registration for each message is worth it" HELPER_TEXT},
    {"c0", "12k", SIZE, 512, GIB, NULL, NULL, 0, 4, FIELD(c0),
     "bytes, 512 to largest_chunk, in whole blocks (rounded up)",
     "First chunk of a staged message (C0). Behind a rendezvous best is what the processor "
     "copies in one round trip of the network, 8k to 16k on most; early data begin with early_c0 "
     "if that is less"},
    {"q", "1.5", RATIO, RBUF_GROWTH_ONE, RBUF_GROWTH_MAX, NULL, NULL, 0, 4, FIELD(q),
     "factor, 1 to 64",
     "Growth of the chunks: copy bandwidth divided by network bandwidth. 1 is a fixed chunk. Where "
     "the network is faster than a copy no q helps: use rcache or register"},
    {"buffers", "auto", COUNT, 1, RBUF_BUFFERS_MAX, NULL, "auto", 0, 4, FIELD(buffers),
     "buffers, 1 to 16 (lowered to the blocks in half of staging_size), or auto",
     "Staging buffers that the chunks of one message are folded into. auto: 3, or 16 where a node "
     "has more processes than processors: there a sender that waits for a buffer waits for the "
     "receiver's turn on a processor. 2 lose some percent on small "
     "chunks, more than 3 gain nothing on the networks that were measured"},
    {"largest_chunk", "256k", SIZE, 512, GIB, NULL, NULL, 0, 4, FIELD(largest_chunk),
     "bytes, c0 to 65535 blocks, in whole blocks (rounded up); lowered to half of staging_size / "
     "buffers, and c0 and pipeline_chunk with it",
     "Size of a staging buffer, where the chunks stop growing"},
    {"pipeline_chunk", "c0", SIZE, 512, GIB, NULL, "c0", 0, 5, FIELD(pipeline_chunk),
     "bytes, 512 to largest_chunk, or c0",
     "Chunk of protocol pipeline for messages of all lengths; pipeline_gap gives each length its "
     "own"},
    {"pipeline_gap", "0", SIZE, 0, GIB, NULL, NULL, 0, 5, FIELD(pipeline_gap), "bytes, 0 to 1G",
     "What a core copies in the gap between two requests, in bytes: 1000 for 100 ns and 10 GB/s. "
     "Protocol "
     "pipeline then cuts a message of L bytes into chunks of sqrt(L pipeline_gap / 2) bytes, to "
     "the "
     "nearest block, instead of pipeline_chunk. 0: all lengths have pipeline_chunk"},
    {"block_size", "4k", SIZE, 512, MIB, NULL, NULL, 0, 5, FIELD(block_size),
     "bytes, a power of two, 512 to 1M, at most half of staging_size",
     "Blocks of a chunk that the receiver copies out as they arrive; 8 bytes of each are its flag. "
     "A multiple of the MTU"},
    {"staging_size", "auto", SIZE, 64 * KIB, 64 * GIB, NULL, "auto", 0, 3, FIELD(staging_size),
     "bytes, 64k to 64G, or auto",
     "Most staging memory of the process for all its peers together, half of it to send from and "
     "half to receive into. A half that does not hold the buffers of one message shortens them "
     "(largest_chunk), and where it has fewer blocks (block_size) than buffers there are fewer; "
     "show says what became of them. A port's half must hold a block. The less, the more chunks a "
     "message has, and the more messages wait for each other. auto: 32M (128M for protocol copy), "
     "but at most half of what RLIMIT_MEMLOCK allows"},
    {"staging_start", "auto", SIZE, 64 * KIB, 64 * GIB, NULL, "auto", 0, 4, FIELD(staging_start),
     "bytes, 64k to staging_size (lowered to it), or auto",
     "Staging memory that is pinned at start, at least what a message of any length needs. Each "
     "half grows as soon as something has to wait for it, by as much as there is, up to "
     "staging_size, and never shrinks. auto: 4M"},
    {"grant_wait", "5ms", TIME, 0, 3600 * SECOND, NULL, NULL, 0, 5, FIELD(grant_wait),
     "time with ns, us, ms or s; 0: for ever",
     "How long a message waits for staging to receive into before its buffer is registered on the "
     "spot instead: as much as staging_size at once, or one message, and one more each time that "
     "nothing has moved for 20 times as long"},
    {"subblock", "auto", CHOICE, 0, 0, subblock_choices, NULL, 0, 5, FIELD(subblock),
     "auto, checked, on, off",
     "How the receiver takes blocks out of a chunk that is still arriving, and messages out of an "
     "eager ring. on: by their flags alone, which relies on the adapter placing the bytes of one "
     "write in order; where it does not, wrong data is received without an error. Some hundred "
     "writes at start may show that it does not, and then on is checked; they cannot show that it "
     "does. checked: flags carry a checksum of the data, which costs some of the speed of a copy. "
     "off: chunks are announced as a whole, and there are no eager rings: short messages are "
     "slower. auto: on where the adapter itself promises order, else checked"},
    {"check_timeout", "60s", TIME, 0, 3600 * SECOND, NULL, NULL, 0, 7, FIELD(check_timeout),
     "time with ns, us, ms or s; 0: for ever",
     "With subblock checked: how long the checksum of a message in a ring, or of a block whose "
     "sender has finished, may be wrong before the peer is taken for lost. Bytes that are still "
     "on their way come sooner, or the adapter gives up; what remains is damage. Shorter than the "
     "adapter's time-outs and retries it ends jobs that only lose packets"},
    {"early_data", "on", CHOICE, 0, 0, switches, NULL, 0, 6, FIELD(early_data), "on, off",
     "Send the first bytes of a message right behind its rendezvous, before that is answered. "
     "Contiguous messages with protocols superpipeline, pipeline and auto, packed data with all "
     "protocols. "
     "Only between processes that one port connects, without another BTL to the same peers, and "
     "unless rndv_eager_limit is 0"},
    {"early_peers", "16", COUNT, 0, RBUF_EARLY_PEERS_MAX, NULL, NULL, 0, 5, FIELD(early_peers),
     "peers, 0 to 64",
     "Peers that may send early data to this process, into slots of its receive staging that are "
     "theirs for a time: those that send at present. Fewer if the staging is small, and with "
     "subblock off no more than bulk_buffers / (bulk_credits / 2), where peers share those. 0: "
     "none, and the network waits for every rendezvous"},
    {"early_size", "72k", SIZE, 512, GIB, NULL, NULL, 0, 6, FIELD(early_size),
     "bytes, in whole blocks (rounded up), c0 and a block at least (raised to it), 1024 blocks at "
     "most (lowered to it)",
     "Most early data of a message. Each peer has room for 4 messages. What the network carries in "
     "one round trip and a half hides the rendezvous of an idle receiver; more, that of one that "
     "copies meanwhile. Early data wait for their receive. The longer, the fewer peers have them; "
     "rbuf-tune recommends a size"},
    {"early_c0", "4k", SIZE, 512, GIB, NULL, NULL, 0, 6, FIELD(early_c0),
     "bytes, in whole blocks (rounded up), c0 at most (lowered to it)",
     "First chunk of early data, and first fragment of packed data. Nothing hides its copy; the "
     "less it is, the sooner the network has something to do"},
    {"allow_cache", "on", CHOICE, 0, 0, switches, NULL, 0, 3, FIELD(allow_cache), "on, off",
     "Permit a registration cache, and with it memory hooks, for protocols rcache and auto and for "
     "reuse. Nothing else installs hooks"},
    {"registration_time", "30us", TIME, 0, SECOND, NULL, NULL, 0, 6, FIELD(registration_time),
     "time with ns, us or ms",
     "Protocol auto: what registering memory is assumed to take until this run has measured it"},
    {"registration_page_time", "150ns", TIME, 0, MS, NULL, NULL, 0, 6,
     FIELD(registration_page_time), "time with ns or us", "The same, for each 4 KB of it"},
    {"helper_policy", "conservative", CHOICE, 0, 0, helper_policies, NULL, 0, 3,
     FIELD(helper_policy), "off, conservative, aggressive, force, coordinated",
     "Protocol helper: which processes of a node have a helper thread. conservative: one for each "
     "core that no process computes on, those that have registered the most. aggressive: all, if "
     "there is such a core. coordinated: as conservative, and more where their registrations are "
     "so seldom that helpers can share a core. force: all, also where a process computes on each "
     "core, which slows both. Without a helper memory is registered on demand"},
    {"helper_frames", "on", CHOICE, 0, 0, switches, NULL, 0, 6, FIELD(helper_frames), "on, off",
     "Protocol helper: whether uses of a buffer are told apart by the place in the program, of "
     "which its stack frames tell. off: by buffer, size and peer, which is cheaper, and predicts "
     "less of a program that uses a buffer in several loops"},
    {"helper_delay", "10ms", TIME, 0, SECOND, NULL, NULL, 0, 6, FIELD(helper_delay),
     "time with us, ms or s, at most 1s",
     "Protocol helper: how long deregistrations wait at most until the program is not in MPI. They "
     "disturb no message then, but what waits stays pinned; 0: they never wait, as is so in any "
     "case "
     "once memory was short"},
    {"helper_min", "16k", SIZE, 1, GIB, NULL, NULL, 0, 6, FIELD(helper_min), "bytes, 1 to 1G",
     "Protocol helper: smallest message whose memory is predicted; others are registered on "
     "demand"},
    {"helper_regions", "256", COUNT, 4, 65536, NULL, NULL, 0, 6, FIELD(helper_regions),
     "regions, 4 to 65536",
     "Protocol helper: regions of memory that are registered or predicted at a time, for each "
     "port; "
     "each use looks through them"},
    {"reuse", "off", CHOICE, 0, 0, switches, NULL, 0, 3, FIELD(reuse), "on, off",
     "Whether eager messages from buffers that the program sends from often are left where they "
     "are: the buffer is registered, and the adapter fetches the data itself. Saves the sender's "
     "copy, and that of one-sided puts and gets of up to control_size; needs allow_cache, installs "
     "memory hooks, and pins such buffers until their memory is given back"},
    {"reuse_min", "128", SIZE, 1, GIB, NULL, NULL, 0, 6, FIELD(reuse_min), "bytes, 1 to 1G",
     "Smallest message, put or get that is looked up for reuse. Messages of up to 256 bytes, and "
     "what travels inside the request, are copied in any case"},
    {"reuse_buffers", "16384", COUNT, 2, MIB, NULL, NULL, 0, 6, FIELD(reuse_buffers),
     "buffers, 2 to 1048576",
     "Buffers that reuse counts the uses of, 52 bytes each. At most half as many are registered at "
     "a time, and no more than 64 MB or an eighth of what may be locked"},
    {"reuse_speculation", "25", COUNT, 0, 1000, NULL, NULL, 0, 6, FIELD(reuse_speculation),
     "percent, 0 to 1000",
     "A buffer is registered for reuse when it has been used as often as this share of what saves "
     "the time of its registration. Less: sooner, and more often in vain. 0: every buffer at once, "
     "whatever that costs, for tests"},
    {"report", "0", COUNT, 0, 3, NULL, NULL, 0, 3, FIELD(report), "0 to 3",
     "What is printed in MPI_Finalize. 0: nothing. 1: five lines for the job: ports, how many "
     "messages and bytes went which way, memory, and what is unusual. The processes come together "
     "for that; each prints its own line, 10 s later at most, if one has no adapter or another "
     "level. 2: "
     "all counters, one line a process. 3: the same as JSON"},
    {"show", "0", COUNT, 0, 1, NULL, NULL, 0, 3, FIELD(show), "0 or 1",
     "1: rank 0 prints at start by which way messages of each size would go, and which setting "
     "says so: eager rings, send/receive, early data, staging with its chunks, in place; "
     "one-sided operations, too"},
    {"quantum", "16k", SIZE, 4 * KIB, GIB, NULL, NULL, 0, 6, FIELD(quantum), "bytes, 4k to 1G",
     "Most that one call of the progress engine copies in each direction"},
    {"fork_support", "auto", CHOICE, 0, 0, auto_switches, NULL, 0, 6, FIELD(fork_support),
     "auto, on, off",
     "Whether ibv_fork_init() is called at start, for programs that fork or call system(). auto: "
     "on "
     "kernels before 5.12, which do not copy pinned pages at fork, unless Open MPI's own "
     "want_fork_support is 0. With it a child that looks at memory that was registered for a "
     "message (protocols register, rcache, auto) is killed"},
    {"if_include", "", TEXT, 0, 0, NULL, NULL, 0, 2, FIELD(if_include),
     "comma list of DEVICE or DEVICE:PORT",
     "Adapters to use. By default, of each fabric (an InfiniBand subnet, or an IP network on "
     "Ethernet), the active ports of the fastest adapter, and of equally fast ones of the nearest; "
     "two processes use the fastest fabric that both have, and on Ethernet of equally fast ones "
     "the nearest to both; without one in common, ports that may be routed. Not together with "
     "if_exclude"},
    {"if_exclude", "", TEXT, 0, 0, NULL, NULL, 0, 2, FIELD(if_exclude),
     "comma list of DEVICE or DEVICE:PORT", "Adapters not to use; all others are"},
    {"gid_index", "auto", COUNT, 0, 65535, NULL, "auto", UINT64_MAX, 3, FIELD(gid_index),
     "index, 0 to 65535, or auto",
     "Entry of the port's GID table. auto: on Ethernet RoCE v2 with a routable IPv4 address first, "
     "link-local last; on InfiniBand 0"},
    {"mtu", "auto", COUNT, 256, 4096, NULL, "auto", 0, 5, FIELD(mtu),
     "bytes, 256, 512, 1024, 2048 or 4096, or auto", "Path MTU. auto: what the port has active"},
    {"pkey", "auto", COUNT, 1, 65535, NULL, "auto", 0, 5, FIELD(pkey), "1 to 65535, or auto",
     "Partition key; 0x notation is understood, and the top bit does not count. auto: the first "
     "valid one of the port's table, of which the port is a full member if there is one"},
    {"service_level", "0", COUNT, 0, 15, NULL, NULL, 0, 5, FIELD(service_level), "0 to 15",
     "InfiniBand service level"},
    {"traffic_class", "0", COUNT, 0, 255, NULL, NULL, 0, 5, FIELD(traffic_class), "0 to 255",
     "Traffic class of the global route header (RoCE: DSCP and ECN)"},
    {"timeout", "16", COUNT, 1, 31, NULL, NULL, 0, 5, FIELD(timeout),
     "exponent, 1 to 31: 4.096 us * 2^timeout",
     "How long the adapter waits for an acknowledgement before it sends again; it may take four "
     "times as long"},
    {"retry_count", "6", COUNT, 0, 7, NULL, NULL, 0, 5, FIELD(retry_count), "0 to 7",
     "How often it does so before the peer counts as lost. 7 is for ever with Soft-RoCE (Linux' "
     "rdma_rxe)"},
    {"rnr_retry", "7", COUNT, 0, 7, NULL, NULL, 0, 6, FIELD(rnr_retry), "0 to 7; 7: for ever",
     "How often it tries again when the peer has no receive buffer posted"},
    {"min_rnr_timer", "12", COUNT, 0, 31, NULL, NULL, 0, 6, FIELD(min_rnr_timer),
     "code of the InfiniBand specification, 0 to 31",
     "Pause that a peer is asked to make when no receive buffer is posted here"},
    {"listen_if", "", TEXT, 0, 0, NULL, NULL, 0, 3, FIELD(listen_if),
     "comma list of interface names or addresses",
     "Where to listen for the TCP connections over which queue pairs are set up. By default every "
     "interface that is up"},
    {"listen_ports", "any", TEXT, 0, 0, NULL, NULL, 0, 3, FIELD(listen_ports),
     "any, PORT or FIRST-LAST", "TCP ports to listen on, for firewalls"},
    {"connect_timeout", "10s", TIME, 100 * MS, 600 * SECOND, NULL, NULL, 0, 5,
     FIELD(connect_timeout), "time with ms or s, 100ms to 600s",
     "For each step of setting up a connection that the network or a listener answers. What fails "
     "is tried again, with back-off, until three times as long have passed since the first try. "
     "Waiting for a process that computes has no time-out; for one that is stopped, while its host "
     "answers, see answer_timeout"},
    {"answer_timeout", "0", TIME, 0, 86400 * SECOND, NULL, NULL, 0, 5, FIELD(answer_timeout),
     "time with ms or s, at most 86400s; 0: for ever",
     "How long a process is waited for, when a connection is set up, that does not answer though "
     "its host does: it may be stopped by a debugger, or its memory be swapped out. Then the job "
     "ends with an error"},
    {"raise_descriptors", "on", CHOICE, 0, 0, switches, NULL, 0, 5, FIELD(raise_descriptors),
     "on, off",
     "Whether the soft limit of open files (ulimit -n) is raised, up to the hard one, when "
     "descriptors run short: each connected peer takes one. off: for programs that use select(), "
     "which cannot take descriptors beyond 1024"},
    {"probe_interval", "2s", TIME, 0, 3600 * SECOND, NULL, NULL, 0, 5, FIELD(probe_interval),
     "time with ms or s; 0: never",
     "How often each connected peer is probed by an empty write, so that waiting for a peer that "
     "is "
     "gone ends in an error"},
    {"async_progress", "1ms", TIME, 0, SECOND, NULL, NULL, 0, 5, FIELD(async_progress),
     "time with us, ms or s, in whole ms (1ms at least), at most 1s; 0: never",
     "Messages that the program takes for sent may wait for their connection or for credits of the "
     "receiver. When the program has not called MPI for that long they go on by rbuf's own thread, "
     "which sleeps while nothing waits; so do one-sided puts and gets that are copied. 0: with the "
     "program's next call of MPI, so that a receiver waits while the sender computes, and "
     "MPI_Comm_spawn may hang"},
    {"rma_order", "issue", CHOICE, 0, 0, orders, NULL, 0, 3, FIELD(rma_order),
     "issue, interleave, prioritize, both",
     "In which order one-sided puts and gets for one target are posted, between two that MPI "
     "orders. "
     "issue: as the program calls them, each at once. Else they are held until the program waits "
     "for "
     "them, or calls MPI otherwise, but 64 of them and async_progress at most (0: none is held); "
     "then "
     "neighbours travel as one and all are posted together. interleave: a put and a get in turn. "
     "prioritize: gets first. both: gets first, as many as the adapter has under way at a time, "
     "then "
     "in turn. A program whose puts stand before its gets leaves the way back idle with issue; one "
     "that computes between its puts and their end may lose the time of async_progress with the "
     "others"},
    {"control_credits", "64", COUNT, 4, 16384, NULL, NULL, 0, 6, FIELD(control_credits),
     "messages, 4 to 16384",
     "Eager messages that a peer may have under way to this process. On adapters without shared "
     "receive queues each has a buffer of control_size bytes, 9 for 8 credits, that is pinned for "
     "this peer alone; there peers beyond the first 64 of a process get half as many credits, and "
     "beyond 256 a quarter, but 4"},
    {"bulk_credits", "16", COUNT, 2, 16384, NULL, NULL, 0, 6, FIELD(bulk_credits),
     "messages, 2 to 16384",
     "Large fragments of packed data, eager messages longer than control_size that found no ring, "
     "or chunks with subblock off, that a peer may have under way to this process. On adapters "
     "without shared receive queues each has a buffer like those of bulk_buffers that is pinned "
     "for this peer alone, as with control_credits"},
    {"control_buffers", "256", COUNT, 16, 65536, NULL, NULL, 0, 5, FIELD(control_buffers),
     "buffers, 16 to 65536",
     "Receive buffers for eager messages, shared by all peers of a port, control_size bytes each. "
     "Adapters without shared receive queues have buffers for each peer instead: see "
     "control_credits"},
    {"control_size", "17k", SIZE, KIB, 64 * KIB, NULL, NULL, 0, 6, FIELD(control_size),
     "bytes, 1k to 64k, at most eager_limit (lowered to it)",
     "Largest eager message, with Open MPI's header, that goes by these buffers: 16 KB of data in "
     "windows of many messages need no rendezvous. A larger one, up "
     "to eager_limit, goes by a ring, and by the bulk buffers when that is full. Where there is no "
     "ring, or much waits already, eager_limit is lowered to this for a while, for all peers, "
     "unless it is given; and for good where no ring takes such messages"},
    {"bulk_buffers", "32", COUNT, 4, 65536, NULL, NULL, 0, 5, FIELD(bulk_buffers),
     "buffers, 4 to 65536",
     "Receive buffers for large fragments, for eager messages longer than control_size and for the "
     "announcements of chunks with subblock off, shared by all peers of a port. Each has "
     "max_send_size bytes, or eager_limit if that is more. Not on adapters without shared receive "
     "queues: see bulk_credits"},
    {"send_queue", "auto", COUNT, 16, 16384, NULL, "auto", 0, 6, FIELD(send_queue),
     "requests, 16 to 16384, or auto",
     "Depth of each send queue. The adapter's driver keeps memory for it: with 128 some 192 KB a "
     "peer on ConnectX. auto: 128 for the first 64 peers that a process connects with, 64 up to "
     "256, and 32 for those beyond, or what the adapter takes if that is less"},
    {"polling_set", "16", COUNT, 0, 1024, NULL, NULL, 0, 4, FIELD(polling_set), "peers, 0 to 1024",
     "Peers whose small messages this process takes out of rings that they write by RDMA: those "
     "that send the most. Each costs about a ns in every poll, and ring_slots * "
     "ring_slot_size + ring_longest bytes of pinned memory on both sides. 0: all go over "
     "send/receive. Adapters "
     "that do not place the bytes of a write in order messages carry a checksum (see subblock)"},
    {"ring_slots", "64", COUNT, 2, RBUF_RING_SLOTS_MAX, NULL, NULL, 0, 6, FIELD(ring_slots),
     "slots, 2 to 64",
     "Messages that a ring holds, if each takes one; when there is no room the next one goes over "
     "send/receive"},
    {"ring_slot_size", "2112", SIZE, RBUF_RING_SLOT_BYTES_MIN, RBUF_RING_SLOT_BYTES_MAX, NULL, NULL,
     0, 6, FIELD(ring_slot_size), "bytes, 128 to 32k, a multiple of 64",
     "Size of a slot, 32 bytes of which are its trailer. An odd number of cache lines (64 bytes), "
     "so that the ends of slots spread over the cache"},
    {"ring_longest", "auto", SIZE, 0, RBUF_RING_BYTES_MAX, NULL, "auto",
     MCA_BTL_RBUF_RING_LONGEST_AUTO, 6, FIELD(ring_longest), "bytes, 0 to 131064, or auto",
     "Largest message that goes by a ring, with Open MPI's header, at most eager_limit (lowered to "
     "it). One that is larger than a slot takes several, half of the ring at most; where not so "
     "many are free, and where the two sides' slots differ, it goes over send/receive. 0: each "
     "takes one slot. auto: eager_limit, or 66k if that is not given"},
    {"ring_c0", "2k", SIZE, 0, GIB, NULL, NULL, 0, 6, FIELD(ring_c0), "bytes, 0 to 1G",
     "First chunk of a message that takes several slots, each further one is twice as large: it is "
     "written while the next is copied. A message of up to two of them, and one that finds others "
     "under way, goes in one write. 0: all do"},
    {"ring_threshold", "16", COUNT, 1, 1000000, NULL, NULL, 0, 6, FIELD(ring_threshold),
     "messages, 1 to 1000000",
     "Small messages of a peer after which it is taken into the polling set, if there is room"},
};

#define PARAMETERS (sizeof(table) / sizeof(table[0]))

static char *values[PARAMETERS]; /* as Open MPI read them */
static const mca_base_component_t *owner;

static int register_version(const mca_base_component_t *component)
{
    static const char *version = RBUF_VERSION;
    int status = mca_base_component_var_register(
        component, "version", "Version of the rbuf transport. It cannot be set.",
        MCA_BASE_VAR_TYPE_STRING, NULL, 0, MCA_BASE_VAR_FLAG_DEFAULT_ONLY, OPAL_INFO_LVL_1,
        MCA_BASE_VAR_SCOPE_CONSTANT, &version);

    return status < 0 ? status : OPAL_SUCCESS;
}

int mca_btl_rbuf_params_register(const mca_base_component_t *component)
{
    char text[2048];

    owner = component;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct parameter *parameter = &table[i];
        int status;

        values[i] = (char *) (uintptr_t) parameter->initial;
        if (mca_btl_rbuf_left_out(parameter->name) != NULL) {
            continue;
        }
        snprintf(text, sizeof(text), "%s (%s; default: %s)", parameter->text, parameter->range,
                 parameter->initial[0] == '\0' ? "none" : parameter->initial);
        status = mca_base_component_var_register(
            component, parameter->name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
            (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + parameter->level - 1),
            MCA_BASE_VAR_SCOPE_READONLY, &values[i]);
        if (status < 0) {
            return status;
        }
    }
    return register_version(component);
}

static bool read_choice(const struct parameter *parameter, const char *text, uint64_t *value)
{
    for (uint64_t i = 0; parameter->choices[i] != NULL; i++) {
        if (strcmp(parameter->choices[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static bool read_value(const struct parameter *parameter, const char *text, uint64_t *value)
{
    bool read = false;

    if (parameter->nothing != NULL && strcmp(text, parameter->nothing) == 0) {
        *value = parameter->nothing_value;
        return true;
    }
    switch (parameter->kind) {
    case SIZE:
        read = mca_btl_rbuf_read_size(text, value);
        break;
    case COUNT:
        read = mca_btl_rbuf_read_count(text, value);
        break;
    case TIME:
        read = mca_btl_rbuf_read_time(text, value);
        break;
    case RATIO:
        read = mca_btl_rbuf_read_ratio(text, value);
        break;
    case CHOICE:
        return read_choice(parameter, text, value);
    case TEXT:
        return true;
    }
    return read && *value >= parameter->min && *value <= parameter->max;
}

/* Says what is wrong with the value of `name` as it was given. */
static bool refuse(const char *name, const char *why)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            mca_btl_rbuf_help("bad parameter", opal_process_info.nodename, name,
                              values[i] != NULL ? values[i] : "", table[i].range, why, NULL);
        }
    }
    return false;
}

static bool read_all(void)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        void *field = (char *) &mca_btl_rbuf_params + table[i].offset;
        const char *text = values[i] != NULL ? values[i] : "";
        uint64_t value = 0;

        if (!read_value(&table[i], text, &value)) {
            return refuse(table[i].name, "it is not of that form, or out of that range");
        }
        if (table[i].kind == TEXT) {
            *(const char **) field = text;
        } else {
            *(uint64_t *) field = value;
        }
    }
    return true;
}

/* Whether somebody has set a parameter that is not registered: to ask that of Open MPI it is, for a
 * moment. */
static bool is_set(const char *name)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    char *value = NULL;
    int variable = mca_base_component_var_register(owner, name, "", MCA_BASE_VAR_TYPE_STRING, NULL,
                                                   0, MCA_BASE_VAR_FLAG_INTERNAL, OPAL_INFO_LVL_9,
                                                   MCA_BASE_VAR_SCOPE_READONLY, &value);

    if (variable < 0) {
        return false;
    }
    (void) mca_base_var_get_value(variable, NULL, &source, NULL);
    (void) mca_base_var_deregister(variable);
    return source != MCA_BASE_VAR_SOURCE_DEFAULT;
}

/* Says once that parameters of features were set that this build leaves out. Those of a feature
 * stand together in the table. */
static void tell_left_out(void)
{
    const char *newest = "";
    char options[64] = "";
    char names[512] = "";
    size_t length = 0;

    for (size_t i = 0; i < PARAMETERS; i++) {
        const char *feature = mca_btl_rbuf_left_out(table[i].name);

        if (feature == NULL || !is_set(table[i].name)) {
            continue;
        }
        length += (size_t) snprintf(names + length, sizeof(names) - length, "%sbtl_rbuf_%s",
                                    length > 0 ? ", " : "", table[i].name);
        if (strcmp(feature, newest) != 0) {
            strcat(strcat(options, " --without-"), feature);
            newest = feature;
        }
    }
    if (length > 0) {
        mca_btl_rbuf_help("left out", opal_process_info.nodename, names, options, NULL);
    }
}

static bool check_ports(struct mca_btl_rbuf_params *params)
{
    unsigned first;
    unsigned last;
    char rest;

    params->port_min = params->port_max = 0;
    if (strcmp(params->listen_ports, "any") == 0) {
        return true;
    }
    if (params->listen_ports[strspn(params->listen_ports, "0123456789-")] != '\0') {
        return refuse("listen_ports", "it is not of that form"); /* sscanf takes signs and blanks */
    }
    if (sscanf(params->listen_ports, "%5u%c", &first, &rest) == 1) {
        last = first;
    } else if (sscanf(params->listen_ports, "%5u-%5u%c", &first, &last, &rest) != 2) {
        return refuse("listen_ports", "it is not of that form");
    }
    if (first == 0 || last > 65535 || first > last) {
        return refuse("listen_ports", "ports are 1 to 65535, the first not above the last");
    }
    params->port_min = first;
    params->port_max = last;
    return true;
}

/* A list of commas alone is not the same as none: it would be taken for the default. */
static bool check_lists(const struct mca_btl_rbuf_params *params)
{
    const struct {
        const char *name;
        const char *list;
    } lists[] = {{"if_include", params->if_include},
                 {"if_exclude", params->if_exclude},
                 {"listen_if", params->listen_if}};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (lists[i].list[0] != '\0' && !rbuf_names_any(lists[i].list)) {
            return refuse(lists[i].name, "it names nothing");
        }
    }
    return true;
}

static uint64_t whole_blocks(const struct mca_btl_rbuf_params *params, uint64_t bytes)
{
    return (bytes + params->block_size - 1) / params->block_size * params->block_size;
}

/* What must hold between the sizes of staging. */
static bool check_sizes(struct mca_btl_rbuf_params *params)
{
    if ((params->block_size & (params->block_size - 1)) != 0) {
        return refuse("block_size", "it is not a power of two");
    }
    params->c0 = whole_blocks(params, params->c0);
    params->largest_chunk = whole_blocks(params, params->largest_chunk);
    params->pipeline_chunk =
        params->pipeline_chunk == 0 ? params->c0 : whole_blocks(params, params->pipeline_chunk);
    params->early_size =
        whole_blocks(params, params->early_size > params->c0 ? params->early_size
                                                             : params->c0 + params->block_size);
    if (params->early_size > EARLY_BLOCKS_MOST * params->block_size) {
        params->early_size = EARLY_BLOCKS_MOST * params->block_size;
    }
    params->early_c0 =
        whole_blocks(params, params->early_c0 < params->c0 ? params->early_c0 : params->c0);
    if (params->c0 > params->largest_chunk) {
        return refuse("c0", "it is larger than btl_rbuf_largest_chunk");
    }
    if (params->pipeline_chunk > params->largest_chunk) {
        return refuse("pipeline_chunk", "it is larger than btl_rbuf_largest_chunk");
    }
    if (params->largest_chunk / params->block_size > RBUF_BUFFER_BLOCKS) {
        return refuse("largest_chunk", "it has more than 65535 blocks of btl_rbuf_block_size");
    }
    return mca_btl_rbuf_params_check_staging(params->staging_size, 1);
}

bool mca_btl_rbuf_params_check_staging(uint64_t share, size_t ports)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    char why[160];

    if (params->staging_size == 0 || share / 2 >= params->block_size) {
        return true;
    }
    if (ports > 1) {
        snprintf(why, sizeof(why),
                 "it is for %zu ports, and half of what one has must hold a block of %" PRIu64
                 " bytes (btl_rbuf_block_size)",
                 ports, params->block_size);
    } else {
        snprintf(why, sizeof(why),
                 "half of it must hold a block of %" PRIu64 " bytes (btl_rbuf_block_size)",
                 params->block_size);
    }
    return refuse("staging_size", why);
}

bool mca_btl_rbuf_params_check(void)
{
    struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    tell_left_out();
    if (!read_all() || !check_ports(params) || !check_lists(params) || !check_sizes(params)) {
        return false;
    }
    if (params->if_include[0] != '\0' && params->if_exclude[0] != '\0') {
        return refuse("if_exclude", "btl_rbuf_if_include is given too; give one of them");
    }
    if (params->ring_slot_size % 64 != 0) {
        return refuse("ring_slot_size", "it is not a multiple of 64");
    }
    if (params->mtu != 0 && (params->mtu & (params->mtu - 1)) != 0) {
        return refuse("mtu", "it is not one of these");
    }
    if (params->protocol == MCA_BTL_RBUF_RCACHE && params->allow_cache == MCA_BTL_RBUF_OFF) {
        return refuse("protocol", "btl_rbuf_allow_cache is off");
    }
    if (params->protocol == MCA_BTL_RBUF_HELPER && !RBUF_HAVE_HELPER) {
        return refuse("protocol", "this build leaves it out (configure --without-helper)");
    }
    if (params->protocol == MCA_BTL_RBUF_HELPER && params->allow_cache == MCA_BTL_RBUF_OFF) {
        return refuse("protocol", "btl_rbuf_allow_cache is off");
    }
    if (params->reuse == MCA_BTL_RBUF_ON && params->allow_cache == MCA_BTL_RBUF_OFF) {
        return refuse("reuse", "btl_rbuf_allow_cache is off");
    }
    return true;
}

const char *mca_btl_rbuf_protocol_name(enum mca_btl_rbuf_protocol protocol)
{
    return protocols[protocol];
}
