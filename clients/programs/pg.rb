# Ruby's pg, with the type maps that Rails uses.
require 'pg'

$stdout.sync = true
def show(name, value) = puts("#{name}: #{value}")

c = PG.connect
c.type_map_for_results = PG::BasicTypeMapForResults.new(c)
c.type_map_for_queries = PG::BasicTypeMapForQueries.new(c)
r = c.exec_params('SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY table_name', ['public'])
show('tables', r.column_values(0).join(' '))
c.prepare('women', 'SELECT COUNT(*) AS n FROM visits WHERE sex = $1 AND smoker = $2')
d = c.describe_prepared('women')
show('described', "#{(0...d.nparams).map { |i| d.paramtype(i) }} #{d.fields} #{d.ftype(0)}")
2.times { show('released women', c.exec_prepared('women', ['F', true])[0]['n']) }
show('released old', c.exec_params('SELECT COUNT(*) AS n FROM visits WHERE age >= $1', [65])[0]['n'])
show('released spring', c.exec_params('SELECT COUNT(*) AS n FROM visits WHERE admitted < $1', ['2024-03-01'])[0]['n'])
c.send_query('SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward')
c.set_single_row_mode
groups = []
while (r = c.get_result)
  r.each_row { |row| groups << row.join(' ') }
end
show('released groups', groups.join(', '))
show('wards', c.exec('SELECT * FROM wards ORDER BY floor').values.to_s)
code = lambda do |statement|
  c.exec(statement)
  'no error'
rescue PG::Error => e
  e.result.error_field(PG::PG_DIAG_SQLSTATE)
end
show('syntax', code.call('SELEC 1'))
c.exec('BEGIN')
show('unknown', code.call('SELECT COUNT(*) FROM nowhere'))
show('failed', code.call('SELECT 1'))
c.exec('ROLLBACK')
copied = []
c.copy_data('COPY (SELECT ward FROM wards ORDER BY floor) TO STDOUT') { while (line = c.get_copy_data) do copied << line.chomp end }
show('copy', copied.join(' '))
show('again', c.exec('SELECT 1 AS one').values.to_s)
c.close
