import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readWav } from '../../fixtures/audio/wav.js'
import { diallerAgent } from '../../fixtures/virtual-call/dialler-agent.js'
import { openSandboxCalls, type SandboxCalls } from '../../fixtures/virtual-call/sandbox-calls.js'
import type { CallEvent } from './call-events.js'
import type { LegClearance } from './ports.js'

/*
 * Calls without an agent over real SIP and RTP, on virtual time: two people, or a voice that only speaks.
 */

const LIMIT_MS = 600_000

/** Forwards every inbound call to this number. */
async function openForwarding(
  test: Pick<typeof t, 'teardown'>,
  to: string,
  { ringTimeoutMs = 25_000, isCleared = true, recordTo = null as string | null } = {},
): Promise<SandboxCalls & { ended(): Promise<CallEvent & { readonly type: 'ended' }> }> {
  const calls: SandboxCalls = await openSandboxCalls({
    mediaTimeoutMs: 60_000,
    admit: async () => ({
      admit: true,
      callId: 'call_1',
      party: { kind: 'none', maxCallSeconds: 3600 },
      codecs: ['PCMA'],
      recordTo,
      forward: {
        ringTimeoutMs,
        clear: async (callId): Promise<LegClearance | null> =>
          isCleared ? { permit: calls.permit(callId, to), gateway: calls.gateway } : null,
      },
    }),
  })
  test.teardown(() => calls.close())
  return {
    ...calls,
    async ended() {
      const isOver = () => calls.events.at(-1)?.type === 'ended'
      await calls.clock.until(() => JSON.stringify(calls.events), isOver, LIMIT_MS)
      return calls.events.at(-1) as CallEvent & { readonly type: 'ended' }
    },
  }
}

const callIn = ({ caller }: SandboxCalls, persona: string) =>
  caller.callIn({ from: '+919800000007', to: '+911140000001', persona, sipCallId: 'in-1' })

t.test('two people talk: each speaks only when the other was heard', async (t) => {
  const calls = await openForwarding(t, '+919812345678', { recordTo: join(t.testdir(), 'call_1.wav') })
  await callIn(calls, 'screening')
  const { ending, rtp, legs = [], recording } = await calls.ended()
  t.strictSame(
    calls.events.map(({ type }) => type).filter((type) => type !== 'detected'),
    ['ringing', 'answered', 'ended'],
  )
  t.match(ending, { cause: 'caller_hangup', fault: 'none' })
  const lengthMs =
    (calls.events.at(-1)?.at ?? 0) - (calls.events.find(({ type }) => type === 'answered')?.at ?? 0)
  t.ok(lengthMs > 10_000, `they talked for ${lengthMs} ms`)
  t.ok((rtp?.packetsReceived ?? 0) > 500)
  t.match(legs, [{ leg: 'person', rtp: { refused: 0, quality: { heard: { loss: 0 } } } }])
  t.ok((legs[0]?.rtp.packetsReceived ?? 0) > 500)
  t.ok((recording?.durationMs ?? 0) > lengthMs - 1_000, 'both are recorded')
  const { channels } = readWav(new Uint8Array(await readFile(recording?.path ?? '')))
  const peaks = channels.map((samples) => samples.reduce((peak, at) => Math.max(peak, Math.abs(at)), 0))
  t.ok(peaks.length === 2 && peaks.every((peak) => peak > 1_000), `each on a channel: ${peaks}`)
  t.equal(calls.control.live, 0)
})

t.test('the caller gets the refusal of the person', async (t) => {
  for (const [to, ending] of [
    ['+919000000002', { cause: 'busy', sip: 486 }],
    ['+919000000005', { cause: 'carrier_error', sip: 503 }],
    ['+919000000003', { by: 'engine', cause: 'no_answer' }],
  ] as const) {
    const calls = await openForwarding(t, to, { ringTimeoutMs: 5_000 })
    await callIn(calls, 'polite')
    t.match((await calls.ended()).ending, ending)
    t.notOk(calls.events.some(({ type }) => type === 'answered'))
    t.equal(calls.control.live, 0)
  }
})

t.test('no permit, no dial', async (t) => {
  const calls = await openForwarding(t, '+919812345678', { isCleared: false })
  await callIn(calls, 'polite')
  t.match((await calls.ended()).ending, { cause: 'rejected', fault: 'customer' })
})

t.test('ended from outside while the phone rings', async (t) => {
  const calls = await openForwarding(t, '+919000000003')
  await callIn(calls, 'polite')
  await calls.clock.until(
    () => 'ringing',
    () => calls.events.some(({ type }) => type === 'ringing'),
    LIMIT_MS,
  )
  calls.control.hangUp('call_1', 'operator')
  t.match((await calls.ended()).ending, { cause: 'api_hangup' })
  t.equal(calls.control.live, 0)
})

t.test('a voice that only speaks says its words and hangs up', async (t) => {
  const calls = await openSandboxCalls({ mediaTimeoutMs: 60_000 })
  t.teardown(() => calls.close())
  const { languages, textToSpeech } = diallerAgent
  calls.control.dial(calls.permit('call_1', '+919000000011'), {
    party: { kind: 'speaker', voice: { languages, textToSpeech }, maxCallSeconds: 60 },
    gateway: calls.gateway,
    ringTimeoutMs: 25_000,
    recordTo: null,
  })
  const has = (type: CallEvent['type']) => () => calls.events.some((event) => event.type === type)
  await calls.clock.until(() => 'the answer', has('answered'), LIMIT_MS)
  const code = 'Your code is 1 2 3 4 5 6. I repeat: 1 2 3 4 5 6.'
  const ending = { by: 'engine', cause: 'agent_hangup', fault: 'none' } as const
  t.equal(calls.control.finish('call_1', code, ending), true)
  await calls.clock.until(() => JSON.stringify(calls.events), has('ended'), LIMIT_MS)
  const [answered, ended] = [calls.events.find(({ type }) => type === 'answered'), calls.events.at(-1)]
  t.match(ended, { type: 'ended', ending })
  const lengthMs = (ended?.at ?? 0) - (answered?.at ?? 0)
  t.ok(lengthMs > 2_000 && lengthMs < 20_000, `the call lasted ${lengthMs} ms`)
})
