#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Calls the listeners of a job with everything that no peer would send.
#
#   unauthenticated.pl FIRST-PORT LAST-PORT SECONDS [KIND...]
#
# Of each kind, or of those given, one process, which goes from port to port of 127.0.0.1 for that long. A listener is
# to close each connection, itself, without a byte of an answer. Prints a line for each kind,
# "KIND: connections=N closed=N answered=N open=N refused=N"; open are those that were not closed
# within 8 seconds. Exit status 0 if every kind was tried, none was answered and none left open.
use strict;
use warnings;
use Errno qw(EINTR ETIMEDOUT);
use File::Basename qw(dirname);
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Time::HiRes qw(sleep time);

my ($first, $last, $seconds, @only) = @ARGV;
die "usage: unauthenticated.pl FIRST-PORT LAST-PORT SECONDS [KIND...]\n" unless defined $seconds;
my $patience = 8;
$SIG{PIPE} = 'IGNORE';

# That of this release.
sub wire_version {
    my $path = dirname($0) . '/../../opal/mca/btl/rbuf/core/base/wire.h';
    open my $file, '<', $path or die "$path: $!\n";
    my ($version) = map { /^#define RBUF_WIRE_VERSION (\d+)u/ } <$file>;
    return $version // die "$path: no wire version\n";
}
my $version = wire_version();

# The fields of a message, each as a caller in order would have it but for what is given.
sub hello {
    my %field = (magic => 'rbuf', order => 0x0102, version => $version, kind => 1, bytes => 136, @_);
    my $side = join '', map { chr int rand 256 } 1 .. 16;         # token: of nobody
    $side .= pack 'L4', 1, 0, 0, 0;                               # name and ports
    $side .= pack 'a16 Q S C4 S C C S x4', '', 0, 1, 5, 1, 1, 4, 100, 0, 0, 0xffff; # address
    $side .= pack 'L4 Q L L S S L3', 77, 0, 78, 0, 4096, 5, 0, 64, 16, 0, 4096, 65536;
    return pack('a4 S C C L L', @field{qw(magic order version kind bytes)}, 0) . $side;
}

sub noise {
    return join '', map { chr int rand 256 } 1 .. 1 + int rand 4096;
}

# kind: what is sent, in pieces one second apart; whether we close it ourselves; how many at once
my %kinds = (
    garbage    => { send => sub { noise() } },
    token      => { send => sub { hello() } },
    version    => { send => sub { hello(version => $version + 1) } },
    byte_order => { send => sub { hello(order => 0x0201) } },
    oversized  => { send => sub { hello(bytes => 0xffffffff) . 'x' x 200_000 } },
    undersized => { send => sub { hello(bytes => 3) } },
    kind       => { send => sub { hello(kind => 3) } },
    ready      => { send => sub { substr hello(kind => 4, bytes => 16), 0, 16 } },
    unknown    => { send => sub { hello(kind => 200) } },
    http       => { send => sub { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" } },
    half       => { send => sub { substr hello(), 0, 60 } },
    silent     => { send => sub { '' } },
    slow       => { slowly => 1 },
    hang_up    => { send => sub { '' }, hang_up => 1 },
    cut_off    => { send => sub { substr hello(), 0, 1 + int rand 119 }, hang_up => 1 },
    many       => { send => sub { substr hello(), 0, 10 }, at_once => 300 },
);

sub call {
    my ($port) = @_;
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp',
        Timeout => 2);
}

# Waits for the other side to close; counts.
sub watch {
    my ($count, $slowly, @sockets) = @_;
    my $select = IO::Select->new(@sockets);
    my $end = time + $patience;
    my $whole = hello();
    my $sent = 0;
    while ($select->count && time < $end) {
        for my $socket ($select->can_read($slowly ? 1 : $end - time)) {
            my $bytes = sysread $socket, my $data, 4096;
            next if !defined $bytes && $! == EINTR;
            $count->{ $bytes ? 'answered' : 'closed' }++;
            $select->remove($socket);
        }
        if ($slowly) {
            syswrite $_, substr($whole, $sent, 1) for $select->handles;
            $sent++;
        }
    }
    $count->{open} += $select->count;
}

sub flood {
    my ($kind) = @_;
    my %count = map { $_ => 0 } qw(connections closed answered open refused);
    my $rule = $kinds{$kind};
    my $end = time + $seconds;
    for (my $port = $first; time < $end; $port = $port < $last ? $port + 1 : $first) {
        my @sockets;
        for (1 .. $rule->{at_once} // 1) {
            my $socket = call($port);
            if (!$socket) {
                $count{refused}++;
                sleep 0.02;
                last;
            }
            $count{connections}++;
            syswrite $socket, $rule->{send}->() if $rule->{send};
            push @sockets, $socket;
        }
        if ($rule->{hang_up}) {
            sleep 0.005 if $count{connections} % 10 == 0;
            next;
        }
        watch(\%count, $rule->{slowly}, @sockets);
    }
    printf "%s: %s\n", $kind,
        join ' ', map { "$_=$count{$_}" } qw(connections closed answered open refused);
    return $count{connections} > 0 && $count{answered} == 0 && $count{open} == 0;
}

$| = 1;
my $wrong = 0;
my @children;
for my $kind (@only ? @only : sort keys %kinds) {
    my $child = fork // die "fork: $!\n";
    if ($child == 0) {
        srand $$;
        my $right = flood($kind);
        POSIX::_exit($right ? 0 : 1);
    }
    push @children, $child;
}
for my $child (@children) {
    waitpid $child, 0;
    $wrong = 1 if $? != 0;
}
exit $wrong;
