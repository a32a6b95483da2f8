/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The life of the shared segment: attaching, claiming a node, mapping other nodes, liveness,
 * memory for rings, and locks that survive their holders.
 *
 * Claims go through POSIX record locks on bytes of the file: byte N for node N, held while its
 * owner lives, and one byte that serialises claiming. The process opens the file exactly once,
 * since closing any descriptor of it would drop the locks. Ring memory is handed out by this
 * process alone, so its free lists need no lock between processes.
 *
 * Owns the mapping of the file, the record locks and "self". Who may write which shared word is
 * told in segment.h. Threads: attaching and detaching are under one mutex, the free lists under
 * another; spans are mapped by whoever first looks, and the first of two stays. "self" is written
 * while attaching alone.
 */
#define _GNU_SOURCE

#include "segment.h"
#include "clock.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE          4096ull
#define HEAD_SPAN     ((sizeof(struct fabric) + PAGE - 1) & ~(PAGE - 1))
#define CLAIM_BYTE    1000
#define MAX_CLASS     30 /* rings of up to 2^30 bytes */
#define SPINS         200u
#define STEAL_WAIT_NS 20000000ull

struct attachment self;
_Thread_local enum worker worker;

static pthread_mutex_t attach_mutex = PTHREAD_MUTEX_INITIALIZER;
static int segment_fd = -1;
_Atomic(struct node *) segment_spans[MAX_NODES];

static pthread_mutex_t arena_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t arena_next;
static uint64_t
    arena_free[MAX_CLASS + 1]; /* heads; the next offset lies in the block's first word */

static int lock_byte(int command, short type, off_t byte, struct flock *out)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int rc;

    do {
        rc = fcntl(segment_fd, command, &lock);
    } while (rc < 0 && errno == EINTR && command == F_SETLKW);
    if (out)
        *out = lock;
    return rc;
}

bool segment_node_alive(uint32_t slot)
{
    struct flock lock;

    if (slot == self.slot && self.node)
        return true;
    return lock_byte(F_GETLK, F_WRLCK, slot, &lock) == 0 && lock.l_type != F_UNLCK;
}

static off_t span_offset(uint32_t slot)
{
    return (off_t) (HEAD_SPAN + slot * NODE_SPAN);
}

struct node *segment_map_node(uint32_t slot)
{
    struct node *node, *mapped = NULL;

    if (slot >= MAX_NODES || !self.fabric || !atomic_load(&self.fabric->nodes[slot].incarnation))
        return NULL;
    node = mmap(NULL, NODE_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment_fd,
                span_offset(slot));
    if (node == MAP_FAILED) {
        report("mapping node %u: %s", slot, strerror(errno));
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&segment_spans[slot], &mapped, node)) {
        munmap(node, NODE_SPAN);
        return mapped;
    }
    return node;
}

/* Opens the file and takes the claim byte. A file that its last user has just removed is left alone
 * and a new one opened. */
static int open_for_claim(void)
{
    for (;;) {
        struct stat st;

        segment_fd = open(config.segment, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (segment_fd < 0) {
            int err = errno;
            report("segment %s: %s", config.segment, strerror(err));
            return err;
        }
        if (lock_byte(F_SETLKW, F_WRLCK, CLAIM_BYTE, NULL) == 0 && fstat(segment_fd, &st) == 0 &&
            st.st_nlink > 0) {
            if (st.st_size == span_offset(MAX_NODES) ||
                ftruncate(segment_fd, span_offset(MAX_NODES)) == 0)
                return 0;
            report("segment %s: %s", config.segment, strerror(errno));
            close(segment_fd);
            return ENOSPC;
        }
        close(segment_fd);
    }
}

static bool any_node_alive(void)
{
    for (uint32_t slot = 0; slot < MAX_NODES; slot++) {
        struct flock lock;

        if (self.node && slot == self.slot)
            continue;
        if (lock_byte(F_GETLK, F_WRLCK, slot, &lock) == 0 && lock.l_type != F_UNLCK)
            return true;
    }
    return false;
}

static void punch(off_t offset, off_t length)
{
    if (fallocate(segment_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length))
        report("releasing segment memory: %s", strerror(errno));
}

/* The first process of a fabric empties the file and sets what all others agree to. */
static void begin_fabric(void)
{
    struct fabric_parameters mine = {
        .bandwidth = config.bandwidth, .latency_ns = config.latency_ns, .gap_ns = config.gap_ns};

    mine.paced = mine.bandwidth || mine.gap_ns;
    for (uint32_t i = 0; i < config.n_devices; i++)
        mine.paced |= config.devices[i].bandwidth != 0;

    if (!any_node_alive()) {
        punch(0, span_offset(MAX_NODES));
        self.fabric->parameters = mine;
        atomic_store(&self.fabric->next_turn_ns, UINT64_MAX);
        atomic_store(&self.fabric->version, SEGMENT_VERSION);
    } else if (memcmp(&self.fabric->parameters, &mine, sizeof(mine))) {
        report("the fabric in %s runs with other settings of bandwidth, latency or gap; "
               "they hold for this process too",
               config.segment);
    }
}

struct port_entry *segment_port(uint32_t lid)
{
    uint32_t slot = lid_slot(lid), port = lid_port(lid);
    struct node_directory_entry *entry = &self.fabric->nodes[slot];

    return lid && atomic_load(&entry->incarnation) && port < atomic_load(&entry->n_ports)
               ? &entry->ports[port]
               : NULL;
}

/* Marks the links of all living nodes but one. Whether one of them is that of a name. */
static bool mark_links(uint32_t except, const char *name, bool used[MAX_LINKS], uint32_t *named)
{
    bool found = false;

    for (uint32_t slot = 0; slot < MAX_NODES; slot++) {
        struct node_directory_entry *entry = &self.fabric->nodes[slot];

        if (slot == except || !atomic_load(&entry->incarnation) || !segment_node_alive(slot))
            continue;
        for (uint32_t port = 0; port < atomic_load(&entry->n_ports); port++) {
            uint32_t link = atomic_load(&entry->ports[port].link);

            used[link] = true;
            if (*name && !strcmp(entry->ports[port].link_name, name)) {
                *named = link;
                found = true;
            }
        }
    }
    return found;
}

static void reset_link(struct link *link)
{
    link->egress_free_ns = link->ingress_free_ns = link->last_served = 0;
    link->n_streams = link->turn = 0;
}

static void set_gids(struct port_entry *entry, const struct device_setting *device)
{
    for (uint32_t i = 0; i < device->n_gids; i++) {
        atomic_store(&entry->gids[i].network, device->gids[i].network);
        atomic_store(&entry->gids[i].type, device->gids[i].type);
        atomic_store(&entry->gids[i].is_ipv4, device->gids[i].is_ipv4);
    }
    atomic_store(&entry->n_gids, device->n_gids);
}

/* Gives one of this node's ports its link: that of the others that have its name, or the first that
 * nobody uses, since the first ones are looked at in every round of the links. Under the fabric's
 * lock. */
static bool set_link(uint32_t slot, uint32_t port, bool used[MAX_LINKS])
{
    const struct device_setting *device = config_device(port);
    struct port_entry *entry = &self.fabric->nodes[slot].ports[port];
    uint32_t link = 0;

    entry->link_name[0] = '\0';
    if (config.port[0])
        snprintf(entry->link_name, sizeof(entry->link_name), "%s:%u", config.port, port);
    if (!mark_links(slot, entry->link_name, used, &link)) {
        while (link < MAX_LINKS && used[link])
            link++;
        if (link == MAX_LINKS)
            return false;
        reset_link(&self.fabric->links[link]);
        self.fabric->links[link].bandwidth =
            device->bandwidth ? device->bandwidth : self.fabric->parameters.bandwidth;
    }
    used[link] = true;
    if (self.fabric->link_words <= link / 64)
        self.fabric->link_words = link / 64 + 1;
    atomic_store(&entry->link, link);
    atomic_store(&entry->link_layer, device->link_layer);
    set_gids(entry, device);
    return true;
}

static bool set_links(uint32_t slot)
{
    bool used[MAX_LINKS] = {false};

    for (uint32_t port = 0; port < config.n_ports; port++) {
        if (!set_link(slot, port, used))
            return false;
    }
    atomic_store(&self.fabric->nodes[slot].n_ports, config.n_ports);
    return true;
}

/* Claims a slot nobody holds, starting after the one claimed last, so that numbers of the dead stay
 * unused for long. */
static int claim_slot(void)
{
    struct fabric *fabric = self.fabric;

    for (uint32_t i = 0; i < MAX_NODES; i++) {
        uint32_t slot = (fabric->incarnations + i) % MAX_NODES;
        struct node_directory_entry *entry = &fabric->nodes[slot];
        bool linked;

        if (lock_byte(F_SETLK, F_WRLCK, slot, NULL))
            continue;
        self.slot = slot;
        atomic_store(&entry->incarnation, ++fabric->incarnations);
        self.node = segment_node(slot);
        if (!self.node)
            return ENOMEM;
        shared_lock_take(&fabric->advancing);
        punch(span_offset(slot), NODE_SPAN);
        linked = set_links(slot);
        atomic_store(&entry->pid, self.pid);
        shared_unlock(&fabric->advancing);
        if (linked)
            return 0;
        report("all %u links of the fabric in %s are in use", MAX_LINKS, config.segment);
        return EBUSY;
    }
    report("all %u nodes of the fabric in %s are in use", MAX_NODES, config.segment);
    return EBUSY;
}

static int attach_locked(void)
{
    int err;

    /* After a fork the child inherits the parent's view, which is not its own. */
    if (segment_fd >= 0)
        close(segment_fd);
    memset(&self, 0, sizeof(self));
    memset((void *) segment_spans, 0, sizeof(segment_spans));
    memset(arena_free, 0, sizeof(arena_free));
    arena_next = offsetof(struct node, arena);
    config_read();
    err = open_for_claim();
    if (err)
        return err;
    self.fabric =
        mmap(NULL, HEAD_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment_fd, 0);
    if (self.fabric == MAP_FAILED) {
        err = errno;
        report("mapping the segment: %s", strerror(err));
        self.fabric = NULL;
        close(segment_fd);
        segment_fd = -1;
        return err;
    }
    self.pid = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    begin_fabric();
    err = claim_slot();
    lock_byte(F_SETLK, F_UNLCK, CLAIM_BYTE, NULL);
    if (err)
        self.node = NULL;
    return err;
}

int segment_attach(void)
{
    int err = 0;

    pthread_mutex_lock(&attach_mutex);
    if (!self.node || self.pid != getpid())
        err = attach_locked();
    pthread_mutex_unlock(&attach_mutex);
    return err;
}

void segment_detach(void)
{
    pthread_mutex_lock(&attach_mutex);
    if (self.node && self.pid == getpid()) {
        lock_byte(F_SETLKW, F_WRLCK, CLAIM_BYTE, NULL);
        shared_lock_take(&self.fabric->advancing);
        punch(span_offset(self.slot), NODE_SPAN);
        shared_unlock(&self.fabric->advancing);
        if (!any_node_alive())
            unlink(config.segment);
        close(segment_fd); /* drops the locks */
        segment_fd = -1;
        self.node = NULL;
    }
    pthread_mutex_unlock(&attach_mutex);
}

static unsigned size_class(size_t bytes)
{
    unsigned class = 12;

    while (((size_t) 1 << class) < bytes)
        class ++;
    return class;
}

uint64_t segment_alloc(size_t bytes)
{
    unsigned class = size_class(bytes);
    uint64_t offset = 0;

    if (class > MAX_CLASS)
        return 0;
    pthread_mutex_lock(&arena_mutex);
    if (arena_free[class]) {
        offset = arena_free[class];
        memcpy(&arena_free[class], (uint8_t *) self.node + offset, sizeof(uint64_t));
    } else if (arena_next + (1ull << class) <= NODE_SPAN) {
        offset = arena_next;
        arena_next += 1ull << class;
    }
    pthread_mutex_unlock(&arena_mutex);
    if (offset)
        memset((uint8_t *) self.node + offset, 0, bytes); /* present, so that no post faults */
    return offset;
}

void segment_free(uint64_t offset, size_t bytes)
{
    unsigned class = size_class(bytes);

    if (!offset)
        return;
    pthread_mutex_lock(&arena_mutex);
    memcpy((uint8_t *) self.node + offset, &arena_free[class], sizeof(uint64_t));
    arena_free[class] = offset;
    pthread_mutex_unlock(&arena_mutex);
}

struct memory_region_entry *segment_region(struct node *node, uint32_t key)
{
    struct memory_region_entry *region = &node->regions[(key >> 8) % MAX_REGIONS];

    return key && atomic_load_explicit(&region->key, memory_order_acquire) == key ? region : NULL;
}

bool shared_trylock(struct shared_lock *lock)
{
    uint32_t free = 0;

    return atomic_load_explicit(&lock->holder, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&lock->holder, &free, self.slot + 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

void shared_lock_take(struct shared_lock *lock)
{
    uint64_t since = 0;
    unsigned spins = 0;

    while (!shared_trylock(lock)) {
        uint32_t holder = atomic_load_explicit(&lock->holder, memory_order_relaxed);

        if (++spins < SPINS) {
            cpu_relax();
            continue;
        }
        spins = 0;
        if (!since)
            since = clock_now();
        if (clock_now() - since > STEAL_WAIT_NS && holder && !segment_node_alive(holder - 1) &&
            atomic_compare_exchange_strong(&lock->holder, &holder, self.slot + 1))
            return;
        sched_yield();
    }
}

void shared_unlock(struct shared_lock *lock)
{
    atomic_store_explicit(&lock->holder, 0, memory_order_release);
}
