! SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
!
! What programs do with coarrays, each result compared with what this program computes itself: sections put
! to and got from another image, with strides and index vectors; allocatable coarrays that come and go;
! events, atomic subroutines, locks, critical sections; collective subroutines.
!
! It ends with the line "coarrays: N checks, no errors", or with error stop.

module checking
    use, intrinsic :: iso_fortran_env
    implicit none
    integer :: checks = 0, errors = 0
contains
    ! Counts a check; tells what is wrong with the first few.
    subroutine check(right, what, got, wanted)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        integer, intent(in) :: got, wanted
        checks = checks + 1
        if (right) return
        errors = errors + 1
        if (errors <= 10) print '(a,i0,3a,i0,a,i0)', 'coarrays: image ', this_image(), ': ', what, &
            ': ', got, ', not ', wanted
    end subroutine

    subroutine check_equal(what, got, wanted)
        character(*), intent(in) :: what
        integer, intent(in) :: got, wanted
        call check(got == wanted, what, got, wanted)
    end subroutine
end module

program coarrays
    use checking
    implicit none
    integer, parameter :: rounds = 100, length = 400
    integer :: me, images, next, previous

    me = this_image()
    images = num_images()
    next = merge(1, me + 1, me == images)
    previous = merge(images, me - 1, me == 1)
    call sections
    call come_and_go
    call events
    call atomics
    call locks
    call collectives
    call co_sum(checks)
    call co_sum(errors)
    if (errors > 0) error stop 'coarrays: errors'
    if (me == 1) print '(a,i0,a)', 'coarrays: ', checks, ' checks, no errors'
contains
    ! Whole arrays, every third element, and a reversed index vector, put to the next image and got from it.
    subroutine sections
        integer, allocatable :: target(:)[:], matrix(:, :)[:]
        integer :: local(length), i, j, round
        integer :: reversed(length)

        allocate (target(length)[*], matrix(30, 40)[*])
        reversed = [(length + 1 - i, i=1, length)]
        do round = 1, 5
            target = 0
            sync all
            target(:)[next] = [(me*1000 + i + round, i=1, length)]
            sync all
            do i = 1, length
                call check_equal('put', target(i), previous*1000 + i + round)
            end do
            local = target(:)[previous]
            do i = 1, length
                call check_equal('get', local(i), merge(images, previous - 1, previous == 1)*1000 + i + round)
            end do
            sync all
            target(1:length:3)[next] = -me
            sync all
            do i = 1, length
                call check_equal('strided put', target(i), &
                    merge(-previous, previous*1000 + i + round, mod(i, 3) == 1))
            end do
            local = target(reversed)[next]
            do i = 1, length
                j = length + 1 - i
                call check_equal('get by a vector', local(i), merge(-me, me*1000 + j + round, mod(j, 3) == 1))
            end do
            sync all
        end do
        matrix = me
        sync all
        matrix(5:20:5, 10:30)[next] = me + 100
        sync all
        do j = 1, 40
            do i = 1, 30
                call check_equal('section of a matrix', matrix(i, j), &
                    merge(previous + 100, me, any(i == [5, 10, 15, 20]) .and. j >= 10 .and. j <= 30))
            end do
        end do
        sync all
        deallocate (target, matrix)
    end subroutine

    ! Coarrays of growing size, made and freed: a window each.
    subroutine come_and_go
        real(real64), allocatable :: short(:)[:], long(:)[:]
        integer :: round, i

        do round = 1, 30
            allocate (short(round)[*], long(round*500)[*])
            long = 0
            sync all
            short(:)[next] = me + 0.5_real64
            long(round:)[next] = [(real(me*i, real64), i=round, round*500)]
            sync all
            call check(all(short == previous + 0.5_real64), 'short coarray', int(short(1)), previous)
            call check(all(long(round:) == [(real(previous*i, real64), i=round, round*500)]), 'long coarray', &
                int(long(round)), previous*round)
            call check(all(long(:round - 1) == 0), 'before the section', int(sum(long(:round - 1))), 0)
            sync all
            deallocate (short, long)
        end do
    end subroutine

    ! Numbers handed around the images: each posts when its number is there.
    subroutine events
        type(event_type), allocatable :: filled(:)[:], empty(:)[:]
        integer, allocatable :: box(:)[:]
        integer :: round, count

        allocate (filled(2)[*], empty(2)[*], box(64)[*])
        event post(empty(1) [previous])
        do round = 1, rounds
            event wait(empty(1))
            box(:)[next] = me*10000 + round
            event post(filled(1) [next])
            event wait(filled(1))
            call check_equal('first of an event', box(1), previous*10000 + round)
            call check_equal('last of an event', box(64), previous*10000 + round)
            event post(empty(1) [previous])
        end do
        event wait(empty(1))
        do round = 1, 7
            event post(filled(2) [next])
        end do
        event wait(filled(2), until_count=5)
        sync all
        call event_query(filled(2), count)
        call check_equal('events left', count, 2)
        sync all
        deallocate (filled, empty, box)
    end subroutine

    ! All images add to a word of the last one, and raise another one by compare and swap.
    ! atomic_fetch_add and atomic_or are not for OpenCoarrays as Debian 12 has it: over all of Open MPI's own
    ! transports the one leaves the old value unset, and the other one does nothing.
    subroutine atomics
        integer(atomic_int_kind), allocatable :: total[:], word[:], flags(:)[:]
        integer(atomic_int_kind) :: old, value
        integer :: round, lost

        allocate (total[*], word[*], flags(images)[*])
        call atomic_define(total, 0)
        call atomic_define(word, 0)
        do round = 1, images
            call atomic_define(flags(round), 0)
        end do
        lost = 0
        sync all
        do round = 1, rounds
            call atomic_add(total[images], me)
            call atomic_add(total[next], -1)
            do ! raises the word by one, however many try to
                call atomic_ref(value, word[images])
                call atomic_cas(word[images], old, value, value + 1)
                if (old == value) exit
                lost = lost + 1
                call check(old > value, 'word that only grows', old, value + 1)
            end do
            call atomic_define(flags(me) [next], round)
            call atomic_ref(value, flags(me) [next])
            call check_equal('atomic_define', value, round)
        end do
        sync all
        call atomic_ref(value, total[images])
        call check_equal('atomic_add', value, rounds*images*(images + 1)/2 - rounds)
        call atomic_ref(value, word[images])
        call check_equal('atomic_cas', value, rounds*images)
        sync all
        deallocate (total, word, flags)
    end subroutine

    ! Each adds to an array of the last image, by a get and a put under a lock and in a critical section.
    subroutine locks
        type(lock_type), allocatable :: guard[:]
        integer, allocatable :: sums(:)[:]
        integer :: local(20), round, i

        allocate (guard[*], sums(20)[*])
        sums = 0
        sync all
        do round = 1, 30
            lock (guard[1])
            local = sums(:)[images]
            sums(:)[images] = local + [(i, i=1, 20)]
            unlock (guard[1])
        end do
        sync all
        do round = 1, 10
            critical
                local = sums(:)[images]
                sums(:)[images] = local + 1
            end critical
        end do
        sync all
        local = sums(:)[images]
        do i = 1, 20
            call check_equal('under a lock', local(i), images*(30*i + 10))
        end do
        sync all
        deallocate (guard, sums)
    end subroutine

    subroutine collectives
        integer :: values(50), i
        real(real64) :: most

        values = [(me*i, i=1, 50)]
        call co_sum(values)
        do i = 1, 50
            call check_equal('co_sum', values(i), i*images*(images + 1)/2)
        end do
        most = me
        call co_max(most)
        call check_equal('co_max', int(most), images)
        values = me
        call co_broadcast(values, source_image=images)
        call check_equal('co_broadcast', values(50), images)
    end subroutine
end program
