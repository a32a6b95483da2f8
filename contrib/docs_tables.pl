#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Writes the tables of README.md and docs/ whose numbers a program found: the simulator and the model, by what they
# wrote into tests/papers/golden, and measurements, by the lines that are kept of them in docs/data.
#
#   docs_tables.pl [--check] [PAGE...]     PAGE is a name such as superpipeline or notes/reuse; all pages by default
#   docs_tables.pl --measure NAME...       measures anew what docs/data/NAME.csv keeps, and writes all tables
#   docs_tables.pl --list                  the measurements, with their commands
#
# --check writes nothing and shows the lines that differ. In docs/PAGE.md a table stands between <!-- table NAME -->
# and <!-- end -->; what it is made of is in docs/tables/PAGE.tables. There a line [NAME] opens a table, and # a
# comment before it. The lines of a table are Markdown, in which {FUNCTION ARGUMENT|ARGUMENT...} is replaced by what
# the function below finds; those between `each A, B, C` and `end` come once for each word, which stands for every @
# in them. `measure NAME: COMMAND` says how a measurement is made: the shell runs the command in the top directory, and
# it writes the CSV file "$CSV"; what is installed has to be found by PATH, what is not is that of the build directory
# that RBUF_BUILD names, and the machine has to be idle.
#
# A table `from NAME` stays as it is while there is no docs/data/NAME.csv, and one of typed lines has none. These say
# `since DATE COMMIT`: when the numbers came, and the first commit that has them. That stands under the table. Without
# such a line a table `from NAME` has no rows before its first measurement, but says how to make it. A table
# of numbers that is none of these is complained of, unless docs/tables/no-results has its first line.
#
# Exit status: 0; 1 if a table differs or cannot be made; 2 on bad usage.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use rounds 'beside_equation_6';

my $top = "$FindBin::Bin/..";
my %measure;    # command by name
my $place = ''; # table that is being made, for complaints

sub complain {
    die "docs_tables.pl: $place: @_\n";
}

# ---- what was found ----

# Lines of a CSV file as lists, each behind the last line of names before it.
my %read;
sub lines_of {
    my ($name) = @_;
    return @{ $read{$name} } if $read{$name};
    my ($path) = grep { -e } "$top/tests/papers/golden/$name.csv", "$top/docs/data/$name.csv";
    complain("there is neither tests/papers/golden/$name.csv nor docs/data/$name.csv") unless $path;
    open my $file, '<', $path or complain("$path: $!");
    my ($names, @lines);
    while (my $line = <$file>) {
        chomp $line;
        next if $line =~ /^#/;
        my @fields = split /,/, $line, -1;
        if ($line =~ /^(machine|bytes|sequence|program|path|statement|fabric|network|order|bus)\b/) {
            $names = \@fields;
        } else {
            push @lines, [$names, \@fields];
        }
    }
    $read{$name} = \@lines;
    return @lines;
}

# The word at the end of a line of statements (tests/papers/verdict.h), or nothing.
my %verdicts = map { $_ => 1 } 'holds', 'put in', 'shown', 'FAILS';
sub verdict_of {
    my ($fields) = @_;
    return $verdicts{ $fields->[-1] // '' } ? $fields->[-1] : '';
}

# Behind a number that gives back what was put in.
my $mark = ' (put in)';

# The mark of the one line of FILE that begins with these fields, or nothing.
sub mark_of {
    my ($name, @keys) = @_;
    for my $line (lines_of($name)) {
        my (undef, $fields) = @$line;
        return $mark if verdict_of($fields) eq 'put in' && !grep { ($fields->[$_] // '') ne $keys[$_] } 0 .. $#keys;
    }
    return '';
}

# How many of the paper's numbers in FILE have this verdict. What is put in has no other.
sub count_verdicts {
    my ($verdict, $name) = @_;
    my $count = 0;
    for my $line (lines_of($name)) {
        my ($names, $fields) = @$line;
        my ($at) = grep { $names->[$_] eq 'paper' } 0 .. $#$names;
        next unless defined $at && $fields->[$at] ne '' && $fields->[$at] ne 'not there';
        $count++ if verdict_of($fields) eq $verdict;
    }
    return $count;
}

# The field COLUMN of the one line of FILE that begins with these fields.
sub field {
    my ($name, $column, @keys) = @_;
    my @found;
    for my $line (lines_of($name)) {
        my ($names, $fields) = @$line;
        my ($at) = grep { $names->[$_] eq $column } 0 .. $#$names;
        next unless defined $at && @keys < @$fields;
        push @found, $fields->[$at] unless grep { $fields->[$_] ne $keys[$_] } 0 .. $#keys;
    }
    complain(scalar(@found) . " lines of $name have '$column' and begin with " . join ',', @keys) if @found != 1;
    return $found[0];
}

# What a measurement has with these fields, as hashes, but for what was measured while the machine was not quiet.
sub lines_where {
    my ($name, $conditions) = @_;
    my @lines;
    LINE: for my $line (lines_of($name)) {
        my ($names, $fields) = @$line;
        my %field;
        @field{@$names} = @$fields;
        next if ($field{quiet} // '') eq 'no';
        for my $condition (split ' ', $conditions) {
            my ($key, $value) = split /=/, $condition, 2;
            next LINE if ($field{$key} // '') ne $value;
        }
        push @lines, \%field;
    }
    return @lines;
}

# The column's values by round of these.
sub by_round {
    my ($name, $column, $conditions) = @_;
    my %values = map { ($_->{round} // 1) => $_->{$column} }
        grep { ($_->{$column} // '-') ne '-' } lines_where($name, $conditions);
    complain("$name has no $column where $conditions") unless %values;
    return \%values;
}

# Median, lowest and highest.
sub middle {
    my @sorted = sort { $a <=> $b } @_;
    my $half = @sorted / 2;
    return (@sorted % 2 ? $sorted[$half] : ($sorted[$half - 1] + $sorted[$half]) / 2, $sorted[0], $sorted[-1]);
}

sub percent_over {
    my ($value, $base) = @_;
    return 100 * ($value / $base - 1);
}

# What a measurement has with the first conditions over what it has with the others, within each round.
sub ratios {
    my ($name, $column, $first, $second) = @_;
    my ($a, $b) = (by_round($name, $column, $first), by_round($name, $column, $second));
    my @ratios = map { $a->{$_} / $b->{$_} } grep { $b->{$_} } keys %$a;
    complain("$name: no round has both $first and $second") unless @ratios;
    return @ratios;
}

# As many of the values as the format has numbers.
sub as_many {
    my ($format, @values) = @_;
    my $numbers = () = $format =~ /%[+.\d]*f/g;
    return in_format($format, @values[0 .. $numbers - 1]);
}

# A number in a format, which may have text around it; without a sign if that is all that is left.
sub in_format {
    my ($format, @values) = @_;
    my $text = sprintf $format, @values;
    $text =~ s/(^|[\s(])-(0(?:\.0+)?)(?![\d.])/$1$2/g;
    return $text;
}

sub size_name {
    my ($bytes) = @_;
    return $bytes / 1048576 . ' MB' if $bytes >= 1048576;
    return $bytes >= 1024 ? $bytes / 1024 . ' KB' : "$bytes B";
}

# From `never`, or a length of any size: 86 KB, 1.1 MB.
sub about_size {
    my ($bytes) = @_;
    return $bytes if $bytes !~ /^[\d.]+$/;
    return sprintf '%.0f KB', $bytes / 1024 if $bytes < 1048576;
    return sprintf $bytes < 10 * 1048576 ? '%.1f MB' : '%.0f MB', $bytes / 1048576;
}

# The column COLUMN of all lines of FILE that begin with these fields.
sub column_of {
    my ($name, $column, @keys) = @_;
    my @found;
    for my $line (lines_of($name)) {
        my ($names, $fields) = @$line;
        my ($at) = grep { $names->[$_] eq $column } 0 .. $#$names;
        push @found, $fields->[$at] if defined $at && !grep { $fields->[$_] ne $keys[$_] } 0 .. $#keys;
    }
    complain("$name has no '$column' that begins with " . join ',', @keys) unless @found;
    return @found;
}

# The N-th cell of the line of another page's table that begins with these cells.
sub cell_of_page {
    my ($page, $table, $n, @first) = @_;
    open my $file, '<', page_path($page) or complain("$page.md: $!");
    my ($lines) = join('', <$file>) =~ /<!-- table \Q$table\E -->\n(.*?)<!-- end -->/s;
    my @rows = map { [map { s/^ +| +$//gr } split /\|/] } split /\n/, $lines // '';
    my @found = grep { my $row = $_; !grep { ($row->[$_ + 1] // '') ne $first[$_] } 0 .. $#first } @rows;
    complain(scalar(@found) . " lines of $page, $table begin with " . join ', ', @first) if @found != 1;
    return $found[0][$n];
}

# The first number in each of the cells N;CELL... of another page's table; of N+N;CELL... the sum.
sub numbers_of_page {
    my ($page, $table, @cells) = @_;
    my @numbers;
    for my $cell (@cells) {
        my ($columns, @first) = split /;/, $cell;
        my $sum = 0;
        for my $n (split /\+/, $columns) {
            my $text = cell_of_page($page, $table, $n, @first);
            $text =~ /(\d+(?:\.\d+)?)/ or complain("no number in '$text'");
            $sum += $1;
        }
        push @numbers, $sum;
    }
    return @numbers;
}

sub table_lines {
    my ($name) = @_;
    open my $file, '<', "$top/tests/sim/$name" or complain("tests/sim/$name: $!");
    return <$file>;
}

# What stands in braces.
my %function = (
    size => \&size_name,

    # FORMAT|FILE|COLUMN|KEY...: the field as it is, or as a number in a format; marked, where it is put in
    value => sub {
        my ($format, @of) = @_;
        my ($name, $column, @keys) = @of;
        in_format($format, field(@of)) . ($column eq 'paper' ? '' : mark_of($name, @keys));
    },
    # the same with the other sign
    minus => sub { my ($format, @of) = @_; in_format($format, -field(@of)) },
    # VERDICT|FILE: how many of the paper's numbers have it
    count => \&count_verdicts,
    # FORMAT|FILE|COLUMN|KEY...: the greatest of all lines that begin with these
    most => sub { my ($format, @of) = @_; in_format($format, (middle(column_of(@of)))[2]) },
    about => sub { my ($name, undef, @keys) = @_; about_size(field(@_)) . mark_of($name, @keys) },

    # FILE|COLUMN|KEY...: to the unit from 10 on
    rounded => sub {
        my $value = field(@_);
        $value =~ /^[\d.]+$/ && $value >= 10 ? sprintf '%.0f', $value : $value;
    },

    # FORMAT|FILE|COLUMN|BYTES: 10^6 bytes a second
    mbs => sub {
        my ($format, $file, $column, $bytes) = @_;
        in_format($format, 1000 * $bytes / field($file, $column, $bytes));
    },

    # the same of what has no latency, 10^9 bytes a second
    rate => sub {
        my ($format, $file, $column, $bytes) = @_;
        in_format($format, $bytes / field($file, $column, $bytes));
    },

    # FORMAT|FILE|COLUMN|OTHER COLUMN|KEY...: how much more the first is than the second, %
    over => sub {
        my ($format, $file, $column, $other, @keys) = @_;
        in_format($format, percent_over(field($file, $column, @keys), field($file, $other, @keys)));
    },

    # the same of several columns, separated by commas: the least and the greatest
    over_span => sub {
        my ($format, $file, $columns, $other, @keys) = @_;
        my @over = map { percent_over(field($file, $_, @keys), field($file, $other, @keys)) } split /,/, $columns;
        in_format($format, (middle(@over))[1, 2]);
    },

    # the same as a quotient
    times => sub {
        my ($format, $file, $column, $other, @keys) = @_;
        in_format($format, field($file, $column, @keys) / field($file, $other, @keys));
    },

    # FORMAT|FILE|COLUMN|KEYS|OTHER KEYS: how much more one line has than another, %; keys are separated by commas
    over_line => sub {
        my ($format, $file, $column, $keys, $others) = @_;
        in_format($format, percent_over(map { field($file, $column, split /,/) } $keys, $others));
    },

    # FORMAT|FILE|COLUMN|OTHER COLUMN|KEY...: how much less the first is than the second, %
    less => sub {
        my ($format, $file, $column, $other, @keys) = @_;
        in_format($format, -percent_over(field($file, $column, @keys), field($file, $other, @keys)));
    },

    # FORMAT|FILE|COLUMN|BYTES A NS|BYTES: bandwidth in % of that
    part => sub {
        my ($format, $file, $column, $speed, $bytes) = @_;
        in_format($format, 100 * $bytes / $speed / field($file, $column, $bytes));
    },

    # MACHINE|WHAT: the schedule that is chosen, from plans.csv
    plan => sub {
        my @of = @_;
        my ($block, $c0, $q, $largest, $buffers) =
            map { field('plans', $_, @of) } 'block', 'C0', 'q', 'largest chunk', 'buffers';
        my $text = sprintf '%s, %s, %s, %d', size_name($c0), $q + 0, size_name($largest), $buffers;
        return $block == 4096 ? $text : $text . ' (' . size_name($block) . ')';
    },

    # FORMAT|NAME|COLUMN|CONDITIONS: median over the rounds
    median => sub { my ($format, @of) = @_; in_format($format, (middle(values %{ by_round(@of) }))[0]) },

    # the same in 10^6 bytes
    mb => sub { my ($format, @of) = @_; in_format($format, (middle(values %{ by_round(@of) }))[0] / 1e6) },

    # the lowest
    least => sub { my ($format, @of) = @_; in_format($format, (middle(values %{ by_round(@of) }))[1]) },

    # the median with lowest and highest, for a format with three numbers
    spread => sub { my ($format, @of) = @_; in_format($format, middle(values %{ by_round(@of) })) },

    # the same of runs that may fail, which have - in place of a number
    spread_of_runs => sub {
        my ($format, $name, $column, $conditions) = @_;
        my @runs = lines_where($name, $conditions) or complain("$name has nothing where $conditions");
        my @times = grep { $_ ne '-' } map { $_->{$column} } @runs;
        my $failed = @runs - @times;
        return 'fails' unless @times;
        in_format($format, middle(@times)) . ($failed ? ", $failed of " . @runs . ' fail' : '');
    },

    # FORMAT|NAME|COLUMN|CONDITIONS|OTHER CONDITIONS: median of the ratios within each round; lowest and highest, if
    # there is room for them
    ratio => sub {
        my ($format, @of) = @_;
        as_many($format, middle(ratios(@of)));
    },

    # the same as how much less the first is, %
    ratio_less => sub {
        my ($format, @of) = @_;
        as_many($format, middle(map { 100 * (1 - $_) } ratios(@of)));
    },

    # the same as how much more the first is, %
    ratio_more => sub {
        my ($format, @of) = @_;
        as_many($format, middle(map { 100 * ($_ - 1) } ratios(@of)));
    },

    # the same of the lowest of all rounds, where other jobs made single ones longer
    least_less => sub {
        my ($format, $name, $column, $first, $second) = @_;
        my ($a, $b) = map { (middle(values %{ by_round($name, $column, $_) }))[1] } $first, $second;
        in_format($format, 100 * (1 - $a / $b));
    },

    # FORMAT|NAME|COLUMN|CONDITIONS|BYTES A NS|US|BYTES: the median over what a wire with that latency takes, %
    over_wire => sub {
        my ($format, $name, $column, $conditions, $speed, $latency, $bytes) = @_;
        my ($time) = middle(values %{ by_round($name, $column, $conditions) });
        in_format($format, percent_over($time, $bytes / $speed / 1000 + $latency));
    },

    # FORMAT|FILE|COLUMN|MACHINE|BYTES: what was simulated over what the machine's wire takes, %
    over_net => sub {
        my ($format, $file, $column, $machine, $bytes) = @_;
        my $wire = $bytes / field('machines', 'B_net', $machine) + field('machines', 'latency', $machine);
        in_format($format, percent_over(field($file, $column, $bytes), $wire));
    },

    # NAME|TRANSPORT|OTHER: the first length from which on the second takes no longer than the first
    meet => sub {
        my ($name, @of) = @_;
        my ($one, $other) = map {
            my $transport = $_;
            my %at;
            push @{ $at{ $_->{size} } }, $_->{median_us} for lines_where($name, "transport=$transport");
            complain("$name has no $transport") unless %at;
            \%at
        } @of;
        my @behind = grep { (middle(@{ $other->{$_} }))[0] > (middle(@{ $one->{$_} }))[0] } keys %$one;
        my ($last) = sort { $b <=> $a } @behind;
        my ($meet) = sort { $a <=> $b } grep { !@behind || $_ > $last } keys %$one;
        $meet ? size_name($meet) : 'not up to ' . size_name((middle(keys %$one))[2]);
    },

    # NAME|CONDITIONS: what reuse gained, %, its interval, what equation 6 gives and the verdict
    gain => sub {
        my ($name, $conditions) = @_;
        my @lines = lines_where($name, $conditions) or complain("$name has nothing where $conditions");
        my $point = beside_equation_6(@lines);
        my $of = $point->{predicted} // 0;
        in_format('%+.1f (%+.1f to %+.1f)', @$point{qw(gain low high)})
            . ($of > 0 ? in_format(' of %.1f: ', $of) . $point->{verdict} : $point->{verdict} eq 'slower' ? ': slower' : '');
    },

    # FORMAT|NAME|CONDITIONS: of that gain, the highest of all rounds
    best_gain => sub {
        my ($format, @of) = @_;
        in_format($format, (sort { $b <=> $a } map { 100 * (1 - $_->{on_us} / $_->{off_us}) } lines_where(@of))[0]);
    },

    # PAGE|TABLE|N|CELL...: the N-th cell of the line of another page's table that begins with these
    of_page => \&cell_of_page,

    # FORMAT|PAGE|TABLE|N;CELL...|N;CELL...: the first number of one such cell over that of another
    page_times => sub { my ($format, @of) = @_; my ($one, $other) = numbers_of_page(@of); in_format($format, $one / $other) },
    # the same as how much less or more it is, %
    page_less => sub { my ($format, @of) = @_; in_format($format, -percent_over(numbers_of_page(@of))) },
    page_more => sub { my ($format, @of) = @_; in_format($format, percent_over(numbers_of_page(@of))) },
    # FORMAT|PAGE|TABLE|N;CELL...: that number itself
    page_number => sub { my ($format, @of) = @_; in_format($format, numbers_of_page(@of)) },

    # FILE: the lines of a golden file that is a table already
    lines => sub { my $text = join '', table_lines(@_); chomp $text; $text },

    # FILE|N|CELL...: the N-th cell of that table's line that begins with these
    cell => sub {
        my ($name, $n, @first) = @_;
        my @rows = map { [map { s/^ +| +$//gr } split /\|/] } table_lines($name);
        my @found = grep { my $row = $_; !grep { ($row->[$_ + 1] // '') ne $first[$_] } 0 .. $#first } @rows;
        complain(scalar(@found) . " lines of $name begin with " . join ', ', @first) if @found != 1;
        return $found[0][$n];
    },
);

sub found {
    my ($name, $arguments) = @_;
    my $function = $function{$name} or complain("there is no function $name");
    return $function->(split /\|/, $arguments, -1);
}

# ---- tables ----

# README is at the top.
sub page_path {
    my ($page) = @_;
    return $page eq 'README' ? "$top/README.md" : "$top/docs/$page.md";
}

# The tables of a page by name: their lines, and whether what they are from is there.
sub tables_of {
    my ($page) = @_;
    my (%tables, $name, @words, @repeated);
    open my $file, '<', "$top/docs/tables/$page.tables" or complain("docs/tables/$page.tables: $!");
    while (my $line = <$file>) {
        chomp $line;
        if ($line =~ /^\[([\w-]+)\]$/) { $name = $1 }
        elsif ($line =~ /^measure ([\w-]+): (.*)/) { $measure{$1} = $2 }
        elsif ($line =~ /^from ([\w-]+)$/) { $tables{$name}{absent} = $1 unless -e "$top/docs/data/$1.csv" }
        elsif ($line =~ /^since (\d{4}-\d\d-\d\d) ([0-9a-f]{7,})$/) { $tables{$name}{since} = "Measured on $1, commit $2." }
        elsif ($line =~ /^each (.*)/) { @words = split /, /, $1; @repeated = () }
        elsif ($line eq 'end') {
            for my $word (@words) { push @{ $tables{$name}{lines} }, map { s/\@/$word/gr } @repeated }
            @words = ();
        }
        elsif ($line eq '' || $line =~ /^#/) { next }
        elsif (@words) { push @repeated, $line }
        else { push @{ $tables{$name}{lines} }, $line }
    }
    return \%tables;
}

sub made {
    my ($page, $name, $lines) = @_;
    $place = "$page, $name";
    return join '', map { s/\{(\w+) ([^{}]*)\}/found($1, $2)/ger . "\n" } @$lines;
}

# What stands between the lines that mark a table: made anew, or as it is, with the day of its numbers.
sub body_of {
    my ($page, $name, $table, $old) = @_;
    my $typed = $table->{absent} || !grep { /\{\w+ [^{}]*\}/ } @{ $table->{lines} };
    return "\n" . made($page, $name, $table->{lines}) . "\n" unless $typed;
    return "\nNot measured yet: `contrib/docs_tables.pl --measure $table->{absent}`\n\n"
        if $table->{absent} && !$table->{since} && $measure{ $table->{absent} };
    complain("$name has neither a measurement in docs/data nor a line `since DATE COMMIT`") unless $table->{since};
    my $rows = $table->{absent} ? join '', grep { /^\|/ } split /^/, $old : made($page, $name, $table->{lines});
    return "\n$rows\n$table->{since}\n\n";
}

# The first lines of tables in which half of the cells behind the first column are numbers, and which nobody writes.
sub tables_unwritten {
    my ($text) = @_;
    $text =~ s/<!-- table .*?<!-- end -->//gs;
    my @found;
    for my $table ($text =~ /((?:^\|.*\n)+)/gm) {
        my ($first, undef, @rows) = split /\n/, $table;
        my @cells = grep { $_ ne '' } map { my @row = map { s/^\s+|\s+$//gr } split /\|/; @row[2 .. $#row] } @rows;
        push @found, $first if @cells && 2 * grep({ /^[`*]*[~+-]?\d/ } @cells) >= @cells;
    }
    return @found;
}

# Complains of such tables, but for those that docs/tables/no-results names: PAGE: FIRST LINE. 1 if there were any.
sub check_unwritten {
    my (@pages) = @_;
    open my $file, '<', "$top/docs/tables/no-results" or return 0;
    my %named = map { chomp; $_ => 1 } grep { !/^#/ } <$file>;
    my $faults = 0;
    for my $page (@pages) {
        open my $text, '<', page_path($page) or next;
        for my $first (tables_unwritten(join '', <$text>)) {
            next if delete $named{"$page: $first"};
            print "$page: a table of numbers is in no docs/tables, and not in docs/tables/no-results: $first\n";
            $faults = 1;
        }
    }
    print map { "docs/tables/no-results: there is no such table: $_\n" } sort keys %named;
    return $faults || %named ? 1 : 0;
}

# The page as it is and as it should be.
sub page_anew {
    my ($page) = @_;
    my $tables = tables_of($page);
    open my $file, '<', page_path($page) or complain("$page.md: $!");
    my $old = join '', <$file>;
    my $new = $old;
    my %seen;
    $new =~ s{(<!-- table ([\w-]+) -->\n)(.*?)(<!-- end -->\n)}{
        my ($open, $name, $body, $close) = ($1, $2, $3, $4);
        $place = "docs/$page.md";
        complain("docs/tables/$page.tables has no table $name") unless $tables->{$name};
        $seen{$name} = 1;
        $open . body_of($page, $name, $tables->{$name}, $body) . $close;
    }gse;
    $place = "docs/tables/$page.tables";
    for my $name (sort keys %$tables) { complain("docs/$page.md has no place for $name") unless $seen{$name} }
    return ($old, $new);
}

sub show_difference {
    my ($old, $new) = @_;
    my %is = map { $_ => 1 } split /\n/, $old;
    my %should = map { $_ => 1 } split /\n/, $new;
    print map { "  says    $_\n" } grep { !$should{$_} } split /\n/, $old;
    print map { "  should  $_\n" } grep { !$is{$_} } split /\n/, $new;
}

# ---- measurements ----

sub measure_anew {
    my ($name) = @_;
    my $csv = "$top/docs/data/$name.csv";
    mkdir "$top/docs/data";
    chdir $top or complain("$top: $!");
    local $ENV{CSV} = "$csv.new";
    print "$name: $measure{$name}\n";
    if (system('sh', '-c', $measure{$name}) != 0 || !-s "$csv.new") {
        unlink "$csv.new";
        complain("the command failed");
    }
    rename "$csv.new", $csv or complain("$csv: $!");
}

sub usage {
    print STDERR "usage: docs_tables.pl [--check] [PAGE...] | --measure NAME... | --list\n";
    exit 2;
}

my $what = @ARGV && $ARGV[0] =~ /^--(check|measure|list)$/ ? do { shift; $1 } : 'write';
usage() if grep { /^-/ } @ARGV;
my @all = map { m{docs/tables/([\w/-]+)\.tables$} } sort glob "$top/docs/tables/{,notes/}*.tables";
tables_of($_) for @all;
if ($what eq 'list') {
    print "$_: $measure{$_}\n" for sort keys %measure;
    exit 0;
}
if ($what eq 'measure') {
    usage() if !@ARGV || grep { !$measure{$_} } @ARGV;
    $place = $_, measure_anew($_) for splice @ARGV;
}
my $differs = 0;
for my $page (@ARGV ? @ARGV : @all) {
    my ($old, $new) = page_anew($page);
    next if $old eq $new;
    if ($what eq 'check') {
        print "$page.md: a table is not as it was found (contrib/docs_tables.pl writes it anew)\n";
        show_difference($old, $new);
        $differs = 1;
    } else {
        open my $file, '>', page_path($page) or complain("$page.md: $!");
        print $file $new;
        close $file or complain("$page.md: $!");
        print "$page.md\n";
    }
}
if ($what eq 'check' && !@ARGV) {
    my @pages = map { m{docs/(.*)\.md$} } sort glob "$top/docs/{,notes/}*.md";
    $differs |= check_unwritten('README', @pages);
}
exit $differs;
