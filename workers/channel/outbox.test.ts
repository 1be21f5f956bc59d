import t from 'tap'
import { Outbox } from './outbox.js'
import type { FromWorker } from './protocol.js'

function rig() {
  const posted: FromWorker[] = []
  const ended: string[] = []
  const outbox = new Outbox({
    port: { postMessage: (message) => posted.push(message) },
    onFull: (session) => {
      ended.push(session)
      outbox.postMessage({ type: 'lost', session })
    },
  })
  const key = (atMs: number): FromWorker => ({
    type: 'event',
    session: 'noisy',
    event: { type: 'dtmf', digit: '1', atMs, durationMs: 100 },
  })
  const cut = (session: string, atMs: number): FromWorker => ({
    type: 'event',
    session,
    event: { type: 'interrupted', turnId: 1, atMs },
  })
  const line: FromWorker = { type: 'log', level: 'info', fields: {}, message: 'line' }
  return { outbox, posted, ended, key, cut, line }
}

t.test('a main thread that reads receives every message in order', (t) => {
  const { outbox, posted, key, line } = rig()
  for (let i = 0; i < 50_000; i++) {
    outbox.postMessage(i % 10 === 0 ? line : key(i))
    if (i % 64 === 63) outbox.read(64)
  }
  t.equal(posted.length, 50_000)
  t.equal(outbox.dropped, 0)
  t.ok(outbox.unread < 64)
  t.end()
})

t.test(
  'while it does not read, log lines are dropped first, then digits, then sessions end; results are always sent',
  (t) => {
    const { outbox, posted, ended, key, cut, line } = rig()
    for (let i = 0; i < 3000; i++) outbox.postMessage(line)
    t.equal(posted.length, 2048, 'lines')
    for (let i = 0; i < 3000; i++) outbox.postMessage(key(i))
    t.equal(posted.length, 4096, 'keys')
    for (let i = 0; i < 12_288; i++) outbox.postMessage(cut(`call-${i % 100}`, i))
    t.equal(posted.length, 16_384, 'what the calls did')
    t.strictSame(ended, [])
    outbox.postMessage(cut('one-too-many', 1))
    t.strictSame(ended, ['one-too-many'], 'ended rather than half told')
    t.match(posted.at(-1), { type: 'lost', session: 'one-too-many' })
    outbox.postMessage({ type: 'result', id: 7, result: null })
    t.match(posted.at(-1), { type: 'result', id: 7 })
    t.equal(outbox.dropped, 952 + 952 + 1)
    t.end()
  },
)

t.test('when it reads again, the drops are reported once and everything is sent', (t) => {
  const { outbox, posted, key, line } = rig()
  for (let i = 0; i < 5000; i++) outbox.postMessage(key(i))
  outbox.read(1000)
  t.match(posted.at(-1), { type: 'event' }, 'still many')
  while (outbox.unread >= 64) outbox.read(64)
  const told = posted.filter(({ type: kind }) => kind === 'log')
  t.match(told, [{ level: 'warn', fields: { dropped: 904 } }])
  const before = posted.length
  outbox.postMessage(key(1))
  outbox.postMessage(line)
  t.equal(posted.length, before + 2)
  t.end()
})
