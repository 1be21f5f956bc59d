import t from 'tap'
import { CLEAR_FACTS } from '../../fixtures/database/gate-facts.js'
import type { Purpose } from './calling-hours.js'
import { CHECK_TYPES, type GateFacts, type GateRequest } from './check.js'
import { decide } from './gate.js'

const request = (purpose: Purpose, more: Partial<GateRequest> = {}): GateRequest => ({
  to: '+919876543210',
  environment: 'live',
  purpose,
  trigger: 'call',
  ...more,
})
const NOON_IST = Date.parse('2026-03-02T06:30:00Z')
const HOUR_MS = 3_600_000
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
const BLOCKED: Partial<GateFacts> = { enforcement: { blocked: true, reason: 'kill_switch' } }

t.test('a call that nothing speaks against passes every check', async (t) => {
  const verdict = decide(request('service'), CLEAR_FACTS, NOON_IST)
  t.equal(verdict.allow, true)
  t.same(
    verdict.checks.map(({ type }) => type),
    CHECK_TYPES,
  )
  t.same([...new Set(verdict.checks.map(({ outcome }) => outcome))], ['pass'])
})

t.test('every check is listed in order, also after a block; paid ones are skipped', async (t) => {
  const facts = { ...CLEAR_FACTS, ...BLOCKED, consent: null }
  const verdict = decide(request('promotional'), facts, Date.parse('2026-03-02T20:00:00Z'))
  t.same(
    verdict.checks.map(({ type, outcome }) => [type, outcome]),
    [
      ['number_format', 'pass'],
      ['dnc', 'pass'],
      ['enforcement', 'block'],
      ['verification', 'pass'],
      ['calling_window', 'block'],
      ['dnd_register', 'skipped'],
      ['consent', 'warn'],
      ['frequency_cap', 'pass'],
      ['robocall_declaration', 'pass'],
      ['sender_registration', 'block'],
      ['wallet', 'skipped'],
    ],
  )
  t.notOk(verdict.allow)
  if (!verdict.allow) {
    t.equal(verdict.deciding.type, 'enforcement', 'the first block decides')
    t.equal(verdict.deciding.reason, 'kill_switch')
    t.equal(verdict.nextAllowedAt, null, 'waiting does not lift a kill switch')
  }
})

t.test('the next allowed time satisfies every check that passes with time', async (t) => {
  // The cap ends at 23:30 IST, when the calling hours are over; they open at 10:00 of the next day.
  const answered = Date.parse('2026-03-02T18:00:00Z') - 168 * HOUR_MS
  const capped = request('promotional', { trigger: 'campaign', campaignId: 'cmp_1' })
  const sender = { series: 'regular', peId: null, approved: null }
  const facts = { ...CLEAR_FACTS, sender, lastCampaignAnswerAt: answered }
  const verdict = decide(capped, facts, NOON_IST)
  t.notOk(verdict.allow)
  if (!verdict.allow) {
    t.equal(verdict.deciding.type, 'frequency_cap')
    t.equal(iso(verdict.deciding.nextAllowedAt), '2026-03-02T18:00:00.000Z')
    t.equal(iso(verdict.nextAllowedAt), '2026-03-03T04:30:00.000Z')
    t.equal(decide(capped, facts, verdict.nextAllowedAt ?? 0).allow, true)
  }
})

t.test('transfer legs and verification calls are exempt from the rules of commercial calls', async (t) => {
  const night = Date.parse('2026-03-02T20:00:00Z')
  const strict: GateFacts = {
    ...CLEAR_FACTS,
    suppressions: [{ id: 'dnc_1', source: 'manual', expiresAt: null }],
    verification: 'unverified',
    wallet: { balancePaise: 0, availablePaise: 0, minBalancePaise: 1_200, onHold: true },
  }
  const transfer = decide(request('promotional', { trigger: 'transfer' }), strict, night)
  t.equal(transfer.allow, true)
  t.equal(transfer.checks.filter(({ outcome }) => outcome === 'skipped').length, 9)
  const stopped = decide(request('service', { trigger: 'transfer' }), { ...strict, ...BLOCKED }, night)
  t.equal(stopped.allow, false, 'the kill switch counts for every call')
  const open = { ...strict, suppressions: [], verification: 'verified' }
  t.equal(decide(request('promotional', { trigger: 'verification' }), open, night).allow, false)
  t.equal(decide(request('service', { trigger: 'verification' }), open, night).allow, true)
})

t.test('a decision can be made again from a copy of the facts as JSON', async (t) => {
  const copy = JSON.parse(JSON.stringify(CLEAR_FACTS)) as GateFacts
  for (const purpose of ['promotional', 'service', 'collections', 'transactional'] as const) {
    t.same(decide(request(purpose), copy, NOON_IST), decide(request(purpose), CLEAR_FACTS, NOON_IST))
  }
})
