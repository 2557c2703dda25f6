<?php
// PHP: PDO, and the functions of pg_*.
function show($name, $value) { echo "$name: $value\n"; }

$c = new PDO('pgsql:', getenv('PGUSER'), getenv('PGPASSWORD'));
$c->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_SILENT);
$s = $c->prepare('SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name');
$s->execute(['public']);
show('tables', implode(' ', $s->fetchAll(PDO::FETCH_COLUMN)));
$s = $c->prepare('SELECT COUNT(*) AS n FROM visits WHERE sex = :sex AND smoker = :smoker');
$s->bindValue('sex', 'F');
$s->bindValue('smoker', true, PDO::PARAM_BOOL);
foreach ([1, 2] as $_) {
    $s->execute();
    show('type', $s->getColumnMeta(0)['native_type']);
    show('released women', $s->fetchColumn());
}
$s = $c->query('SELECT ward FROM wards LIMIT 1');
show('table', $s->getColumnMeta(0)['table'] ?? 'none');
$s = $c->prepare('SELECT COUNT(*) FROM visits WHERE age >= ?');
$s->bindValue(1, 65, PDO::PARAM_INT);
$s->execute();
show('released old', $s->fetchColumn());
$s = $c->prepare('SELECT COUNT(*) FROM visits WHERE admitted < ?', [PDO::ATTR_EMULATE_PREPARES => true]);
$s->execute(['2024-03-01']);
show('released spring', $s->fetchColumn());
$s = $c->prepare('SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
$c->beginTransaction();
$s->execute();
show('released groups', implode(', ', array_map(fn($r) => "$r[ward] $r[n]", $s->fetchAll())));
$c->rollBack();
$c->query('SELEC 1');
show('syntax', $c->errorCode());
$c->beginTransaction();
$c->query('SELECT COUNT(*) FROM nowhere');
show('unknown', $c->errorCode());
$c->query('SELECT 1');
show('failed', $c->errorCode());
$c->rollBack();
show('again', $c->query('SELECT 1 AS one')->fetchColumn());

$p = pg_connect('');
show('columns', implode(', ', array_map(fn($n, $t) => "$n $t[type]", array_keys($m = pg_meta_data($p, 'visits')), $m)));
$r = pg_query_params($p, 'SELECT * FROM wards WHERE floor > $1 ORDER BY floor', [1]);
show('wards', json_encode(pg_fetch_all($r)));
show('type', pg_field_type($r, 1) . ' ' . pg_field_table($r, 1));
