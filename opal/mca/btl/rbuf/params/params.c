/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of parameters, and how Open MPI gets to know them (params/params.h); those of a feature
 * that this build leaves out it does not (params/left_out.h). check.c reads their values.
 */
#include "rbuf_compat.h"

#include "params/params.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "params/help.h"
#include "params/left_out.h"
#include "params/table.h"
#include "core/base/schedule.h"
#include "core/base/wire.h"
#include "opal/mca/base/mca_base_var.h"
#include "rbuf_version.h"

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

#define FIELD(name) offsetof(struct mca_btl_rbuf_params, name)
#define KIB         1024ull
#define MIB         (1024ull * KIB)
#define GIB         (1024ull * MIB)
#define MS          1000000ull
#define SECOND      1000000000ull

/* The values of a number, a word that stands for one more, the words of a choice, and unit and
 * range for people. The text follows. */
#define LIMITS(least, most) .min = (least), .max = (most)
#define OR(word, value)     .nothing = (word), .nothing_value = (value)
#define CHOICES(words)      .choices = (words), .range = NULL
#define RANGE(text)         .range = (text)

#if RBUF_HAVE_HELPER
#define HELPER_TEXT                                                                                \
    ". helper: written in place; a thread registers memory shortly before its predicted use and "  \
    "deregisters it afterwards (needs allow_cache, and an idle core: see helper_policy)"
#else
#define HELPER_TEXT ""
#endif

/* Each text says what the parameter does, when to change it and what that costs. */
static const struct parameter table[] = {
    {"protocol", "default", CHOICE, 3, FIELD(protocol), CHOICES(protocols),
     "How a contiguous message above the eager limit travels. default: superpipeline where a core "
     "copies faster than the ports carry, which is measured at start; auto elsewhere. "
     "superpipeline: copied through staging buffers in chunks that grow. Of user memory only "
     "windows of one-sided programs are registered; their puts and gets are copied on their own "
     "side. pipeline: the same with chunks of one size. copy: copied as a whole, sent, copied. "
     "register: registered, written in place, deregistered, for each message. rcache: written in "
     "place, registrations kept in a cache (needs allow_cache). auto: written in place from and "
     "to buffers that the program uses again, where that was measured to be faster and worth a "
     "registration; superpipeline elsewhere. Without allow_cache in place only where a "
     "registration for each message is worth it" HELPER_TEXT},
    {"c0", "12k", SIZE, 4, FIELD(c0), LIMITS(512, GIB),
     RANGE("bytes, 512 to largest_chunk, in whole blocks (rounded up)"),
     "First chunk of a staged message (C0). Best is what a core copies in one round trip of the "
     "network: 8k to 16k on most. A larger one delays the first byte, a smaller one costs more "
     "requests. Early data begin with early_c0 if that is less"},
    {"q", "1.5", RATIO, 4, FIELD(q), LIMITS(RBUF_GROWTH_ONE, RBUF_GROWTH_MAX),
     RANGE("factor, 1 to 64"),
     "Growth of the chunks: copy bandwidth divided by network bandwidth. 1: all chunks have the "
     "size of the first. With more than that ratio the network waits for copies. Where the "
     "network is faster than a copy no q helps: use protocol rcache or register"},
    {"buffers", "auto", COUNT, 4, FIELD(buffers), LIMITS(1, RBUF_BUFFERS_MAX), OR("auto", 0),
     RANGE("buffers, 1 to 16 (lowered to the blocks in half of staging_size), or auto"),
     "Staging buffers that the chunks of one message take in turn. auto: 3; 16 where a node has "
     "more processes than processors, as a sender may then wait for the receiver's turn on one. 2 "
     "lose some percent on small chunks; more than 3 gained nothing on the networks that were "
     "measured. Each takes largest_chunk of staging"},
    {"largest_chunk", "256k", SIZE, 4, FIELD(largest_chunk), LIMITS(512, GIB),
     RANGE("bytes, c0 to 65535 blocks, in whole blocks (rounded up); lowered to half of "
           "staging_size / buffers, and c0 and pipeline_chunk with it"),
     "Size of a staging buffer, at which the chunks stop growing. Larger: fewer requests, and "
     "fewer messages that staging_size has room for"},
    {"pipeline_chunk", "c0", SIZE, 5, FIELD(pipeline_chunk), LIMITS(512, GIB), OR("c0", 0),
     RANGE("bytes, 512 to largest_chunk, or c0"),
     "Protocol pipeline: chunk of messages of all lengths. Change it to compare with one size of "
     "chunk; pipeline_gap gives each length its own"},
    {"pipeline_gap", "0", SIZE, 5, FIELD(pipeline_gap), LIMITS(0, GIB), RANGE("bytes, 0 to 1G"),
     "Protocol pipeline: what a core copies in the gap between two requests; 1000 for 100 ns and "
     "10 GB/s. A message of L bytes is then cut into chunks of sqrt(L pipeline_gap / 2) bytes, to "
     "the nearest block. 0: all lengths have pipeline_chunk"},
    {"block_size", "4k", SIZE, 5, FIELD(block_size), LIMITS(512, MIB),
     RANGE("bytes, a power of two, 512 to 1M, at most half of staging_size"),
     "Block of a chunk: the receiver copies blocks out as they arrive, and 8 bytes of each are "
     "its flag. Choose a multiple of the MTU. Smaller: copying begins sooner and costs more"},
    {"staging_size", "auto", SIZE, 3, FIELD(staging_size), LIMITS(64 * KIB, 64 * GIB),
     OR("auto", 0), RANGE("bytes, 64k to 64G, or auto"),
     "Most staging memory of the process, for all its peers and ports: half to send from, half to "
     "receive into. It is pinned as it is needed. Raise it where many peers send large messages "
     "at a time; lower it where memory is short: messages then have more chunks and wait for each "
     "other. A half that does not hold the buffers of one message lowers largest_chunk, then "
     "buffers; show tells. A port's half must hold a block. auto: 32M (128M for protocol copy), "
     "at most half of RLIMIT_MEMLOCK"},
    {"staging_start", "auto", SIZE, 4, FIELD(staging_start), LIMITS(64 * KIB, 64 * GIB),
     OR("auto", 0), RANGE("bytes, 64k to staging_size (lowered to it), or auto"),
     "Staging memory that is pinned at start; at least what one message needs. Each half doubles, "
     "up to staging_size, as soon as something waits for it, and never shrinks. Raise it where "
     "the first large messages must not wait for that. auto: 4M"},
    {"grant_wait", "5ms", TIME, 5, FIELD(grant_wait), LIMITS(0, 3600 * SECOND),
     RANGE("time with ns, us, ms or s; 0: for ever"),
     "How long a message waits for staging to receive into while none moves, or 20 times as long "
     "while other messages go on. Then its buffer is registered on the spot instead: as much as "
     "staging_size at once, or one message, and one more whenever nothing has moved for 20 times "
     "as long. Less: shorter waits, and more registrations"},
    {"subblock", "auto", CHOICE, 5, FIELD(subblock), CHOICES(subblock_choices),
     "How the receiver finds what has arrived of a chunk or an eager ring. on: by flags alone. "
     "This relies on the adapter placing the bytes of one write in order; where it does not, "
     "wrong data is received without an error. A test at start may refute that, which makes it "
     "checked, and cannot prove it. checked: flags carry a checksum of the data, which costs some "
     "of the speed of a copy. off: chunks are announced as a whole, and there are no eager rings: "
     "short messages are slower. auto: on where the adapter itself promises order, else checked"},
    {"check_timeout", "60s", TIME, 7, FIELD(check_timeout), LIMITS(0, 3600 * SECOND),
     RANGE("time with ns, us, ms or s; 0: for ever"),
     "With subblock checked: how long the checksum of a ring message, or of a block whose sender "
     "has finished, may be wrong until the peer counts as lost. Bytes on their way come sooner, "
     "or the adapter gives up; what remains is damage. Keep it above the adapter's time-outs and "
     "retries, or jobs end that only lose packets"},
    {"early_data", "on", CHOICE, 6, FIELD(early_data), CHOICES(switches),
     "Whether the first bytes of a message are sent right behind its rendezvous, before the "
     "receiver answers. Saves a round trip; costs the receive staging of early_peers. For "
     "contiguous messages with protocols superpipeline, pipeline and auto, for packed data with "
     "all. Not where several ports or another BTL connect two processes, nor with "
     "rndv_eager_limit 0"},
    {"early_peers", "16", COUNT, 5, FIELD(early_peers), LIMITS(0, RBUF_EARLY_PEERS_MAX),
     RANGE("peers, 0 to 64"),
     "Peers that may send early data to this process at a time: those that send at present. Each "
     "has slots of the receive staging of its own. Fewer if the staging is small, and with "
     "subblock off at most bulk_buffers / (bulk_credits / 2) where peers share those. 0: none, "
     "and each message waits for its rendezvous"},
    {"early_size", "72k", SIZE, 6, FIELD(early_size), LIMITS(512, GIB),
     RANGE("bytes, in whole blocks (rounded up), c0 and a block at least (raised to it), 1024 "
           "blocks at most (lowered to it)"),
     "Most early data of a message. What the network carries in one and a half round trips hides "
     "the rendezvous of an idle receiver; more hides that of one that copies meanwhile. Each peer "
     "has room for 4 messages, so the longer, the fewer peers. rbuf-tune recommends a size"},
    {"early_c0", "4k", SIZE, 6, FIELD(early_c0), LIMITS(512, GIB),
     RANGE("bytes, in whole blocks (rounded up), c0 at most (lowered to it)"),
     "First chunk of early data, and first fragment of packed data. Nothing hides its copy: the "
     "less it is, the sooner the network has something to do, and the more requests there are"},
    {"allow_cache", "on", CHOICE, 3, FIELD(allow_cache), CHOICES(switches),
     "Permits a registration cache, and with it memory hooks, for protocols rcache, auto and "
     "helper and for reuse. Nothing else installs hooks. off: rcache, helper and reuse are "
     "refused, and auto registers for each message"},
    {"registration_time", "30us", TIME, 6, FIELD(registration_time), LIMITS(0, SECOND),
     RANGE("time with ns, us or ms"),
     "Protocol auto: how long a registration of memory is assumed to take, until this run has "
     "measured it"},
    {"registration_page_time", "150ns", TIME, 6, FIELD(registration_page_time), LIMITS(0, MS),
     RANGE("time with ns or us"),
     "Protocol auto: how much longer each 4 KB of memory makes a registration, until this run has "
     "measured it"},
    {"helper_policy", "conservative", CHOICE, 3, FIELD(helper_policy), CHOICES(helper_policies),
     "Protocol helper: which processes of a node have a helper thread. Without one memory is "
     "registered on demand. conservative: one for each core that no process computes on; those "
     "that have registered the most. aggressive: all processes, if there is such a core. "
     "coordinated: as conservative, and more where registrations are so seldom that helpers can "
     "share a core. force: all, even where a process computes on each core, which slows both"},
    {"helper_frames", "on", CHOICE, 6, FIELD(helper_frames), CHOICES(switches),
     "Protocol helper: whether the place in the program, by its stack frames, is part of what is "
     "predicted. off: only buffer, size and peer are, which costs less and predicts less of a "
     "program that uses a buffer in several loops"},
    {"helper_delay", "10ms", TIME, 6, FIELD(helper_delay), LIMITS(0, SECOND),
     RANGE("time with us, ms or s, at most 1s"),
     "Protocol helper: how long a deregistration waits at most for the program to leave MPI, so "
     "that it disturbs no message. What waits stays pinned. 0: it does not wait, as is always so "
     "once memory was short"},
    {"helper_min", "16k", SIZE, 6, FIELD(helper_min), LIMITS(1, GIB), RANGE("bytes, 1 to 1G"),
     "Protocol helper: smallest message whose memory is predicted. Memory of smaller ones is "
     "registered on demand"},
    {"helper_regions", "256", COUNT, 6, FIELD(helper_regions), LIMITS(4, 65536),
     RANGE("regions, 4 to 65536"),
     "Protocol helper: regions of memory that are registered or predicted at a time, for each "
     "port. Raise it for programs with more buffers; each use of a buffer looks through them"},
    {"reuse", "off", CHOICE, 3, FIELD(reuse), CHOICES(switches),
     "Whether eager messages from buffers that the program sends from often are sent without a "
     "copy: the buffer is registered, and the adapter fetches the data. This holds for one-sided "
     "puts and gets of up to control_size, too. Needs allow_cache, installs memory hooks, and "
     "pins such buffers until their memory is given back"},
    {"reuse_min", "128", SIZE, 6, FIELD(reuse_min), LIMITS(1, GIB), RANGE("bytes, 1 to 1G"),
     "Smallest message, put or get whose buffer is looked up for reuse. Those of up to 256 bytes, "
     "and what travels inside the request, are copied in any case"},
    {"reuse_buffers", "16384", COUNT, 6, FIELD(reuse_buffers), LIMITS(2, MIB),
     RANGE("buffers, 2 to 1048576"),
     "Buffers whose uses are counted for reuse, 52 bytes of memory each. At most half as many are "
     "registered at a time, and at most 64 MB, or an eighth of what may be locked"},
    {"reuse_speculation", "25", COUNT, 6, FIELD(reuse_speculation), LIMITS(0, 1000),
     RANGE("percent, 0 to 1000"),
     "A buffer is registered for reuse after this share of the uses that would save the time of "
     "its registration. Less: sooner, and more often in vain. 0: at its first use, whatever that "
     "costs, for tests"},
    {"report", "0", COUNT, 3, FIELD(report), LIMITS(0, 3), RANGE("0 to 3"),
     "What is printed in MPI_Finalize. 0: nothing. 1: five lines for the job: ports, messages and "
     "bytes by their ways, memory, and what is unusual. The processes come together for it; if "
     "one has no adapter or another level, each prints its own line, at most 10 s later. 2: all "
     "counters, one line a process. 3: the same as JSON"},
    {"show", "0", COUNT, 3, FIELD(show), LIMITS(0, 1), RANGE("0 or 1"),
     "1: rank 0 prints at start by which way messages of each size would go, and which parameter "
     "says so: eager rings, send/receive, early data, staging with its chunks, in place; "
     "one-sided operations, too"},
    {"quantum", "16k", SIZE, 6, FIELD(quantum), LIMITS(4 * KIB, GIB), RANGE("bytes, 4k to 1G"),
     "Most that one call of the progress engine copies in each direction. Lower it where other "
     "communication must not wait for copies of large messages; these then take more calls"},
    {"fork_support", "auto", CHOICE, 6, FIELD(fork_support), CHOICES(auto_switches),
     "Whether ibv_fork_init() is called at start, for programs that fork or call system(). auto: "
     "on kernels before 5.12, which do not copy pinned pages at fork, unless Open MPI's own "
     "want_fork_support is 0. With it a child is killed if it looks at memory that was registered "
     "for a message (protocols register, rcache, auto)"},
    {"if_include", "", TEXT, 2, FIELD(if_include), RANGE("comma list of DEVICE or DEVICE:PORT"),
     "Adapters to use. By default, of each fabric (an InfiniBand subnet, or an IP network on "
     "Ethernet), the active ports of the fastest adapter, of equally fast ones the nearest. Two "
     "processes use the fastest fabric that both have; of equally fast ones on Ethernet the "
     "nearest to both; without one in common, ports that may be routed. Not together with "
     "if_exclude"},
    {"if_exclude", "", TEXT, 2, FIELD(if_exclude), RANGE("comma list of DEVICE or DEVICE:PORT"),
     "Adapters not to use; all others are used"},
    {"gid_index", "auto", COUNT, 3, FIELD(gid_index), LIMITS(0, 65535), OR("auto", UINT64_MAX),
     RANGE("index, 0 to 65535, or auto"),
     "Entry of the port's GID table. Set it where a RoCE port has addresses in several networks. "
     "auto: on Ethernet RoCE v2 with a routable IPv4 address first, link-local last; on "
     "InfiniBand 0"},
    {"mtu", "auto", COUNT, 5, FIELD(mtu), LIMITS(256, 4096), OR("auto", 0),
     RANGE("bytes, 256, 512, 1024, 2048 or 4096, or auto"),
     "Path MTU. Lower it where a switch on the way carries less than the ports. auto: what the "
     "port has active"},
    {"pkey", "auto", COUNT, 5, FIELD(pkey), LIMITS(1, 65535), OR("auto", 0),
     RANGE("1 to 65535, or auto"),
     "Partition key, decimal or 0x; its top bit does not count. Set it where the port is in "
     "several partitions. auto: the first valid one of the port's table, of which the port is a "
     "full member if there is one"},
    {"service_level", "0", COUNT, 5, FIELD(service_level), LIMITS(0, 15), RANGE("0 to 15"),
     "InfiniBand service level of all messages. Set it where the subnet manager keeps one for MPI"},
    {"traffic_class", "0", COUNT, 5, FIELD(traffic_class), LIMITS(0, 255), RANGE("0 to 255"),
     "Traffic class of the global route header (RoCE: DSCP and ECN). Set it to the class that the "
     "switches keep for RDMA"},
    {"timeout", "16", COUNT, 5, FIELD(timeout), LIMITS(1, 31),
     RANGE("exponent, 1 to 31: 4.096 us * 2^timeout"),
     "How long the adapter waits for an acknowledgement before it sends again; it may take four "
     "times as long. Raise it for congested networks; a lost peer is then noticed later"},
    {"retry_count", "6", COUNT, 5, FIELD(retry_count), LIMITS(0, 7), RANGE("0 to 7"),
     "How often the adapter sends again before the peer counts as lost. 7 is for ever with "
     "Soft-RoCE (Linux' rdma_rxe). Raise it for networks that lose packets; a lost peer is then "
     "noticed later"},
    {"rnr_retry", "7", COUNT, 6, FIELD(rnr_retry), LIMITS(0, 7), RANGE("0 to 7; 7: for ever"),
     "How often the adapter tries again when the peer has no receive buffer posted. With less "
     "than 7 a slow receiver may end the job"},
    {"min_rnr_timer", "12", COUNT, 6, FIELD(min_rnr_timer), LIMITS(0, 31),
     RANGE("code of the InfiniBand specification, 0 to 31"),
     "Pause that a peer makes when no receive buffer is posted here: 12 is 0.64 ms. Shorter: it "
     "tries again sooner, and uses the network for it"},
    {"listen_if", "", TEXT, 3, FIELD(listen_if),
     RANGE("comma list of interface names or addresses"),
     "Interfaces to listen on for the TCP connections that set up queue pairs. By default all "
     "that are up. Set it where some do not lead to the other nodes"},
    {"listen_ports", "any", TEXT, 3, FIELD(listen_ports), RANGE("any, PORT or FIRST-LAST"),
     "TCP ports to listen on. Set a range where a firewall lets only that through; each process "
     "of a node needs one"},
    {"connect_timeout", "10s", TIME, 5, FIELD(connect_timeout), LIMITS(100 * MS, 600 * SECOND),
     RANGE("time with ms or s, 100ms to 600s"),
     "Time for each step of a connection that the network or a listener answers. What fails is "
     "tried again, with back-off, until three times as long have passed since the first try. "
     "Raise it where the network or the nodes are slow to answer. Waiting for a process that "
     "computes has no time-out; for one that is stopped see answer_timeout"},
    {"answer_timeout", "0", TIME, 5, FIELD(answer_timeout), LIMITS(0, 86400 * SECOND),
     RANGE("time with ms or s, at most 86400s; 0: for ever"),
     "How long a connection waits for a process that does not answer, though its host does: a "
     "debugger may have stopped it, or its memory be swapped out. Then the job ends with an error"},
    {"raise_descriptors", "on", CHOICE, 5, FIELD(raise_descriptors), CHOICES(switches),
     "Whether the soft limit of open files (ulimit -n) is raised, up to the hard one, when "
     "descriptors run short: each connected peer takes one. off: for programs that use select(), "
     "which takes no descriptor above 1023"},
    {"probe_interval", "2s", TIME, 5, FIELD(probe_interval), LIMITS(0, 3600 * SECOND),
     RANGE("time with ms or s; 0: never"),
     "How often each connected peer is probed by an empty write, so that waiting for a peer that "
     "is gone ends in an error. Lower it to notice sooner, at the cost of a request for each peer"},
    {"async_progress", "1ms", TIME, 5, FIELD(async_progress), LIMITS(0, SECOND),
     RANGE("time with us, ms or s, in whole ms (1ms at least), at most 1s; 0: never"),
     "How long messages wait when the program does not call MPI, until rbuf's own thread sends "
     "them: those that wait for a connection or for credits of the receiver, and one-sided puts "
     "and gets that are copied. The thread sleeps while nothing waits. 0: they wait for the "
     "program's next call of MPI; a receiver may wait while the sender computes, and "
     "MPI_Comm_spawn may hang"},
    {"rma_order", "issue", CHOICE, 3, FIELD(rma_order), CHOICES(orders),
     "In which order one-sided puts and gets for one target are posted, between two that MPI "
     "orders. issue: each at once, as the program calls them. Otherwise they are held until the "
     "program waits for them or calls MPI for something else, but at most 64 of them, and for "
     "async_progress (0: none is held). Then neighbours travel as one, and all are posted "
     "together. interleave: a put and a get in turn. prioritize: gets first. both: first as many "
     "gets as the adapter has under way at a time, then in turn. Change it for programs that call "
     "their puts before their gets: with issue the way back is idle. One that computes before it "
     "waits may lose async_progress by it"},
    {"control_credits", "64", COUNT, 6, FIELD(control_credits), LIMITS(4, 16384),
     RANGE("messages, 4 to 16384"),
     "Eager messages that a peer may have under way to this process. Raise it for bursts of many. "
     "On adapters without shared receive queues each costs a buffer of control_size, 9 for 8 "
     "credits, pinned for this peer alone; there the 65th and later peers of a process get half "
     "as many credits, those from the 257th on a quarter, but 4 at least"},
    {"bulk_credits", "16", COUNT, 6, FIELD(bulk_credits), LIMITS(2, 16384),
     RANGE("messages, 2 to 16384"),
     "Large fragments of packed data, eager messages above control_size that found no ring, and "
     "chunks with subblock off, that a peer may have under way to this process. On adapters "
     "without shared receive queues each costs a buffer like those of bulk_buffers, as with "
     "control_credits"},
    {"control_buffers", "256", COUNT, 5, FIELD(control_buffers), LIMITS(16, 65536),
     RANGE("buffers, 16 to 65536"),
     "Receive buffers for eager messages, control_size bytes each, shared by all peers of a port. "
     "Raise it where many peers send at a time: one that finds no buffer pauses (min_rnr_timer). "
     "Adapters without shared receive queues have buffers for each peer instead: see "
     "control_credits"},
    {"control_size", "17k", SIZE, 6, FIELD(control_size), LIMITS(KIB, 64 * KIB),
     RANGE("bytes, 1k to 64k, at most eager_limit (lowered to it)"),
     "Largest eager message, with Open MPI's header, that goes by these buffers: 16 KB of data in "
     "windows of many messages need no rendezvous. A larger one, up to eager_limit, goes by a "
     "ring, or by the bulk buffers when that is full. Where there is no ring, or much waits, "
     "eager_limit is lowered to this for a while, for all peers, unless it is given; and for good "
     "where no ring takes such messages"},
    {"bulk_buffers", "32", COUNT, 5, FIELD(bulk_buffers), LIMITS(4, 65536),
     RANGE("buffers, 4 to 65536"),
     "Receive buffers for large fragments, for eager messages above control_size, and for the "
     "announcements of chunks with subblock off, shared by all peers of a port. Each has "
     "max_send_size bytes, or eager_limit if that is more. Not on adapters without shared receive "
     "queues: see bulk_credits"},
    {"send_queue", "auto", COUNT, 6, FIELD(send_queue), LIMITS(16, 16384), OR("auto", 0),
     RANGE("requests, 16 to 16384, or auto"),
     "Depth of each send queue. The adapter's driver keeps memory for it: with 128 some 192 KB a "
     "peer on ConnectX. Lower it to save memory in large jobs. auto: 128 for the first 64 peers "
     "that a process connects with, 64 up to 256, and 32 for those beyond, or what the adapter "
     "takes if that is less"},
    {"polling_set", "16", COUNT, 4, FIELD(polling_set), LIMITS(0, 1024), RANGE("peers, 0 to 1024"),
     "Peers whose small messages come by rings that they write by RDMA: those that send the most. "
     "Each costs about 1 ns in every poll, and ring_slots * ring_slot_size + ring_longest bytes "
     "of pinned memory on both sides. Raise it where more peers send often. 0: all messages go "
     "over send/receive. With adapters that do not place the bytes of a write in order messages "
     "carry a checksum (see subblock)"},
    {"ring_slots", "64", COUNT, 6, FIELD(ring_slots), LIMITS(2, RBUF_RING_SLOTS_MAX),
     RANGE("slots, 2 to 64"),
     "Slots of a ring: messages that it holds if each takes one. When it is full the next message "
     "goes over send/receive. More cost memory (see polling_set)"},
    {"ring_slot_size", "2112", SIZE, 6, FIELD(ring_slot_size),
     LIMITS(RBUF_RING_SLOT_BYTES_MIN, RBUF_RING_SLOT_BYTES_MAX),
     RANGE("bytes, 128 to 32k, a multiple of 64"),
     "Size of a slot, of which 32 bytes are its trailer. A larger message takes several slots. "
     "Choose an odd number of cache lines (64 bytes), which spreads the ends of slots over the "
     "cache"},
    {"ring_longest", "auto", SIZE, 6, FIELD(ring_longest), LIMITS(0, RBUF_RING_BYTES_MAX),
     OR("auto", MCA_BTL_RBUF_RING_LONGEST_AUTO), RANGE("bytes, 0 to 131064, or auto"),
     "Largest message, with Open MPI's header, that goes by a ring; at most eager_limit (lowered "
     "to it). It takes several slots, at most half of the ring. Where too few are free, or the "
     "two sides' slots differ, it goes over send/receive. 0: no message takes more than one slot. "
     "auto: eager_limit, or 66k if that is not given"},
    {"ring_c0", "2k", SIZE, 6, FIELD(ring_c0), LIMITS(0, GIB), RANGE("bytes, 0 to 1G"),
     "First chunk of a message that takes several slots; each further one is twice as large. A "
     "chunk is written while the next is copied. A message of up to two of them, and one that "
     "finds others under way, goes in one write, which costs fewer requests. 0: all do"},
    {"ring_threshold", "16", COUNT, 6, FIELD(ring_threshold), LIMITS(1, 1000000),
     RANGE("messages, 1 to 1000000"),
     "Small messages of a peer after which it gets a ring, if there is room in the polling set. "
     "Lower: sooner, and more rings that are hardly used"},
};

static_assert(sizeof(table) / sizeof(table[0]) == MCA_BTL_RBUF_PARAMETERS, "one value for each");

const struct parameter *const mca_btl_rbuf_parameters = table;

char *mca_btl_rbuf_values[MCA_BTL_RBUF_PARAMETERS];

static const mca_base_component_t *owner;

void mca_btl_rbuf_parameter_range(const struct parameter *parameter, char *text, size_t bytes)
{
    FILE *stream;

    if (parameter->kind != CHOICE) {
        snprintf(text, bytes, "%s", parameter->range);
        return;
    }
    text[0] = '\0';
    stream = fmemopen(text, bytes, "w");
    for (size_t i = 0; stream != NULL && parameter->choices[i] != NULL; i++) {
        if (mca_btl_rbuf_left_out(parameter->choices[i]) == NULL) {
            fprintf(stream, "%s%s", i > 0 ? ", " : "", parameter->choices[i]);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

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
    char range[256];
    char text[2048];

    owner = component;
    for (size_t i = 0; i < MCA_BTL_RBUF_PARAMETERS; i++) {
        const struct parameter *parameter = &table[i];
        int status;

        mca_btl_rbuf_values[i] = (char *) (uintptr_t) parameter->initial;
        if (mca_btl_rbuf_left_out(parameter->name) != NULL) {
            continue;
        }
        mca_btl_rbuf_parameter_range(parameter, range, sizeof(range));
        snprintf(text, sizeof(text), "%s (%s; default: %s)", parameter->text, range,
                 parameter->initial[0] == '\0' ? "none" : parameter->initial);
        status = mca_base_component_var_register(
            component, parameter->name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
            (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + parameter->level - 1),
            MCA_BASE_VAR_SCOPE_READONLY, &mca_btl_rbuf_values[i]);
        if (status < 0) {
            return status;
        }
    }
    return register_version(component);
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

void mca_btl_rbuf_params_tell_left_out(void)
{
    const char *newest = "";
    char options[64] = "";
    char names[512] = "";
    size_t length = 0;

    for (size_t i = 0; i < MCA_BTL_RBUF_PARAMETERS; i++) {
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

const char *mca_btl_rbuf_protocol_name(enum mca_btl_rbuf_protocol protocol)
{
    return protocols[protocol];
}
