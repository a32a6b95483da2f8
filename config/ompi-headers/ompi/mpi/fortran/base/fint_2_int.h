/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Stands in for the header of this name where Open MPI was installed without it: ompi/op/op.h asks
 * for it, for operations of Fortran programs.
 */
#ifndef OMPI_MPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_MPI_FORTRAN_BASE_FINT_2_INT_H

#include "ompi_config.h"

#include "mpi.h"

#define OMPI_INT_2_FINT(number) ((MPI_Fint) (number))

#endif
