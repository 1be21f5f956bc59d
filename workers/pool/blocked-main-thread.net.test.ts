import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { EMBEDDED_AGENT } from '../../fixtures/rigs/embedded-agent.js'
import type { PersonaSpec } from '../../media/agent/agent-spec.js'
import { FRAME_MS } from '../../media/base/frame.js'
import { DTMF_TIMING } from '../../media/rtp/telephone-event.js'
import type { OpenedSession, Party, RemoteMedia, SessionEvent } from '../channel/protocol.js'
import { openMediaPool } from './media-pool.js'

const PAIRS = 4
const DIGITS = '0123456789*#'
/** Frames from one digit to the next. */
const KEY_FRAMES = (DTMF_TIMING.toneMs + DTMF_TIMING.gapMs) / FRAME_MS

/** Presses digits during the whole call and never speaks. */
const PRESSING: PersonaSpec = {
  name: 'pressing',
  script: { utterances: [] },
  steps: [{ cue: { kind: 'after', ms: 100 }, act: { kind: 'press', digits: DIGITS } }],
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

t.test('two seconds without a main thread: calls continue and no event is lost', async (t) => {
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
    await pool.setRemote(`left-${i}`, towards(right))
    await pool.setRemote(`right-${i}`, towards(left))
    await pool.start(`right-${i}`)
    await pool.start(`left-${i}`)
  }
  // Blocks synchronously, as a long query or a large document would.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
  const closed = await Promise.all(
    [...heard.keys()].map(async (id) => ({ id, ...(await pool.closeSession(id, 'hangup')) })),
  )
  // Frames skipped on a late host are counted; every other frame sent its packet.
  const [load] = await pool.load()
  const frames = closed.reduce((sum, { stats }) => sum + stats.frames, 0)
  const due = frames - (load?.skippedFrames ?? 0)
  const sent = new Map(closed.map(({ id, stats }) => [id, stats.rtp?.packetsSent ?? 0]))
  const all = [...sent.values()].reduce((sum, packets) => sum + packets, 0)
  t.ok(all >= 0.98 * due && all <= frames, `${all} packets, ${due} of ${frames} beats ran`)
  for (const { id, stats } of closed) {
    const packets = sent.get(id) ?? 0
    // A thread that waited for the main thread would have caught up three frames and skipped the rest.
    t.ok(
      stats.frames >= 75 && packets >= stats.frames / 4,
      `${id}: ${packets} packets in ${stats.frames} beats`,
    )
    const ofTheOther = sent.get(id.replace(/left|right/, (side) => (side === 'left' ? 'right' : 'left'))) ?? 0
    const taken = stats.rtp?.packetsReceived ?? 0
    t.ok(taken >= 0.8 * ofTheOther, `${id}: ${taken} of ${ofTheOther} packets heard meanwhile`)
  }
  for (let i = 0; i < PAIRS; i++) {
    const keys = (heard.get(`right-${i}`) ?? [])
      .map((event) => (event.type === 'dtmf' ? event.digit : ''))
      .join('')
    const pressed = Math.floor(((sent.get(`left-${i}`) ?? 0) - KEY_FRAMES) / KEY_FRAMES)
    t.ok(keys.length >= pressed && DIGITS.startsWith(keys), `keys pressed meanwhile: ${keys} of ${pressed}`)
  }
  t.strictSame(lost, [])
  t.equal(pool.size, 0)
})
