# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# The library's sources, for whoever builds it: from the floor to the roof, no file calls one that comes
# after it.
softhca_sources = clock.h config.c config.h device_list.c device_list.h fault_list.c fault_list.h models.c models.h \
	segment.c segment.h address.c address.h copy.c copy.h doorbells.c doorbells.h link.c link.h objects.h stats.c stats.h \
	event.c event.h fault.c fault.h disorder.c disorder.h \
	stale.c stale.h shared_pages.c shared_pages.h memory.c memory.h \
	completion.c completion.h receive_queue.c receive_queue.h queue_pair.c queue_pair.h datagram.c datagram.h \
	execute.c execute.h push.c response.c engine.c engine.h agent.c agent.h \
	verbs.h verbs_cq.c verbs_post.c verbs_qp.c verbs_ex.c device.c fs.c buffer.c refused.c
