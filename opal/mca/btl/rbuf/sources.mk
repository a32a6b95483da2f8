# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Every source file of the component, by storey; a new file is one more line here. Included by the
# component's Makefile.am and, for the core, by that of the simulator, which compiles the same files
# against its own fabric.h. %reldir% is this folder as seen from the file that includes this one.

rbuf_glue_sources = \
	%reldir%/btl_rbuf.c \
	%reldir%/btl_rbuf.h \
	%reldir%/btl_rbuf_async.c \
	%reldir%/btl_rbuf_async.h \
	%reldir%/btl_rbuf_auto.c \
	%reldir%/btl_rbuf_auto.h \
	%reldir%/btl_rbuf_callback.c \
	%reldir%/btl_rbuf_callback.h \
	%reldir%/btl_rbuf_collect.c \
	%reldir%/btl_rbuf_collect.h \
	%reldir%/btl_rbuf_component.c \
	%reldir%/btl_rbuf_connect.c \
	%reldir%/btl_rbuf_connect.h \
	%reldir%/btl_rbuf_connections.c \
	%reldir%/btl_rbuf_connections.h \
	%reldir%/btl_rbuf_convertor.c \
	%reldir%/btl_rbuf_convertor.h \
	%reldir%/btl_rbuf_departed.c \
	%reldir%/btl_rbuf_departed.h \
	%reldir%/btl_rbuf_eager.c \
	%reldir%/btl_rbuf_eager.h \
	%reldir%/btl_rbuf_endpoint.c \
	%reldir%/btl_rbuf_endpoint.h \
	%reldir%/btl_rbuf_fork.c \
	%reldir%/btl_rbuf_fork.h \
	%reldir%/btl_rbuf_fragment.c \
	%reldir%/btl_rbuf_fragment.h \
	%reldir%/btl_rbuf_help.c \
	%reldir%/btl_rbuf_help.h \
	%reldir%/btl_rbuf_hooks.c \
	%reldir%/btl_rbuf_hooks.h \
	%reldir%/btl_rbuf_latency.c \
	%reldir%/btl_rbuf_latency.h \
	%reldir%/btl_rbuf_lock.c \
	%reldir%/btl_rbuf_lock.h \
	%reldir%/btl_rbuf_mailbox.c \
	%reldir%/btl_rbuf_mailbox.h \
	%reldir%/btl_rbuf_memory.c \
	%reldir%/btl_rbuf_memory.h \
	%reldir%/btl_rbuf_modex.c \
	%reldir%/btl_rbuf_modex.h \
	%reldir%/btl_rbuf_module.c \
	%reldir%/btl_rbuf_module.h \
	%reldir%/btl_rbuf_packed.c \
	%reldir%/btl_rbuf_packed.h \
	%reldir%/btl_rbuf_params.c \
	%reldir%/btl_rbuf_params.h \
	%reldir%/btl_rbuf_prepare.c \
	%reldir%/btl_rbuf_prepare.h \
	%reldir%/btl_rbuf_procs.c \
	%reldir%/btl_rbuf_procs.h \
	%reldir%/btl_rbuf_progress.c \
	%reldir%/btl_rbuf_progress.h \
	%reldir%/btl_rbuf_rdma.c \
	%reldir%/btl_rbuf_rdma.h \
	%reldir%/btl_rbuf_registrar.c \
	%reldir%/btl_rbuf_registrar.h \
	%reldir%/btl_rbuf_report.c \
	%reldir%/btl_rbuf_report.h \
	%reldir%/btl_rbuf_ring.c \
	%reldir%/btl_rbuf_ring.h \
	%reldir%/btl_rbuf_send.c \
	%reldir%/btl_rbuf_send.h \
	%reldir%/btl_rbuf_staging.c \
	%reldir%/btl_rbuf_staging.h \
	%reldir%/btl_rbuf_values.c \
	%reldir%/btl_rbuf_values.h \
	%reldir%/rbuf_compat.h

rbuf_core_sources = \
	%reldir%/core/base/arena.c \
	%reldir%/core/base/arena.h \
	%reldir%/core/base/bounce.c \
	%reldir%/core/base/bounce.h \
	%reldir%/core/base/copy.c \
	%reldir%/core/base/copy.h \
	%reldir%/core/base/event.c \
	%reldir%/core/base/event.h \
	%reldir%/core/base/fab.h \
	%reldir%/core/base/schedule.c \
	%reldir%/core/base/schedule.h \
	%reldir%/core/base/send_queue.h \
	%reldir%/core/base/stats.h \
	%reldir%/core/base/trace.c \
	%reldir%/core/base/trace.h \
	%reldir%/core/base/wire.h \
	%reldir%/core/base/work.h \
	%reldir%/core/choice/choice.c \
	%reldir%/core/choice/choice.h \
	%reldir%/core/choice/lives.c \
	%reldir%/core/choice/lives.h \
	%reldir%/core/choice/registration_cost.c \
	%reldir%/core/choice/registration_cost.h \
	%reldir%/core/choice/reuse.c \
	%reldir%/core/choice/reuse.h \
	%reldir%/core/core.c \
	%reldir%/core/core.h \
	%reldir%/core/early/early.h \
	%reldir%/core/early/early_in.c \
	%reldir%/core/early/early_out.c \
	%reldir%/core/inbox.c \
	%reldir%/core/inbox.h \
	%reldir%/core/message/channel.c \
	%reldir%/core/message/channel.h \
	%reldir%/core/message/credit.c \
	%reldir%/core/message/credit.h \
	%reldir%/core/message/eager.c \
	%reldir%/core/message/eager.h \
	%reldir%/core/message/polling_set.c \
	%reldir%/core/message/polling_set.h \
	%reldir%/core/message/ring.c \
	%reldir%/core/message/ring.h \
	%reldir%/core/message/ring_in.c \
	%reldir%/core/message/ring_in.h \
	%reldir%/core/message/ring_long.c \
	%reldir%/core/message/ring_long.h \
	%reldir%/core/message/ring_out.c \
	%reldir%/core/message/ring_out.h \
	%reldir%/core/message/words.c \
	%reldir%/core/message/words.h \
	%reldir%/core/peer.c \
	%reldir%/core/peer.h \
	%reldir%/core/staged/grant.c \
	%reldir%/core/staged/grant.h \
	%reldir%/core/staged/put.c \
	%reldir%/core/staged/put.h \
	%reldir%/core/staged/receiver.c \
	%reldir%/core/staged/receiver.h \
	%reldir%/core/staged/rma.c \
	%reldir%/core/staged/rma.h \
	%reldir%/core/staged/sender.c \
	%reldir%/core/staged/sender.h \
	%reldir%/core/staged/staging.c \
	%reldir%/core/staged/staging.h \
	%reldir%/core/staged/tx_chunk.c \
	%reldir%/core/staged/tx_chunk.h \
	%reldir%/core/state.h

rbuf_common_sources = \
	%reldir%/common/names.c \
	%reldir%/common/names.h \
	%reldir%/common/problem.c \
	%reldir%/common/problem.h

rbuf_connect_sources = \
	%reldir%/connect/address.c \
	%reldir%/connect/address.h \
	%reldir%/connect/connection.c \
	%reldir%/connect/connection.h \
	%reldir%/connect/descriptors.c \
	%reldir%/connect/descriptors.h \
	%reldir%/connect/event.c \
	%reldir%/connect/event.h \
	%reldir%/connect/event_queue.c \
	%reldir%/connect/event_queue.h \
	%reldir%/connect/exchange.c \
	%reldir%/connect/exchange.h \
	%reldir%/connect/handshake.c \
	%reldir%/connect/handshake.h \
	%reldir%/connect/listener.c \
	%reldir%/connect/listener.h \
	%reldir%/connect/listener_private.h \
	%reldir%/connect/listening.c \
	%reldir%/connect/listening.h \
	%reldir%/connect/options.h \
	%reldir%/connect/pairing.c \
	%reldir%/connect/pairing.h \
	%reldir%/connect/port_address.c \
	%reldir%/connect/port_address.h \
	%reldir%/connect/socket.c \
	%reldir%/connect/socket.h

rbuf_verbs_sources = \
	%reldir%/verbs/completion.c \
	%reldir%/verbs/completion.h \
	%reldir%/verbs/device.c \
	%reldir%/verbs/device.h \
	%reldir%/verbs/fabric.h \
	%reldir%/verbs/fork.c \
	%reldir%/verbs/fork.h \
	%reldir%/verbs/gid.c \
	%reldir%/verbs/gid.h \
	%reldir%/verbs/pkey.c \
	%reldir%/verbs/pkey.h \
	%reldir%/verbs/in_order.c \
	%reldir%/verbs/in_order.h \
	%reldir%/verbs/memory.c \
	%reldir%/verbs/memory.h \
	%reldir%/verbs/nearest.c \
	%reldir%/verbs/nearest.h \
	%reldir%/verbs/port.c \
	%reldir%/verbs/port.h \
	%reldir%/verbs/queue_pair.c \
	%reldir%/verbs/queue_pair.h \
	%reldir%/verbs/receive.c \
	%reldir%/verbs/receive.h \
	%reldir%/verbs/selection.c \
	%reldir%/verbs/selection.h
