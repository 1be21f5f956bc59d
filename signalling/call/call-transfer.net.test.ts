import t from 'tap'
import { diallerAgent } from '../../fixtures/virtual-call/dialler-agent.js'
import { openSandboxCalls, type SandboxCalls } from '../../fixtures/virtual-call/sandbox-calls.js'
import type { AgentSpec } from '../../media/agent/agent-spec.js'
import type { CallEvent } from './call-events.js'
import { WALLET_EXHAUSTED } from './ending.js'
import type { TransferPlan } from './ports.js'

/*
 * Calls of two legs: real SIP, RTP and simulated people on virtual time. The sandbox carrier rings the destinations of
 * transfers by the same table as other numbers.
 */

const LIMIT_MS = 300_000
const AGENT: AgentSpec = {
  ...diallerAgent,
  maxCallSeconds: 3600,
  nudges: { enabled: false, hangupAfter: false, steps: [] },
}

const PARTING = { caller: 'The caller has hung up.', other: 'The call was ended.' } as const

interface Transferable extends SandboxCalls {
  plan(change?: Partial<TransferPlan>): TransferPlan
  /** The steps of all attempts, in order. */
  steps(): readonly string[]
  until(condition: (events: readonly CallEvent[]) => boolean): Promise<void>
  untilStep(step: string): Promise<void>
  ended(): Promise<CallEvent & { readonly type: 'ended' }>
}

/** Calls a simulated person, silent unless told, and waits until the agent has greeted. */
async function openTransferable(
  test: Pick<typeof t, 'teardown'>,
  { to = '+919000000011', agent = AGENT } = {},
): Promise<Transferable> {
  const calls = await openSandboxCalls({ mediaTimeoutMs: 60_000 })
  test.teardown(() => calls.close())
  const { gateway, events, clock } = calls
  const until = (condition: (events: readonly CallEvent[]) => boolean) =>
    clock.until(
      () => JSON.stringify(events.slice(-5)),
      () => condition(events),
      LIMIT_MS,
    )
  const steps = () =>
    events.flatMap((event) =>
      event.type === 'transfer'
        ? [
            [event.attempt, event.destination.slice(-2), event.status, event.outcome]
              .filter(Boolean)
              .join(' '),
          ]
        : [],
    )
  calls.control.dial(calls.permit('call_1', to), {
    party: { kind: 'agent', agent },
    gateway,
    ringTimeoutMs: 25_000,
    recordTo: null,
  })
  await until((all) => all.some(({ type }) => type === 'turn'))
  return {
    ...calls,
    plan: (change = {}) => ({
      mode: 'screened',
      destination: '+919000000012',
      fallback: null,
      ringTimeoutMs: 25_000,
      announcement: 'I will connect you now.',
      waitLine: null,
      describe: (destination) => ({ label: destination }),
      brief: () => ({ text: 'A caller asks for an appointment.', keys: 'Press 1 to take the call.' }),
      partingLine: (_destination, by) => PARTING[by],
      recordTo: null,
      missLine: 'Nobody is available.',
      returnLine: 'I am back with you.',
      report: null,
      listening: null,
      clear: async (destination) => ({ permit: calls.permit('call_1', destination), gateway }),
      ...change,
    }),
    steps,
    until,
    untilStep: (step) => until(() => steps().includes(step)),
    async ended() {
      await until((all) => all.at(-1)?.type === 'ended')
      return events.at(-1) as CallEvent & { readonly type: 'ended' }
    },
  }
}

t.test('screened: the person hears the brief, presses 1, talks with the caller and hangs up', async (t) => {
  const call = await openTransferable(t)
  t.equal(call.control.transfer('call_1', call.plan()), null)
  t.equal(call.control.transfer('call_1', call.plan()), 'transfer_in_progress')
  const { ending } = await call.ended()
  t.strictSame(call.steps(), [
    '1 12 accepted',
    '1 12 ringing',
    '1 12 answered',
    '1 12 bridged connected',
    '1 12 completed connected',
  ])
  t.match(ending, { by: 'callee', cause: 'transfer_completed', fault: 'none' })
  t.equal(call.control.live, 0)
})

t.test("blind: connected when the phone is answered; the agent's limit no longer counts", async (t) => {
  const call = await openTransferable(t)
  t.equal(call.control.transfer('call_1', call.plan({ mode: 'blind', destination: '+919000000009' })), null)
  await call.untilStep('1 09 bridged connected')
  await call.clock.wait(60_000)
  t.equal(call.control.live, 1)
  t.equal(call.control.hangUp('call_1', 'operator'), true)
  t.match((await call.ended()).ending, { cause: 'api_hangup' })
  t.equal(call.steps().at(-1), '1 09 completed connected')
})

const listening = (asked: string[]): TransferPlan['listening'] => ({
  caller: ['en-IN'],
  keep: true,
  person: () => ['en-IN'],
  answer: async (_destination, talk) => {
    asked.push(talk.at(-1)?.text ?? '')
    return 'The caller wants an appointment.'
  },
})
const spoken = (events: readonly CallEvent[], speaker: string) =>
  events.flatMap((event) =>
    event.type === 'turn' && event.turn.speaker === speaker ? [event.turn.text] : [],
  )

t.test('consult: the person asks back, gets answers, and hangs up; the agent has the caller', async (t) => {
  const call = await openTransferable(t)
  const asked: string[] = []
  const plan = { mode: 'consult', destination: '+919000000020', listening: listening(asked) } as const
  t.equal(call.control.transfer('call_1', call.plan(plan)), null)
  await call.untilStep('1 20 declined declined')
  t.ok(asked.length > 0 && asked.every((text) => text.length > 0), asked.join(' | '))
  const agent = spoken(call.events, 'agent')
  t.ok(agent.includes('The caller wants an appointment.'), agent.join(' | '))
  t.same(spoken(call.events, 'human'), [], 'what the person says to the agent alone is not in the transcript')
  await call.until((events) => spoken(events, 'agent').includes('Nobody is available.'))
  call.control.hangUp('call_1', 'operator')
  await call.ended()
})

t.test('the words of a bridged person are in the transcript when they may be kept', async (t) => {
  for (const keep of [true, false]) {
    const call = await openTransferable(t)
    const plan = { mode: 'blind', destination: '+919000000009' } as const
    const kept = { ...listening([]), keep } as NonNullable<TransferPlan['listening']>
    t.equal(call.control.transfer('call_1', call.plan({ ...plan, listening: kept })), null)
    await call.untilStep('1 09 bridged connected')
    if (keep) await call.until((events) => spoken(events, 'human').length >= 2)
    else await call.clock.wait(20_000)
    t.equal(spoken(call.events, 'human').length > 0, keep)
    call.control.hangUp('call_1', 'operator')
    await call.ended()
  }
})

t.test('busy at the destination, and taken at the fallback', async (t) => {
  const call = await openTransferable(t)
  const plan = call.plan({ destination: '+919000000002', fallback: '+919000000012' })
  t.equal(call.control.transfer('call_1', plan), null)
  t.match((await call.ended()).ending, { cause: 'transfer_completed' })
  t.strictSame(call.steps(), [
    '1 02 accepted',
    '1 02 missed busy',
    '2 12 accepted',
    '2 12 ringing',
    '2 12 answered',
    '2 12 bridged connected',
    '2 12 completed connected',
  ])
})

t.test('no answer, then 503: the agent has the caller again, and a third request is refused', async (t) => {
  const call = await openTransferable(t)
  t.equal(
    call.control.transfer('call_1', call.plan({ destination: '+919000000003', ringTimeoutMs: 12_000 })),
    null,
  )
  await call.untilStep('1 03 missed no_answer')
  await call.until((events) =>
    events.some(
      ({ type, ...event }) => type === 'turn' && JSON.stringify(event).includes('Nobody is available'),
    ),
  )
  await call.until(
    () => call.control.transfer('call_1', call.plan({ destination: '+919000000005' })) === null,
  )
  await call.untilStep('2 05 failed carrier_error')
  t.equal(call.control.transfer('call_1', call.plan()), 'attempts_exhausted')
  call.control.hangUp('call_1', 'operator')
  await call.ended()
  t.strictSame(call.steps(), [
    '1 03 accepted',
    '1 03 ringing',
    '1 03 missed no_answer',
    '2 05 accepted',
    '2 05 failed carrier_error',
  ])
})

t.test('a caller who waits hears a line every 20 seconds', async (t) => {
  const call = await openTransferable(t)
  const waitLine = 'Please stay on the line.'
  call.control.transfer(
    'call_1',
    call.plan({ destination: '+919000000003', ringTimeoutMs: 50_000, waitLine }),
  )
  await call.untilStep('1 03 missed no_answer')
  const lines = call.events.filter((event) => event.type === 'turn' && event.turn.text === waitLine)
  t.equal(lines.length, 2)
  const [first, second] = lines.map(({ at }) => at)
  t.ok(Math.abs(Number(second) - Number(first) - 20_000) < 1_000)
  call.control.hangUp('call_1', 'operator')
  await call.ended()
})

t.test('a call that ends while the phone rings cancels the attempt', async (t) => {
  const call = await openTransferable(t)
  call.control.transfer('call_1', call.plan({ destination: '+919000000003' }))
  await call.untilStep('1 03 ringing')
  call.control.hangUp('call_1', 'operator')
  await call.ended()
  t.equal(call.steps().at(-1), '1 03 canceled call_ended')
  t.equal(call.control.transfer('call_1', call.plan()), 'call_ending')
})

t.test(
  'the API ends the call during the brief: the person is told, and the call waits for that',
  async (t) => {
    const call = await openTransferable(t)
    t.equal(call.control.transfer('call_1', call.plan({ destination: '+919000000009' })), null)
    await call.untilStep('1 09 answered')
    call.control.hangUp('call_1', 'operator')
    const { ending, callerLeftAt = 0, at } = await call.ended()
    t.match(ending, { cause: 'api_hangup' })
    t.ok(callerLeftAt > 0 && callerLeftAt < at, 'what the person hears is no part of the call')
    t.equal(call.steps().at(-1), '1 09 canceled call_ended')
    t.equal(spoken(call.events, 'agent').at(-1), PARTING.other)
  },
)

t.test('no permit, no dial', async (t) => {
  for (const clear of [
    async () => null,
    async () => {
      throw new Error('the database is gone')
    },
  ] satisfies TransferPlan['clear'][]) {
    const call = await openTransferable(t)
    call.control.transfer('call_1', call.plan({ clear }))
    await call.until(() => call.steps().length === 2)
    t.match(call.steps()[1], /^1 12 failed/)
    call.control.hangUp('call_1', 'operator')
    await call.ended()
  }
  const call = await openTransferable(t)
  const permit = call.permit('call_of_somebody_else', '+919000000012')
  call.control.transfer('call_1', call.plan({ clear: async () => ({ permit, gateway: call.gateway }) }))
  await call.until(() => call.steps().length === 2)
  t.equal(call.steps()[1], '1 12 failed carrier_error')
})

t.test('last words before the end', async (t) => {
  const call = await openTransferable(t)
  t.equal(
    call.control.finish('call_1', 'Your time is over.', {
      by: 'operator',
      cause: 'api_hangup',
      fault: 'none',
    }),
    true,
  )
  t.match((await call.ended()).ending, { cause: 'api_hangup' })
  const lastWords = (events: readonly CallEvent[]) =>
    events.flatMap((event) => (event.type === 'turn' ? [event.turn.heardText] : [])).at(-1)
  t.equal(lastWords(call.events), 'Your time is over.')
  t.equal(
    call.control.finish('call_1', 'Too late.', { by: 'operator', cause: 'api_hangup', fault: 'none' }),
    false,
  )
  const own = await openTransferable(t, { agent: { ...AGENT, hangupLine: 'Goodbye for now.' } })
  t.equal(own.control.lastWordsMs('call_1'), 5_280, 'a clause, then sixteen characters of a slow voice')
  t.equal(own.control.lastWordsMs('call_2'), 0)
  t.equal(own.control.finish('call_1', null, WALLET_EXHAUSTED), true)
  t.match((await own.ended()).ending, WALLET_EXHAUSTED)
  t.equal(lastWords(own.events), 'Goodbye for now.', 'the hang-up line of the agent')
})
