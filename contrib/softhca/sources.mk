# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# The library's sources, for whoever builds it.
softhca_sources = address.c address.h agent.c answer.c carry.c carry.h clock.h completion.c config.c config.h copy.c copy.h device_list.c \
	datagram.c device.c disorder.c doorbells.c doorbells.h engine.c engine.h event.c event.h fault.c fault.h fault_list.c fs.c link.c link.h memory.c models.c models.h objects.h \
	push.c queue_pair.c receive_queue.c segment.c segment.h shared_pages.c shared_pages.h stale.c stale.h stats.c stats.h verbs_ex.c
