import t from 'tap'
import { exportedChain } from '../../../fixtures/evidence/chain.js'
import { textLines } from './lines.js'
import { type Known, verifyBundle } from './verify-bundle.js'

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000)
}

const verify = (bytes: Uint8Array, known?: Known) =>
  verifyBundle(textLines(chunksOf(bytes)), () => ({ kind: 'same' }), known)

const whole = exportedChain({ records: 4 })
const lines = whole.toString().trimEnd().split('\n')
const fileOf = (changed: readonly (string | undefined)[]) => Buffer.from(`${changed.join('\n')}\n`)
const codes = async (bytes: Uint8Array, known?: Known) =>
  (await verify(bytes, known)).problems.map(({ line, code }) => `${line} ${code}`)

t.test('a whole file is valid', async (t) => {
  const report = await verify(whole)
  t.match(report, { problems: [], records: 4, erased: 0, environment: 'live' })
  t.equal(report.decisions.same, 4)
  t.match(await verify(whole, { heads: [report.head], key: report.keyIds[0] ?? '' }), { problems: [] })
})

t.test('a change of any byte of the file is found', async (t) => {
  const missed: number[] = []
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 7))
    if ((await verify(changed)).problems.length === 0) missed.push(at)
  }
  t.same(missed, [])
})

t.test('the report names the line and the record', async (t) => {
  const [header, a, b, c, d] = lines
  const altered = b?.replace('call_2', 'call_9')
  t.match(await verify(fileOf([header, a, altered, c, d])), {
    problems: [{ line: 3, code: 'altered', message: 'The text or the hash of record 2 was altered.' }],
  })
  t.same(await codes(fileOf([header, a, c, d])), ['3 records_missing'])
  t.same(await codes(fileOf([header, a, c, b, d])), ['3 records_missing', '4 wrong_position'])
  t.same(await codes(fileOf([header, a, b, a, c, d])), ['4 wrong_position'])
  t.same(await codes(fileOf([header, a, b, c])), ['null head_missing'])
  t.same(await codes(fileOf([header, b, c, d])), ['2 records_missing'])
  t.same(await codes(fileOf(['{}', a])), ['1 not_a_bundle'])
  t.same(await codes(Buffer.alloc(0)), ['null not_a_bundle'])
  t.same(await codes(whole.subarray(0, -1)), ['5 not_a_record', 'null head_missing'])
})

t.test('a chain that was cut off or rewritten whole needs a head or a key from elsewhere', async (t) => {
  const { head } = await verify(whole)
  const shorter = exportedChain({ records: 3 })
  t.same(await codes(shorter), [], 'consistent in itself')
  t.match(await verify(shorter, { heads: [head] }), {
    problems: [{ code: 'head_missing', message: /record 4 is missing: the end of the chain was cut off/ }],
  })
  const rewritten = exportedChain({ records: 4, key: 9 })
  t.same(await codes(rewritten), [])
  t.same(await codes(rewritten, { heads: [head] }), ['5 wrong_head'])
  const { keyIds } = await verify(whole)
  t.same(await codes(rewritten, { key: keyIds[0] ?? '' }), ['null unknown_key'])
})

t.test('another key from a record on is found', async (t) => {
  const stranger = exportedChain({ records: 4, key: 9 }).toString().trimEnd().split('\n')
  t.same(await codes(fileOf([...lines.slice(0, 3), ...stranger.slice(3)])), [
    '4 not_linked',
    '4 wrong_key',
    '5 wrong_key',
    'null head_missing',
  ])
  t.same(await codes(exportedChain({ records: 4, rotateAfter: 2 })), [], 'an announced key is right')
})

t.test('a record that closes the day states how many records there are', async (t) => {
  const closed = (firstSeq: number, counts: Record<string, number>) =>
    codes(exportedChain({ records: 3, rotateAfter: 2, close: { firstSeq, counts } }))
  t.same(await closed(1, { gate: 3, key: 1 }), [])
  for (const [firstSeq, counts] of [
    [1, { gate: 4, key: 1 }],
    [1, { gate: 3 }],
    [1, { gate: 3, key: 1, outcome: 1 }],
    [2, { gate: 3, key: 1 }],
  ] as const) {
    t.same(await closed(firstSeq, counts), ['6 count_differs'], JSON.stringify({ firstSeq, counts }))
  }
})

t.test('a file of the first format has no time stamps', async (t) => {
  const old = (...more: string[]) =>
    fileOf([lines[0]?.replace('parley-evidence-2', 'parley-evidence-1'), ...lines.slice(1), ...more])
  t.same(await codes(old()), [])
  t.same(await codes(old('{"timeStamp":"AAAA"}')), ['6 not_a_record'])
  const junk = await verify(fileOf([...lines, '{"timeStamp":"AAAA"}']))
  t.match(junk.problems, [
    { line: 6, code: 'wrong_time_stamp', message: /of record 4 is wrong.* cannot be read/ },
  ])
  t.same(await codes(fileOf([...lines, '{"timeStamp":"AAA"}'])), ['6 not_a_record'])
})
