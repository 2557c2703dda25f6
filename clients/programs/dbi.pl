# Perl's DBI over DBD::Pg.
use strict;
use warnings;
use DBI;

$| = 1;
sub show { my ($name, @value) = @_; print "$name: @value\n" }

my $c = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 0, PrintError => 0, AutoCommit => 1 }) or die $DBI::errstr;
show('tables', join ' ', sort map { s/"//gr } $c->tables(undef, 'public', '%', 'TABLE'));
my $columns = $c->column_info(undef, 'public', 'visits', '%')->fetchall_arrayref({});
show('columns', join ', ', map { "$_->{COLUMN_NAME} $_->{pg_type}" } @$columns);
show('keys', join ' ', $c->primary_key(undef, 'public', 'wards'));
show('quoted', $c->quote_identifier('a b'));
my $s = $c->prepare('SELECT COUNT(*) AS n FROM visits WHERE sex = ? AND smoker = ?');
for (1 .. 3) {
    $s->execute('F', 1) or show('died', $c->state);
    show('released women', $s->fetchrow_array);
}
show('types', join ' ', @{$s->{NAME}}, @{$s->{pg_type}});
$s->finish;
show('released old', $c->selectrow_array('SELECT COUNT(*) FROM visits WHERE age >= ?', undef, 65));
show('released spring', $c->selectrow_array('SELECT COUNT(*) FROM visits WHERE admitted < ?', undef, '2024-03-01'));
my $groups = $c->selectall_arrayref('SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward');
show('released groups', join ', ', map { "@$_" } @$groups);
show('wards', join ', ', map { "@$_" } @{$c->selectall_arrayref('SELECT * FROM wards ORDER BY floor')});
$c->do('SELEC 1');
show('syntax', $c->state);
$c->begin_work;
$c->do('SELECT COUNT(*) FROM nowhere');
show('unknown', $c->state);
$c->do('SELECT 1');
show('failed', $c->state);
$c->rollback;
show('ping', $c->ping > 0 ? 'yes' : 'no');
show('again', $c->selectrow_array('SELECT 1 AS one'));
$c->disconnect;
