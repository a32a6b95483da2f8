# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Every source file of the component, by layer; a new file is one more line here. Included by the
# component's Makefile.am and, for the core, by that of the simulator, which compiles the same files
# against its own fabric.h. %reldir% is this folder as seen from the file that includes this one.

# What configure may leave out (config/rbuf_features.m4); nothing else knows these files but
# registration/registrar.c and btl_rbuf_component.c.
if RBUF_HELPER
rbuf_helper_glue = \
	%reldir%/registration/call_stack.c \
	%reldir%/registration/call_stack.h \
	%reldir%/registration/helper.c \
	%reldir%/registration/sharing.c \
	%reldir%/registration/sharing.h
rbuf_helper_core = \
	%reldir%/core/helper/helper.c \
	%reldir%/core/helper/helper.h \
	%reldir%/core/helper/mr.c \
	%reldir%/core/helper/mr.h \
	%reldir%/core/helper/predictor.c \
	%reldir%/core/helper/predictor.h \
	%reldir%/core/helper/registration_queue.c \
	%reldir%/core/helper/registration_queue.h \
	%reldir%/core/helper/sharing.c \
	%reldir%/core/helper/sharing.h \
	%reldir%/core/helper/use_queue.c \
	%reldir%/core/helper/use_queue.h
endif
if RBUF_REUSE
rbuf_reuse_glue = \
	%reldir%/btl/bml.c \
	%reldir%/btl/in_place.c \
	%reldir%/btl/in_place.h \
	%reldir%/registration/frequent.c \
	%reldir%/registration/frequent.h
rbuf_reuse_core = \
	%reldir%/core/choice/frequent.c \
	%reldir%/core/choice/frequent.h \
	%reldir%/core/choice/trial.c \
	%reldir%/core/choice/trial.h
endif

rbuf_glue_sources = \
	$(rbuf_helper_glue) \
	$(rbuf_reuse_glue) \
	%reldir%/btl_rbuf_component.c \
	%reldir%/btl/async.c \
	%reldir%/btl/btl.h \
	%reldir%/btl/by_ring.h \
	%reldir%/btl/callback.c \
	%reldir%/btl/callback.h \
	%reldir%/btl/connections.c \
	%reldir%/btl/operation.c \
	%reldir%/btl/operation.h \
	%reldir%/btl/osc.c \
	%reldir%/btl/prepare.c \
	%reldir%/btl/procs.c \
	%reldir%/btl/progress.c \
	%reldir%/btl/put_get.c \
	%reldir%/btl/register_mem.c \
	%reldir%/btl/register_mem.h \
	%reldir%/btl/send.c \
	%reldir%/btl/service.h \
	%reldir%/btl/serving.c \
	%reldir%/report/counters.c \
	%reldir%/report/counters.h \
	%reldir%/report/explain.c \
	%reldir%/report/job_texts.c \
	%reldir%/report/report.c \
	%reldir%/report/report.h \
	%reldir%/report/summary.c \
	%reldir%/peers/connect.c \
	%reldir%/peers/disconnected.c \
	%reldir%/peers/endpoint.c \
	%reldir%/peers/endpoint.h \
	%reldir%/peers/latency.c \
	%reldir%/peers/packed.c \
	%reldir%/peers/poll_cq.c \
	%reldir%/module/convertor.c \
	%reldir%/module/convertor.h \
	%reldir%/module/default.c \
	%reldir%/module/eager_limit.c \
	%reldir%/module/fragment.c \
	%reldir%/module/fragment.h \
	%reldir%/module/mailbox.c \
	%reldir%/module/modex.c \
	%reldir%/module/modex.h \
	%reldir%/module/module.h \
	%reldir%/module/module_open.c \
	%reldir%/module/process.c \
	%reldir%/module/ring_memory.c \
	%reldir%/module/ring_options.c \
	%reldir%/module/staging.c \
	%reldir%/module/thresholds.h \
	%reldir%/registration/auto.c \
	%reldir%/registration/auto.h \
	%reldir%/registration/cache.c \
	%reldir%/registration/fork.c \
	%reldir%/registration/fork.h \
	%reldir%/registration/hooks.c \
	%reldir%/registration/hooks.h \
	%reldir%/registration/registrar.c \
	%reldir%/registration/registrar.h \
	%reldir%/registration/registration.c \
	%reldir%/registration/registration.h \
	%reldir%/registration/reuse.h \
	%reldir%/params/check.c \
	%reldir%/params/help.c \
	%reldir%/params/help.h \
	%reldir%/params/help_show.c \
	%reldir%/params/help_show.h \
	%reldir%/params/left_out.h \
	%reldir%/params/params.c \
	%reldir%/params/params.h \
	%reldir%/params/protocol.c \
	%reldir%/params/protocol.h \
	%reldir%/params/rows.h \
	%reldir%/params/table.h \
	%reldir%/params/values.c \
	%reldir%/params/values.h \
	%reldir%/rbuf_compat.h \
	%reldir%/rbuf_compat_help.h \
	%reldir%/rbuf_version.h

rbuf_core_sources = \
	$(rbuf_helper_core) \
	$(rbuf_reuse_core) \
	%reldir%/core/core.c \
	%reldir%/core/core.h \
	%reldir%/core/inbox.c \
	%reldir%/core/inbox.h \
	%reldir%/core/peer.c \
	%reldir%/core/peer.h \
	%reldir%/core/onesided/copied_put.c \
	%reldir%/core/onesided/copied_put.h \
	%reldir%/core/onesided/get.c \
	%reldir%/core/onesided/get.h \
	%reldir%/core/onesided/rma.c \
	%reldir%/core/onesided/rma.h \
	%reldir%/core/onesided/rma_order.c \
	%reldir%/core/rendezvous/early.h \
	%reldir%/core/rendezvous/early_in.c \
	%reldir%/core/rendezvous/early_out.c \
	%reldir%/core/rendezvous/grant.c \
	%reldir%/core/rendezvous/grant.h \
	%reldir%/core/rendezvous/grant_table.c \
	%reldir%/core/rendezvous/lease.c \
	%reldir%/core/rendezvous/lease.h \
	%reldir%/core/rendezvous/put.c \
	%reldir%/core/rendezvous/put.h \
	%reldir%/core/rendezvous/receiver.c \
	%reldir%/core/rendezvous/receiver.h \
	%reldir%/core/rendezvous/sender.c \
	%reldir%/core/rendezvous/sender.h \
	%reldir%/core/stage/copies.c \
	%reldir%/core/stage/copies.h \
	%reldir%/core/stage/flag.h \
	%reldir%/core/stage/staging.c \
	%reldir%/core/stage/staging.h \
	%reldir%/core/stage/tx_chunk.c \
	%reldir%/core/stage/tx_chunk.h \
	%reldir%/core/eager/channel.c \
	%reldir%/core/eager/channel.h \
	%reldir%/core/eager/incoming.h \
	%reldir%/core/eager/limit.c \
	%reldir%/core/eager/limit.h \
	%reldir%/core/eager/polling_set.c \
	%reldir%/core/eager/polling_set.h \
	%reldir%/core/eager/ring.c \
	%reldir%/core/eager/ring.h \
	%reldir%/core/eager/ring_in.c \
	%reldir%/core/eager/ring_in.h \
	%reldir%/core/eager/ring_long.c \
	%reldir%/core/eager/ring_long.h \
	%reldir%/core/eager/ring_out.c \
	%reldir%/core/eager/ring_out.h \
	%reldir%/core/eager/ring_word.h \
	%reldir%/core/link/credit.c \
	%reldir%/core/link/credit.h \
	%reldir%/core/link/words.c \
	%reldir%/core/link/words.h \
	%reldir%/core/state/eager.h \
	%reldir%/core/state/link.h \
	%reldir%/core/state/rendezvous.h \
	%reldir%/core/state/stage.h \
	%reldir%/core/state/state.h \
	%reldir%/core/choice/choice.c \
	%reldir%/core/choice/choice.h \
	%reldir%/core/choice/default.h \
	%reldir%/core/choice/lives.c \
	%reldir%/core/choice/registration_cost.c \
	%reldir%/core/choice/registration_cost.h \
	%reldir%/core/choice/reuse.c \
	%reldir%/core/choice/reuse.h \
	%reldir%/core/base/arena.c \
	%reldir%/core/base/arena.h \
	%reldir%/core/base/bounce.c \
	%reldir%/core/base/bounce.h \
	%reldir%/core/base/checksum.c \
	%reldir%/core/base/checksum.h \
	%reldir%/core/base/checksum_key.h \
	%reldir%/core/base/checksum_paths.h \
	%reldir%/core/base/copy.c \
	%reldir%/core/base/copy.h \
	%reldir%/core/base/cut.c \
	%reldir%/core/base/cut.h \
	%reldir%/core/base/event.c \
	%reldir%/core/base/event.h \
	%reldir%/core/base/fab.h \
	%reldir%/core/base/fill.h \
	%reldir%/core/base/schedule.c \
	%reldir%/core/base/schedule.h \
	%reldir%/core/base/send_queue.h \
	%reldir%/core/base/stats.h \
	%reldir%/core/base/trace.c \
	%reldir%/core/base/trace.h \
	%reldir%/core/base/wire.h

rbuf_common_sources = \
	%reldir%/common/bindings.c \
	%reldir%/common/bindings.h \
	%reldir%/common/close_on_fork.c \
	%reldir%/common/close_on_fork.h \
	%reldir%/common/cpuset.c \
	%reldir%/common/cpuset.h \
	%reldir%/common/lock.c \
	%reldir%/common/lock.h \
	%reldir%/common/monotonic.h \
	%reldir%/common/names.c \
	%reldir%/common/names.h \
	%reldir%/common/problem.c \
	%reldir%/common/problem.h \
	%reldir%/common/time_slice.c \
	%reldir%/common/time_slice.h

rbuf_connect_sources = \
	%reldir%/connect/address.c \
	%reldir%/connect/address.h \
	%reldir%/connect/connection.h \
	%reldir%/connect/descriptors.c \
	%reldir%/connect/descriptors.h \
	%reldir%/connect/event.h \
	%reldir%/connect/event_queue.c \
	%reldir%/connect/event_queue.h \
	%reldir%/connect/exchange.c \
	%reldir%/connect/exchange.h \
	%reldir%/connect/handshake.c \
	%reldir%/connect/handshake.h \
	%reldir%/connect/listener.c \
	%reldir%/connect/listener.h \
	%reldir%/connect/listening.c \
	%reldir%/connect/listening.h \
	%reldir%/connect/outgoing.c \
	%reldir%/connect/outgoing.h \
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
	%reldir%/verbs/in_order.c \
	%reldir%/verbs/in_order.h \
	%reldir%/verbs/memory.c \
	%reldir%/verbs/memory.h \
	%reldir%/verbs/nearest.c \
	%reldir%/verbs/nearest.h \
	%reldir%/verbs/order_probe.c \
	%reldir%/verbs/order_probe.h \
	%reldir%/verbs/port.h \
	%reldir%/verbs/port_open.c \
	%reldir%/verbs/port_tables.c \
	%reldir%/verbs/port_tables.h \
	%reldir%/verbs/queue_pair.c \
	%reldir%/verbs/queue_pair.h \
	%reldir%/verbs/receive.c \
	%reldir%/verbs/receive.h \
	%reldir%/verbs/selection.c \
	%reldir%/verbs/selection.h
