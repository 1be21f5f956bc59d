import t from 'tap'
import { DEFAULT_WINDOWS, type Purpose } from './calling-hours.js'
import { decide, type GateFacts, type GateRequest, IMPLEMENTED_CHECKS } from './gate.js'

const FACTS: GateFacts = {
  policyVersion: 'test',
  windows: DEFAULT_WINDOWS,
  windowNarrowing: null,
  extraMobilePrefixes: [],
  enforcement: { blocked: false, reason: null },
  wallet: null,
}
const request = (purpose: Purpose, to = '+919876543210'): GateRequest => ({
  to,
  environment: 'test',
  purpose,
  trigger: 'call',
})
const NOON_IST = Date.parse('2026-03-02T06:30:00Z')

t.test('verdict by purpose and time', async (t) => {
  const rows: readonly [Purpose, string, 'allow' | string, string | null][] = [
    ['promotional', '2026-03-02T03:29:59.999Z', 'blocked_opt_out', '2026-03-02T03:30:00.000Z'],
    ['promotional', '2026-03-02T03:30:00.000Z', 'allow', null],
    ['promotional', '2026-03-02T15:29:59.999Z', 'allow', null],
    ['promotional', '2026-03-02T15:30:00.000Z', 'blocked_opt_out', '2026-03-03T03:30:00.000Z'],
    // Midnight IST is 18:30 UTC: before it "tomorrow 9:00" is the same calendar day in UTC terms.
    ['promotional', '2026-03-02T18:29:59.999Z', 'blocked_opt_out', '2026-03-03T03:30:00.000Z'],
    ['promotional', '2026-03-02T18:30:00.000Z', 'blocked_opt_out', '2026-03-03T03:30:00.000Z'],
    ['collections', '2026-03-02T02:29:59.999Z', 'blocked_opt_out', '2026-03-02T02:30:00.000Z'],
    ['collections', '2026-03-02T02:30:00.000Z', 'allow', null],
    ['collections', '2026-03-02T13:30:00.000Z', 'blocked_opt_out', '2026-03-03T02:30:00.000Z'],
    ['service', '2026-03-02T20:00:00.000Z', 'allow', null],
    ['transactional', '2026-03-02T18:30:00.000Z', 'allow', null],
  ]
  for (const [purpose, iso, expected, next] of rows) {
    const verdict = decide(request(purpose), FACTS, Date.parse(iso))
    t.equal(verdict.allow ? 'allow' : verdict.code, expected, `${purpose} ${iso}`)
    if (!verdict.allow) {
      t.equal(verdict.deciding.type, 'calling_window')
      t.equal(verdict.nextAllowedAt === null ? null : new Date(verdict.nextAllowedAt).toISOString(), next)
    }
  }
})

t.test('every check is listed in order, also after a block', async (t) => {
  const verdict = decide(
    request('promotional'),
    { ...FACTS, enforcement: { blocked: true, reason: 'kill_switch' } },
    Date.parse('2026-03-02T20:00:00Z'),
  )
  t.same(
    verdict.checks.map((check) => [check.type, check.outcome]),
    [
      ['number_format', 'pass'],
      ['enforcement', 'block'],
      ['calling_window', 'block'],
      ['wallet', 'skipped'],
    ],
  )
  t.notOk(verdict.allow)
  if (!verdict.allow) {
    t.equal(verdict.deciding.type, 'enforcement', 'the first block decides')
    t.equal(verdict.deciding.reason, 'kill_switch')
    t.equal(verdict.nextAllowedAt, null, 'waiting does not lift a kill switch')
  }
  t.same([...IMPLEMENTED_CHECKS], ['number_format', 'enforcement', 'calling_window', 'wallet'])
})

t.test('numbers that agents may not call', async (t) => {
  for (const to of ['+911401234567', '+911600123456', '+9118001234567', '+14155550100', '+91112', 'x']) {
    const verdict = decide(request('service', to), FACTS, NOON_IST)
    t.notOk(verdict.allow, to)
    if (!verdict.allow) t.equal(verdict.code, 'validation_error', to)
  }
})

t.test('narrowed hours without any hour have no next allowed time', async (t) => {
  const verdict = decide(
    request('promotional'),
    { ...FACTS, windowNarrowing: { startMinute: 1300, endMinute: 1310 } },
    NOON_IST,
  )
  t.notOk(verdict.allow)
  if (!verdict.allow) t.equal(verdict.nextAllowedAt, null)
})

t.test(
  'a live call needs the available balance of twelve rupees and a wallet that is not on hold',
  async (t) => {
    const wallet = { balancePaise: 5_000, availablePaise: 1_200, minBalancePaise: 1_200, onHold: false }
    const rows: readonly [GateFacts['wallet'], string, string][] = [
      [wallet, 'pass', 'covered'],
      [{ ...wallet, availablePaise: 1_199 }, 'block', 'balance_too_low'],
      [{ ...wallet, onHold: true }, 'block', 'wallet_on_hold'],
      [null, 'pass', 'simulated'],
    ]
    for (const [facts, outcome, reason] of rows) {
      const verdict = decide(request('service'), { ...FACTS, wallet: facts }, NOON_IST)
      t.match(verdict.checks.at(-1), { type: 'wallet', outcome, reason })
      t.equal(verdict.allow, outcome === 'pass')
      if (!verdict.allow) t.match(verdict, { code: 'insufficient_funds', nextAllowedAt: null })
    }
  },
)
