/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Memory keys of the simulated adapters: what may be reached through which. */
#include "net.h"

/* A key is a place in the table and, in its low byte, how often the place was used, so that a key
 * that was given back is recognised. */
#define GENERATIONS 256u

uint32_t sim_register(struct sim_nic *nic, void *base, size_t bytes)
{
    struct sim_net *net = nic->net;
    uint32_t place = 0;

    while (place < net->region_count && net->regions[place].nic != NULL) {
        place++;
    }
    if (place == net->region_count) {
        net->region_count++;
        net->regions = sim_reallocate(net->regions, net->region_count * sizeof(*net->regions));
        net->regions[place] = (struct sim_region){.generation = 0};
    }
    struct sim_region *region = &net->regions[place];

    region->nic = nic;
    region->base = base;
    region->bytes = bytes;
    region->generation = (region->generation + 1) % GENERATIONS;
    return (place + 1) * GENERATIONS + region->generation;
}

static struct sim_region *find(const struct sim_net *net, uint32_t key)
{
    uint32_t place = key / GENERATIONS;
    struct sim_region *region;

    if (place == 0 || place > net->region_count) {
        return NULL;
    }
    region = &net->regions[place - 1];
    return region->nic != NULL && region->generation == key % GENERATIONS ? region : NULL;
}

void sim_deregister(struct sim_net *net, uint32_t key)
{
    struct sim_region *region = find(net, key);

    if (region != NULL) {
        region->nic = NULL;
    }
}

bool sim_key_covers(const struct sim_nic *nic, uint32_t key, uint64_t address, uint64_t bytes)
{
    const struct sim_region *region = find(nic->net, key);
    uint64_t base;

    if (bytes == 0) {
        return true;
    }
    if (region == NULL || region->nic != nic) {
        return false;
    }
    base = (uintptr_t) region->base;
    return address >= base && address - base <= region->bytes &&
           bytes <= region->bytes - (address - base);
}
