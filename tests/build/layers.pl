#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A component has layers (layers.txt in its folder): a file includes and calls files of its own layer and of
# those below, and no others. Within a layer no more than three files need each other in a circle: a source and its
# header count as one file. Both by what files include, and by the symbols of the objects that the build made of them.
# A folder's part of core's structures (core/state/FOLDER.h) is touched by files of that folder alone, and of
# tests by those in tests/inspect.
#
#   tests/build/layers.pl [COMPONENT [TESTS]]      the component's folder, and that of its tests; by default
#                                                  btl/rbuf and tests, then osc/rbuf
#
# Environment: OBJECTS, where the build has the component's objects (OSC_OBJECTS, those of osc/rbuf by default); without
# it only includes are looked at. NM.
# Exit status: 0, 1 if something is not as it should be, which is printed with both files and the symbol.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Faults qw(fault faults);
use Layers;

my $most = 3; # files in a circle
my ($component, @layers, @files); # that is looked at

sub unit_of {
    my ($path) = @_;
    return $path =~ s/\.[cho]$//r;
}

# True: the first file may need the second.
sub may_need {
    my ($from, $to) = map({ Layers::layer_of($_, @layers) } @_);
    return !defined $from || !defined $to || $from <= $to;
}

# $needs->{A}{B} is why unit A needs unit B. Circles of units, each once.
sub circles {
    my ($needs) = @_;
    my (%number, %low, %is_open, @open, @circles);
    my $count = 0;
    my $visit;
    $visit = sub {
        my ($unit) = @_;
        $number{$unit} = $low{$unit} = ++$count;
        push @open, $unit;
        $is_open{$unit} = 1;
        for my $next (sort keys %{$needs->{$unit} // {}}) {
            if (!$number{$next}) {
                $visit->($next);
                $low{$unit} = $low{$next} if $low{$next} < $low{$unit};
            } elsif ($is_open{$next} && $number{$next} < $low{$unit}) {
                $low{$unit} = $number{$next};
            }
        }
        return if $low{$unit} != $number{$unit};
        my @circle;
        do {
            push @circle, pop @open;
            delete $is_open{$circle[-1]};
        } until $circle[-1] eq $unit;
        push @circles, [reverse @circle] if @circle > 1;
    };
    for my $unit (sort keys %$needs) {
        $visit->($unit) unless $number{$unit};
    }
    return @circles;
}

sub check_circles {
    my ($needs) = @_;
    for my $circle (circles($needs)) {
        next if @$circle <= $most;
        my %inside = map({ $_ => 1 } @$circle);
        fault(scalar(@$circle) . " files need each other in a circle, $most may: @$circle");
        for my $unit (@$circle) {
            print "      $unit needs $_: $needs->{$unit}{$_}\n" for grep({ $inside{$_} } sort keys %{$needs->{$unit}});
        }
    }
}

# Every file has its layer, and includes those below alone.
sub check_includes {
    my %needs;
    for my $path (@files) {
        fault("$path is in no layer of layers.txt") unless defined Layers::layer_of($path, @layers);
        for my $included (Layers::includes($component, $path)) {
            fault("$path includes $included, which is in a layer above") unless may_need($path, $included);
            fault("$path includes $included: core knows core alone, and fabric.h")
                if $path =~ m{^core/} && $included !~ m{^core/|^verbs/fabric\.h$};
            my ($from, $to) = (unit_of($path), unit_of($included));
            $needs{$from}{$to} //= "includes $included" if $from ne $to;
        }
    }
    check_circles(\%needs);
}

# The folders of core that have a part of a peer and of core.
sub parts {
    return map({ m{^core/state/(\w+)\.h$} && $1 ne "state" ? $1 : () } @files);
}

# All places in a text that the pattern matches: the line, and what the groups have matched.
sub places {
    my ($text, $pattern) = @_;
    my @places;
    while ($text =~ /$pattern/g) {
        my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
        push @places, [$line, grep({ defined } ($1, $2))];
    }
    return @places;
}

# Where a text touches a part's members, or takes the address of the part: line, part and member.
sub touches {
    my ($text) = @_;
    my $part = join("|", parts());
    return (places($text, qr/(?:->|\.)($part)\s*\.\s*(\w+)/),
            map({ [@$_, "the address"] } places($text, qr/\b(?:peer|core)(?:->|\.)($part)\b(?!\s*\.)/)));
}

# Nobody touches the members of another folder's part of a peer or of core.
sub check_parts {
    return unless parts();
    for my $path (@files) {
        my ($own) = $path =~ m{^core/(\w+)/};
        for my $touch (touches(Layers::code_of($component, $path))) {
            my ($line, $touched, $member) = @$touch;
            next if defined $own && $own eq $touched;
            fault("$path:$line touches $member of the part that core/$touched alone touches");
        }
    }
}

# The code of all that uses core.
sub code_above_core {
    return join("\n", map({ Layers::code_of($component, $_) } grep({ !m{^core/} } @files)));
}

# The structures that parts are made of, each with its folder; those that core's users name are theirs, too.
sub private_structures {
    my $above = code_above_core();
    my %folder_of;
    for my $part (parts()) {
        for my $name (map({ $_->[1] } places(Layers::code_of($component, "core/state/$part.h"), qr/^struct (\w+) \{/m))) {
            $folder_of{$name} = $part unless $above =~ /\bstruct $name\b/;
        }
    }
    return %folder_of;
}

# The members of a grant that core's users read. The others are core/rendezvous's.
sub members_of_grants {
    return map({ $_->[1] => 1 } places(code_above_core(), qr/\bgrant->(\w+)/));
}

# Tests ask what they want to know: what core does, core's functions, or tests/inspect, which alone looks into parts.
sub check_tests {
    my ($tests) = @_;
    return unless parts();
    my %folder_of = private_structures();
    my %readable = members_of_grants();
    my $structure = join("|", sort keys %folder_of) || "(?!)";
    my $count = 0;
    for my $path (grep({ !m{^inspect/} } Layers::files($tests))) {
        my $text = Layers::code_of($tests, $path);
        $count++;
        for my $touch (touches($text)) {
            my ($line, $part, $member) = @$touch;
            fault("$path:$line touches $member of the part of core/$part: it asks tests/inspect/$part.h");
        }
        for my $place (places($text, qr/\bstruct ($structure)\b/)) {
            my ($line, $name) = @$place;
            fault("$path:$line looks into struct $name: it asks tests/inspect/$folder_of{$name}.h");
        }
        for my $place (grep({ !$readable{$_->[1]} } places($text, qr/\bgrant->(\w+)/))) {
            my ($line, $member) = @$place;
            fault("$path:$line touches $member of a grant: it asks tests/inspect/rendezvous.h");
        }
    }
    print "tests: $count files, ", faults(), " faults\n";
}

sub object_of {
    my ($objects, $source) = @_;
    my ($folder, $name) = $source =~ m{^(.*/)?([^/]+)\.c$};
    $folder //= "";
    my ($found) = grep({ -e } map({ ("$objects/$folder.libs/$_$name.o", "$objects/$folder$_$name.o") }
                                  ("", "mca_btl_rbuf_la-", "libmca_btl_rbuf_la-", "mca_osc_rbuf_la-", "libmca_osc_rbuf_la-")));
    return $found;
}

# Each object needs those alone that are below.
sub check_objects {
    my ($objects) = @_;
    my $nm = $ENV{NM} // "nm";
    my (%source_of, %wanted, %needs);
    my $count = 0;
    for my $source (grep({ /\.c$/ } @files), "help_topics.c") {
        my $object = object_of($objects, $source) or next;
        $count++;
        for my $line (`$nm -g $object`) {
            if ($line =~ /^[0-9a-f]+ [A-TV-Z] (\S+)$/) {
                $source_of{$1} = $source;
            } elsif ($line =~ /^ +U (\S+)$/) {
                push @{$wanted{$source}}, $1;
            }
        }
    }
    die "$objects has no objects of the component\n" unless $count;
    for my $source (sort keys %wanted) {
        for my $symbol (@{$wanted{$source}}) {
            my $other = $source_of{$symbol} // next;
            fault("$source uses $symbol of $other, which is in a layer above") unless may_need($source, $other);
            $needs{unit_of($source)}{unit_of($other)} //= "uses $symbol";
        }
    }
    check_circles(\%needs);
    return $count;
}

sub check_component {
    my ($folder, $built) = @_;
    $component = $folder;
    @layers = Layers::read_layers($component);
    @files = Layers::files($component);
    check_includes();
    check_parts();
    my $objects = length($built // "") ? check_objects($built) : 0;
    print scalar(@layers), " layers, ", scalar(@files), " files, $objects objects, ", faults(), " faults\n";
}

my $top = ($ENV{srcdir} // $FindBin::Bin) . "/../..";
if (@ARGV) {
    check_component($ARGV[0], $ENV{OBJECTS});
    check_tests($ARGV[1]) if @ARGV > 1;
} else {
    check_component("$top/opal/mca/btl/rbuf", $ENV{OBJECTS});
    check_tests("$top/tests");
    check_component("$top/ompi/mca/osc/rbuf", $ENV{OSC_OBJECTS});
}
exit(faults() > 0);
