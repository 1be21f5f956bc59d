import t from 'tap'
import { dataOf } from '../../fixtures/api/calling.js'
import { LIVE_MODELS } from '../../fixtures/api/live-models.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openLiveCalling } from '../../fixtures/virtual-call/live-calling.js'
import { VirtualDialler } from '../../fixtures/virtual-call/virtual-dialler.js'
import { silentLog } from '../../media/base/log.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { behaviourOf } from '../../signalling/sandbox/personas.js'
import { isRefusal } from '../api/problem.js'
import { RATES } from '../billing/rating.js'
import { placeCall } from '../calls/placement/place-call.js'
import { TransferDesk } from '../transfers/desk.js'
import { readWallet } from './store.js'

/* Calls of the virtual dialler hand over to numbers of the sandbox table, and the wallet pays for agent and person. */

const FUNDS = 1_000_000
/** Says nothing. */
const CALLER = '+919000000011'
/** Prices of a minute over an own trunk. */
const AGENT = 450
const PERSON = RATES.personOverOwnTrunk
const STEP_MS = 250

/** A person who declines every call. The table has none. */
const DECLINES = '+919812345603'

/** Destinations of the table, the steps of an attempt there and its outcome. */
const ATTEMPTS = [
  { to: '+919000000012', steps: ['ringing', 'answered', 'bridged', 'completed'], outcome: 'connected' },
  { to: '+919000000002', steps: ['missed'], outcome: 'busy' },
  { to: '+919000000003', steps: ['ringing', 'missed'], outcome: 'no_answer' },
  { to: '+919000000005', steps: ['failed'], outcome: 'carrier_error' },
  // This person hears who calls, and presses no key.
  { to: '+919812345678', steps: ['ringing', 'answered', 'missed'], outcome: 'no_answer' },
  { to: DECLINES, steps: ['declined'], outcome: 'declined' },
] as const

await onEachDialect(t, async (t, open) => {
  await t.test('charges of transfers by the sandbox table', async (t) => {
    const database = await open()
    const { calling, owner, numberId, key } = await openLiveCalling(database, { fundsPaise: FUNDS })
    t.teardown(() => calling.close())
    const { clock, eventWriter, permits, send } = calling
    const { db } = database

    const destinationIds: string[] = []
    for (const { to } of ATTEMPTS) {
      const json = { key: `desk${destinationIds.length}`, label: to, e164: to }
      const { id } = dataOf(await send('POST', '/v1/transfer-destinations', { key, json }))
      const { organizationId } = owner
      await db
        .insertInto('destinationVerifications')
        .values({
          ...{ destinationId: String(id), environment: 'live', organizationId, e164: to },
          ...{ codeHash: null, codeExpiresAt: null, attemptsLeft: 0, lastCallAt: null },
          verifiedAt: clock.wall(),
        })
        .execute()
      destinationIds.push(String(id))
    }
    const destinations = destinationIds.map((destinationId) => ({ destinationId }))
    const transfer = { defaultDestinationId: destinationIds[0], destinations, ringTimeoutSeconds: 10 }
    const agentId = await calling.publishAgent({ ...LIVE_MODELS, callSettings: { transfer } })

    const events: CallEvent[] = []
    const dialler = new VirtualDialler({
      ...{ clock, gate: permits },
      behaviour: (number) => (number === DECLINES ? { kind: 'refuse', status: 603 } : behaviourOf(number)),
      events: {
        publish(event) {
          events.push(event)
          eventWriter.publish(event)
        },
      },
    })
    /** Dials that the gate decides on now. */
    const clearing: Promise<unknown>[] = []
    const desk = new TransferDesk({
      ...calling.deps,
      log: silentLog,
      settled: (callId) => eventWriter.settled(callId),
      model: () => null,
      calls: () => ({
        takeOver: () => dialler.takeOver(),
        transfer(callId, plan) {
          const clear = (destination: string) => {
            const cleared = plan.clear(destination)
            clearing.push(cleared)
            return cleared
          }
          return dialler.transfer(callId, { ...plan, clear })
        },
      }),
    })
    const deps = { ...calling.deps, calls: dialler, log: silentLog }
    /** Lets time pass until the call has an event. */
    const after = async (callId: string, isIt: (event: CallEvent) => boolean): Promise<CallEvent> => {
      for (let ms = 0; ms < 600_000; ms += STEP_MS) {
        const found = events.find((event) => event.callId === callId && isIt(event))
        if (found !== undefined) {
          await eventWriter.flush(60_000)
          return found
        }
        clock.advance(STEP_MS)
        await Promise.all(clearing.splice(0))
      }
      throw new Error('the event never came')
    }
    const at = (callId: string, type: CallEvent['type']) => after(callId, (event) => event.type === type)

    let balance = FUNDS
    for (const [index, { to, steps, outcome }] of ATTEMPTS.entries()) {
      const placement = { to: CALLER, numberId, agentId, variables: {}, metadata: {}, idempotencyId: null }
      const placed = await placeCall(deps, owner, placement)
      if (isRefusal(placed)) throw new Error(JSON.stringify(placed))
      const { id } = placed
      const answered = await at(id, 'answered')
      clock.advance(3_000)
      const asked = { trigger: 'api', destination: destinationIds[index] ?? '', handoff: null } as const
      t.match(await desk.ask(id, { ...asked, note: null, reason: 'billing' }), { accepted: true })
      await Promise.all(clearing.splice(0))
      const ended = await at(id, 'ended')
      const transfers = events.flatMap((event) =>
        event.callId === id && event.type === 'transfer' ? [event] : [],
      )
      t.same(
        transfers.map(({ status }) => status),
        ['accepted', ...steps],
        to,
      )
      t.equal(transfers.at(-1)?.outcome, outcome, to)

      const bridgedAt = transfers.find(({ status }) => status === 'bridged')?.at ?? null
      const agentSeconds = Math.ceil(((bridgedAt ?? ended.at) - answered.at) / 1000)
      const humanSeconds = bridgedAt === null ? 0 : Math.ceil((ended.at - bridgedAt) / 1000)
      const charges = [
        {
          kind: 'agent',
          seconds: agentSeconds,
          ratePaisePerMinute: AGENT,
          amountPaise: price(agentSeconds, AGENT),
        },
        ...(bridgedAt === null
          ? []
          : [
              {
                ...{ kind: 'human', seconds: humanSeconds, ratePaisePerMinute: PERSON },
                amountPaise: price(humanSeconds, PERSON),
              },
            ]),
      ]
      const billedPaise = charges.reduce((sum, { amountPaise }) => sum + amountPaise, 0)
      const call = dataOf(await send('GET', `/v1/calls/${id}`, { key }))
      t.match(call, { agentSeconds, humanSeconds, billedPaise, transfer: { outcome, humanSeconds } }, to)
      t.same(call.charges, charges, to)
      balance -= billedPaise
      t.match(
        await readWallet(db, owner.organizationId, clock.wall()),
        { balancePaise: balance, heldPaise: 0 },
        to,
      )
    }
    t.equal(dialler.live, 0)
  })
})

function price(seconds: number, ratePaisePerMinute: number): number {
  return Math.ceil((ratePaisePerMinute * seconds) / 60)
}
