/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The parameters, a row each, which its readers include where they need the rows, and say what
 * NUMBER and STRING make of one: fields in params.h, the table in params.c.
 *
 *     NUMBER(name, default, kind, level, values of it, text for people)
 *     STRING(name, default, level, values of it, text for people)
 *
 * Each text says what the parameter does, when to change it and what that costs. The comment before
 * a row says what the number means in the code, where that is no plain size, count or time.
 */
/* enum mca_btl_rbuf_protocol */
NUMBER(
    protocol, "default", CHOICE, 3, CHOICES(protocols),
    "How a contiguous message above the eager limit travels. default: superpipeline where a core "
    "copies faster than the ports carry, which is measured at start; auto elsewhere. "
    "superpipeline: copied through staging buffers in chunks that grow. Of user memory only "
    "windows of one-sided programs are registered; their puts and gets are copied on their own "
    "side. pipeline: the same with chunks of one size. copy: copied as a whole, sent, copied. "
    "register: registered, written in place, deregistered, for each message. rcache: written in "
    "place, registrations kept in a cache (needs allow_cache). auto: written in place from and "
    "to buffers that the program uses again, where that was measured to be faster and worth a "
    "registration; superpipeline elsewhere. Without allow_cache in place only where a "
    "registration for each message is worth it" HELPER_TEXT)
NUMBER(c0, "12k", SIZE, 4, LIMITS(512, GIB),
       RANGE("bytes, 512 to largest_chunk, in whole blocks (rounded up)"),
       "First chunk of a staged message (C0). Best is what a core copies in one round trip of the "
       "network: 8k to 16k on most. A larger one delays the first byte, a smaller one costs more "
       "requests. Early data begin with early_c0 if that is less")
NUMBER(q, "1.5", RATIO, 4, LIMITS(RBUF_GROWTH_ONE, RBUF_GROWTH_MAX), RANGE("factor, 1 to 64"),
       "Growth of the chunks: copy bandwidth divided by network bandwidth. 1: all chunks have the "
       "size of the first. With more than that ratio the network waits for copies. Where the "
       "network is faster than a copy no q helps: use protocol rcache or register")
/* 0: chosen at start */
NUMBER(
    buffers, "auto", COUNT, 4, LIMITS(1, RBUF_BUFFERS_MAX), OR("auto", 0),
    RANGE("buffers, 1 to 16 (lowered to the blocks in half of staging_size), or auto"),
    "Staging buffers that the chunks of one message take in turn. auto: 3; 16 where a node has "
    "more processes than processors, as a sender may then wait for the receiver's turn on one. 2 "
    "lose some percent on small chunks; more than 3 gained nothing on the networks that were "
    "measured. Each takes largest_chunk of staging")
NUMBER(largest_chunk, "256k", SIZE, 4, LIMITS(512, GIB),
       RANGE("bytes, c0 to 65535 blocks, in whole blocks (rounded up); lowered to half of "
             "staging_size / buffers, and c0 and pipeline_chunk with it"),
       "Size of a staging buffer, at which the chunks stop growing. Larger: fewer requests, and "
       "fewer messages that staging_size has room for")
/* 0: c0 */
NUMBER(pipeline_chunk, "c0", SIZE, 5, LIMITS(512, GIB), OR("c0", 0),
       RANGE("bytes, 512 to largest_chunk, or c0"),
       "Protocol pipeline: chunk of messages of all lengths. Change it to compare with one size of "
       "chunk; pipeline_gap gives each length its own")
/* bytes; 0: pipeline_chunk for all lengths */
NUMBER(
    pipeline_gap, "0", SIZE, 5, LIMITS(0, GIB), RANGE("bytes, 0 to 1G"),
    "Protocol pipeline: what a core copies in the gap between two requests; 1000 for 100 ns and "
    "10 GB/s. A message of L bytes is then cut into chunks of sqrt(L pipeline_gap / 2) bytes, to "
    "the nearest block. 0: all lengths have pipeline_chunk")
NUMBER(block_size, "4k", SIZE, 5, LIMITS(512, MIB),
       RANGE("bytes, a power of two, 512 to 1M, at most half of staging_size"),
       "Block of a chunk: the receiver copies blocks out as they arrive, and 8 bytes of each are "
       "its flag. Choose a multiple of the MTU. Smaller: copying begins sooner and costs more")
/* 0: chosen at start */
NUMBER(
    staging_size, "auto", SIZE, 3, LIMITS(64 * KIB, 64 * GIB), OR("auto", 0),
    RANGE("bytes, 64k to 64G, or auto"),
    "Most staging memory of the process, for all its peers and ports: half to send from, half to "
    "receive into. It is pinned as it is needed. Raise it where many peers send large messages "
    "at a time; lower it where memory is short: messages then have more chunks and wait for each "
    "other. A half that does not hold the buffers of one message lowers largest_chunk, then "
    "buffers; show tells. A port's half must hold a block. auto: 32M (128M for protocol copy), "
    "at most half of RLIMIT_MEMLOCK")
/* 0: chosen at start */
NUMBER(
    staging_start, "auto", SIZE, 4, LIMITS(64 * KIB, 64 * GIB), OR("auto", 0),
    RANGE("bytes, 64k to staging_size (lowered to it), or auto"),
    "Staging memory that is pinned at start; at least what one message needs. Each half doubles, "
    "up to staging_size, as soon as something waits for it, and never shrinks. Raise it where "
    "the first large messages must not wait for that. auto: 4M")
NUMBER(grant_wait, "5ms", TIME, 5, LIMITS(0, 3600 * SECOND),
       RANGE("time with ns, us, ms or s; 0: for ever"),
       "How long a message waits for staging to receive into while none moves, or 20 times as long "
       "while other messages go on. Then its buffer is registered on the spot instead: as much as "
       "staging_size at once, or one message, and one more whenever nothing has moved for 20 times "
       "as long. Less: shorter waits, and more registrations")
/* enum rbuf_in_order_choice */
NUMBER(
    subblock, "auto", CHOICE, 5, CHOICES(subblock_choices),
    "How the receiver finds what has arrived of a chunk or an eager ring. on: by flags alone. "
    "This relies on the adapter placing the bytes of one write in order; where it does not, "
    "wrong data is received without an error. A test at start may refute that, which makes it "
    "checked, and cannot prove it. checked: flags carry a checksum of the data, which costs some "
    "of the speed of a copy. off: chunks are announced as a whole, and there are no eager rings: "
    "short messages are slower. auto: on where the adapter itself promises order, else checked")
NUMBER(check_timeout, "60s", TIME, 7, LIMITS(0, 3600 * SECOND),
       RANGE("time with ns, us, ms or s; 0: for ever"),
       "With subblock checked: how long the checksum of a ring message, or of a block whose sender "
       "has finished, may be wrong until the peer counts as lost. Bytes on their way come sooner, "
       "or the adapter gives up; what remains is damage. Keep it above the adapter's time-outs and "
       "retries, or jobs end that only lose packets")
/* enum mca_btl_rbuf_switch */
NUMBER(early_data, "on", CHOICE, 6, CHOICES(switches),
       "Whether the first bytes of a message are sent right behind its rendezvous, before the "
       "receiver answers. Saves a round trip; costs the receive staging of early_peers. For "
       "contiguous messages with protocols superpipeline, pipeline and auto, for packed data with "
       "all. Not where several ports or another BTL connect two processes, nor with "
       "rndv_eager_limit 0")
/* 0: none has a window */
NUMBER(early_peers, "16", COUNT, 5, LIMITS(0, RBUF_EARLY_PEERS_MAX), RANGE("peers, 0 to 64"),
       "Peers that may send early data to this process at a time: those that send at present. Each "
       "has slots of the receive staging of its own. Fewer if the staging is small, and with "
       "subblock off at most bulk_buffers / (bulk_credits / 2) where peers share those. 0: none, "
       "and each message waits for its rendezvous")
NUMBER(
    early_size, "72k", SIZE, 6, LIMITS(512, GIB),
    RANGE("bytes, in whole blocks (rounded up), c0 and a block at least (raised to it), 1024 "
          "blocks at most (lowered to it)"),
    "Most early data of a message. What the network carries in one and a half round trips hides "
    "the rendezvous of an idle receiver; more hides that of one that copies meanwhile. Each peer "
    "has room for 4 messages, so the longer, the fewer peers. rbuf-tune recommends a size")
NUMBER(early_c0, "4k", SIZE, 6, LIMITS(512, GIB),
       RANGE("bytes, in whole blocks (rounded up), c0 at most (lowered to it)"),
       "First chunk of early data, and first fragment of packed data. Nothing hides its copy: the "
       "less it is, the sooner the network has something to do, and the more requests there are")
NUMBER(allow_cache, "on", CHOICE, 3, CHOICES(switches),
       "Permits a registration cache, and with it memory hooks, for protocols rcache, auto and "
       "helper and for reuse. Nothing else installs hooks. off: rcache, helper and reuse are "
       "refused, and auto registers for each message")
NUMBER(registration_time, "30us", TIME, 6, LIMITS(0, SECOND), RANGE("time with ns, us or ms"),
       "Protocol auto: how long a registration of memory is assumed to take, until this run has "
       "measured it")
NUMBER(
    registration_page_time, "150ns", TIME, 6, LIMITS(0, MS), RANGE("time with ns or us"),
    "Protocol auto: how much longer each 4 KB of memory makes a registration, until this run has "
    "measured it")
/* enum rbuf_sharing */
NUMBER(helper_policy, "conservative", CHOICE, 3, CHOICES(helper_policies),
       "Protocol helper: which processes of a node have a helper thread. Without one memory is "
       "registered on demand. conservative: one for each core that no process computes on; those "
       "that have registered the most. aggressive: all processes, if there is such a core. "
       "coordinated: as conservative, and more where registrations are so seldom that helpers can "
       "share a core. force: all, even where a process computes on each core, which slows both")
/* enum mca_btl_rbuf_switch */
NUMBER(helper_frames, "on", CHOICE, 6, CHOICES(switches),
       "Protocol helper: whether the place in the program, by its stack frames, is part of what is "
       "predicted. off: only buffer, size and peer are, which costs less and predicts less of a "
       "program that uses a buffer in several loops")
NUMBER(helper_delay, "10ms", TIME, 6, LIMITS(0, SECOND), RANGE("time with us, ms or s, at most 1s"),
       "Protocol helper: how long a deregistration waits at most for the program to leave MPI, so "
       "that it disturbs no message. What waits stays pinned. 0: it does not wait, as is always so "
       "once memory was short")
NUMBER(helper_min, "16k", SIZE, 6, LIMITS(1, GIB), RANGE("bytes, 1 to 1G"),
       "Protocol helper: smallest message whose memory is predicted. Memory of smaller ones is "
       "registered on demand")
NUMBER(helper_regions, "256", COUNT, 6, LIMITS(4, 65536), RANGE("regions, 4 to 65536"),
       "Protocol helper: regions of memory that are registered or predicted at a time, for each "
       "port. Raise it for programs with more buffers; each use of a buffer looks through them")
/* enum mca_btl_rbuf_switch */
NUMBER(reuse, "off", CHOICE, 3, CHOICES(switches),
       "Whether eager messages from buffers that the program sends from often are sent without a "
       "copy: the buffer is registered, and the adapter fetches the data. This holds for one-sided "
       "puts and gets of up to control_size, too. Needs allow_cache, installs memory hooks, and "
       "pins such buffers until their memory is given back")
NUMBER(
    reuse_min, "128", SIZE, 6, LIMITS(1, GIB), RANGE("bytes, 1 to 1G"),
    "Smallest message, put or get whose buffer is looked up for reuse. Those of up to 256 bytes, "
    "and what travels inside the request, are copied in any case")
NUMBER(
    reuse_buffers, "16384", COUNT, 6, LIMITS(2, MIB), RANGE("buffers, 2 to 1048576"),
    "Buffers whose uses are counted for reuse, 52 bytes of memory each. At most half as many are "
    "registered at a time, and at most 64 MB, or an eighth of what may be locked")
/* percent */
NUMBER(reuse_speculation, "25", COUNT, 6, LIMITS(0, 1000), RANGE("percent, 0 to 1000"),
       "A buffer is registered for reuse after this share of the uses that would save the time of "
       "its registration. Less: sooner, and more often in vain. 0: at its first use, whatever that "
       "costs, for tests")
/* enum mca_btl_rbuf_report_level */
NUMBER(
    report, "0", COUNT, 3, LIMITS(0, 3), RANGE("0 to 3"),
    "What is printed in MPI_Finalize. 0: nothing. 1: five lines for the job: ports, messages and "
    "bytes by their ways, memory, and what is unusual. The processes come together for it; if "
    "one has no adapter or another level, each prints its own line, at most 10 s later. 2: all "
    "counters, one line a process. 3: the same as JSON")
/* 0: nothing */
NUMBER(show, "0", COUNT, 3, LIMITS(0, 1), RANGE("0 or 1"),
       "1: rank 0 prints at start by which way messages of each size would go, and which parameter "
       "says so: eager rings, send/receive, early data, staging with its chunks, in place; "
       "one-sided operations, too")
NUMBER(quantum, "16k", SIZE, 6, LIMITS(4 * KIB, GIB), RANGE("bytes, 4k to 1G"),
       "Most that one call of the progress engine copies in each direction. Lower it where other "
       "communication must not wait for copies of large messages; these then take more calls")
/* enum rbuf_fork_choice */
NUMBER(
    fork_support, "auto", CHOICE, 6, CHOICES(auto_switches),
    "Whether ibv_fork_init() is called at start, for programs that fork or call system(). auto: "
    "on kernels before 5.12, which do not copy pinned pages at fork, unless Open MPI's own "
    "want_fork_support is 0. With it a child is killed if it looks at memory that was registered "
    "for a message (protocols register, rcache, auto)")
/* "" if not given */
STRING(if_include, "", 2, RANGE("comma list of DEVICE or DEVICE:PORT"),
       "Adapters to use. By default, of each fabric (an InfiniBand subnet, or an IP network on "
       "Ethernet), the active ports of the fastest adapter, of equally fast ones the nearest. Two "
       "processes use the fastest fabric that both have; of equally fast ones on Ethernet the "
       "nearest to both; without one in common, ports that may be routed. Not together with "
       "if_exclude")
STRING(if_exclude, "", 2, RANGE("comma list of DEVICE or DEVICE:PORT"),
       "Adapters not to use; all others are used")
/* UINT64_MAX: automatic */
NUMBER(gid_index, "auto", COUNT, 3, LIMITS(0, 65535), OR("auto", UINT64_MAX),
       RANGE("index, 0 to 65535, or auto"),
       "Entry of the port's GID table. Set it where a RoCE port has addresses in several networks. "
       "auto: on Ethernet RoCE v2 with a routable IPv4 address first, link-local last; on "
       "InfiniBand 0")
/* 0: the port's */
NUMBER(mtu, "auto", COUNT, 5, LIMITS(256, 4096), OR("auto", 0),
       RANGE("bytes, 256, 512, 1024, 2048 or 4096, or auto"),
       "Path MTU. Lower it where a switch on the way carries less than the ports. auto: what the "
       "port has active")
NUMBER(pkey, "auto", COUNT, 5, LIMITS(1, 65535), OR("auto", 0), RANGE("1 to 65535, or auto"),
       "Partition key, decimal or 0x; its top bit does not count. Set it where the port is in "
       "several partitions. auto: the first valid one of the port's table, of which the port is a "
       "full member if there is one")
NUMBER(
    service_level, "0", COUNT, 5, LIMITS(0, 15), RANGE("0 to 15"),
    "InfiniBand service level of all messages. Set it where the subnet manager keeps one for MPI")
NUMBER(
    traffic_class, "0", COUNT, 5, LIMITS(0, 255), RANGE("0 to 255"),
    "Traffic class of the global route header (RoCE: DSCP and ECN). Set it to the class that the "
    "switches keep for RDMA")
NUMBER(timeout, "16", COUNT, 5, LIMITS(1, 31), RANGE("exponent, 1 to 31: 4.096 us * 2^timeout"),
       "How long the adapter waits for an acknowledgement before it sends again; it may take four "
       "times as long. Raise it for congested networks; a lost peer is then noticed later")
NUMBER(retry_count, "6", COUNT, 5, LIMITS(0, 7), RANGE("0 to 7"),
       "How often the adapter sends again before the peer counts as lost. 7 is for ever with "
       "Soft-RoCE (Linux' rdma_rxe). Raise it for networks that lose packets; a lost peer is then "
       "noticed later")
NUMBER(rnr_retry, "7", COUNT, 6, LIMITS(0, 7), RANGE("0 to 7; 7: for ever"),
       "How often the adapter tries again when the peer has no receive buffer posted. With less "
       "than 7 a slow receiver may end the job")
NUMBER(min_rnr_timer, "12", COUNT, 6, LIMITS(0, 31),
       RANGE("code of the InfiniBand specification, 0 to 31"),
       "Pause that a peer makes when no receive buffer is posted here: 12 is 0.64 ms. Shorter: it "
       "tries again sooner, and uses the network for it")
STRING(listen_if, "", 3, RANGE("comma list of interface names or addresses"),
       "Interfaces to listen on for the TCP connections that set up queue pairs. By default all "
       "that are up. Set it where some do not lead to the other nodes")
STRING(listen_ports, "any", 3, RANGE("any, PORT or FIRST-LAST"),
       "TCP ports to listen on. Set a range where a firewall lets only that through; each process "
       "of a node needs one")
NUMBER(connect_timeout, "10s", TIME, 5, LIMITS(100 * MS, 600 * SECOND),
       RANGE("time with ms or s, 100ms to 600s"),
       "Time for each step of a connection that the network or a listener answers. What fails is "
       "tried again, with back-off, until three times as long have passed since the first try. "
       "Raise it where the network or the nodes are slow to answer. Waiting for a process that "
       "computes has no time-out; for one that is stopped see answer_timeout")
/* 0: none */
NUMBER(
    answer_timeout, "0", TIME, 5, LIMITS(0, 86400 * SECOND),
    RANGE("time with ms or s, at most 86400s; 0: for ever"),
    "How long a connection waits for a process that does not answer, though its host does: a "
    "debugger may have stopped it, or its memory be swapped out. Then the job ends with an error")
/* enum mca_btl_rbuf_switch */
NUMBER(raise_descriptors, "on", CHOICE, 5, CHOICES(switches),
       "Whether the soft limit of open files (ulimit -n) is raised, up to the hard one, when "
       "descriptors run short: each connected peer takes one. off: for programs that use select(), "
       "which takes no descriptor above 1023")
NUMBER(
    probe_interval, "2s", TIME, 5, LIMITS(0, 3600 * SECOND), RANGE("time with ms or s; 0: never"),
    "How often each connected peer is probed by an empty write, so that waiting for a peer that "
    "is gone ends in an error. Lower it to notice sooner, at the cost of a request for each peer")
/* 0: none */
NUMBER(async_progress, "1ms", TIME, 5, LIMITS(0, SECOND),
       RANGE("time with us, ms or s, in whole ms (1ms at least), at most 1s; 0: never"),
       "How long messages wait when the program does not call MPI, until rbuf's own thread sends "
       "them: those that wait for a connection or for credits of the receiver, and one-sided puts "
       "and gets that are copied. The thread sleeps while nothing waits. 0: they wait for the "
       "program's next call of MPI; a receiver may wait while the sender computes, and "
       "MPI_Comm_spawn may hang")
/* enum rbuf_rma_order */
NUMBER(
    rma_order, "issue", CHOICE, 3, CHOICES(orders),
    "In which order one-sided puts and gets for one target are posted, between two that MPI "
    "orders. issue: each at once, as the program calls them. Otherwise they are held until the "
    "program waits for them or calls MPI for something else, but at most 64 of them, and for "
    "async_progress (0: none is held). Then neighbours travel as one, and all are posted "
    "together. interleave: a put and a get in turn. prioritize: gets first. both: first as many "
    "gets as the adapter has under way at a time, then in turn. Change it for programs that call "
    "their puts before their gets: with issue the way back is idle. One that computes before it "
    "waits may lose async_progress by it")
NUMBER(
    control_credits, "64", COUNT, 6, LIMITS(4, 16384), RANGE("messages, 4 to 16384"),
    "Eager messages that a peer may have under way to this process. Raise it for bursts of many. "
    "On adapters without shared receive queues each costs a buffer of control_size, 9 for 8 "
    "credits, pinned for this peer alone; there the 65th and later peers of a process get half "
    "as many credits, those from the 257th on a quarter, but 4 at least")
NUMBER(bulk_credits, "16", COUNT, 6, LIMITS(2, 16384), RANGE("messages, 2 to 16384"),
       "Large fragments of packed data, eager messages above control_size that found no ring, and "
       "chunks with subblock off, that a peer may have under way to this process. On adapters "
       "without shared receive queues each costs a buffer like those of bulk_buffers, as with "
       "control_credits")
NUMBER(
    control_buffers, "256", COUNT, 5, LIMITS(16, 65536), RANGE("buffers, 16 to 65536"),
    "Receive buffers for eager messages, control_size bytes each, shared by all peers of a port. "
    "Raise it where many peers send at a time: one that finds no buffer pauses (min_rnr_timer). "
    "Adapters without shared receive queues have buffers for each peer instead: see "
    "control_credits")
NUMBER(
    control_size, "17k", SIZE, 6, LIMITS(KIB, 64 * KIB),
    RANGE("bytes, 1k to 64k, at most eager_limit (lowered to it)"),
    "Largest eager message, with Open MPI's header, that goes by these buffers: 16 KB of data in "
    "windows of many messages need no rendezvous. A larger one, up to eager_limit, goes by a "
    "ring, or by the bulk buffers when that is full. Where there is no ring, or much waits, "
    "eager_limit is lowered to this for a while, for all peers, unless it is given; and for good "
    "where no ring takes such messages")
NUMBER(
    bulk_buffers, "32", COUNT, 5, LIMITS(4, 65536), RANGE("buffers, 4 to 65536"),
    "Receive buffers for large fragments, for eager messages above control_size, and for the "
    "announcements of chunks with subblock off, shared by all peers of a port. Each has "
    "max_send_size bytes, or eager_limit if that is more. Not on adapters without shared receive "
    "queues: see bulk_credits")
/* 0: by the number of peers */
NUMBER(send_queue, "auto", COUNT, 6, LIMITS(16, 16384), OR("auto", 0),
       RANGE("requests, 16 to 16384, or auto"),
       "Depth of each send queue. The adapter's driver keeps memory for it: with 128 some 192 KB a "
       "peer on ConnectX. Lower it to save memory in large jobs. auto: 128 for the first 64 peers "
       "that a process connects with, 64 up to 256, and 32 for those beyond, or what the adapter "
       "takes if that is less")
/* 0: no rings */
NUMBER(
    polling_set, "16", COUNT, 4, LIMITS(0, 1024), RANGE("peers, 0 to 1024"),
    "Peers whose small messages come by rings that they write by RDMA: those that send the most. "
    "Each costs about 1 ns in every poll, and ring_slots * ring_slot_size + ring_longest bytes "
    "of pinned memory on both sides. Raise it where more peers send often. 0: all messages go "
    "over send/receive. With adapters that do not place the bytes of a write in order messages "
    "carry a checksum (see subblock)")
NUMBER(
    ring_slots, "64", COUNT, 6, LIMITS(2, RBUF_RING_SLOTS_MAX), RANGE("slots, 2 to 64"),
    "Slots of a ring: messages that it holds if each takes one. When it is full the next message "
    "goes over send/receive. More cost memory (see polling_set)")
NUMBER(ring_slot_size, "2112", SIZE, 6, LIMITS(RBUF_RING_SLOT_BYTES_MIN, RBUF_RING_SLOT_BYTES_MAX),
       RANGE("bytes, 128 to 32k, a multiple of 64"),
       "Size of a slot, of which 32 bytes are its trailer. A larger message takes several slots. "
       "Choose an odd number of cache lines (64 bytes), which spreads the ends of slots over the "
       "cache")
/* or MCA_BTL_RBUF_RING_LONGEST_AUTO */
NUMBER(
    ring_longest, "auto", SIZE, 6, LIMITS(0, RBUF_RING_BYTES_MAX),
    OR("auto", MCA_BTL_RBUF_RING_LONGEST_AUTO), RANGE("bytes, 0 to 131064, or auto"),
    "Largest message, with Open MPI's header, that goes by a ring; at most eager_limit (lowered "
    "to it). It takes several slots, at most half of the ring. Where too few are free, or the "
    "two sides' slots differ, it goes over send/receive. 0: no message takes more than one slot. "
    "auto: eager_limit, or 66k if that is not given")
NUMBER(ring_c0, "2k", SIZE, 6, LIMITS(0, GIB), RANGE("bytes, 0 to 1G"),
       "First chunk of a message that takes several slots; each further one is twice as large. A "
       "chunk is written while the next is copied. A message of up to two of them, and one that "
       "finds others under way, goes in one write, which costs fewer requests. 0: all do")
NUMBER(ring_threshold, "16", COUNT, 6, LIMITS(1, 1000000), RANGE("messages, 1 to 1000000"),
       "Small messages of a peer after which it gets a ring, if there is room in the polling set. "
       "Lower: sooner, and more rings that are hardly used")
