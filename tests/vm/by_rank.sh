#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# by_rank.sh PROGRAM [ARGUMENT...]: runs it with rank 0 on the device rxe1 and rank 1 on rxe2.

export OMPI_MCA_btl_rbuf_if_include=rxe$((OMPI_COMM_WORLD_RANK + 1))
exec "$@"
