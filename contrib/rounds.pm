# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What the judges of speed.sh and reuse_gain.sh, and docs_tables.pl, find in rounds of measurements.
package rounds;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(middle beside_equation_6);

# Median and interval of a list; nothing of an empty one. The interval holds the median with a probability of 95 %
# where there are rounds enough (six), and else reaches from the lowest to the highest.
sub middle {
    my @sorted = sort { $a <=> $b } @_;
    my $n = @sorted or return;
    my $median = ($sorted[int(($n - 1) / 2)] + $sorted[int($n / 2)]) / 2;
    my $half = 1.96 * sqrt($n) / 2;
    my $low = int($n / 2 - $half) - 1;
    my $high = int($n / 2 + $half + 0.999999);
    $low = 0 if $low < 0 || $n / 2 < $half;
    $high = $n - 1 if $high > $n - 1;
    return ($median, $sorted[$low], $sorted[$high], $n);
}

# The gain of frequently used buffers over rounds, each a hash with off_us, on_us, and what copied_ns and gathered_ns are
# where the component measured them, beside what equation 6 of Rashti and Afsahi 2011 gives,
# (copied - gathered) / off: a hash of `off`, `on`, us, `gain` with `low` and `high`, `predicted`, %, `share` of that,
# and the `verdict`: met, missed, or none where nothing is to be gained (slower, if it lost all the same); with a
# ? where the interval holds the limit, too.
my $least = 0.7;

sub beside_equation_6 {
    my @rounds = @_;
    my %point;
    ($point{off}) = middle(map { $_->{off_us} } @rounds);
    ($point{on}) = middle(map { $_->{on_us} } @rounds);
    @point{qw(gain low high rounds)} = middle(map { 100 * ($_->{off_us} - $_->{on_us}) / $_->{off_us} } @rounds);
    ($point{predicted}) = middle(map { ($_->{copied_ns} - $_->{gathered_ns}) / 10 / $_->{off_us} }
        grep { $_->{copied_ns} ne '-' } @rounds);
    my $predicted = $point{predicted} // 0;
    if ($predicted <= 0) {
        $point{verdict} = $point{high} < 0 ? 'slower' : 'none';
        return \%point;
    }
    my $limit = $least * $predicted;
    $point{share} = 100 * $point{gain} / $predicted;
    $point{verdict} = ($point{gain} >= $limit ? 'met' : 'missed')
        . ($point{low} < $limit && $limit <= $point{high} ? ' ?' : '');
    return \%point;
}

1;
