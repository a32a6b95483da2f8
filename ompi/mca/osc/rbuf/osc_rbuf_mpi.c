/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI's functions as Open MPI's own calls (osc_rbuf_mpi.h).
 */
#include "osc_rbuf_mpi.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"
#include "opal/datatype/opal_convertor.h"

int osc_rbuf_barrier(MPI_Comm comm)
{
    return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
}

int osc_rbuf_least(MPI_Comm comm, const long *mine, long *least, int count)
{
    return comm->c_coll->coll_allreduce(mine, least, count, MPI_LONG, MPI_MIN, comm,
                                        comm->c_coll->coll_allreduce_module);
}

int osc_rbuf_allgather(MPI_Comm comm, const void *mine, void *all, int bytes)
{
    return comm->c_coll->coll_allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm,
                                        comm->c_coll->coll_allgather_module);
}

int osc_rbuf_sum_for_each(MPI_Comm comm, const int *values, int *mine, int count)
{
    return comm->c_coll->coll_reduce_scatter_block(values, mine, count, MPI_INT, MPI_SUM, comm,
                                                   comm->c_coll->coll_reduce_scatter_block_module);
}

int osc_rbuf_isend(MPI_Comm comm, int target, int tag, const void *data, size_t bytes,
                   MPI_Request *request)
{
    return MCA_PML_CALL(
        isend(data, bytes, MPI_BYTE, target, tag, MCA_PML_BASE_SEND_STANDARD, comm, request));
}

int osc_rbuf_irecv(MPI_Comm comm, void *data, size_t bytes, MPI_Request *request)
{
    return MCA_PML_CALL(irecv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, request));
}

/* Predefined ones, by number: Open MPI's own tables may move while a program makes types. Written
 * with the lock held, and read likewise. */
enum { KNOWN_TYPES = 128, KNOWN_OPS = 32 };

static MPI_Datatype known_types[KNOWN_TYPES];
static MPI_Op known_ops[KNOWN_OPS];

/* Those that MPI_Type_create_f90_real() and the like make are predefined as well, but have
 * arguments. */
static bool is_basic(MPI_Datatype type)
{
    return ompi_datatype_is_predefined(type) && type->args == NULL;
}

void osc_rbuf_know_predefined(void)
{
    for (int i = 0; i < KNOWN_TYPES; i++) {
        MPI_Datatype type = opal_pointer_array_get_item(&ompi_datatype_f_to_c_table, i);

        known_types[i] = type != NULL && is_basic(type) ? type : NULL;
    }
    for (int i = 0; i < KNOWN_OPS; i++) {
        MPI_Op op = opal_pointer_array_get_item(ompi_op_f_to_c_table, i);

        known_ops[i] = op != NULL && ompi_op_is_intrinsic(op) ? op : NULL;
    }
}

bool osc_rbuf_is_known(MPI_Datatype type, MPI_Op op)
{
    const int32_t number = osc_rbuf_type_number(type), which = osc_rbuf_op_number(op);

    return number >= 0 && number < KNOWN_TYPES && known_types[number] == type && which >= 0 &&
           which < KNOWN_OPS && known_ops[which] == op;
}

MPI_Datatype osc_rbuf_basic_type(MPI_Datatype type)
{
    MPI_Datatype basic = type;

    if (is_basic(type)) {
        return type;
    }
    for (int i = 0; i < KNOWN_TYPES; i++) {
        basic = opal_pointer_array_get_item(&ompi_datatype_f_to_c_table, i);
        if (basic != NULL && is_basic(basic) && basic->id == type->id) {
            return basic;
        }
    }
    return NULL;
}

int32_t osc_rbuf_type_number(MPI_Datatype type)
{
    return type->d_f_to_c_index;
}

MPI_Datatype osc_rbuf_type_of(int32_t number)
{
    return number >= 0 && number < KNOWN_TYPES && known_types[number] != NULL
               ? known_types[number]
               : opal_pointer_array_get_item(&ompi_datatype_f_to_c_table, number);
}

int32_t osc_rbuf_op_number(MPI_Op op)
{
    return op->o_f_to_c_index;
}

MPI_Op osc_rbuf_op_of(int32_t number)
{
    return number >= 0 && number < KNOWN_OPS && known_ops[number] != NULL
               ? known_ops[number]
               : opal_pointer_array_get_item(ompi_op_f_to_c_table, number);
}

/* The convertor ends with the last byte of the stream: both have the same. */
int osc_rbuf_pack(const void *address, size_t count, MPI_Datatype type, void *stream, size_t bytes)
{
    struct iovec piece = {.iov_base = stream, .iov_len = bytes};
    opal_convertor_t convertor;
    uint32_t pieces = 1;
    int ended;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, address,
                                             0, &convertor);
    ended = opal_convertor_pack(&convertor, &piece, &pieces, &bytes);
    OBJ_DESTRUCT(&convertor);
    return ended == 1 ? MPI_SUCCESS : MPI_ERR_UNKNOWN;
}

int osc_rbuf_unpack(const void *stream, size_t bytes, void *address, size_t count,
                    MPI_Datatype type)
{
    struct iovec piece = {.iov_base = (void *) (uintptr_t) stream, .iov_len = bytes};
    opal_convertor_t convertor;
    uint32_t pieces = 1;
    int ended;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, address,
                                             0, &convertor);
    ended = opal_convertor_unpack(&convertor, &piece, &pieces, &bytes);
    OBJ_DESTRUCT(&convertor);
    return ended == 1 ? MPI_SUCCESS : MPI_ERR_UNKNOWN;
}

size_t osc_rbuf_piece_bytes(MPI_Datatype type, size_t count)
{
    enum { PIECES = 16 };
    struct iovec pieces[PIECES];
    opal_convertor_t convertor;
    uint32_t found = PIECES;
    size_t bytes = 0;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, NULL, 0,
                                             &convertor);
    (void) opal_convertor_raw(&convertor, pieces, &found, &bytes);
    OBJ_DESTRUCT(&convertor);
    return found > 0 ? bytes / found : 0;
}
