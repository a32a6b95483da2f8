#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Reads the CSV files that speed.sh collected in a directory and prints each target with the value
# measured, its interval and whether it was met. What was not measured is said to be so.
#
# A value is the median over the rounds, with its interval (rounds.pm); of two transports, of their ratio within each
# round. What was measured while the machine was not quiet does not count.
# "met ?" and "missed ?": the interval holds the limit, too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use rounds 'middle';

my $directory = shift // die "usage: speed_judge.pl DIRECTORY\n";

my @rivals = qw(rcache openib-pinned openib-unpinned ucx);
my @large = map { 16384 << $_ } 0 .. 10;
my ($met, $missed, $absent) = (0, 0, 0);

# Lines of STEP-PROFILE.csv as hashes; an empty list without the file.
my %read;
sub lines_of {
    my ($name) = @_;
    return @{ $read{$name} } if $read{$name};
    my @lines;
    if (open my $file, '<', "$directory/$name.csv") {
        chomp(my $head = <$file> // '');
        my @names = split /,/, $head;
        while (my $line = <$file>) {
            chomp $line;
            my %fields;
            @fields{@names} = split /,/, $line, -1;
            push @lines, \%fields;
        }
    }
    $read{$name} = \@lines;
    return @lines;
}

# The column's value by round of what has all these fields.
sub by_round {
    my ($name, $column, %wanted) = @_;
    my %values;
    LINE: for my $line (lines_of($name)) {
        next if ($line->{quiet} // '') eq 'no';
        for my $field (keys %wanted) {
            next LINE if ($line->{$field} // '') ne $wanted{$field};
        }
        my $value = $line->{$column} // '-';
        $values{ $line->{round} } = $value if $value =~ /^[0-9.]+$/;
    }
    return \%values;
}

# Median and interval of the quotients of two sets of rounds, each of which is a hash by round.
sub quotient {
    my ($above, $below) = @_;
    return middle(map { $above->{$_} / $below->{$_} }
        grep { $below->{$_} } grep { exists $below->{$_} } keys %$above);
}

sub human {
    my ($size) = @_;
    return $size % 1048576 == 0 ? $size / 1048576 . ' MB'
        : $size % 1024 == 0 ? $size / 1024 . ' KB' : "$size B";
}

# One line. `sense` is <= or >=; the rest is a value with its interval and the number of rounds.
sub target {
    my ($text, $sense, $limit, $median, $low, $high, $n) = @_;
    if (!defined $median) {
        $absent++;
        printf "%-62s %s %-9.4g not measured\n", $text, $sense, $limit;
        return;
    }
    my $good = $sense eq '<=' ? $median <= $limit : $median >= $limit;
    my $open = $low <= $limit && $limit <= $high;
    $good ? $met++ : $missed++;
    printf "%-62s %s %-9.4g %-9.4g (%.4g - %.4g, %d)%s%s\n", $text, $sense, $limit, $median, $low,
        $high, $n, $good ? '  met' : '  MISSED', $open && $low < $high ? ' ?' : '';
}

sub time_of {
    my ($step, $profile, $transport, $size, $buffers, %more) = @_;
    return by_round("$step-$profile", 'median_us', transport => $transport, size => $size,
        buffers => $buffers, pattern => 'pingpong', type => 'bytes', cache => 'warm', %more);
}

# The rival with the lowest median in that case.
sub best_rival {
    my ($step, $profile, $size, $buffers) = @_;
    my ($best, $least);
    for my $rival (@rivals) {
        my ($median) = middle(values %{ time_of($step, $profile, $rival, $size, $buffers) });
        ($best, $least) = ($rival, $median) if defined $median && (!defined $least || $median < $least);
    }
    return $best;
}

# What has more repetitions, if it was measured.
sub step_for {
    my ($profile, $size) = @_;
    return 'mid' if %{ time_of('mid', $profile, 'superpipeline', $size, 'fresh') };
    return 'large';
}

sub judge_rivals {
    my ($profile) = @_;
    print "\n$profile: fresh buffers, time beside each peer's\n";
    for my $size (@large) {
        my $step = step_for($profile, $size);
        my $ours = time_of($step, $profile, 'superpipeline', $size, 'fresh');
        for my $rival (@rivals) {
            target(sprintf('superpipeline / %s, %s', $rival, human($size)), '<=', 1,
                quotient($ours, time_of($step, $profile, $rival, $size, 'fresh')));
        }
    }
    print "\n$profile: reused buffers, time beside the best peer's\n";
    for my $size (grep { $_ >= 262144 } @large) {
        my $step = step_for($profile, $size);
        my $rival = best_rival($step, $profile, $size, 'reused') // 'best peer';
        target(sprintf('superpipeline / %s, %s', $rival, human($size)), '<=', 1.01,
            quotient(time_of($step, $profile, 'superpipeline', $size, 'reused'),
                time_of($step, $profile, $rival, $size, 'reused')));
    }
}

# The network is what speed.sh noted in networks.csv.
sub judge_wire {
    my ($profile) = @_;
    my ($network) = grep { $_->{profile} eq $profile } lines_of('networks');
    my @limits = ([65536, $profile eq 'infini' ? 1.22 : 1.15], [262144, $profile eq 'infini' ? 1.065 : 1.05],
        (map { [$_, 1.02] } grep { $_ >= 1048576 } @large), [65536, 1.08], [262144, 1.03]);
    print "\n$profile: fresh buffers, time beside the wire's (bytes / bandwidth + latency)\n";
    for my $pair (@limits) {
        my ($size, $limit) = @$pair;
        my $ours = time_of(step_for($profile, $size), $profile, 'superpipeline', $size, 'fresh');
        my @parts;
        if ($network) {
            my $wire = $size / $network->{bandwidth} * 1e6 + $network->{latency_ns} / 1e3;
            @parts = map { $_ / $wire } values %$ours;
        }
        target(sprintf('superpipeline / wire, %s', human($size)), '<=', $limit, middle(@parts));
    }
}

sub judge_subblock {
    my ($profile) = @_;
    print "\n$profile: subblock off beside on, fresh buffers\n";
    for my $size (grep { $_ >= 262144 } @large) {
        my $step = step_for($profile, $size);
        target(sprintf('subblock off / on, %s', human($size)), '<=', 1.05,
            quotient(time_of($step, $profile, 'superpipeline:subblock=off', $size, 'fresh'),
                time_of($step, $profile, 'superpipeline', $size, 'fresh')));
    }
}

sub judge_checked_small {
    my ($profile) = @_;
    print "\n$profile: ring messages with checksums beside words that are believed, and beside send/receive\n";
    for my $size (8, 1024) {
        my ($believed, $checked, $off) = map { time_of('checked-small', $profile, $_, $size, 'reused') }
            'superpipeline', 'superpipeline:subblock=checked', 'superpipeline:subblock=off';
        target(sprintf('checked / on, %s', human($size)), '<=', 1.02, quotient($checked, $believed));
        target(sprintf('checked / off, %s', human($size)), '<=', $size == 8 ? 0.85 : 1, quotient($checked, $off));
    }
}

sub judge_checked {
    my ($profile) = @_;
    my $large = $profile eq 'infini' ? 1.03 : 1.01;
    print "\n$profile: blocks with checksums beside blocks that are believed, and beside chunks announced\n";
    for my $size (16384, 32768, 65536, 262144, 1048576, 4194304) {
        my ($believed, $checked, $off) = map { time_of('checked', $profile, $_, $size, 'reused') }
            'superpipeline', 'superpipeline:subblock=checked', 'superpipeline:subblock=off';
        target(sprintf('checked / on, %s', human($size)), '<=', $large, quotient($checked, $believed))
            if $size >= 65536;
        target(sprintf('checked / off, %s', human($size)), '<=', 0.93, quotient($checked, $off)) if $size <= 65536;
    }
}

# Bandwidth of both directions together beside that of one.
sub judge_both {
    my ($profile) = @_;
    print "\n$profile: both directions at once, bandwidth beside that of one\n";
    for my $buffers (qw(fresh reused)) {
        for my $size (65536, 262144, 1048576, 4194304, 16777216) {
            my @case = (transport => 'superpipeline', size => $size, buffers => $buffers);
            target(sprintf('both / pingpong, %s, %s', $buffers, human($size)), '>=', 1.9,
                quotient(by_round("both-$profile", 'mb_per_s', @case, pattern => 'both'),
                    by_round("both-$profile", 'mb_per_s', @case, pattern => 'pingpong')));
        }
    }
}

sub judge_packed {
    my ($profile) = @_;
    print "\n$profile: vector of 64-byte blocks beside contiguous\n";
    for my $size (65536, 262144, 1048576, 4194304) {
        target(sprintf('vector / bytes, superpipeline, %s', human($size)), '<=', 1.05,
            quotient(time_of('packed', $profile, 'superpipeline', $size, 'reused', type => 'vector'),
                time_of('packed', $profile, 'superpipeline', $size, 'reused')));
    }
}

sub judge_small {
    my ($profile) = @_;
    print "\n$profile: small messages\n";
    for my $size (8, 64, 256, 1024) {
        my $ours = time_of('small', $profile, 'superpipeline', $size, 'reused');
        for my $rival (qw(openib-pinned ucx)) {
            target(sprintf('half round trip, superpipeline / %s, %s', $rival, human($size)), '<=',
                $rival eq 'ucx' ? 1 : 0.95,
                quotient($ours, time_of('small', $profile, $rival, $size, 'reused')));
        }
        next if $profile ne 'unpaced';
        my $without = time_of('small', $profile, 'superpipeline:polling_set=0', $size, 'reused');
        my @saved = map { 1000 * ($without->{$_} - $ours->{$_}) } grep { exists $without->{$_} } keys %$ours;
        target(sprintf('ring sooner than send/receive, ns, %s', human($size)), '>=', 150, middle(@saved));
    }
    for my $rival (qw(openib-pinned ucx)) {
        my @case = (size => 8, pattern => 'rate');
        target("messages a second, superpipeline / $rival, 8 B", '>=', $rival eq 'ucx' ? 1 : 1.3,
            quotient(by_round("rate-$profile", 'messages_per_s', transport => 'superpipeline', @case),
                by_round("rate-$profile", 'messages_per_s', transport => $rival, @case)));
    }
}

sub judge_eager {
    my ($profile) = @_;
    print "\n$profile: eager messages\n";
    for my $size (2048, 3072, 4096, 6144, 8192, 12288, 16384, 20480, 24576, 28672, 32768, 40960, 48128) {
        my $ours = time_of('eager', $profile, 'superpipeline', $size, 'fresh');
        for my $rival (qw(superpipeline:ring_longest=0 openib-pinned ucx)) {
            target(sprintf('half round trip, superpipeline / %s, %s', $rival, human($size)), '<=', 1,
                quotient($ours, time_of('eager', $profile, $rival, $size, 'fresh')));
        }
    }
    for my $size (4096, 8192, 16384, 32768) {
        for my $rival (qw(openib-pinned ucx)) {
            my @case = (size => $size, pattern => 'rate');
            target(sprintf('messages a second, superpipeline / %s, %s', $rival, human($size)), '>=', 0.99,
                quotient(by_round("eager_rate-$profile", 'messages_per_s', transport => 'superpipeline', @case),
                    by_round("eager_rate-$profile", 'messages_per_s', transport => $rival, @case)));
        }
    }
}

# Never more than 3 % slower than the better fixed protocol, whatever share of buffers is reused. The
# medians are those of reused and new buffers, weighted: a mean would tell of the machine's pauses.
sub judge_reuse {
    my ($profile) = @_;
    return if !grep { $_->{transport} eq 'auto' } lines_of("reuse-$profile");
    print "\n$profile: protocol auto beside the better fixed one\n";
    for my $size (65536, 262144, 1048576) {
        for my $share (qw(fresh 10% 25% 50% 75% 90% reused)) {
            my @case = (size => $size, buffers => $share);
            my %at = map { $_ => by_round("reuse-$profile", 'median_us', transport => $_, @case) }
                qw(auto superpipeline rcache);
            my ($staged) = middle(values %{ $at{superpipeline} });
            my ($cached) = middle(values %{ $at{rcache} });
            my $better = defined $staged && defined $cached && $cached < $staged ? 'rcache' : 'superpipeline';
            target(sprintf('auto / %s, %s reused, %s', $better, $share eq 'fresh' ? '0%' :
                $share eq 'reused' ? '100%' : $share, human($size)), '<=', 1.03,
                quotient($at{auto}, $at{$better}));
        }
    }
}

# From the times of a first use, a later one and a staged one: the uses from which a cache wins.
sub print_break_even {
    my ($profile) = @_;
    print "\n$profile: uses of one buffer from which a cache is ahead of the superpipeline\n";
    printf "%-10s %12s", 'size', 'staged us';
    printf " %18s", $_ for @rivals[0, 1, 3];
    print "   (first use, later ones: uses)\n";
    for my $size (@large) {
        my $step = step_for($profile, $size);
        my ($staged) = middle(values %{ time_of($step, $profile, 'superpipeline', $size, 'reused') });
        next if !defined $staged;
        printf "%-10s %12.1f", human($size), $staged;
        for my $rival (@rivals[0, 1, 3]) {
            my ($first) = middle(values %{ time_of($step, $profile, $rival, $size, 'fresh') });
            my ($later) = middle(values %{ time_of($step, $profile, $rival, $size, 'reused') });
            my $uses = !defined $first || !defined $later ? '-'
                : $first <= $staged ? 1
                : $later >= $staged ? 'never'
                : 1 + int(($first - $staged) / ($staged - $later) + 0.999999);
            printf " %18s", defined $later ? sprintf('%.0f, %.0f: %s', $first // 0, $later, $uses) : '-';
        }
        print "\n";
    }
}

# Against openib with its cache, both over osc/rdma.
sub judge_one_sided {
    my ($profile) = @_;
    print "\n$profile: one-sided, time beside openib's\n";
    for my $pattern (qw(put get put-pscw get-pscw puts-gets put-get-pscw)) {
        for my $size (8, 256, 4096, 16384, 65536, 262144, 1048576) {
            next if $pattern =~ /-get/ && $size < 4096;
            my %at = map { $_ => by_round("onesided-$profile", 'median_us', transport => $_, size => $size,
                pattern => $pattern, buffers => 'reused') } qw(superpipeline rcache openib-pinned);
            target(sprintf('%s, %s / openib-pinned, %s', $pattern, $_, human($size)), '<=', 1.03,
                quotient($at{$_}, $at{'openib-pinned'})) for qw(superpipeline rcache);
        }
    }
    for my $pattern (qw(put get)) {
        for my $size (65536, 262144, 1048576) {
            my %at = map { $_ => by_round("onesided-$profile", 'median_us', transport => $_, size => $size,
                pattern => $pattern, buffers => 'fresh') } qw(superpipeline openib-pinned);
            target(sprintf('%s, superpipeline / openib-pinned, fresh, %s', $pattern, human($size)), '<=', 1,
                quotient($at{superpipeline}, $at{'openib-pinned'}));
        }
    }
}

sub judge_is {
    my ($profile) = @_;
    print "\n$profile: NAS IS, 2 ranks, seconds beside each peer's\n";
    for my $class (qw(W B)) {
        for my $buffers (qw(reused fresh)) {
            my $ours = by_round("is-$profile", 'seconds', transport => 'superpipeline', class => $class,
                buffers => $buffers);
            my $limit = $buffers eq 'reused' ? 1 : $class eq 'B' ? 0.97 : 0.95;
            for my $rival (@rivals) {
                target("class $class, $buffers, superpipeline / $rival", '<=', $limit,
                    quotient($ours, by_round("is-$profile", 'seconds', transport => $rival,
                        class => $class, buffers => $buffers)));
            }
        }
        target("class $class, pinned memory, superpipeline / openib-pinned", '<=', 0.5, quotient(map {
            by_round("is-$profile", 'pinned_bytes', transport => $_, class => $class,
                buffers => 'reused') } qw(superpipeline openib-pinned)));
    }
}

sub judge_pinned {
    my ($profile) = @_;
    my @pinned = map { $_->{pinned_bytes} } grep { $_->{transport} eq 'superpipeline' }
        lines_of("pinned-$profile");
    my ($least, $most) = (sort { $a <=> $b } @pinned)[0, -1];
    print "\n$profile: memory that one process has registered\n";
    target('superpipeline, 64 KB to 64 MB messages, most / least', '<=', 1.001,
        @pinned ? ($most / $least, ($most / $least) x 2, scalar @pinned) : ());
}

printf "%-62s    %-9s %s\n", 'target', 'limit', 'value (interval, rounds)';
for my $profile (qw(graphene infini)) {
    judge_rivals($profile);
    judge_wire($profile);
    judge_subblock($profile);
    judge_checked($profile);
    judge_both($profile);
    judge_packed($profile);
    judge_eager($profile);
    judge_one_sided($profile);
}
judge_small($_) for qw(graphene unpaced);
judge_checked_small($_) for qw(graphene infini unpaced);
judge_reuse($_) for qw(graphene roce40);
judge_is('graphene');
judge_pinned('graphene');
print_break_even('roce40');
print "\n$met met, $missed missed, $absent not measured\n";
exit($missed > 0);
