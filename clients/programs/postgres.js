// postgres.js: it asks pg_type for arrays first, and prepares everything.
const postgres = require('postgres')

const show = (name, value) => console.log(`${name}: ${value}`)
const fails = (query) => query.then(() => 'no error', (e) => e.code)

async function main() {
  const sql = postgres({
    host: process.env.PGHOST, port: process.env.PGPORT, database: process.env.PGDATABASE, max: 1, onnotice: () => {},
    username: process.env.PGUSER, password: process.env.PGPASSWORD, ssl: process.env.PGSSLMODE === 'require' ? 'require' : false,
  })
  let r = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = ${'public'} ORDER BY table_name`
  show('tables', r.map((t) => t.table_name).join(' '))
  r = await sql`SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ${'visits'} ORDER BY ordinal_position`
  show('columns', r.map((t) => `${t.column_name} ${t.data_type}`).join(', '))
  for (let i = 0; i < 2; i++) {
    r = await sql`SELECT COUNT(*) AS n FROM visits WHERE sex = ${'F'} AND smoker = ${true}`
    show('types', `${r.columns[0].name} ${r.columns[0].type}`)
    show('released women', r[0].n)
  }
  r = await sql`SELECT COUNT(*) AS n FROM visits WHERE age >= ${65}`
  show('released old', r[0].n)
  r = await sql`SELECT COUNT(*) AS n FROM visits WHERE admitted < ${'2024-03-01'}`
  show('released spring', r[0].n)
  r = await sql`SELECT COUNT(*) AS n FROM visits WHERE ward = ANY(${['cardiology', 'surgery']})`
  show('released listed', r[0].n)
  r = await sql`SELECT COUNT(*) AS n FROM visits WHERE ward IN ${sql(['cardiology', 'surgery'])}`
  show('released listed', r[0].n)
  r = await sql`SELECT COUNT(*) AS n FROM visits WHERE date_trunc(${'month'}, admitted) >= ${new Date(Date.UTC(2024, 9, 31))}::timestamptz - ${'30 days'}::interval`
  show('released autumn', r[0].n)
  const groups = []
  for await (const rows of sql`SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward`.cursor(2)) {
    groups.push(...rows.map((t) => `${t.ward} ${t.n}`))
  }
  show('released groups', groups.join(', '))
  r = await sql`SELECT * FROM wards ORDER BY floor`
  show('wards', JSON.stringify(r))
  const described = await sql`SELECT ward, floor FROM wards WHERE floor > ${1}`.describe()
  show('described', described.columns.map((c) => `${c.name} ${c.type}`).join(', ') + ' by ' + described.types)
  show('syntax', await fails(sql`SELEC 1`))
  show('unknown', await fails(sql.begin((t) => t`SELECT COUNT(*) FROM nowhere`)))
  show('failed', await fails(sql.begin(async (t) => {
    await t`SELEC 1`.catch(() => null)
    await t`SELECT 1`
  })))
  r = await sql`SELECT 1 AS one`
  show('again', JSON.stringify(r))
  r = await sql.unsafe('SELECT 1 AS one; SELECT 2 AS two')
  show('two', JSON.stringify(r))
  await sql.end()
}

main().catch((e) => { console.log(`died: ${e.message}`); process.exit(1) })
