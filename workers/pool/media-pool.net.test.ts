import { statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { findClip } from '../../fixtures/speech/manifest.js'
import {
  type AgentSpec,
  type PersonaSpec,
  PLAIN_SETTINGS,
  type ScriptedUtterance,
} from '../../media/agent/agent-spec.js'
import { silentLog } from '../../media/base/log.js'
import { allocateLiveAudio, LiveAudioReader } from '../../media/session/live-audio.js'
import type { OpenedSession, RemoteMedia, SessionEvent } from '../channel/protocol.js'
import { openMediaPool, type RunningMediaPool } from './media-pool.js'

const AGENT: AgentSpec = {
  agentId: 'agt_1',
  agentVersionId: 'agv_1',
  name: 'Reception',
  systemPrompt: 'You are Asha, the receptionist of Sunrise Dental Clinic.',
  openingLine: 'Hello, this is Asha from Sunrise Dental Clinic.',
  hangupLine: null,
  languages: ['en-IN'],
  speechToText: { vendor: 'embedded', model: 'parley-sandbox', language: 'en-IN', mode: 'transcribe' },
  textToSpeech: { vendor: 'embedded', model: 'espeak-ng', voice: 'asha', pace: 1 },
  languageModel: { vendor: 'embedded', model: 'parley-rules-1' },
  tools: [
    {
      name: 'end_call',
      description: 'Ends the call.',
      parameters: [],
      speech: {},
      action: { kind: 'end_call' },
    },
  ],
  nudges: { enabled: false, hangupAfter: false, steps: [] },
  ...PLAIN_SETTINGS,
  maxCallSeconds: 60,
}

function utterance(clip: string): ScriptedUtterance {
  const { text, language, words, onsetMs, offsetMs } = findClip(clip)
  return { clip, text, language, words, onsetMs, offsetMs }
}

const CALLER: PersonaSpec = {
  name: 'curious',
  script: { utterances: [utterance('who-is-this'), utterance('thank-you-bye')] },
  steps: [
    { cue: { kind: 'agent_silent', ms: 700 }, act: { kind: 'say', utterance: 0 } },
    { cue: { kind: 'agent_silent', ms: 700 }, act: { kind: 'say', utterance: 1 } },
  ],
  loopFrom: null,
}

/** Upper bound of every wait, on any machine. */
const HANG_MS = 60_000

const SILENT: PersonaSpec = { name: 'silent', script: { utterances: [] }, steps: [], loopFrom: null }

interface Rig {
  readonly pool: RunningMediaPool
  readonly events: Map<string, SessionEvent[]>
  readonly lost: string[]
  /** Opens a session and keeps its events under its id. */
  open(
    id: string,
    party: AgentSpec | PersonaSpec,
    recordTo?: string,
  ): Promise<OpenedSession & { worker: number }>
  until(what: string, done: () => boolean): Promise<void>
}

async function setUp(t: Test, workers = 1): Promise<Rig> {
  assertNothingLeft(t)
  const problems: string[] = []
  const note = (fields: object, message: string): void => {
    problems.push(`${message} ${JSON.stringify(fields)}`)
  }
  const pool = await openMediaPool({
    workers,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 10_000,
    warmUp: false,
    providers: { openai: null },
    sandboxScript: (sipCallId) => (sipCallId === 'scripted' ? CALLER.script : null),
    log: { debug() {}, info() {}, warn: note, error: note },
  })
  t.teardown(() => pool.close())
  const events = new Map<string, SessionEvent[]>()
  const lost: string[] = []
  pool.onLost((session) => lost.push(session))
  return {
    pool,
    events,
    lost,
    open(id, party, recordTo) {
      const seen: SessionEvent[] = []
      events.set(id, seen)
      const which =
        'agentId' in party
          ? ({ kind: 'agent', agent: party } as const)
          : ({ kind: 'persona', persona: party } as const)
      return pool.open(id, { party: which, recordTo: recordTo ?? null, rate: 8000 }, (event) =>
        seen.push(event),
      )
    },
    async until(what, done) {
      const deadline = performance.now() + HANG_MS
      while (!done()) {
        if (performance.now() > deadline) {
          const seen = JSON.stringify([...events].map(([id, all]) => [id, all]))
          throw new Error(`waited in vain for ${what}: ${seen}; ${problems.join('; ')}`)
        }
        await pause(10)
      }
    },
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
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

/** Connects two sessions over loopback RTP and starts both. */
async function connect(
  { pool }: Rig,
  [agent, persona]: readonly [string, string],
  [a, p]: readonly [OpenedSession, OpenedSession],
  sipCallId?: string,
): Promise<void> {
  await pool.setRemote(agent, towards(p))
  await pool.setRemote(persona, towards(a))
  await pool.start(persona)
  await pool.start(agent, sipCallId)
}

t.test(
  'a whole conversation between two sessions on real threads over RTP',
  { timeout: 2 * HANG_MS },
  async (t) => {
    const rig = await setUp(t, 2)
    const folder = await mkdtemp(join(tmpdir(), 'parley-pool-'))
    t.teardown(() => rm(folder, { recursive: true }))
    const path = join(folder, 'call.wav')
    const agent = await rig.open('agent', AGENT, path)
    const persona = await rig.open('persona', CALLER)
    t.not(agent.worker, persona.worker, 'placed on different threads')
    await connect(rig, ['agent', 'persona'], [agent, persona], 'scripted')
    const events = rig.events.get('agent') ?? []
    await rig.until('the end', () => events.some(({ type }) => type === 'finished'))
    const turns = events.flatMap((event) => (event.type === 'turn' ? [event.turn] : []))
    t.same(
      turns.map(({ speaker, heardText }) => `${speaker}: ${heardText}`),
      [
        'agent: Hello, this is Asha from Sunrise Dental Clinic.',
        'caller: Who is calling please?',
        'agent: This is Asha from Sunrise Dental Clinic. How can I help you today?',
        'caller: Okay, thank you. Goodbye.',
        'agent: Thank you for your time. Goodbye from Sunrise Dental Clinic.',
      ],
    )
    t.ok(
      turns.every((turn, i) => turn.startMs >= (turns[i - 1]?.endMs ?? 0)),
      'nobody speaks over the other',
    )
    t.match(events.at(-1), { type: 'finished', why: 'agent_hangup' })
    const traces = events.flatMap((event) => (event.type === 'trace' ? [event.trace] : []))
    t.equal(traces.length, 2, 'each answer has its trace')
    for (const { speechEndMs, firstPacketMs } of traces) {
      t.ok(firstPacketMs !== null && firstPacketMs > speechEndMs, `${firstPacketMs} after ${speechEndMs}`)
    }
    const closed = await rig.pool.closeSession('agent', 'hangup')
    t.match(await rig.pool.closeSession('agent', 'hangup'), { recording: null }, 'closing again is harmless')
    const other = await rig.pool.closeSession('persona', 'hangup')
    t.ok((closed.stats.rtp?.packetsReceived ?? 0) > 300, 'audio went both ways')
    t.ok((other.stats.rtp?.packetsReceived ?? 0) > 300)
    t.equal(closed.recording?.path, path)
    t.equal((await readFile(path)).length, closed.recording?.bytes)
    t.equal(rig.pool.size, 0)
    t.same(rig.lost, [])
  },
)

t.test('those who listen hear both sides from another thread', { timeout: 2 * HANG_MS }, async (t) => {
  const rig = await setUp(t)
  const agent = await rig.open('agent', AGENT)
  const persona = await rig.open('persona', CALLER)
  const memory = allocateLiveAudio(8000)
  const reader = new LiveAudioReader(memory, 8000)
  await rig.pool.request({ type: 'shareAudio', session: 'agent', memory })
  await connect(rig, ['agent', 'persona'], [agent, persona], 'scripted')
  const loudest = [0, 0]
  await rig.until('two voices', () => {
    reader.read()?.forEach((sample, at) => {
      loudest[at % 2] = Math.max(loudest[at % 2] ?? 0, sample)
    })
    return loudest.every((level) => level > 3_000)
  })
  await rig.pool.request({ type: 'shareAudio', session: 'agent', memory: null })
  reader.read()
  await pause(100)
  t.equal(reader.read(), null, 'nothing is written for nobody')
  await t.rejects(rig.pool.request({ type: 'shareAudio', session: 'none', memory }), { code: 'closed' })
})

t.test('DTMF digits cross as events', { timeout: 2 * HANG_MS }, async (t) => {
  const rig = await setUp(t)
  const agent = await rig.open('agent', { ...AGENT, openingLine: null })
  const persona = await rig.open('persona', {
    ...SILENT,
    steps: [{ cue: { kind: 'after', ms: 200 }, act: { kind: 'press', digits: '42#' } }],
  })
  await connect(rig, ['agent', 'persona'], [agent, persona])
  const events = rig.events.get('agent') ?? []
  const digits = (): string =>
    events.flatMap((event) => (event.type === 'dtmf' ? [event.digit] : [])).join('')
  await rig.until('three digits', () => digits().length >= 3)
  t.equal(digits(), '42#')
})

t.test('a dead worker loses its sessions and is replaced', { timeout: 2 * HANG_MS }, async (t) => {
  const rig = await setUp(t, 2)
  const first = await rig.open('one', SILENT)
  const second = await rig.open('two', SILENT)
  const third = await rig.open('three', SILENT)
  t.not(first.worker, second.worker)
  t.equal(third.worker, first.worker, 'placed where there is more room, first come first')
  await rig.pool.terminate(first.worker)
  t.same(rig.lost.toSorted(), ['one', 'three'])
  t.equal(rig.pool.size, 1)
  // At once: the successor, which has more room, may be ready soon.
  t.equal((await rig.open('four', SILENT)).worker, second.worker, 'the other one goes on')
  t.match(await rig.pool.closeSession('one', 'hangup'), {
    stats: { frames: 0, rtp: null },
    recording: null,
  })
  await t.rejects(rig.pool.start('one'), { code: 'closed' })
  await rig.pool.setRemote('two', towards(second))
  const deadline = performance.now() + HANG_MS
  const loads = async (): Promise<number> => (await rig.pool.load()).length
  while ((await loads()) < 2 && performance.now() < deadline) await pause(50)
  t.equal(await loads(), 2, 'a successor came')
  let worker = -1
  for (let i = 0; worker !== first.worker && performance.now() < deadline; i++) {
    worker = (await rig.open(`new-${i}`, SILENT)).worker
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.equal(worker, first.worker)
})

t.test('the recordings of a dead worker are recovered', { timeout: 2 * HANG_MS }, async (t) => {
  const rig = await setUp(t)
  const folder = t.testdir()
  const file = (name: string) => join(folder, `${name}.wav`)
  const opened = await rig.open('one', SILENT, file('one'))
  await rig.open('two', SILENT, file('two'))
  await rig.open('plain', SILENT)
  await rig.pool.setRemote('one', towards(opened))
  await rig.pool.start('one')
  await rig.pool.start('two')
  await rig.until('the recordings', () => sizeOf(file('one')) > 44 && sizeOf(file('two')) > 44)
  await rig.pool.request({ type: 'record', session: 'two', path: file('part') })
  await rig.until('the part', () => sizeOf(file('part')) > 44)
  await rig.pool.terminate(opened.worker)
  const one = await rig.pool.closeSession('one', 'error')
  t.match(one, { recording: { path: file('one'), sha256: /^[0-9a-f]{64}$/ }, parts: [] })
  t.ok((one.recording?.durationMs ?? 0) > 0)
  t.match(await rig.pool.closeSession('two', 'error'), {
    recording: { path: file('two') },
    parts: [{ path: file('part') }],
  })
  t.match(await rig.pool.closeSession('plain', 'error'), { recording: null, parts: [] })
  t.match(await rig.pool.closeSession('one', 'error'), { recording: null }, 'once')
})

t.test('requests that fail', { timeout: 2 * HANG_MS }, async (t) => {
  const rig = await setUp(t)
  await rig.open('one', SILENT)
  await t.rejects(rig.open('one', SILENT), { code: 'internal' }, 'an id twice')
  const unknownClip = { ...CALLER, script: { utterances: [{ ...utterance('hello'), clip: 'no-such-clip' }] } }
  await t.rejects(rig.open('two', unknownClip), { code: 'config_invalid' }, 'an unknown clip')
  const unknownVendor = { ...AGENT, languageModel: { vendor: 'openai', model: 'm' } }
  await t.rejects(
    rig.open('three', unknownVendor),
    { code: 'config_invalid' },
    'a vendor that is not configured',
  )
  t.equal(rig.pool.size, 1)
  t.equal((await rig.pool.load())[0]?.sessions, 1, 'nothing of the refused ones is left in the worker')
  await t.rejects(rig.pool.setRemote('nobody', towards({ address: '127.0.0.1', port: 9 })), {
    code: 'closed',
  })
  await rig.pool.close()
  await t.rejects(rig.open('four', SILENT), { code: 'closed' })
})

t.test(
  'ports come from the worker’s share of the range, which can run out',
  { timeout: 2 * HANG_MS },
  async (t) => {
    assertNothingLeft(t)
    const warmed: object[] = []
    const pool = await openMediaPool({
      workers: 2,
      rtpAddress: '127.0.0.1',
      // Below the ephemeral port range.
      rtpPorts: { first: 31_200, last: 31_207 },
      mediaTimeoutMs: 10_000,
      providers: { openai: null },
      sandboxScript: (sipCallId) => (sipCallId === 'scripted' ? CALLER.script : null),
      log: {
        ...silentLog,
        info: (fields, message) => {
          if (message === 'worker.warmed_up') warmed.push(fields)
        },
      },
    })
    t.teardown(() => pool.close())
    t.match(warmed, [{ legs: 8 }, { legs: 8 }], 'each thread has held calls with itself')
    const opened: { port: number; worker: number }[] = []
    for (let i = 0; i < 4; i++) {
      opened.push(
        await pool.open(
          `s${i}`,
          { party: { kind: 'persona', persona: SILENT }, recordTo: null, rate: 8000 },
          () => {},
        ),
      )
    }
    t.same(opened.map(({ port }) => port).toSorted(), [31_200, 31_202, 31_204, 31_206])
    t.ok(
      opened.every(({ port, worker }) => port < 31_204 === (worker === 0)),
      'each from its own half',
    )
    await t.rejects(
      pool.open('s4', { party: { kind: 'persona', persona: SILENT }, recordTo: null, rate: 8000 }, () => {}),
      { code: 'port_unavailable' },
    )
  },
)
