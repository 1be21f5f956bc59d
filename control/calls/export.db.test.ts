import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { copyCall } from '../../fixtures/database/many-calls.js'
import { CsvParser } from '../base/csv.js'

async function exported({ api }: TestCalling, query = '', key = api.testKey) {
  const response = await fetch(`${api.url}/v1/calls/export.csv${query}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const text = Buffer.from(await response.arrayBuffer()).toString('utf8')
  if (response.status !== 200) return { response, rows: [], error: JSON.parse(text).error }
  const parser = new CsvParser()
  const [header, ...rows] = [...parser.push(text), ...parser.end()].map(({ cells }) => cells)
  return {
    response,
    error: null,
    rows: rows.map((cells) => Object.fromEntries(cells.map((cell, index) => [header?.[index], cell]))),
  }
}

t.test('the export of calls', async (t) => {
  await onEachDialect(t, async (t, open, dialect) => {
    const calling = await openTestCalling(await open())
    const { deps } = calling
    await calling.publishAgent()
    const place = async (to: string, metadata: Record<string, string>) => {
      const json = { to, numberId: calling.numberId, metadata }
      return String(dataOf(await calling.send('POST', '/v1/calls', { json })).id)
    }
    const first = await place('+919876543210', { note: '=1+1, "x"' })
    calling.clock.advance(1000)
    const second = await place('+919000000010', {})

    await t.test('a row is what the list shows', async (t) => {
      const { response, rows } = await exported(calling)
      t.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
      t.equal(response.headers.get('content-disposition'), 'attachment; filename=calls.csv')
      t.same(
        rows.map(({ id }) => id),
        [second, first],
      )
      const [, shown] = itemsOf(await calling.send('GET', '/v1/calls')) as Record<string, unknown>[]
      for (const [name, cell] of Object.entries(rows[1] ?? {})) {
        const value = shown?.[name]
        const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
        t.equal(cell, text, name)
      }
      t.equal(rows[1]?.to, '+919876543210', 'a telephone number keeps its plus')
    })

    await t.test('the filters of the list, and the environment of the key', async (t) => {
      const ids = async (query: string, key?: string) =>
        (await exported(calling, query, key)).rows.map(({ id }) => id)
      t.same(await ids('?search=98765'), [first])
      t.same(await ids('?direction=inbound'), [])
      t.same(await ids(`?startedAfter=${new Date(calling.clock.wall()).toISOString()}`), [second])
      t.same(await ids('', calling.api.liveKey), [])
      t.equal((await exported(calling, '?limit=1')).error.code, 'validation_error')
    })

    await t.test('all batches, in order, each call once', async (t) => {
      await copyCall(deps.db, first, 1_200)
      const { rows } = await exported(calling)
      t.equal(rows.length, 1_202)
      t.equal(new Set(rows.map(({ id }) => id)).size, 1_202)
      const times = rows.map(({ createdAt }) => String(createdAt))
      t.same(times, times.toSorted().reverse())
    })

    await t.test('more than 100,000 calls are refused', async (t) => {
      // `countCapped` is tested on both dialects, and 100,000 rows take long.
      if (dialect === 'postgres') return
      await deps.db.deleteFrom('calls').where('id', 'like', 'call_01JZ%').execute()
      await copyCall(deps.db, first, 100_001)
      t.match(await exported(calling), {
        error: { code: 'unprocessable_entity', message: /startedAfter/, details: { maxRows: 100_000 } },
      })
      t.equal((await exported(calling, '?search=9000000010')).rows.length, 1, 'a filter narrows it')
    })
    await calling.close()
  })
})
