import t from 'tap'
import { istMinuteOfDay, istWeekday } from '../compliance/calling-hours.js'
import { undoneWaitMs } from '../recipients/attempts.js'
import {
  type CampaignState,
  type Decision,
  type DiallerState,
  next,
  type RouteState,
  resumeDelayMs,
} from './dialler.js'

/** Wednesday, 10:00 in India. */
const NOW = Date.UTC(2025, 0, 15, 4, 30)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** End of the window of `RUNNING` on that day. */
const CLOSES = NOW + 11 * HOUR

const RUNNING: CampaignState = {
  id: 'c',
  status: 'running',
  startsAt: null,
  endsAt: null,
  window: { weekdays: 127, startMinute: 540, endMinute: 1_260 },
  callsPerMinute: 60,
  maxConcurrent: 5,
  nextDialAt: 0,
  autoPauseBelowPaise: 0,
  inFlight: 0,
  unsettled: 10,
  nextDueAt: 0,
  targetProblem: null,
  problemMayPass: false,
  unreachableSince: null,
  recent: { ended: 0, carrierFailures: 0, failuresInRow: 0, unstartedInRow: 0 },
  resumesAt: null,
  probe: null,
  route: 'r',
}

const UNREACHABLE = { targetProblem: 'gone', problemMayPass: true }

function decide(
  campaign: Partial<CampaignState>,
  more: Partial<Omit<DiallerState, 'campaigns'>> = {},
  now = NOW,
): Decision {
  const state = { freeSlots: 10, wallet: null, routes: new Map<string, RouteState>(), ...more }
  return next({ ...state, campaigns: [{ ...RUNNING, ...campaign }] }, now)
}

const route = (over: Partial<RouteState>) => ({
  routes: new Map([['r', { intervalMs: 0, nextDialAt: 0, rate: 1, freeLines: 10, ...over }]]),
})
const at = (hours: number) => NOW + hours * HOUR

const dials = (nextDialAt: number, nextRouteDialAt = NOW, at = NOW) => ({
  moves: [],
  dials: [{ campaignId: 'c', route: 'r', at, nextDialAt, nextRouteDialAt }],
  lookAt: nextDialAt,
})
const waits = (lookAt: number | null) => ({ moves: [], dials: [], lookAt })
const moves = (move: object) => ({ moves: [{ campaignId: 'c', ...move }], dials: [] })

t.test('what a campaign does next', (t) => {
  const rows: readonly [string, Decision, object][] = [
    ['it dials, and then waits for its pace', decide({}), dials(NOW + 1_000)],
    ['unused pace is not made up for', decide({ nextDialAt: NOW - HOUR }), dials(NOW + 1_000)],
    ['its pace has not come', decide({ nextDialAt: NOW + 300 }), waits(NOW + 300)],
    ['as many calls as it may have', decide({ inFlight: 5 }), waits(NOW + 1_000)],
    ['no free slot for campaigns', decide({}, { freeSlots: 0 }), waits(NOW + 1_000)],
    ['no free line', decide({}, route({ freeLines: 0 })), waits(NOW + 1_000)],
    ['the trunk has its own pace', decide({}, route({ intervalMs: 200 })), dials(NOW + 1_000, NOW + 200)],
    ['which comes soon', decide({}, route({ nextDialAt: NOW + 70 })), dials(NOW + 1_070, NOW + 70, NOW + 70)],
    ['which has not come', decide({}, route({ nextDialAt: NOW + 201 })), waits(NOW + 201)],
    [
      'which comes when the window is closed',
      decide({}, route({ nextDialAt: CLOSES + 30 }), CLOSES - 30),
      waits(CLOSES + 30),
    ],
    [
      'slowed to a quarter',
      decide({}, route({ intervalMs: 200, rate: 0.25 })),
      dials(NOW + 4_000, NOW + 800),
    ],
    ['a retry is due later', decide({ nextDueAt: NOW + 7_000 }), waits(NOW + 7_000)],
    ['everybody is on a call', decide({ nextDueAt: null, inFlight: 2 }), waits(NOW + 1_000)],
    ['before the window', decide({ window: { ...RUNNING.window, startMinute: 660 } }), waits(at(1))],
    ['after the window', decide({ window: { ...RUNNING.window, endMinute: 600 } }), waits(at(23))],
    ['not on Wednesdays', decide({ window: { ...RUNNING.window, weekdays: 1 << 3 } }), waits(at(23))],
    ['a retry in the night', decide({ nextDueAt: at(12) }), waits(at(23))],
    ['never open', decide({ window: { ...RUNNING.window, endMinute: 500 } }), moves({ to: 'paused' })],
    ['all settled', decide({ unsettled: 0, nextDueAt: null }), moves({ to: 'completed' })],
    ['its end has come', decide({ endsAt: NOW }), moves({ to: 'completed' })],
    ['its end, with a call', decide({ endsAt: NOW, inFlight: 1 }), waits(NOW + 1_000)],
    [
      'no opening before its end',
      decide({ endsAt: at(2), window: { ...RUNNING.window, endMinute: 600 } }),
      moves({ to: 'completed' }),
    ],
    [
      'its agent is gone',
      decide({ targetProblem: 'x' }),
      moves({ to: 'paused', reason: 'target_unavailable' }),
    ],
    ['its PBX is not registered', decide(UNREACHABLE), moves({ to: 'unreachable' })],
    ['which may pass', decide({ ...UNREACHABLE, unreachableSince: NOW - 595_000 }), waits(NOW + 5_000)],
    ['it has just begun', decide({ ...UNREACHABLE, unreachableSince: NOW }), waits(NOW + 10_000)],
    [
      'but lasted',
      decide({ ...UNREACHABLE, unreachableSince: NOW - 600_000 }),
      moves({ to: 'paused', reason: 'target_unavailable' }),
    ],
    ['it has passed', decide({ unreachableSince: NOW - 1 }), moves({ to: 'reachable' })],
    [
      'its end comes meanwhile',
      decide({ ...UNREACHABLE, unreachableSince: NOW - 1, endsAt: NOW }),
      moves({ to: 'completed' }),
    ],
    [
      'scheduled, and its PBX is not registered',
      decide({ ...UNREACHABLE, status: 'scheduled', startsAt: NOW }),
      moves({ to: 'unreachable' }),
    ],
    [
      'scheduled, and it lasted',
      decide({ ...UNREACHABLE, status: 'scheduled', startsAt: NOW, unreachableSince: NOW - 600_000 }),
      moves({ to: 'failed', reason: 'gone' }),
    ],
    [
      'the wallet is dry',
      decide({}, { wallet: { balancePaise: 0, funds: 'short' } }),
      moves({ to: 'paused', reason: 'low_balance' }),
    ],
    [
      'calls in progress hold the money of the next one',
      decide({}, { wallet: { balancePaise: 2_000, funds: 'held' } }),
      waits(NOW + 1_000),
    ],
    [
      'below its floor',
      decide({ autoPauseBelowPaise: 500 }, { wallet: { balancePaise: 499, funds: 'covered' } }),
      moves({ to: 'paused', reason: 'low_balance' }),
    ],
    [
      'at its floor',
      decide({ autoPauseBelowPaise: 500 }, { wallet: { balancePaise: 500, funds: 'covered' } }),
      dials(NOW + 1_000),
    ],
    [
      '19 failures, 9 in a row',
      decide({ recent: { ended: 19, carrierFailures: 19, failuresInRow: 9, unstartedInRow: 0 } }),
      dials(NOW + 1_000),
    ],
    [
      '10 failures in a row, few of them lately',
      decide({ recent: { ended: 2, carrierFailures: 2, failuresInRow: 10, unstartedInRow: 0 } }),
      moves({ to: 'paused', reason: 'carrier_errors' }),
    ],
    [
      'half of 20',
      decide({ recent: { ended: 20, carrierFailures: 10, failuresInRow: 0, unstartedInRow: 0 } }),
      moves({ to: 'paused', reason: 'carrier_errors' }),
    ],
    [
      '10 calls in a row that this service could not start',
      decide({ recent: { ended: 0, carrierFailures: 0, failuresInRow: 0, unstartedInRow: 10 } }),
      moves({ to: 'paused', reason: 'service_errors' }),
    ],
    [
      '9 of them',
      decide({ recent: { ended: 0, carrierFailures: 0, failuresInRow: 0, unstartedInRow: 9 } }),
      dials(NOW + 1_000),
    ],
    [
      'half open, and the service cannot start the call',
      decide({ probe: { reached: 0, carrierFailures: 0, unstarted: 1 } }),
      moves({ to: 'paused', reason: 'service_errors' }),
    ],
    ['paused for carrier errors', decide({ status: 'paused', resumesAt: at(1) }), waits(at(1))],
    ['but its end is nearer', decide({ status: 'paused', resumesAt: at(2), endsAt: at(1) }), waits(at(1))],
    ['one call tries the carrier', decide({ status: 'paused', resumesAt: NOW }), moves({ to: 'half_open' })],
    ['half open', decide({ probe: { reached: 0, carrierFailures: 0, unstarted: 0 } }), dials(NOW + 1_000)],
    [
      'half open, with a call',
      decide({ inFlight: 1, probe: { reached: 0, carrierFailures: 0, unstarted: 0 } }),
      waits(NOW + 1_000),
    ],
    [
      'half open, old failures do not count',
      decide({
        recent: { ended: 20, carrierFailures: 20, failuresInRow: 10, unstartedInRow: 0 },
        probe: { reached: 0, carrierFailures: 0, unstarted: 0 },
      }),
      dials(NOW + 1_000),
    ],
    [
      'the carrier fails again',
      decide({ probe: { reached: 0, carrierFailures: 1, unstarted: 0 } }),
      moves({ to: 'paused', reason: 'carrier_errors' }),
    ],
    [
      'the carrier works',
      decide({ probe: { reached: 1, carrierFailures: 0, unstarted: 0 } }),
      moves({ to: 'recovered' }),
    ],
    [
      'less than half',
      decide({ recent: { ended: 20, carrierFailures: 9, failuresInRow: 0, unstartedInRow: 0 } }),
      dials(NOW + 1_000),
    ],
    ['scheduled for later', decide({ status: 'scheduled', startsAt: at(1) }), waits(at(1))],
    ['its time has come', decide({ status: 'scheduled', startsAt: NOW }), moves({ to: 'running' })],
    [
      'it cannot start',
      decide({ status: 'scheduled', startsAt: NOW, targetProblem: 'gone' }),
      moves({ to: 'failed', reason: 'gone' }),
    ],
    ['paused', decide({ status: 'paused' }), waits(null)],
    ['paused, with an end', decide({ status: 'paused', endsAt: at(1) }), waits(at(1))],
    ['paused at its end', decide({ status: 'paused', endsAt: NOW }), moves({ to: 'completed' })],
  ]
  for (const [name, found, wanted] of rows) t.match(found, wanted, name)
  t.end()
})

t.test(
  'dials of a person that this service cannot start are repeated with growing delays, and not for ever',
  (t) => {
    t.same(
      [1, 2, 3, 10, 11, 19, 20].map((undone) => undoneWaitMs(undone)),
      [5_000, 10_000, 20_000, 2_560_000, HOUR, HOUR, null],
    )
    t.end()
  },
)

t.test('pauses for carrier errors grow from 5 minutes to an hour', (t) => {
  t.same(
    [1, 2, 3, 4, 5, 6, 100].map((trips) => resumeDelayMs(trips) / MINUTE),
    [5, 10, 20, 40, 60, 60, 60],
  )
  t.end()
})

t.test('scarce slots go to the campaign that waits longest', (t) => {
  const campaigns = [3, 1, 2].map((i) => ({ ...RUNNING, id: `c${i}`, nextDialAt: NOW - 1_000 + i }))
  const { dials } = next({ campaigns, freeSlots: 2, wallet: null, routes: new Map() }, NOW)
  t.same(
    dials.map(({ campaignId }) => campaignId),
    ['c1', 'c2'],
  )
  t.end()
})

/** Small generator of repeatable random numbers (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) % below
  }
}

t.test('a day of random campaigns: pace, slots, lines and windows are kept', (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const draw = random(seed)
    const slots = 1 + draw(8)
    const lines = 1 + draw(8)
    const intervalMs = [0, 30, 400, 800][draw(4)] ?? 0
    const campaigns = Array.from({ length: 1 + draw(4) }, (_, i) => ({
      ...RUNNING,
      id: `c${i}`,
      callsPerMinute: 1 + draw(120),
      maxConcurrent: 1 + draw(6),
      unsettled: 1_000_000,
      window: { weekdays: 1 + draw(127), startMinute: 540 + draw(100), endMinute: 700 + draw(500) },
      calls: [] as number[],
      last: Number.NEGATIVE_INFINITY,
    }))
    let routeNextAt = 0
    let lastOnRoute = Number.NEGATIVE_INFINITY
    let now = NOW + draw(24) * HOUR
    const over = now + 10 * MINUTE
    while (now < over) {
      for (const campaign of campaigns) campaign.calls = campaign.calls.filter((end) => end > now)
      const held = campaigns.reduce((sum, { calls }) => sum + calls.length, 0)
      const { dials, lookAt } = next(
        {
          campaigns: campaigns.map((campaign) => ({ ...campaign, inFlight: campaign.calls.length })),
          freeSlots: slots - held,
          wallet: null,
          routes: new Map([['r', { intervalMs, nextDialAt: routeNextAt, rate: 1, freeLines: lines - held }]]),
        },
        now,
      )
      for (const dial of dials) {
        const campaign = campaigns.find(({ id }) => id === dial.campaignId)
        if (campaign === undefined) throw new Error('a dial of no campaign')
        const { window, callsPerMinute } = campaign
        if (dial.at < now) t.fail(`seed ${seed}: a dial in the past`)
        const minute = istMinuteOfDay(dial.at)
        const open =
          (window.weekdays & (1 << istWeekday(dial.at))) !== 0 &&
          minute >= window.startMinute &&
          minute < window.endMinute
        if (!open) t.fail(`seed ${seed}: a dial outside the window`)
        if (dial.at - campaign.last < MINUTE / callsPerMinute) t.fail(`seed ${seed}: faster than the pace`)
        if (dial.at - lastOnRoute < intervalMs) t.fail(`seed ${seed}: faster than the route`)
        campaign.last = dial.at
        lastOnRoute = dial.at
        campaign.nextDialAt = dial.nextDialAt
        routeNextAt = dial.nextRouteDialAt
        campaign.calls.push(dial.at + 1 + draw(60_000))
        if (campaign.calls.length > campaign.maxConcurrent) t.fail(`seed ${seed}: too many calls`)
      }
      const live = campaigns.reduce((sum, { calls }) => sum + calls.length, 0)
      if (live > slots || live > lines) t.fail(`seed ${seed}: more calls than slots or lines`)
      // The job may look late.
      now = Math.max(lookAt ?? over, now + 1) + draw(3) * draw(400)
    }
  }
  t.end()
})
