/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counts levels of the machine's tree between a device and this process's processors, by hwloc
 * (nearest.h). Without hwloc all devices are equally far.
 */
#include "verbs/nearest.h"

#include <limits.h>
#include <stdio.h>

#define PLACE_UNKNOWN INT_MAX

#if defined(RBUF_HAVE_HWLOC) && RBUF_HAVE_HWLOC

#include <hwloc.h>
#include <hwloc/linux.h>

static int levels_to_climb(hwloc_topology_t topology, hwloc_const_bitmap_t here,
                           hwloc_const_bitmap_t local)
{
    hwloc_bitmap_t both = hwloc_bitmap_alloc();
    hwloc_obj_t near, common;
    int levels = PLACE_UNKNOWN;

    if (both != NULL && hwloc_bitmap_or(both, here, local) == 0) {
        near = hwloc_get_obj_covering_cpuset(topology, local);
        common = hwloc_get_obj_covering_cpuset(topology, both);
        if (near != NULL && common != NULL) {
            levels = near->depth - common->depth;
        }
    }
    hwloc_bitmap_free(both);
    return levels;
}

static int levels_of(hwloc_topology_t topology, hwloc_const_bitmap_t here,
                     const struct ibv_device *device)
{
    char path[IBV_SYSFS_PATH_MAX + 32];
    hwloc_bitmap_t local = hwloc_bitmap_alloc();
    int levels = PLACE_UNKNOWN;

    (void) snprintf(path, sizeof(path), "%s/device/local_cpus", device->ibdev_path);
    if (local != NULL && hwloc_linux_read_path_as_cpumask(path, local) == 0) {
        (void) hwloc_bitmap_and(local, local, hwloc_topology_get_topology_cpuset(topology));
        if (!hwloc_bitmap_iszero(local)) {
            levels = levels_to_climb(topology, here, local);
        }
    }
    hwloc_bitmap_free(local);
    return levels;
}

static void measure(hwloc_topology_t topology, struct rbuf_candidate *ports, size_t count)
{
    hwloc_bitmap_t here = hwloc_bitmap_alloc();

    if (here != NULL && hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, here, HWLOC_CPUBIND_PROCESS) == 0) {
        (void) hwloc_bitmap_and(here, here, hwloc_topology_get_topology_cpuset(topology));
        for (size_t i = 0; i < count; i++) {
            ports[i].levels = levels_of(topology, here, ports[i].device);
        }
    }
    hwloc_bitmap_free(here);
}

#endif

void rbuf_nearest_levels(struct rbuf_candidate *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ports[i].levels = PLACE_UNKNOWN;
    }
#if defined(RBUF_HAVE_HWLOC) && RBUF_HAVE_HWLOC
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) == 0) {
        measure(topology, ports, count);
        hwloc_topology_destroy(topology);
    }
#endif
}
