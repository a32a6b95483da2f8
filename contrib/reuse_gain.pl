#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Reads the lines of reuse_gain.sh and judges each point: the gain against 70 % of what equation 6 gives. `way` is what
# rbuf took for the messages in most rounds: it tries both, and a gain that is missed with `copy` is one that it has
# not found. Exit status: 0; 1 if a point was missed or slower, 2 on bad usage.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use rounds 'beside_equation_6';

my $csv = shift // do { print STDERR "usage: reuse_gain.pl FILE\n"; exit 2 };
open my $file, '<', $csv or do { print STDERR "reuse_gain.pl: $csv: $!\n"; exit 2 };
chomp(my $head = <$file> // '');
my @names = split /,/, $head;
my (%points, @order, %verdicts);
while (my $line = <$file>) {
    chomp $line;
    my %field;
    @field{@names} = split /,/, $line;
    my $key = join ',', @field{qw(fabric buffers pattern size)};
    push @order, $key unless $points{$key};
    push @{ $points{$key} }, \%field;
}
printf "%-18s %-7s %-13s %6s %8s %8s %-24s %6s %6s %7s %7s %-7s %s\n", qw(fabric buffers pattern size off_us on_us),
    'gain % (95 %, rounds)', 'C_ns', 'V_ns', 'eq. 6 %', 'share %', 'way', 'verdict';
for my $key (@order) {
    my @rounds = @{ $points{$key} };
    my $point = beside_equation_6(@rounds);
    my ($copied, $gathered) = map { my $column = $_; (rounds::middle(grep { $_ ne '-' } map { $_->{$column} } @rounds))[0] }
        qw(copied_ns gathered_ns);
    my $gathers = grep { $_->{way} eq 'gather' } @rounds;
    printf "%-18s %-7s %-13s %6d %8.2f %8.2f %-24s %6s %6s %7s %7s %-7s %s\n", split(/,/, $key), $point->{off}, $point->{on},
        sprintf('%+.1f (%+.1f to %+.1f, %d)', @$point{qw(gain low high rounds)}),
        (map { defined $_ ? sprintf '%.0f', $_ : '-' } $copied, $gathered),
        (map { defined $_ ? sprintf '%.1f', $_ : '-' } @$point{qw(predicted share)}),
        $gathers * 2 > @rounds ? 'gather' : 'copy', $point->{verdict};
    $verdicts{ $point->{verdict} =~ s/ \?//r }++;
}
print join(', ', map { "$verdicts{$_} $_" } sort keys %verdicts), "\n";
exit(($verdicts{missed} // 0) + ($verdicts{slower} // 0) > 0);
