/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of models (see models.h). Limits are those of the lower end of what a provider drives;
 * where the emulation has less (30 elements, 16 reads, 512 bytes inline), that is reported instead.
 *
 * Constant; nothing in here changes. Any thread.
 */
#include "models.h"

#include <stddef.h>
#include <string.h>

/* The most that the emulation has, for devices that have more. */
#define ALL_SGE    30
#define ALL_READS  16
#define ALL_INLINE 512

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* mlx5: blocks of 64 bytes, at most 1 KB. An RC request has 192 bytes besides its elements of 16,
 * or besides its inline data with a header of 4. */
static uint32_t mlx5_units(uint32_t max_sge, uint32_t max_inline)
{
    uint32_t gather = 192 + 16 * max_sge;
    uint32_t inlined = max_inline ? 192 + round_up(4 + max_inline, 16) : 0;
    uint32_t bytes = gather > inlined ? gather : inlined;

    return bytes > 1024 ? 0 : round_up(bytes, 64) / 64;
}

/* irdma: 1, 2, 4 or 8 quanta of 32 bytes; the provider counts one element more than asked for. */
static uint32_t irdma_units(uint32_t max_sge, uint32_t max_inline)
{
    uint32_t elements = max_sge + 1;

    if (elements <= 1 && max_inline <= 8)
        return 1;
    if (elements < 4 && max_inline <= 39)
        return 2;
    return elements < 8 && max_inline <= 101 ? 4 : 8;
}

const struct device_model device_models[] = {
    {
        .name = "softhca",
        .summary = "no adapter in particular: 16384 requests, 512 bytes inline",
        .vendor_id = 0x02c9, /* with the part it selects other programs' presets of a ConnectX-5 */
        .part_id = 4119,
        .type = "MT4119",
        .has_rc = true,
        .atomics = ATOMICS_HCA,
        .tells_order = true,
        .max_qp_wr = 16384,
        .max_sge = ALL_SGE,
        .max_cqe = 1 << 20,
        .max_srq = 65536,
        .max_srq_wr = 32768,
        .max_srq_sge = ALL_SGE,
        .max_reads = ALL_READS,
        .max_inline = ALL_INLINE,
        .inline_granted = INLINE_THAT_FITS,
        .source = "the emulation itself",
        .inferred = "",
    },
    {
        .name = "mlx4",
        .summary = "ConnectX-3 (InfiniBand, RoCE)",
        .vendor_id = 0x02c9,
        .part_id = 4099,
        .type = "MT4099",
        .has_rc = true,
        .atomics = ATOMICS_HCA,
        .max_qp_wr = 16351,
        .max_sge = ALL_SGE,
        .max_cqe = 4194303,
        .max_srq = 65472,
        .max_srq_wr = 16383,
        .max_srq_sge = 30,
        .max_reads = ALL_READS,
        .max_inline = ALL_INLINE,
        .inline_granted = INLINE_THAT_FITS,
        .depth_granted = DEPTH_POWER_OF_TWO,
        .source = "ibv_devinfo -v of a ConnectX-3, github.com/claudebarthels/infinity issue 5; "
                  "rdma-core providers/mlx4/verbs.c, qp.c",
        .inferred = "",
    },
    {
        .name = "mlx5",
        .summary = "ConnectX-5 (InfiniBand, RoCE)",
        .vendor_id = 0x02c9,
        .part_id = 4119,
        .type = "MT4119",
        .has_rc = true,
        .atomics = ATOMICS_HCA,
        .tells_order = true,
        .max_qp_wr = 32768,
        .max_sge = ALL_SGE,
        .max_cqe = 4194303,
        .max_srq = 8388608,
        .max_srq_wr = 32767,
        .max_srq_sge = 30,
        .max_reads = ALL_READS,
        .max_inline = ALL_INLINE,
        .inline_granted = INLINE_THAT_FITS,
        .depth_granted = DEPTH_POWER_OF_TWO,
        .request_units = mlx5_units,
        .max_units = 32768,
        .source = "ibv_devinfo -v of a ConnectX-5, github.com/open-mpi/ompi pull request 6184; "
                  "rdma-core providers/mlx5/verbs.c (mlx5_calc_send_wqe, mlx5_calc_sq_size, "
                  "mlx5_query_qp_data_in_order)",
        .inferred = "max_srq, max_srq_wr, max_srq_sge (usual of a ConnectX-5)",
    },
    {
        .name = "bnxt_re",
        .summary = "Broadcom BCM57508 (RoCE)",
        .vendor_id = 0x14e4,
        .part_id = 0x1750,
        .type = "BCM57508",
        .network = NETWORK_ROCE,
        .has_rc = true,
        .atomics = ATOMICS_NONE,
        .max_qp_wr = 65406,
        .max_sge = 6,
        .max_cqe = 1 << 20,
        .max_srq = 4096,
        .max_srq_wr = 4095,
        .max_srq_sge = 6,
        .max_reads = ALL_READS,
        .max_inline = 96,
        .depth_excess = EXCESS_CUT,
        .source =
            "rdma-core providers/bnxt_re/verbs.c (bnxt_re_check_qp_limits) and bnxt_re-abi.h; "
            "Linux drivers/infiniband/hw/bnxt_re/qplib_sp.c (bnxt_qplib_get_dev_attr: 6 "
            "elements on P5 chips, 16 bits of depth less 129), ib_verbs.c (atomics only "
            "where PCIe has them)",
        .inferred = "max_cqe, max_srq, max_srq_wr, max_srq_sge (the firmware's, not public)",
    },
    {
        .name = "irdma",
        .summary = "Intel E810 (RoCE)",
        .vendor_id = 0x8086,
        .part_id = 0x1592,
        .type = "E810",
        .network = NETWORK_ROCE,
        .has_rc = true,
        .atomics = ATOMICS_NONE,
        .max_qp_wr = 4063,
        .max_sge = 13,
        .max_cqe = 1048574,
        .max_reads = ALL_READS,
        .max_inline = 101,
        .request_units = irdma_units,
        .max_units = 32768 - 258,
        .source = "Linux drivers/infiniband/hw/irdma/verbs.c (irdma_query_device, which leaves "
                  "max_srq at 0, irdma_validate_qp_attrs), defs.h, user.h; rdma-core "
                  "providers/irdma/uverbs.c (irdma_ucreate_qp), uk.c (irdma_get_wqe_shift)",
        .inferred = "",
    },
    {
        .name = "hns",
        .summary = "HiSilicon HIP08 (RoCE)",
        .vendor_id = 0x19e5,
        .part_id = 0xa222,
        .type = "HIP08",
        .network = NETWORK_ROCE,
        .has_rc = true,
        .atomics = ATOMICS_HCA,
        .max_qp_wr = 32768,
        .max_sge = ALL_SGE,
        .max_cqe = 4194304,
        .max_srq = 1048576,
        .max_srq_wr = 32768,
        .max_srq_sge = ALL_SGE,
        .max_reads = ALL_READS,
        .max_inline = 32,
        .inline_excess = EXCESS_CUT,
        .depth_granted = DEPTH_POWER_OF_TWO,
        .source = "Linux drivers/infiniband/hw/hns/hns_roce_hw_v2.h and hns_roce_qp.c "
                  "(set_qp_param cuts inline); rdma-core providers/hns/hns_roce_u_verbs.c "
                  "(verify_qp_create_cap)",
        .inferred = "",
    },
    {
        .name = "efa",
        .summary = "Amazon EFA: no RC queue pairs",
        .vendor_id = 0x1d0f,
        .part_id = 0xefa0,
        .type = "EFA",
        .network = NETWORK_UNSPECIFIED,
        .atomics = ATOMICS_NONE,
        .max_qp_wr = 4096,
        .max_sge = 2,
        .max_cqe = 8192,
        .max_reads = 1,
        .max_inline = 32,
        .source = "rdma-core providers/efa/verbs.c (efa_check_qp_attr, efa_check_qp_limits)",
        .inferred = "max_qp_wr, max_sge, max_cqe, max_inline (the firmware's)",
    },
    {
        .name = "rxe",
        .summary = "Soft-RoCE before Linux 5.10",
        .vendor_id = 0xffffff,
        .part_id = 0,
        .type = "",
        .network = NETWORK_ROCE,
        .has_rc = true,
        .atomics = ATOMICS_HCA,
        .max_qp_wr = 16384,
        .max_sge = ALL_SGE,
        .max_cqe = 32767,
        .max_srq = 960,
        .max_srq_wr = 16384,
        .max_srq_sge = 27,
        .max_reads = ALL_READS,
        .max_inline = 400,
        .source = "Linux drivers/infiniband/sw/rxe/rxe_param.h; ibv_devinfo -v of it, "
                  "github.com/openucx/ucx issue 5045",
        .inferred = "",
    },
    {
        .name = "siw",
        .summary =
            "soft iWARP: RC queue pairs by the connection manager alone, which is not emulated",
        .vendor_id = 0x626d74,
        .part_id = 0,
        .type = "",
        .network = NETWORK_IWARP,
        .atomics = ATOMICS_NONE,
        .max_qp_wr = 32768,
        .max_sge = 6,
        .max_cqe = 3276800,
        .max_reads = 128,
        .max_inline = 80,
        .source = "Linux drivers/infiniband/sw/siw/siw.h, include/uapi/rdma/siw-abi.h",
        .inferred = "max_inline",
    },
    {.name = NULL},
};

const struct device_model *model_find(const char *name)
{
    for (const struct device_model *m = device_models; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

bool model_takes_queue(const struct device_model *model, uint32_t *depth, uint32_t max_sge,
                       uint32_t max_inline)
{
    uint64_t units;

    if (model->request_units) {
        units = model->request_units(max_sge, max_inline);
        return units && units * *depth <= model->max_units;
    }
    if (*depth > model->max_qp_wr) {
        if (model->depth_excess == EXCESS_REFUSED)
            return false;
        *depth = model->max_qp_wr;
    }
    return true;
}
