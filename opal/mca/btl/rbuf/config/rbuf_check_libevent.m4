# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_CHECK_LIBEVENT(FOUND, NOT FOUND)
# Is libevent there, core and pthreads? The connection listener is served by it. Sets
# rbuf_libevent_CFLAGS and rbuf_libevent_LIBS.
AC_DEFUN([RBUF_CHECK_LIBEVENT], [
    RBUF_FIND_LIB([rbuf_libevent], [libevent_core libevent_pthreads],
        [-levent_core -levent_pthreads],
        [[@%:@include <event2/event.h>
@%:@include <event2/event_struct.h>
@%:@include <event2/thread.h>]],
        [[struct event event;
evthread_use_pthreads(); return event_base_new() == 0 || sizeof(event) == 0;]],
        [$1],
        [AC_MSG_WARN([libevent is missing (Debian: libevent-dev)])
         $2])
])
