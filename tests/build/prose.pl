#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Are the documents in plain English? GNU style (Debian: diction) measures the sentences of each one:
#
#   - at most 16 words a sentence, on average;
#   - no sentence of more than 35 words;
#   - at most 25 % passive sentences. To style a sentence is passive if it has any form of "to be".
#
# The list @holding names the documents that hold these limits. One of them that misses a limit is a failure, and its
# worst sentences are shown with their lines. The others are shown as "not yet".
#
#   tests/build/prose.pl [--tree TREE] [DOCUMENT...]     a DOCUMENT that is named must hold the limits
#
# Exit status: 0; 1 if a document misses a limit; 2 on bad usage; 77 if style is not installed.

use strict;
use warnings;
use File::Temp;

my ($mean_most, $words_most, $passive_most) = (16, 35, 25);
my $shown_most = 5;

my @holding = qw(
    CHANGELOG.md
    CONTRIBUTING.md
    README.md
    SECURITY.md
    contrib/softhca/README.md
    docs/architecture.md
    docs/figures.md
    docs/glossary.md
    docs/helper.md
    docs/index.md
    docs/install.md
    docs/large-jobs.md
    docs/launchers.md
    docs/man/rbuf.md
    docs/migration.md
    docs/notes/early-data.md
    docs/notes/helper.md
    docs/notes/one-sided.md
    docs/notes/reuse.md
    docs/notes/small-messages.md
    docs/one-sided-figures.md
    docs/one-sided.md
    docs/protocol.md
    docs/registration.md
    docs/results.md
    docs/roce.md
    docs/small-messages-figures.md
    docs/small-messages.md
    docs/superpipeline.md
    docs/tools.md
    docs/troubleshooting.md
    findings/README.md
    tests/README.md
    tests/papers/README.md
    tests/robust/README.md
    tests/soak/README.md
);

# ---- from Markdown to sentences ----

# What is between the lines of a document: code, comments, tables, headings.
sub is_no_prose {
    my ($line) = @_;
    return $line =~ /^\s*(\||#+ |<!--|<\/?\w+[^>]*>\s*$|---+\s*$)/;
}

# Text without marks. What stands in place of a piece of code is one word.
sub plain {
    my ($text) = @_;
    $text =~ s/!\[[^\]]*\]\([^)]*\)//g;
    $text =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
    $text =~ s/`[^`]+`/code/g;
    $text =~ s/\*\*|__//g;
    $text =~ s/(?<!\w)[*_]|[*_](?!\w)//g;
    $text =~ s/\b(e\.g|i\.e|etc|vs|cf|al|Fig|No)\./$1 =~ s|\.||r/ge;
    $text =~ s/\b([A-Z])\. (?=[A-Z])/$1 /g;    # initials
    $text =~ s/\N{U+B5}|\N{U+3BC}/u/g;
    $text =~ s/[^\x00-\x7f]+/ /g;
    return $text;
}

# The document with its lines in their places, but sentences only: each paragraph and each list item ends with a full
# stop.
sub sentences_of {
    my ($text) = @_;
    my (@lines, @paragraph, $first, $fenced, $listed);
    my $close = sub {
        my $joined = join "\n", @paragraph;
        my @plain = split /\n/, plain($joined), -1;
        for my $last (reverse @plain) {
            next unless $last =~ /\S/;
            $last =~ s/[\s:;,]*$//;
            $last .= '.' unless $last =~ /[.!?]["')]*$/;
            last;
        }
        $lines[$first + $_] = $plain[$_] for 0 .. $#plain;
        @paragraph = ();
    };
    my $number = 0;
    for my $line (split /\n/, $text) {
        $number++;
        $lines[$number - 1] = '';
        if ($line =~ /^\s*(```|~~~)/) {
            $close->() if @paragraph;
            $fenced = !$fenced;
            next;
        }
        next if $fenced;
        my $begins = !@paragraph;
        if ($line =~ /^\s*$/ || is_no_prose($line)) {
            $close->() if @paragraph;
            $listed = 0 if $line =~ /^\S/;
            next;
        }
        next if $begins && $line =~ ($listed ? qr/^ {6}|^\t/ : qr/^ {4}|^\t/);
        if ($line =~ s/^\s*([-*+]|\d+\.|:)\s+//) {
            $close->() if @paragraph;
            $listed = 1;
        } elsif ($begins && $line =~ /^\S/) {
            $listed = 0;
        }
        $first = $number - 1 unless @paragraph;
        push @paragraph, $line =~ s/^\s+//r;
    }
    $close->() if @paragraph;
    return join("\n", @lines) . "\n";
}

# ---- measuring ----

# What style prints of a text.
sub style {
    my ($text, @options) = @_;
    my $file = File::Temp->new;
    print $file $text;
    close $file;
    local $ENV{LC_ALL} = 'C';
    open my $style, '-|', 'style', @options, "$file" or die "style: $!\n";
    local $/;
    my $said = <$style>;
    close $style or die "style ended with status $?\n";
    my $name = quotemeta "$file";
    return ($said =~ s/^$name:/line /gmr);
}

sub words_in {
    my ($sentence) = @_;
    return scalar(() = $sentence =~ /\S+/g);
}

# The longest of the sentences that style printed.
sub shown {
    my ($said, $most) = @_;
    my @sentences = $said =~ /^(line \d+: .*)$/gm;
    my @longest = sort { words_in($b) <=> words_in($a) } @sentences;
    splice @longest, $most if @longest > $most;
    return @longest;
}

# Sentences, words a sentence, words of the longest one, passive ones in per cent; and what is missed, with sentences.
sub measure {
    my ($text) = @_;
    my $prose = sentences_of($text);
    my $said = style($prose);
    my ($count) = $said =~ /(\d+) sentences, average length/ or return;
    my ($words) = $said =~ /(\d+) words, average length/;
    my ($passive) = $said =~ /\((\d+)\) passive sentences/;
    my ($longest) = $said =~ /longest sent (\d+) wds/;
    my %found = (count => $count, mean => $words / $count, longest => $longest, passive => 100 * $passive / $count);
    my @faults;
    push @faults, [sprintf('%.1f words a sentence, at most %d', $found{mean}, $mean_most), style($prose, '-l', 25)]
        if $found{mean} > $mean_most;
    push @faults, ["a sentence of $longest words, at most $words_most", style($prose, '-l', $words_most + 1)]
        if $longest > $words_most;
    push @faults, [sprintf('%.0f %% passive, at most %d', $found{passive}, $passive_most), style($prose, '-p')]
        if $found{passive} > $passive_most;
    $found{faults} = \@faults;
    return \%found;
}

sub content {
    my ($path) = @_;
    open my $file, '<:encoding(UTF-8)', $path or die "$path: $!\n";
    local $/;
    return scalar <$file>;
}

# Shows a document's figures. True if it does what it must.
sub examine {
    my ($path, $must) = @_;
    my $found = measure(content($path)) or return 1;
    my @faults = @{ $found->{faults} };
    my $state = !@faults ? ($must ? 'ok' : 'could be listed') : $must ? 'FAIL' : 'not yet';
    printf "%-16s %-28s %4d sentences, %.1f words each, the longest %d, %.0f %% passive\n",
        $state, $path, @$found{qw(count mean longest passive)};
    return 1 unless @faults && $must;
    for my $fault (@faults) {
        my ($what, $said) = @$fault;
        print "    $what\n", map { "      $_\n" } shown($said, $shown_most);
    }
    return 0;
}

# ---- a test of the test ----

# Texts that miss one limit each, and one that holds them all although what is no prose does not.
sub measures_right {
    my $good = "Each rank opens one port. The port has two queue pairs.\n";
    my %text = (
        'mean' => join(' ', 'Each rank opens', ('one port and') x 6, "one more.\n"),
        'longest' => join(' ', 'Each rank opens', ('one port and') x 12, "one more.\n") . $good x 20,
        'passive' => "Each port is opened by a rank.\n" x 2 . $good,
        '' => "# Each port is opened\n\n$good\n| is | are |\n\n```\nit is\n```\n\n    it is\n\n"
            . "- Ranks open `is it` ports\n- A. B. Name opens more\n",
    );
    for my $limit (sort keys %text) {
        my $found = measure($text{$limit});
        my $missed = join ' ', map { $_->[0] } @{ $found->{faults} };
        my $should = { mean => 'words a sentence', longest => 'a sentence of', passive => 'passive' }->{$limit};
        next if defined $should ? @{ $found->{faults} } == 1 && $missed =~ /$should/ : $missed eq '' && $found->{count} == 4;
        print "FAIL  this test does not measure right ('$limit'): $missed\n";
        return 0;
    }
    return 1;
}

# ---- all documents ----

my $tree = @ARGV > 1 && $ARGV[0] eq '--tree' ? (splice @ARGV, 0, 2)[1] : ($ENV{srcdir} // '.') . '/../..';
if (grep { /^-/ } @ARGV) {
    print STDERR "usage: prose.pl [--tree TREE] [DOCUMENT...]\n";
    exit 2;
}
if (system('style --version >/dev/null 2>&1') != 0) {
    print "style is not installed (Debian: diction)\n";
    exit 77;
}
measures_right() or exit 1;
if (@ARGV) {
    exit((grep { !examine($_, 1) } @ARGV) > 0);
}
chdir $tree or die "$tree: $!\n";
my %must = map { $_ => 1 } @holding;
my $faults = 0;
for my $path (@holding) {
    next if -e $path;
    print "FAIL  $path is listed, and is not there\n";
    $faults++;
}
my @pages = (grep({ -e } qw(README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md)), sort(glob('docs/*.md docs/*/*.md')),
    sort(glob('tests/README.md tests/*/README.md findings/README.md contrib/*/README.md')));
examine($_, $must{$_}) or $faults++ for @pages;
print scalar(@pages), " documents, ", scalar(@holding), " of them must hold the limits, $faults faults\n";
exit($faults > 0);
