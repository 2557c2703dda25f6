// node-postgres (pg): a pool, named statements, errors in a transaction.
const pg = require('pg')

const show = (name, value) => console.log(`${name}: ${value}`)
const fails = (client, statement) => client.query(statement).then(() => 'no error', (e) => e.code)

async function main() {
  const pool = new pg.Pool({ ssl: process.env.PGSSLMODE === 'require' ? { rejectUnauthorized: false } : false })
  const c = await pool.connect()
  let r = await c.query('SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY table_name', ['public'])
  show('tables', r.rows.map((t) => t.table_name).join(' '))
  r = await c.query('SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position', ['visits'])
  show('columns', r.rows.map((t) => `${t.column_name} ${t.data_type}`).join(', '))
  for (let i = 0; i < 2; i++) {
    r = await c.query({ name: 'women', text: 'SELECT COUNT(*) AS n FROM visits WHERE sex = $1 AND smoker = $2', values: ['F', true] })
    show('types', `${r.fields[0].name} ${r.fields[0].dataTypeID}`)
    show('released women', r.rows[0].n)
  }
  r = await c.query('SELECT COUNT(*) AS n FROM visits WHERE age >= $1', [65])
  show('released old', r.rows[0].n)
  r = await c.query('SELECT COUNT(*) AS n FROM visits WHERE admitted < $1', ['2024-03-01'])
  show('released spring', r.rows[0].n)
  r = await c.query('SELECT COUNT(*) AS n FROM visits WHERE ward = ANY($1)', [['cardiology', 'surgery']])
  show('released listed', r.rows[0].n)
  r = await c.query('SELECT COUNT(*) AS n FROM visits WHERE date_trunc($1, admitted) >= $2::timestamp - $3::interval', ['month', '2024-10-31', '30 days'])
  show('released autumn', r.rows[0].n)
  r = await c.query('SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward')
  show('released groups', r.rows.map((t) => `${t.ward} ${t.n}`).join(', '))
  r = await c.query('SELECT * FROM wards ORDER BY floor')
  show('wards', JSON.stringify(r.rows))
  show('syntax', await fails(c, 'SELEC 1'))
  await c.query('BEGIN')
  show('unknown', await fails(c, 'SELECT COUNT(*) FROM nowhere'))
  show('failed', await fails(c, 'SELECT 1'))
  await c.query('ROLLBACK')
  r = await c.query('SELECT 1 AS one')
  show('again', JSON.stringify(r.rows))
  c.release()
  await pool.end()
}

main().catch((e) => { console.log(`died: ${e.message}`); process.exit(1) })
