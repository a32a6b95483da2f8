/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The device as applications find it: its HCAs, their ports, limits and addresses, and the
 * calls of libibverbs that look at them. The first open claims a node of the fabric; it is kept
 * until the process ends, since applications close and open devices while they look around.
 *
 * Invariant: a process is on the fabric from its first open until it ends; a child of fork is on it
 * by an open of its own. Owns the table of devices, constant once described, and whether this
 * process has started, under a mutex. Other queries are of settings and may be made by any thread.
 */
#define _GNU_SOURCE

#include "address.h"
#include "agent.h"
#include "config.h"
#include "copy.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "link.h"
#include "memory.h"
#include "queue_pair.h"
#include "shared_pages.h"
#include "stale.h"
#include "stats.h"
#include "verbs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUID          0x0250f7fffe000001ull
#define PIECE_OF_COPY 16384u
#define MAX_EVENTS    64

static struct device devices[MAX_DEVICES];
static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
static int32_t started_pid;
static void *private_area[64];

static struct ibv_device *describe(uint32_t index)
{
    static const struct {
        enum ibv_node_type node;
        enum ibv_transport_type transport;
    } kinds[] = {
        [LINK_LAYER_IB] = {IBV_NODE_CA, IBV_TRANSPORT_IB},
        [LINK_LAYER_ROCE] = {IBV_NODE_CA, IBV_TRANSPORT_IB},
        [LINK_LAYER_IWARP] = {IBV_NODE_RNIC, IBV_TRANSPORT_IWARP},
        [LINK_LAYER_UNSPECIFIED] = {IBV_NODE_UNSPECIFIED, IBV_TRANSPORT_UNSPECIFIED},
    };
    struct ibv_device *device = &devices[index].device;
    const struct device_setting *setting = &config.devices[index];

    devices[index].setting = setting;
    device->node_type = kinds[setting->link_layer].node;
    device->transport_type = kinds[setting->link_layer].transport;
    snprintf(device->name, sizeof(device->name), "%s", setting->name);
    snprintf(device->dev_name, sizeof(device->dev_name), "uverbs%u", index);
    snprintf(device->dev_path, sizeof(device->dev_path), "/sys/class/infiniband_verbs/uverbs%u",
             index);
    snprintf(device->ibdev_path, sizeof(device->ibdev_path), "/sys/class/infiniband/%s",
             setting->name);
    return device;
}

/* In libibverbs these two are macros as well as functions. */
#undef ibv_get_device_list
EXPORT struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list;

    config_read();
    if (fault_call(CALL_GET_DEVICE_LIST))
        return NULL;
    list = calloc(config.n_devices + 1, sizeof(*list));
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < config.n_devices; i++)
        list[i] = describe(i);
    if (n)
        *n = (int) config.n_devices;
    return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
    return htobe64(GUID + (uint64_t) ibv_get_device_index(device));
}

EXPORT int ibv_get_device_index(struct ibv_device *device)
{
    return (int) ((struct device *) device - devices);
}

EXPORT const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

static atomic_bool fork_initialized;

EXPORT int ibv_fork_init(void)
{
    atomic_store(&fork_initialized, true);
    return 0;
}

/* As on a kernel that copies pinned pages at fork, or on an older one. */
EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
    config_read();
    if (!config.old_fork)
        return IBV_FORK_UNNEEDED;
    return atomic_load(&fork_initialized) ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}

/* The index among all ports of the process of a device's port; -1 if it has none of that number. */
static int find_port(const struct ibv_context *context, uint32_t number)
{
    const struct device_setting *device = device_setting(context);

    return number && number <= device->ports ? (int) (device->first_port + number - 1) : -1;
}

/* How a speed is reported: the lanes' width and speed, as codes, of the slowest link that carries
 * it; that of no speed at all (0) as the slowest. */
static void set_speed(struct ibv_port_attr *attr, uint64_t bandwidth)
{
    static const struct {
        uint32_t gbit;
        uint8_t width, speed;
    } links[] = {{10, 2, 1},  {20, 2, 2},   {25, 1, 32},  {40, 2, 4},   {50, 1, 64},
                 {56, 2, 16}, {100, 2, 32}, {200, 2, 64}, {400, 2, 128}};
    size_t i = 0;

    while (i < sizeof(links) / sizeof(links[0]) - 1 &&
           links[i].gbit * 1000000000ull / 8 < bandwidth)
        i++;
    attr->active_width = links[i].width;
    attr->active_speed = links[i].speed;
}

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *out,
                      size_t size)
{
    static const uint8_t link_layers[] = {
        [LINK_LAYER_IB] = IBV_LINK_LAYER_INFINIBAND,
        [LINK_LAYER_ROCE] = IBV_LINK_LAYER_ETHERNET,
        [LINK_LAYER_IWARP] = IBV_LINK_LAYER_ETHERNET,
        [LINK_LAYER_UNSPECIFIED] = IBV_LINK_LAYER_UNSPECIFIED,
    };
    const struct device_setting *device = device_setting(context);
    bool ib = device->link_layer == LINK_LAYER_IB;
    int port = find_port(context, number);
    struct ibv_port_attr attr = {
        .state = IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = (int) device->n_gids,
        .port_cap_flags = ib ? 0x2651e848 : 0x04010000,
        .max_msg_sz = 1u << 30,
        .pkey_tbl_len = (uint16_t) device->n_pkeys,
        .sm_lid = ib ? 1 : 0,
        .max_vl_num = 4,
        .phys_state = 5,
        .link_layer = link_layers[device->link_layer],
        .flags = address_requires_grh(device) ? IBV_QPF_GRH_REQUIRED : 0,
    };

    if (fault_call(CALL_QUERY_PORT))
        return errno;
    if (port < 0)
        return EINVAL;
    if (ib)
        attr.lid = (uint16_t) lid_make(self.slot, (uint32_t) port);
    set_speed(&attr, device->bandwidth ? device->bandwidth : config.bandwidth);
    if (link_is_down(self.node, (uint32_t) port)) {
        attr.state = IBV_PORT_DOWN;
        attr.phys_state = 3; /* disabled */
    }
    memset(out, 0, size);
    memcpy(out, &attr, size < sizeof(attr) ? size : sizeof(attr));
    return 0;
}

#undef ibv_query_port
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t number,
                          struct _compat_ibv_port_attr *attr)
{
    return query_port(context, number, (struct ibv_port_attr *) attr,
                      offsetof(struct ibv_port_attr, flags));
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    static const enum ibv_atomic_cap atomics[] = {
        [ATOMICS_NONE] = IBV_ATOMIC_NONE,
        [ATOMICS_HCA] = IBV_ATOMIC_HCA,
        [ATOMICS_GLOBAL] = IBV_ATOMIC_GLOB,
    };
    const struct device_model *model = device_setting(context)->model;
    uint64_t guid = ibv_get_device_guid(context->device);

    if (fault_call(CALL_QUERY_DEVICE))
        return errno;
    *attr = (struct ibv_device_attr){
        .fw_ver = "1.0.0",
        .node_guid = guid,
        .sys_image_guid = guid,
        .max_mr_size = UINT64_MAX,
        .page_size_cap = 0xfffffffffffff000,
        .vendor_id = model->vendor_id,
        .vendor_part_id = model->part_id,
        .max_qp = MAX_QUEUE_PAIRS - 1,
        .max_qp_wr = (int) model->max_qp_wr,
        .device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID,
        .max_sge = (int) model->max_sge,
        .max_sge_rd = (int) model->max_sge,
        .max_cq = 65536,
        .max_cqe = (int) model->max_cqe,
        .max_mr = MAX_REGIONS - 1,
        .max_pd = 65536,
        .max_qp_rd_atom = (int) model->max_reads,
        .max_res_rd_atom = (int) (model->max_reads * MAX_QUEUE_PAIRS),
        .max_qp_init_rd_atom = (int) model->max_reads,
        .atomic_cap = atomics[model->atomics],
        .max_ah = 65536,
        .max_srq = (int) model->max_srq,
        .max_srq_wr = (int) model->max_srq_wr,
        .max_srq_sge = (int) model->max_srq_sge,
        .max_pkeys = (uint16_t) device_setting(context)->n_pkeys,
        .local_ca_ack_delay = 15,
        .phys_port_cnt = (uint8_t) device_setting(context)->ports,
    };
    return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *in,
                           struct ibv_device_attr_ex *attr, size_t size)
{
    (void) in;
    memset(attr, 0, size);
    ibv_query_device(context, &attr->orig_attr);
    attr->phys_port_cnt_ex = device_setting(context)->ports;
    return 0;
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
    int port = find_port(context, number);

    if (fault_call(CALL_QUERY_GID))
        return -1;
    if (port < 0 || index < 0 || (uint32_t) index >= device_setting(context)->n_gids) {
        errno = EINVAL;
        return -1;
    }
    address_gid(lid_make(self.slot, (uint32_t) port), (uint32_t) index, gid);
    return 0;
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
                             struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    const struct device_setting *device = device_setting(context);
    int port = find_port(context, number);
    struct ibv_gid_entry full = {
        .gid_index = index,
        .port_num = number,
        .ndev_ifindex = device->link_layer == LINK_LAYER_IB ? 0 : 1,
    };

    (void) flags;
    if (fault_call(CALL_QUERY_GID))
        return errno;
    if (port < 0)
        return EINVAL;
    if (index >= device->n_gids)
        return ENODATA;
    full.gid_type = device->gids[index].type;
    address_gid(lid_make(self.slot, (uint32_t) port), index, &full.gid);
    memcpy(entry, &full, size < sizeof(full) ? size : sizeof(full));
    return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                                    size_t max, uint32_t flags, size_t size)
{
    uint32_t gids = device_setting(context)->n_gids;
    uint32_t n = device_setting(context)->ports * gids;

    if (max < n)
        return -EINVAL;
    for (uint32_t i = 0; i < n; i++) {
        void *entry = (uint8_t *) entries + i * size;

        if (_ibv_query_gid_ex(context, i / gids + 1, i % gids, entry, flags, size))
            return -EINVAL;
    }
    return n;
}

/* A private call of libibverbs that its own tools make. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
                              int *type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type)
{
    const struct device_setting *device = device_setting(context);

    if (find_port(context, port) < 0 || index >= device->n_gids) {
        errno = EINVAL;
        return -1;
    }
    /* In sysfs terms: "IB/RoCE v1", "RoCE v2". */
    *type = device->gids[index].type == IBV_GID_TYPE_ROCE_V2;
    return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    if (fault_call(CALL_QUERY_PKEY))
        return -1;
    if (find_port(context, port) < 0 || index < 0 ||
        (uint32_t) index >= device_setting(context)->n_pkeys) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(device_setting(context)->pkeys[index]);
    return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    const struct device_setting *device = device_setting(context);

    for (uint32_t i = 0; find_port(context, port) >= 0 && i < device->n_pkeys; i++) {
        if (device->pkeys[i] == be16toh(pkey))
            return (int) i;
    }
    errno = EINVAL;
    return -1;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct address_handle *handle;

    if (find_port(pd->context, attr->port_num) < 0 ||
        (address_requires_grh(device_setting(pd->context)) && !attr->is_global) ||
        !address_has_source(device_setting(pd->context), attr)) {
        errno = EINVAL;
        return NULL;
    }
    handle = calloc(1, sizeof(*handle));
    if (!handle)
        return NULL;
    handle->ah.context = pd->context;
    handle->ah.pd = pd;
    handle->attr = *attr;
    return &handle->ah;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
                               struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    (void) context;
    memset(attr, 0, sizeof(*attr));
    attr->dlid = wc->slid;
    attr->sl = wc->sl;
    attr->port_num = port;
    if (wc->wc_flags & IBV_WC_GRH) {
        attr->is_global = 1;
        attr->grh.dgid = grh->sgid;
        attr->grh.hop_limit = 0xff;
    }
    return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
                                            struct ibv_grh *grh, uint8_t port)
{
    struct ibv_ah_attr attr;

    ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);
    return ibv_create_ah(pd, &attr);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void) qp;
    (void) gid;
    (void) lid;
    return EOPNOTSUPP;
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return ibv_attach_mcast(qp, gid, lid);
}

EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void) qp;
    memset(ece, 0, sizeof(*ece));
    return 0;
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void) qp;
    (void) ece;
    return 0;
}

/* Brings this process onto the fabric; again in a child that opens the device after a fork. */
static int start(void)
{
    int err;

    if (started_pid == getpid())
        return 0;
    err = segment_attach();
    if (err)
        return err;
    event_reset();
    engine_reset();
    queue_pair_reset_table();
    memory_reset();
    stale_reset();
    shared_pages_reset();
    copy_calibrate();
    link_limit_lookahead(copy_cost(COPIER_KERNEL, PIECE_OF_COPY));
    fault_start();
    stale_start();
    agent_start();
    started_pid = getpid();
    report_at(1, "node %u of %s, %u ports", self.slot, config.segment, config.n_ports);
    return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct device_context *context;
    struct ibv_context *c;
    int ends[2], err;

    config_read();
    if (fault_call(CALL_OPEN_DEVICE))
        return NULL;
    pthread_mutex_lock(&open_mutex);
    err = start();
    pthread_mutex_unlock(&open_mutex);
    if (err) {
        errno = err;
        return NULL;
    }
    context = calloc(1, sizeof(*context));
    if (!context)
        return NULL;
    if (pipe2(ends, O_CLOEXEC)) {
        free(context);
        return NULL;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    context->async_write_fd = ends[1];
    context->verbs.sz = sizeof(context->verbs);
    context->verbs.priv = (struct verbs_ex_private *) private_area;
    context->verbs.query_port = query_port;
    context->verbs.query_device_ex = query_device_ex;
    context->verbs.create_qp_ex = verbs_create_qp_ex;
    c = &context->verbs.context;
    c->device = device;
    c->cmd_fd = -1;
    c->async_fd = ends[0];
    c->num_comp_vectors = 1;
    c->abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&c->mutex, NULL);
    c->ops.poll_cq = verbs_poll_cq;
    c->ops.req_notify_cq = verbs_req_notify_cq;
    c->ops.post_send = verbs_post_send;
    c->ops.post_recv = verbs_post_recv;
    c->ops.post_srq_recv = verbs_post_srq_recv;
    event_open(context);
    return c;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
    struct device_context *own = to_device_context(context);

    event_close(own);
    close(context->async_fd);
    close(own->async_write_fd);
    free(own);
    return 0;
}

__attribute__((destructor)) static void stop(void)
{
    if (started_pid != getpid())
        return;
    agent_stop();
    stale_stop();
    stats_write();
    segment_detach();
    started_pid = 0;
}
