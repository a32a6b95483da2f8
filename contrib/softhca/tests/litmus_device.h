/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One process that opens devices and connects its own queue pairs with each other: the steps, and
 * the tests that litmus_devices.c runs. A step that fails ends the test.
 */
#ifndef LITMUS_DEVICE_H
#define LITMUS_DEVICE_H

#include "litmus.h"

#define BYTES  (1 << 20) /* of a device's buffer */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* A device, opened, with what a transfer needs. */
struct device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *buffer;
};

struct device open_device(int index);
struct ibv_port_attr port_of(const struct device *device, uint8_t number);

/* A queue pair; try_create(): NULL and errno, or what it got in `cap`. */
struct ibv_qp *create(const struct device *device);
struct ibv_qp *try_create(const struct device *device, struct ibv_qp_cap *cap);

/* Steps of a queue pair's states; 0 or the errno value. */
int to_init_in(struct ibv_qp *qp, uint8_t port, uint16_t partition);
int to_init(struct ibv_qp *qp, uint8_t port);
int to_rtr(struct ibv_qp *qp, uint8_t port, uint32_t number, const struct ibv_ah_attr *peer);
int to_rts(struct ibv_qp *qp);

/* The address of a port: its LID, and its GID where is_global. */
struct ibv_ah_attr address_of(const struct device *device, uint8_t port, bool is_global);

/* Two queue pairs, bound to a port each, that address each other's. */
void connect_ports(const struct device *a, uint8_t port_a, struct ibv_qp *qp_a,
                   const struct device *b, uint8_t port_b, struct ibv_qp *qp_b);

/* Writes from the first half of one buffer to the second half of another. */
void post_write(const struct device *from, struct ibv_qp *qp, const struct device *to,
                uint32_t bytes);

/* An inline write of so many bytes from a queue pair that asked for `asked`; what posting it says.
 */
int write_inline(const struct device *device, uint32_t asked, uint32_t bytes);

/* The status of the next completion. */
enum ibv_wc_status await(const struct device *device);

/* Ends the test if it is another number. */
void expect(int got, int wanted, const char *what);

/* litmus_ports.c */
void one_port(void);
void three_ports(void);
void ports_reach_each_other(void);
void wrong_port_is_not_reached(void);
void ports_have_links(void);
void second_port_is_down(void);
void second_port_goes_down(void);
void second_port_comes_back(void);
void several_devices(void);
void subnets_are_apart(void);
void slower_link_counts(void);

/* litmus_models.c */
void like_mlx4(void);
void like_mlx5(void);
void like_bnxt_re(void);
void like_irdma(void);
void like_hns(void);
void like_efa(void);
void like_rxe(void);
void two_models(void);

#endif
