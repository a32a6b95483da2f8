/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The steps of bring_up.h. */
#include "bring_up.h"

int bring_to_init(struct ibv_qp *qp, const struct bring_up *how)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = how->port,
                               .pkey_index = how->partition,
                               .qp_access_flags = how->access};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

int bring_to_rtr(struct ibv_qp *qp, const struct bring_up *how, uint32_t number,
                 const struct ibv_ah_attr *peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .dest_qp_num = number,
                               .path_mtu = how->mtu,
                               .max_dest_rd_atomic = how->reads,
                               .min_rnr_timer = how->rnr_timer,
                               .ah_attr = *peer};

    attr.ah_attr.port_num = how->port;
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int bring_to_rts(struct ibv_qp *qp, const struct bring_up *how)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
                               .timeout = how->timeout,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .max_rd_atomic = how->reads};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int bring_up(struct ibv_qp *qp, const struct bring_up *how, uint32_t number,
             const struct ibv_ah_attr *peer)
{
    int err = bring_to_init(qp, how);

    err = err ? err : bring_to_rtr(qp, how, number, peer);
    return err ? err : bring_to_rts(qp, how);
}
