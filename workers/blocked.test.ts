import t from 'tap'
import { EMBEDDED_AGENT } from '../fixtures/embedded-agent.js'
import { assertNothingLeft } from '../fixtures/leaks.js'
import type { PersonaSpec } from '../media/agent/spec.js'
import { openMediaPool } from './pool.js'
import type { OpenedSession, Party, RemoteMedia, SessionEvent } from './protocol.js'

const PAIRS = 4
const DIGITS = '0123456789*#'

/** Presses keys for as long as the call lasts, and talks to nobody. */
const PRESSING: PersonaSpec = {
  name: 'pressing',
  script: { utterances: [] },
  steps: [{ cue: { when: 'after', ms: 100 }, act: { do: 'press', digits: DIGITS } }],
  loopFrom: null,
}

function towards(opened: OpenedSession): RemoteMedia {
  return {
    address: opened.address,
    port: opened.port,
    codec: 'PCMA',
    payloadType: 8,
    dtmfPayloadType: 101,
    send: true,
    receive: true,
  }
}

t.test('two seconds without a main thread: calls talk on, and it hears of everything', async (t) => {
  assertNothingLeft(t)
  const pool = await openMediaPool({
    workers: 1,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 10_000,
    providers: { openai: null },
  })
  t.teardown(() => pool.close())
  const lost: string[] = []
  pool.onLost((session) => lost.push(session))
  const heard = new Map<string, SessionEvent[]>()
  for (let i = 0; i < PAIRS; i++) {
    const open = (id: string, party: Party) => {
      const events: SessionEvent[] = []
      heard.set(id, events)
      const order = { party, recordTo: null, rate: 8000 } as const
      return pool.open(id, order, (event) => events.push(event))
    }
    const [left, right] = await Promise.all([
      open(`left-${i}`, { kind: 'persona', persona: PRESSING }),
      open(`right-${i}`, { kind: 'agent', agent: { ...EMBEDDED_AGENT, openingLine: null } }),
    ])
    await pool.remote(`left-${i}`, towards(right))
    await pool.remote(`right-${i}`, towards(left))
    await pool.start(`right-${i}`, null)
    await pool.start(`left-${i}`, null)
  }
  // Synchronous, as a long query or a large document would be.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
  const closed = await Promise.all(
    [...heard.keys()].map(async (id) => ({ id, ...(await pool.closeSession(id, 'hangup')) })),
  )
  for (const { id, stats } of closed) {
    const { packetsSent = 0, packetsReceived = 0 } = stats.rtp ?? {}
    t.ok(stats.frames >= 95, `${id}: ${stats.frames} beats`)
    t.ok(packetsSent >= 0.9 * stats.frames, `${id}: ${packetsSent} packets sent meanwhile`)
    t.ok(packetsReceived >= 0.8 * stats.frames, `${id}: ${packetsReceived} packets heard meanwhile`)
  }
  for (let i = 0; i < PAIRS; i++) {
    const keys = (heard.get(`right-${i}`) ?? [])
      .map((event) => (event.type === 'dtmf' ? event.digit : ''))
      .join('')
    t.ok(keys.length >= 6 && DIGITS.startsWith(keys), `keys pressed meanwhile: ${keys}`)
  }
  t.strictSame(lost, [])
  t.equal(pool.size, 0)
})
