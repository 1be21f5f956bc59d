import t from 'tap'
import { billedSeconds, minuteRate, RATES, rateCall } from './rating.js'

const base = { ratePaisePerMinute: RATES.service, personRatePaisePerMinute: RATES.person, bridgedAt: null }

t.test('the price of a minute: own voice and own trunk', async (t) => {
  const rate = (ownVoice: boolean, ownTrunk: boolean, agreedPaise: number | null = null) =>
    minuteRate({ ownVoice, ownTrunk, agreedPaise })
  t.equal(rate(false, false), 500)
  t.equal(rate(false, true), 450)
  t.equal(rate(true, false), 200)
  t.equal(rate(true, true), 150)
  t.equal(rate(false, false, 400), 400, 'an agreed price replaces the list price')
  t.equal(rate(false, true, 400), 400, 'an own trunk does not raise an agreed price')
  t.equal(rate(false, true, 480), 450)
  t.equal(rate(true, true, 400), 150, 'an agreed price is for agents of the service')
})

t.test('an unanswered call costs nothing', async (t) => {
  t.same(rateCall({ ...base, answeredAt: null, endedAt: 60_000 }), { charges: [], billedPaise: 0 })
})

t.test('ninety seconds, then thirty with the person: 750 + 100', async (t) => {
  const bill = rateCall({ ...base, answeredAt: 0, bridgedAt: 90_000, endedAt: 120_000 })
  t.same(
    bill.charges.map((charge) => charge.amountPaise),
    [750, 100],
  )
  t.equal(bill.billedPaise, 850)
})

t.test('an agent in place of a lost bot: each has its own price', async (t) => {
  const bot = { ...base, ratePaisePerMinute: RATES.ownVoice, agentRatePaisePerMinute: RATES.service }
  const charges = (
    call: { answeredAt: number; bridgedAt?: number; endedAt: number },
    agentTookOverAt: number,
  ) =>
    rateCall({ ...bot, ...call, agentTookOverAt }).charges.map(({ kind, seconds, amountPaise }) => [
      kind,
      seconds,
      amountPaise,
    ])
  t.same(charges({ answeredAt: 1000, endedAt: 121_000 }, 61_000), [
    ['agent', 60, 200],
    ['fallback', 60, 500],
  ])
  t.same(
    charges({ answeredAt: 1000, endedAt: 61_000 }, 500),
    [
      ['agent', 0, 0],
      ['fallback', 60, 500],
    ],
    'the bot was never there',
  )
  t.same(charges({ answeredAt: 0, bridgedAt: 90_000, endedAt: 150_000 }, 30_000), [
    ['agent', 30, 100],
    ['fallback', 60, 500],
    ['human', 60, 200],
  ])
})

t.test('who takes a call over and gives it back costs as a person does', async (t) => {
  const lines = (call: Partial<Parameters<typeof rateCall>[0]>) =>
    rateCall({ ...base, answeredAt: 0, endedAt: 120_000, ...call }).charges.map(
      ({ kind, seconds, amountPaise }) => `${kind} ${seconds} s ${amountPaise}`,
    )
  const takenOver = [{ from: 20_000, to: 50_000 }]
  t.same(lines({ takenOver }), ['agent 90 s 750', 'human 30 s 100'])
  t.same(lines({ takenOver, bridgedAt: 90_000 }), ['agent 60 s 500', 'human 60 s 200'])
  t.same(lines({ takenOver: [{ from: -1, to: 130_000 }] }), ['agent 0 s 0', 'human 120 s 400'])
  t.same(lines({ takenOver: [] }), ['agent 120 s 1000'])
  const bot = { ratePaisePerMinute: RATES.ownVoice, agentRatePaisePerMinute: RATES.service }
  t.same(
    lines({ ...bot, agentTookOverAt: 40_000, takenOver }),
    ['agent 20 s 67', 'fallback 70 s 584', 'human 30 s 100'],
    'across the loss of a bot',
  )
})

t.test('seconds and paise are rounded up once per line', async (t) => {
  t.equal(billedSeconds(0, 1), 1)
  t.equal(billedSeconds(0, 1000), 1)
  t.equal(billedSeconds(0, 1001), 2)
  t.equal(billedSeconds(5, 0), 0, 'a clock that stepped back charges nothing')
  // 1 s at 500 paise a minute = 8.33 -> 9
  t.equal(rateCall({ ...base, answeredAt: 0, endedAt: 1 }).billedPaise, 9)
  t.equal(rateCall({ ...base, answeredAt: 0, endedAt: 60_000 }).billedPaise, 500)
  t.equal(rateCall({ ...base, answeredAt: 0, endedAt: 61_000 }).billedPaise, 509)
})
